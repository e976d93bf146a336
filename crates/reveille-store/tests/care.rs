//! Care of a store: backups under load, restores, compaction, what the doctor finds, what ages.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_executor::block_on;
use reveille_core::{Caller, Seq, Text, Timestamp};
use reveille_store::care::{self, CareError};
use reveille_store::doctor::{Severity, doctor};
use reveille_store::step::actors::CreateSession;
use reveille_store::step::send::{Prepared, Send, To};
use reveille_store::verify::verify;
use reveille_store::{Options, Store, raw};
use support::{Runner, small};

const NOW: Timestamp = Timestamp::from_millis(1_900_000_000_000);

fn unread(store: &Store) -> Vec<Seq> {
    block_on(store.look(|state| {
        state.rows().iter().flat_map(|row| row.unread()).map(|mail| mail.seq()).collect()
    }))
    .unwrap()
}

#[test]
fn a_backup_taken_under_load_restores_to_a_store_that_verify_passes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Options::default().open(folder.path().join("data")).unwrap();
    let create = CreateSession { title: "one".into(), agent: None, first: None };
    let main = block_on(store.run(create)).unwrap().main;
    let over = Arc::new(AtomicBool::new(false));
    let send = |store: &Store, n: usize| {
        let message = Prepared::text(Caller::Host, Text::new(format!("message {n}")));
        let to = To::Actors(vec![main.clone()]);
        block_on(store.run(Send { to, message, token: None }))
    };
    let before: Vec<Seq> = (0..200).map(|n| send(&store, n).unwrap().id.seq()).collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // The mailbox has an end; being refused is load as well.
                while !over.load(Ordering::Relaxed) {
                    let _ = send(&store, 0);
                }
            });
        }
        let mut told = 0;
        store.backup(folder.path().join("backup"), |done, all| told = done.max(all)).unwrap();
        assert!(told > 0, "progress is told");
        over.store(true, Ordering::Relaxed);
    });
    store.close().unwrap();

    let to = folder.path().join("restored");
    care::restore(folder.path().join("backup"), &to).unwrap();
    assert_eq!(verify(&to).unwrap().findings, []);
    let restored = Store::open(&to).unwrap();
    let there = unread(&restored);
    assert!(before.iter().all(|seq| there.contains(seq)), "what was acknowledged before is there");
    assert!(send(&restored, 1).is_ok() || there.len() >= 1000, "it goes on");
}

#[test]
fn nothing_is_written_over_and_nothing_damaged_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backup) = (folder.path().join("data"), folder.path().join("backup"));
    let store = small(1 << 20).open(&data).unwrap();
    Runner::new(&store).everything().unwrap();
    store.backup(&backup, |_, _| {}).unwrap();
    assert!(matches!(store.backup(&backup, |_, _| {}), Err(CareError::Exists { .. })));
    store.close().unwrap();
    assert!(matches!(care::restore(&backup, &data), Err(CareError::Exists { .. })));

    let file = backup.join("store.redb");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() - 40;
    bytes.truncate(middle);
    fs::write(&file, bytes).unwrap();
    let to = folder.path().join("restored");
    assert!(care::restore(&backup, &to).is_err(), "a shortened backup");
    assert!(!to.join("FORMAT").exists(), "nothing that looks like a store is left");
}

#[test]
fn compaction_keeps_everything_and_makes_the_file_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let store = small(10_000).open(folder.path()).unwrap();
    let mut runner = Runner::new(&store);
    let busy = runner.session("busy").unwrap();
    for round in 0..300 {
        runner.send(&[&busy], &"x".repeat(3000 + round)).unwrap();
        let turn = runner.claim(&busy).unwrap();
        runner.end(&turn, reveille_store::step::end::Next::Auto).unwrap();
    }
    let before = block_on(store.look(raw::rows)).unwrap();
    store.close().unwrap();
    drop(store);
    let done = care::compact(folder.path()).unwrap();
    assert!(done.after < done.before, "{done:?}");
    let store = small(10_000).open(folder.path()).unwrap();
    assert_eq!(block_on(store.look(raw::rows)).unwrap(), before);
}

#[test]
fn history_ages_and_unread_and_dead_mail_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(1_800_000_000_000));
    let options = || {
        let clock = Arc::clone(&clock);
        let now = move || Timestamp::from_millis(clock.fetch_add(1_000, Ordering::Relaxed));
        let mut options = small(1 << 20);
        options.disk.history_age = Duration::from_secs(3600);
        Options { now: Arc::new(now), ..options }
    };
    let store = options().open(folder.path()).unwrap();
    let mut runner = Runner::new(&store);
    runner.everything().unwrap();
    let kept = unread(&store);
    let dead: Vec<Seq> = block_on(store.look(|state| {
        state.rows().iter().flat_map(|row| &row.dead).map(|dead| dead.seq).collect()
    }))
    .unwrap();
    assert!(!kept.is_empty() && !dead.is_empty());
    store.close().unwrap();
    drop(store);
    clock.fetch_add(7_200_000, Ordering::Relaxed);
    let store = options().open(folder.path()).unwrap();
    let mut runner = Runner::new(&store);
    let main = runner.session("later").unwrap();
    for n in 0..3 {
        runner.send(&[&main], &format!("later {n}")).unwrap();
    }
    let since = store.since(Seq(1), 1).unwrap();
    assert!(since.lost_until.is_some(), "the beginning has left the log");
    for seq in kept.iter().chain(&dead) {
        assert!(store.records(&[*seq]).unwrap()[0].is_some(), "record {seq} is still read");
    }
}

#[test]
fn the_doctor_finds_what_is_unusual_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let store = small(1 << 20).open(folder.path()).unwrap();
    Runner::new(&store).everything().unwrap();
    let about = |about: &str| {
        let found = doctor(folder.path(), NOW);
        found.into_iter().find(|one| one.about == about && one.severity > Severity::Fine)
    };
    assert!(about("holder").unwrap().what.contains("process"), "somebody holds it");
    store.close().unwrap();
    drop(store);
    assert!(about("dead").unwrap().what.contains("dead list"));
    fs::write(folder.path().join("store.redb.new"), "").unwrap();
    assert!(about("leftover").unwrap().what.contains("store.redb.new"));
    fs::write(folder.path().join("FORMAT"), "reveille store 1\n").unwrap();
    assert!(about("format").unwrap().what.contains("reveille migrate"));
    fs::write(folder.path().join("FORMAT"), "reveille store 2\n").unwrap();
    let early = doctor(folder.path(), Timestamp::from_millis(1));
    assert!(early.iter().any(|one| one.about == "clock"), "{early:?}");
    fs::write(folder.path().join("store.redb"), "").unwrap();
    assert_eq!(about("store").unwrap().severity, Severity::Bad);
}

#[test]
fn a_disk_that_is_nearly_full_refuses_sends_and_lets_settles_through() {
    let free = Arc::new(AtomicU64::new(1 << 40));
    let theirs = Arc::clone(&free);
    let space = move || Some((theirs.load(Ordering::Relaxed), 1 << 40));
    let store = Options { space: Some(Arc::new(space)), ..small(1 << 20) }.in_memory();
    let mut runner = Runner::new(&store);
    let main = runner.session("one").unwrap();
    let turn = runner.claim(&main).unwrap();
    let worker = runner.spawn(&main).unwrap();
    let task = runner.claim(&worker).unwrap();
    free.store(1 << 20, Ordering::Relaxed);
    // The disk is looked at every 64 commits.
    let refused = (0..100).find_map(|n| runner.send(&[&main], &n.to_string()).err()).unwrap();
    assert_eq!(refused.code().name, "store_full");
    assert!(refused.to_string().contains("free bytes"), "{refused}");
    runner.end(&task, reveille_store::step::end::Next::Auto).unwrap();
    runner.end(&turn, reveille_store::step::end::Next::Auto).unwrap();
    free.store(1 << 40, Ordering::Relaxed);
    runner.send(&[&main], "there is room again").unwrap();
}
