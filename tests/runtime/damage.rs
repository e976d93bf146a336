//! P2: messages that cannot be read any more when a turn is to get them.

use reveille::{Caller, Message, OpError, Timestamp};
use reveille_store::fault::{Contents, FaultyDisk, Leftover, open};
use reveille_store::raw::{RawStore, Table, close_blob, open_blob};
use reveille_store::record::Record;
use reveille_store::{DiskOptions, Options, Store};
use reveille_tests::world::{START, World, idle, session};

fn anna() -> Caller {
    Caller::human("anna").unwrap()
}

fn options() -> Options {
    // Without a cache every read asks the disk.
    let disk = DiskOptions { cache_bytes: 0, ..DiskOptions::default() };
    Options { disk, now: std::sync::Arc::new(|| START), ..Options::default() }
}

/// A world whose lead is held, with these messages in its mailbox.
fn held(store: Store, bodies: &[&str]) -> (World, reveille::Session) {
    let world = World::on(store).agent("lead", |host| host.quick());
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.hold(anna(), lead.main(), "until it is damaged").await.unwrap();
        for body in bodies {
            runtime.send(Message::text(lead.main(), *body)).await.unwrap();
        }
        lead
    });
    (world, lead)
}

/// What a turn makes of a mailbox in which the second of three messages cannot be read.
fn goes_on(world: &World, lead: &reveille::Session) {
    world.live(async |runtime| {
        runtime.release(anna(), lead.main()).await.unwrap();
        idle(&runtime, lead).await;
        assert_eq!(world.host.seen_by(&lead.main())[0].texts(), ["one", "three"]);
        let dead = runtime.dead(Some(lead.main()), 10).await.unwrap();
        assert_eq!((dead.len(), dead[0].reason.name()), (1, "damaged"));
        runtime.send(Message::text(lead.main(), "newer")).await.unwrap();
        idle(&runtime, lead).await;
        assert_eq!(world.host.seen_by(&lead.main())[1].texts(), ["newer"]);
        assert_eq!(world.host.seen_by(&lead.main()).len(), 2);
    });
}

#[test]
fn a_message_whose_content_cannot_be_decoded_is_dead_and_its_neighbours_are_handed_over() {
    let disk = FaultyDisk::default();
    let store = open(disk.clone(), options()).unwrap();
    let (mut world, lead) = held(store, &["one", "spoilt", "three"]);
    std::mem::replace(&mut world.store, options().in_memory()).close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.redb");
    std::fs::write(&file, disk.after_crash(Leftover::Kept).store()).unwrap();
    let raw = RawStore::open(folder.path()).unwrap();
    let mut chain = 0;
    for (key, bytes) in raw.entries(Table::Log).unwrap() {
        let (mut header, records) = open_blob(&bytes).unwrap();
        let spoil = |(_, mut record): (_, Record)| {
            if let Record::Sent(sent) = &mut record
                && sent.content.windows(6).any(|part| part == b"spoilt")
            {
                sent.content.truncate(3);
            }
            record
        };
        let records: Vec<Record> = records.into_iter().map(spoil).collect();
        header.chain = chain;
        let forged = close_blob(&header, &records).unwrap();
        chain = open_blob(&forged).unwrap().0.crc;
        raw.put(Table::Log, key, Some(&forged)).unwrap();
    }
    drop(raw);
    let contents = Contents::of_closed(std::fs::read(&file).unwrap());
    world.store = open(FaultyDisk::holding(contents), options()).unwrap();
    goes_on(&world, &lead);
    let dead = world.live(async |runtime| runtime.dead(None, 1).await.unwrap().remove(0));
    let kept = world.store.records(&[dead.id.seq()]).unwrap().remove(0).unwrap().1;
    let Record::Sent(sent) = kept else { panic!("{kept:?}") };
    assert_eq!((sent.content.len(), dead.from), (3, Some(Caller::Host)), "its bytes are kept");
}

#[test]
fn a_message_that_the_disk_spoilt_is_dead_and_its_neighbours_are_handed_over() {
    let disk = FaultyDisk::default();
    let store = open(disk.clone(), options()).unwrap();
    let (mut world, lead) = held(store, &["one", "spoilt", "three"]);
    let disk = FaultyDisk::holding(disk.after_crash(Leftover::Kept));
    world.store = open(disk.clone(), options()).unwrap();
    assert!(disk.spoil(b"spoilt") > 0);
    goes_on(&world, &lead);
    let dead = world.live(async |runtime| runtime.dead(None, 1).await.unwrap().remove(0));
    assert_eq!(dead.from, None, "who sent it cannot be read either");
    assert!(dead.id.at() >= Timestamp::from_millis(1), "its id is known all the same");
    let error = world.store.records(&[dead.id.seq()]).unwrap_err();
    assert!(matches!(error, OpError::StorageFailed { .. }), "it is not said to be absent");
}
