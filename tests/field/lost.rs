//! Mail that nobody heard of.

use std::collections::HashMap;
use std::time::Duration;

use reveille::{Message, OpError, Spawn, Store, Text, TurnReport};
use reveille_store::step::actors::CreateSession;
use reveille_store::step::send::{Prepared, Send, To};
use reveille_tests::world::{World, idle, pass, session};

/// Two siblings finish while the parent streams; elsewhere only the first was reported, the "all
/// finished" wake never came, and every ancestor hung.
#[test]
fn b01_two_siblings_finish_while_the_parent_is_busy() {
    let world = World::default()
        .agent("parent", |host| {
            host.agent(|_, _| async {
                pass(3_000).await;
                Ok(TurnReport::success("done"))
            })
        })
        .agent("child", |host| {
            host.agent(|_, injection| async move {
                let reveille::message::Content::Text(text) = &injection.entries[0].content else {
                    panic!("no text")
                };
                pass(text.body.parse().unwrap()).await;
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let parent = session(&runtime, "parent").await;
        runtime.send(Message::text(parent.main(), "go").urgent(true)).await.unwrap();
        for millis in ["1000", "1001"] {
            let spawn = Spawn::agent("child").first_message(millis);
            runtime.spawn(parent.main(), spawn).await.unwrap();
        }
        pass(2_000).await;
        let view = runtime.actors(None, 1).await.unwrap().remove(0);
        assert!(view.run.is_some(), "the parent owes something between completion and injection");
        assert_eq!(view.pending, 2);
        idle(&runtime, &parent).await;
        let view = runtime.actors(None, 1).await.unwrap().remove(0);
        assert_eq!((view.pending, view.open.len()), (0, 0));
        let told = world.host.seen_by(&parent.main());
        assert_eq!(told.len(), 2, "one injection holds both");
        assert_eq!(told[1].texts(), ["completed.", "completed."]);
    });
}

/// Concurrent senders overwrote one another: two got success, one message existed.
#[test]
fn b07_concurrent_senders_all_keep_their_messages_and_their_order() {
    const SENDERS: usize = 64;
    const EACH: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let mut options = reveille::Options::default();
    options.limits.unread_messages = SENDERS * EACH;
    options.limits.unread_bytes = u64::MAX;
    let store = options.open(folder.path()).unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(8).build().unwrap();
    let (store, sent) = tokio.block_on(async move {
        let create = CreateSession { title: "one".into(), agent: None, first: None };
        let main = store.run(create).await.unwrap().main;
        let senders = (0..SENDERS).map(|sender| {
            let (store, main) = (store.clone(), main.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                for n in 0..EACH {
                    let text = Text::new(format!("{sender} {n}"));
                    let message = Prepared::text(reveille::Caller::Host, text);
                    let send = Send { to: To::Actors(vec![main.clone()]), message, token: None };
                    ids.push(store.run(send).await.unwrap().id);
                }
                ids
            })
        });
        let mut sent = HashMap::new();
        for (sender, task) in senders.enumerate() {
            sent.insert(sender, task.await.unwrap());
        }
        (store, sent)
    });
    store.close().unwrap();
    drop(store);

    let store = Store::open(folder.path()).unwrap();
    let mail: Vec<_> = tokio
        .block_on(
            store.look(|state| state.rows()[0].pending.iter().map(|mail| mail.seq()).collect()),
        )
        .unwrap();
    assert_eq!(mail.len(), SENDERS * EACH);
    for ids in sent.values() {
        assert!(ids.is_sorted(), "each sender's own messages keep their order");
        assert!(ids.iter().all(|id| mail.binary_search(&id.seq()).is_ok()));
    }
}

/// Going idle did not look at what had arrived just before; a third message was needed to free it.
#[test]
fn b12_mail_that_arrives_as_the_turn_ends_needs_no_further_message() {
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..1_000 {
        let world = World::default().agent("busy", |host| {
            host.agent(|_, _| async {
                pass(1_000).await;
                Ok(TurnReport::success("done"))
            })
        });
        // Around the end of the turn, in every order with it.
        let (first, second) = (random.u64(0..4), random.u64(0..4));
        world.live(async |runtime| {
            let busy = session(&runtime, "busy").await;
            runtime.send(Message::text(busy.main(), "go").urgent(true)).await.unwrap();
            let send = async |after: u64, text: &str| {
                pass(998 + after).await;
                for _ in 0..after {
                    tokio::task::yield_now().await;
                }
                runtime.send(Message::text(busy.main(), text)).await
            };
            let (a, b): (Result<_, OpError>, _) =
                tokio::join!(send(first, "M1"), send(second, "M2"));
            let last = a.unwrap().id.at().max(b.unwrap().id.at());
            idle(&runtime, &busy).await;
            let seen = world.host.seen();
            let told: Vec<&str> = seen[1..].iter().flat_map(|seen| seen.texts()).collect();
            assert_eq!(told.len(), 2, "seed {seed}: {told:?}");
            let bound = Duration::from_millis(1_000 + 1_000 + 200);
            assert!(seen.last().unwrap().at.since(last) <= bound, "seed {seed}");
        });
    }
}
