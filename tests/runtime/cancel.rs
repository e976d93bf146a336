//! Section 9, P6, P9, S8: cancels in every state.

use std::time::Duration;

use reveille::{Cancel, Cancelled, Message, Spawn, TurnError, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

const LONG: Duration = Duration::from_secs(3_600);

fn cancel() -> Cancel {
    Cancel::reason("superseded").grace(Duration::from_secs(5))
}

#[test]
fn a_queued_worker_that_is_cancelled_never_starts() {
    let world = World::default()
        .set(|config| config.slots = 1)
        .agent("lead", |host| host.quick())
        .agent("worker", |host| {
            host.agent(|_, _| async {
                pass(2_000).await;
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let first = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        let second = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        pass(1_000).await;
        let answer = runtime.cancel(second.address(), cancel()).await.unwrap();
        assert_eq!(answer, Cancelled::Ended);
        idle(&runtime, &lead).await;
        assert!(world.host.seen_by(second.address()).is_empty());
        assert_eq!(world.host.seen_by(first.address()).len(), 1);
        let told = world.host.seen_by(&lead.main());
        let texts: Vec<_> = told.iter().flat_map(|seen| seen.texts()).collect();
        assert_eq!(texts, ["was cancelled.", "completed."]);
    });
}

#[test]
fn a_turn_that_ends_when_asked_is_ended_and_one_that_does_not_is_killed() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("polite", |host| {
            host.agent(|turn, _| async move {
                turn.cancelled().await;
                pass(1_000).await;
                Err(TurnError::permanent("asked to end"))
            })
        })
        .agent("deaf", |host| host.agent(|_, _| std::future::pending()));
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for (agent, expected, after) in
            [("polite", Cancelled::Ended, 1_000), ("deaf", Cancelled::Killed, 5_000)]
        {
            let worker = runtime.spawn(lead.main(), Spawn::agent(agent)).await.unwrap();
            pass(1_000).await;
            let begun = tokio::time::Instant::now();
            assert_eq!(runtime.cancel(worker.address(), cancel()).await.unwrap(), expected);
            assert_eq!(begun.elapsed().as_millis(), after);
            let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
            assert_eq!(outcome.state(), "cancelled");
            let again = runtime.cancel(worker.address(), cancel()).await.unwrap();
            assert!(matches!(again, Cancelled::AlreadyEnded(state) if state.name() == "cancelled"));
        }
        idle(&runtime, &lead).await;
        let told = world.host.seen_by(&lead.main());
        assert_eq!(told.iter().map(|seen| seen.entries.len()).sum::<usize>(), 2, "one notice each");
    });
}

#[test]
fn an_answer_given_during_the_grace_counts() {
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
        host.agent(|turn, _| async move {
            turn.cancelled().await;
            Ok(TurnReport::success("just finished"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        pass(1_000).await;
        let answer = runtime.cancel(worker.address(), cancel()).await.unwrap();
        assert!(matches!(answer, Cancelled::AlreadyEnded(state) if state.name() == "completed"));
    });
}

/// The agent is inside a call that no abort can interrupt. Real threads, so that everybody else goes
/// on: what the test waits for are answers, not spans.
#[test]
fn a_turn_that_does_not_yield_is_abandoned_and_no_other_starts_until_it_returns() {
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Arc::new(parking_lot::Mutex::new(blocked));
    let host = reveille_tests::host::Host::default();
    let worker = host.agent(move |_, injection| {
        let blocked = std::sync::Arc::clone(&blocked);
        async move {
            if injection.trigger.to_string() == "task" && injection.entries[0].id.seq().0 < 5 {
                // Ends when the other side is dropped.
                let _ = tokio::task::block_in_place(|| blocked.lock().recv());
            }
            Ok(TurnReport::success("done"))
        }
    });
    let config = reveille::Config {
        slots: 1,
        abort_grace: Duration::from_millis(50),
        ..reveille::Config::default()
    };
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let runtime = reveille::Runtime::builder(reveille::Store::in_memory())
            .config(config)
            .agent("worker", worker)
            .start()
            .await
            .unwrap();
        let lead = session(&runtime, "absent").await;
        let stuck = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        while host.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        let at_once = Cancel::reason("stuck").grace(Duration::ZERO);
        let answer = runtime.cancel(stuck.address(), at_once).await.unwrap();
        assert_eq!(answer, Cancelled::Abandoned);

        // Its slot is free, and its own mail waits.
        runtime.send(Message::text(stuck.address().clone(), "next").urgent(true)).await.unwrap();
        let other = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        runtime.wait(other.address(), LONG).await.unwrap();
        assert_eq!(host.seen_by(stuck.address()).len(), 1);

        drop(release);
        while host.seen_by(stuck.address()).len() < 2 {
            tokio::task::yield_now().await;
        }
        let outcome = runtime.wait(stuck.address(), LONG).await.unwrap();
        assert!(matches!(outcome.state(), "completed" | "cancelled"));
        runtime.shutdown().await.unwrap();
    });
}

#[test]
fn mail_that_came_before_a_cancel_rides_along_and_wakes_nobody() {
    let world = World::default().agent("lead", |host| {
        host.agent(|_, injection| async move {
            if injection.entries.len() == 1 {
                std::future::pending::<()>().await;
            }
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "hang")).await.unwrap();
        pass(1_000).await;
        runtime.send(Message::text(lead.main(), "waits")).await.unwrap();
        let answer = runtime.cancel(&lead.main(), cancel()).await.unwrap();
        assert_eq!(answer, Cancelled::Killed);
        pass(60_000).await;
        assert_eq!(world.host.seen().len(), 1, "nothing wakes it");
        runtime.send(Message::text(lead.main(), "new")).await.unwrap();
        idle(&runtime, &lead).await;
        assert_eq!(world.host.seen()[1].texts(), ["hang", "waits", "new"]);
    });
}

#[test]
fn an_actor_that_never_ran_has_nothing_to_cancel() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let answer = runtime.cancel(&lead.main(), cancel()).await.unwrap();
        assert_eq!(answer, Cancelled::Unknown);
        let nobody = reveille::Address::new(lead.id(), "nobody".parse().unwrap());
        let error = runtime.cancel(&nobody, cancel()).await.unwrap_err();
        assert_eq!(error.code().name, "unknown_actor");
    });
}

#[test]
fn two_cancels_at_once_are_both_answered_and_told_once() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("worker", |host| host.agent(|_, _| std::future::pending()));
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        pass(1_000).await;
        let (a, b) = tokio::join!(
            runtime.cancel(worker.address(), cancel()),
            runtime.cancel(worker.address(), cancel())
        );
        assert_eq!(a.unwrap(), Cancelled::Killed);
        assert!(matches!(b.unwrap(), Cancelled::AlreadyEnded(_)));
        idle(&runtime, &lead).await;
        assert_eq!(world.host.seen_by(&lead.main()).len(), 1);
    });
}

#[test]
fn a_grace_without_end_is_a_grace_without_end() {
    let world = World::default().agent("worker", |host| {
        host.agent(|turn, _| async move {
            turn.cancelled().await;
            pass(86_400_000).await;
            Err(TurnError::permanent("asked to end"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        pass(1_000).await;
        let cancel = Cancel::reason("slowly").grace(Duration::MAX);
        assert_eq!(runtime.cancel(worker.address(), cancel).await.unwrap(), Cancelled::Ended);
    });
}
