//! P12, section 12: what a crash or a shutdown leaves is found, in order, once.

use std::time::Duration;

use reveille::{Cause, Message, Outcome, Spawn, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

const LONG: Duration = Duration::from_secs(3_600);

fn busy_world() -> World {
    World::default().set(|config| config.slots = 3).agent("lead", |host| host.quick()).agent(
        "worker",
        |host| {
            host.agent(|_, _| async {
                pass(60_000).await;
                Ok(TurnReport::success("done"))
            })
        },
    )
}

#[test]
fn running_tasks_are_interrupted_and_told_and_queued_ones_start() {
    let world = busy_world();
    let (lead, workers) = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let mut workers = Vec::new();
        for _ in 0..5 {
            workers.push(runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap());
        }
        pass(1_000).await;
        (lead, workers)
    });
    world.live(async |runtime| {
        let found = runtime.recovered();
        assert_eq!((found.interrupted.len(), found.queued.len()), (3, 2));
        for (n, worker) in workers.iter().enumerate() {
            let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
            let expected = if n < 3 { "interrupted" } else { "completed" };
            assert_eq!(outcome.state(), expected);
        }
        idle(&runtime, &lead).await;
    });
    let told = world.host.seen_by(&lead.main());
    let texts: Vec<_> = told.iter().flat_map(|seen| seen.texts()).collect();
    assert_eq!(texts.iter().filter(|text| **text == "was interrupted.").count(), 3);
    assert_eq!(texts.iter().filter(|text| **text == "completed.").count(), 2);
    assert_eq!(texts.len(), 5);
}

#[test]
fn an_injection_that_was_open_is_offered_again_before_newer_mail() {
    let world = World::default().agent("lead", |host| {
        host.agent(|turn, _| async move {
            if turn.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            Ok(TurnReport::success("done"))
        })
    });
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "old")).await.unwrap();
        pass(1_000).await;
        runtime.send(Message::text(lead.main(), "newer")).await.unwrap();
        lead
    });
    world.live(async |runtime| {
        assert_eq!(runtime.recovered().again, [lead.main()]);
        pass(10_000).await;
    });
    let seen = world.host.seen();
    assert_eq!(seen[0].injection, seen[1].injection);
    assert_eq!((seen[1].attempt, seen[1].texts()), (2, vec!["old"]));
    assert_eq!((seen[2].attempt, seen[2].texts()), (1, vec!["newer"]));
}

#[test]
fn recovering_twice_changes_nothing() {
    let world = busy_world();
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for _ in 0..5 {
            runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        }
        pass(1_000).await;
    });
    let rows = |world: &World| {
        let store = world.store.clone();
        world.live(async |_| store.look(|state| state.rows().to_vec()).await.unwrap())
    };
    // Nothing has had time to start between the two.
    let (first, second) = (rows(&world), rows(&world));
    assert_eq!(first, second);
}

#[test]
fn wakes_are_derived_anew_after_a_crash() {
    let world = World::default().agent("lead", |host| host.quick());
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        lead
    });
    assert!(world.host.seen().is_empty(), "the window was still open");
    world.live(async |runtime| idle(&runtime, &lead).await);
    assert_eq!(world.host.seen().len(), 1);
}

#[test]
fn a_shutdown_lets_turns_end_and_starts_none() {
    let world = World::default()
        .set(|config| config.slots = 1)
        .agent("lead", |host| host.quick())
        .agent("worker", |host| {
            host.agent(|turn, _| async move {
                pass(10_000).await;
                // A turn under way may finish what it is at.
                let lead = reveille::Address::new(turn.address().session(), "main".parse()?);
                turn.send(Message::text(lead, "from the last turn")).await?;
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let first = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        let second = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        pass(1_000).await;
        let (closed, refused, waited) = tokio::join!(
            runtime.shutdown(),
            async {
                pass(1).await;
                runtime.send(Message::text(lead.main(), "late")).await
            },
            runtime.wait(second.address(), LONG)
        );
        closed.unwrap();
        assert_eq!(refused.unwrap_err().code().name, "shutting_down");
        assert!(waited.is_err(), "whoever waits is released");
        assert_eq!(world.host.seen_by(first.address()).len(), 1);
        assert!(world.host.seen_by(second.address()).is_empty(), "it is still queued");
    });
}

#[test]
fn a_store_from_the_future_stops_nothing() {
    let world = World::default().agent("lead", |host| host.quick());
    let lead = world.live(async |runtime| session(&runtime, "lead").await);
    let at = |world: &World| {
        let store = world.store.clone();
        world.live(async |_| store.look(|state| state.at()).await.unwrap())
    };
    world.live(async |_| pass(86_400_000).await);
    let before = at(&world);
    world.live(async |runtime| {
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        pass(1_000).await;
    });
    assert_eq!(world.host.seen().len(), 1);
    assert!(at(&world) >= before);
}

#[test]
fn the_clock_of_a_start_is_not_behind_what_the_store_holds() {
    let ahead = reveille::Timestamp::from_millis(4_000_000_000_000);
    let clock = reveille::Clock::system_from(ahead);
    assert!(clock.now() >= ahead);
}

#[test]
fn notices_do_not_wake_a_worker_that_was_interrupted() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("middle", |host| {
            host.agent(|turn, _| async move {
                for _ in 0..2 {
                    turn.spawn(Spawn::agent("child")).await?;
                }
                std::future::pending().await
            })
        })
        .agent("child", |host| host.agent(|_, _| std::future::pending()))
        .set(|config| config.slots = 1);
    let (lead, middle) = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let middle = runtime.spawn(lead.main(), Spawn::agent("middle")).await.unwrap();
        pass(5_000).await;
        (lead, middle)
    });
    world.live(async |runtime| {
        idle(&runtime, &lead).await;
        pass(60_000).await;
        let views = runtime.actors(None, 10).await.unwrap();
        let ended = |name: &str| {
            let view = views.iter().find(|view| view.address.name().as_str() == name).unwrap();
            view.ended.unwrap().1
        };
        assert_eq!(ended("middle-1"), "interrupted");
        assert_eq!(ended("child-1"), "interrupted");
        assert_eq!(ended("child-2"), "cancelled", "what was queued below it never starts");
        assert_eq!(world.host.seen_by(middle.address()).len(), 1);
    });
}

#[test]
fn a_task_cut_by_a_shutdown_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let tokio = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let host = reveille_tests::host::Host::default();
    let start = || {
        let config = reveille::Config {
            shutdown_grace: Duration::from_millis(50),
            ..reveille::Config::default()
        };
        reveille::Runtime::builder(reveille::Store::open(folder.path()).unwrap())
            .config(config)
            .agent("lead", host.quick())
            .agent("worker", host.agent(|_, _| std::future::pending()))
    };
    let worker = tokio().block_on(async {
        let runtime = start().start().await.unwrap();
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        while host.seen_by(worker.address()).is_empty() {
            tokio::task::yield_now().await;
        }
        runtime.shutdown().await.unwrap();
        worker.address().clone()
    });
    tokio().block_on(async {
        let runtime = start().start().await.unwrap();
        assert!(runtime.recovered().interrupted.is_empty(), "it was written at the shutdown");
        let outcome = runtime.wait(&worker, LONG).await.unwrap();
        assert_eq!(outcome, Outcome::Interrupted { cause: Cause::Shutdown });
        runtime.shutdown().await.unwrap();
    });
}

/// The run above ended, and the process died before the runs below it had their grace.
#[test]
fn what_goes_on_below_a_run_that_ended_is_ended_after_a_restart_too() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("middle", |host| {
            host.agent(|turn, injection| async move {
                if injection.trigger == reveille::Trigger::Task {
                    turn.spawn(Spawn::agent("child")).await?;
                    pass(5_000).await;
                    return Ok(TurnReport::success("enough").next(reveille::Next::Finish));
                }
                Ok(TurnReport::success("again"))
            })
        })
        .agent("child", |host| {
            host.agent(|turn, injection| async move {
                if injection.trigger == reveille::Trigger::Task {
                    // It rests, its run open, while its own child works.
                    turn.spawn(Spawn::agent("grandchild")).await?;
                }
                Ok(TurnReport::success("rests"))
            })
        })
        .agent("grandchild", |host| {
            host.agent(|turn, _| async move {
                turn.cancelled().await;
                std::future::pending().await
            })
        });
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let middle = runtime.spawn(lead.main(), Spawn::agent("middle")).await.unwrap();
        runtime.wait(middle.address(), LONG).await.unwrap();
        lead
    });
    world.live(async |runtime| {
        pass(60_000).await;
        let views = runtime.actors(None, 10).await.unwrap();
        assert!(views.iter().all(|view| view.run.is_none()), "{views:#?}");
        idle(&runtime, &lead).await;
    });
}
