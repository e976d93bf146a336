//! P6, S1 to S6: runs, notices, waits, slots, budgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reveille::{Message, Next, OpError, Outcome, Spawn, Status, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

const LONG: Duration = Duration::from_secs(3_600);

#[test]
fn forty_completions_in_a_burst_cost_one_turn() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("worker", |host| host.quick())
        .set(|config| {
            config.limits.budgets.children = 40;
            config.slots = 40;
        });
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for n in 0..40 {
            let spawn = Spawn::agent("worker").first_message(format!("task {n}"));
            runtime.spawn(lead.main(), spawn).await.unwrap();
        }
        idle(&runtime, &lead).await;
        lead.main()
    });
    let told = world.host.seen_by(&lead);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].entries.len(), 40);
    assert!(told[0].texts().iter().all(|text| *text == "completed."));
}

#[test]
fn a_worker_is_told_once_and_its_whole_result_is_read_by_run() {
    let result = "x".repeat(100_000);
    let whole = result.clone();
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", move |host| {
        host.agent(move |_, _| {
            let result = result.clone();
            async move { Ok(TurnReport::new(result).status(Status::Blocked)) }
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        idle(&runtime, &lead).await;
        let told = world.host.seen_by(&lead.main());
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].texts(), ["finished (status: blocked)."]);
        assert_eq!(told[0].entries[0].told, Some((worker.run().unwrap(), "completed")));
        let outcome = runtime.outcome(worker.run().unwrap()).await.unwrap();
        assert!(matches!(outcome, Outcome::Completed { result, .. } if result == whole));
    });
}

#[test]
fn a_run_stays_open_while_it_has_live_workers_and_ends_when_nothing_could_continue_it() {
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
        host.agent(|_, _| async {
            pass(10_000).await;
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        pass(5_000).await;
        let view = runtime.actors(None, 1).await.unwrap().remove(0);
        assert!(view.run.is_some() && !view.in_turn);
        idle(&runtime, &lead).await;
    });
    let told = world.host.seen();
    let lead: Vec<_> = told.iter().filter(|seen| seen.actor.name().as_str() == "main").collect();
    assert_eq!(lead.len(), 2);
    assert_eq!(lead[0].run, lead[1].run);
}

#[test]
fn finishing_cancels_what_is_going_on_below() {
    let world = World::default()
        .agent("lead", |host| {
            host.agent(|_, _| async { Ok(TurnReport::success("enough").next(Next::Finish)) })
        })
        .agent("worker", |host| host.agent(|_, _| std::future::pending()));
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        runtime.send(Message::text(lead.main(), "finish")).await.unwrap();
        let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
        assert_eq!(outcome.state(), "cancelled");
    });
}

#[test]
fn a_wait_inside_a_turn_collects_and_nothing_is_announced_as_well() {
    let world = World::default()
        .agent("lead", |host| {
            host.agent(|turn, _| async move {
                let worker = turn.spawn(Spawn::agent("worker")).await?;
                let outcome = turn.wait(worker.address(), LONG).await?;
                assert_eq!(outcome.state(), "completed");
                Ok(TurnReport::success("collected"))
            })
        })
        .agent("worker", |host| {
            host.agent(|_, _| async {
                pass(3_000).await;
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        idle(&runtime, &lead).await;
        pass(60_000).await;
        assert_eq!(world.host.seen_by(&lead.main()).len(), 1);
        let view = runtime.actors(None, 1).await.unwrap().remove(0);
        assert_eq!((view.pending, view.open.len()), (0, 0));
    });
}

#[test]
fn a_wait_that_was_given_up_leaves_the_notice() {
    let world = World::default()
        .agent("lead", |host| {
            host.agent(|turn, injection| async move {
                if injection.entries.len() == 1 && injection.trigger.to_string() == "window" {
                    let worker = turn.spawn(Spawn::agent("worker").key("once")).await?;
                    let waited = turn.wait(worker.address(), Duration::from_secs(1)).await;
                    if worker.run().is_some() {
                        assert_eq!(waited, Err(OpError::TimedOut { limit_ms: 1_000 }));
                    }
                }
                Ok(TurnReport::success("gave up"))
            })
        })
        .agent("worker", |host| {
            host.agent(|_, _| async {
                pass(3_000).await;
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        idle(&runtime, &lead).await;
        let told = world.host.seen_by(&lead.main());
        assert_eq!(told.last().unwrap().texts(), ["completed."]);
        assert_eq!(told.len(), 2);
    });
}

#[test]
fn a_wait_of_the_host_only_reads() {
    let world =
        World::default().agent("lead", |host| host.quick()).agent("worker", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
        assert_eq!(outcome, runtime.wait(worker.address(), LONG).await.unwrap());
        idle(&runtime, &lead).await;
        assert_eq!(world.host.seen_by(&lead.main()).len(), 1, "the lead is told all the same");
    });
}

#[test]
fn a_wait_on_oneself_or_in_a_circle_is_refused() {
    let world = World::default()
        .agent("lead", |host| {
            host.agent(|turn, _| async move {
                let own = turn.address().clone();
                let error = turn.wait(&own, LONG).await.unwrap_err();
                assert_eq!(error.code().name, "would_deadlock");
                let worker = turn.spawn(Spawn::agent("worker")).await?;
                Ok(TurnReport::new(turn.wait(worker.address(), LONG).await?.state()))
            })
        })
        .agent("worker", |host| {
            host.agent(|turn, _| async move {
                pass(1_000).await;
                let lead = reveille::Address::new(turn.address().session(), "main".parse()?);
                let error = turn.wait(&lead, LONG).await.unwrap_err();
                Ok(TurnReport::success(error.code().name))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        let outcome = runtime.wait(&lead.main(), LONG).await.unwrap();
        assert!(matches!(outcome, Outcome::Completed { result, .. } if result == "completed"));
    });
}

#[test]
fn no_more_turns_of_an_agent_run_than_it_has_slots_and_a_waiting_parent_gives_its_slot_back() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let world = World::default().set(|config| config.slots = 2).agent("worker", move |host| {
        host.agent(move |turn, injection| {
            let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
            async move {
                let first = injection.entries[0].content.clone();
                let reveille::message::Content::Text(text) = first else { panic!("no text") };
                let depth: usize = text.body.parse()?;
                if depth > 0 {
                    let next = Spawn::agent("worker").first_message((depth - 1).to_string());
                    let child = turn.spawn(next).await?;
                    turn.wait(child.address(), LONG).await?;
                    return Ok(TurnReport::success("parent"));
                }
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                pass(1_000).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(TurnReport::success("leaf"))
            }
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        let mut workers = Vec::new();
        for _ in 0..6 {
            let spawn = Spawn::agent("worker").first_message("2");
            workers.push(runtime.spawn(lead.main(), spawn).await.unwrap());
        }
        for worker in &workers {
            let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
            assert_eq!(outcome.state(), "completed");
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[test]
fn the_same_spawn_again_answers_the_worker_that_is_there() {
    let world = World::default().agent("worker", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        let spawn = || Spawn::agent("worker").key("one");
        let first = runtime.spawn(lead.main(), spawn()).await.unwrap();
        let again = runtime.spawn(lead.main(), spawn()).await.unwrap();
        assert_eq!(first.address(), again.address());
        assert_eq!(again.admission(), reveille::Admission::Existing);
        runtime.wait(first.address(), LONG).await.unwrap();
        assert_eq!(world.host.seen().len(), 1);
    });
}

#[test]
fn a_spawn_beyond_a_budget_is_refused_by_name_and_leaves_nothing() {
    let world = World::default().set(|config| config.limits.budgets.spawns_per_minute = 2);
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        for _ in 0..2 {
            runtime.spawn(lead.main(), Spawn::agent("absent")).await.unwrap();
        }
        let error = runtime.spawn(lead.main(), Spawn::agent("absent")).await.unwrap_err();
        assert!(error.to_string().contains("spawns_per_minute: 3"), "{error}");
        assert_eq!(runtime.actors(None, 10).await.unwrap().len(), 3);
        pass(60_000).await;
        runtime.spawn(lead.main(), Spawn::agent("absent")).await.unwrap();
    });
}

#[test]
fn after_its_end_a_turn_can_do_nothing_any_more() {
    let kept = Arc::new(parking_lot::Mutex::new(None));
    let keep = Arc::clone(&kept);
    let world = World::default().agent("lead", move |host| {
        host.agent(move |turn, _| {
            *keep.lock() = Some(turn);
            async { Ok(TurnReport::success("done")) }
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        idle(&runtime, &lead).await;
        let turn = kept.lock().take().unwrap();
        let sent = turn.send(Message::text(lead.main(), "late")).await;
        assert_eq!(sent, Err(OpError::StaleToken));
        assert_eq!(turn.spawn(Spawn::agent("lead")).await.unwrap_err(), OpError::StaleToken);
        assert_eq!(turn.wait(&lead.main(), LONG).await.unwrap_err(), OpError::StaleToken);
    });
}

#[test]
fn a_silent_cancel_of_the_last_child_does_not_strand_the_run_above_it() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("worker", |host| host.agent(|_, _| std::future::pending()));
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        pass(5_000).await;
        let cancel = reveille::Cancel::reason("quietly").grace(Duration::ZERO).silent();
        runtime.cancel(worker.address(), cancel).await.unwrap();
        idle(&runtime, &lead).await;
    });
}

#[test]
fn a_cancelled_parent_takes_its_workers_along_and_is_not_woken_by_them() {
    let world = World::default()
        .set(|config| config.slots = 2)
        .agent("lead", |host| host.quick())
        .agent("middle", |host| {
            host.agent(|turn, _| async move {
                for _ in 0..4 {
                    turn.spawn(Spawn::agent("worker")).await?;
                }
                Ok(TurnReport::success("spawned"))
            })
        })
        .agent("worker", |host| host.agent(|_, _| std::future::pending()));
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let middle = runtime.spawn(lead.main(), Spawn::agent("middle")).await.unwrap();
        pass(5_000).await;
        let cancel = reveille::Cancel::reason("enough");
        runtime.cancel(middle.address(), cancel).await.unwrap();
        idle(&runtime, &lead).await;
        let views = runtime.actors(None, 100).await.unwrap();
        let cancelled =
            views.iter().filter(|view| view.ended.is_some_and(|(_, state)| state == "cancelled"));
        assert_eq!(cancelled.count(), 5, "two that ran, two that were queued, and the parent");
        assert_eq!(world.host.seen_by(middle.address()).len(), 1);
    });
}

#[test]
fn waits_side_by_side_share_one_slot_and_return_what_they_waited_for() {
    let world = World::default()
        .set(|config| config.slots = 1)
        .agent("lead", |host| {
            host.agent(|turn, _| async move {
                let a = turn.spawn(Spawn::agent("worker")).await?;
                let b = turn.spawn(Spawn::agent("worker")).await?;
                let (a, b, again) = tokio::join!(
                    turn.wait(a.address(), LONG),
                    turn.wait(b.address(), LONG),
                    turn.wait(a.address(), LONG)
                );
                assert_eq!(
                    (a?.state(), b?.state(), again?.state()),
                    ("completed", "completed", "completed")
                );
                Ok(TurnReport::success("both"))
            })
        })
        .agent("worker", |host| {
            host.agent(|_, _| async {
                pass(3_000).await;
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let other = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        runtime.send(Message::text(other.main(), "go")).await.unwrap();
        idle(&runtime, &lead).await;
        idle(&runtime, &other).await;
        assert_eq!(world.host.seen_by(&lead.main()).len(), 1, "nothing is announced as well");
    });
}

#[test]
fn what_a_wait_collected_and_never_returned_is_announced() {
    let world = World::default()
        .agent("lead", |host| {
            host.agent(|turn, injection| async move {
                if injection.entries[0].content.kind() == reveille::Kind::Text {
                    let worker = turn.spawn(Spawn::agent("worker")).await?;
                    let (waiter, address) = (turn.clone(), worker.address().clone());
                    // Polled once, so that it is registered, and then never again.
                    let mut wait = Box::pin(async move { waiter.wait(&address, LONG).await });
                    assert!(futures_util::poll!(&mut wait).is_pending());
                    pass(5_000).await;
                    std::mem::forget(wait);
                }
                Ok(TurnReport::success("done"))
            })
        })
        .agent("worker", |host| {
            host.agent(|_, _| async {
                pass(1_000).await;
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "go")).await.unwrap();
        idle(&runtime, &lead).await;
        let told = world.host.seen_by(&lead.main());
        assert_eq!(told.len(), 2);
        assert_eq!(told[1].texts(), ["completed."]);
    });
}

#[test]
fn a_spawn_says_whether_it_starts_or_waits_and_behind_how_many() {
    let world = World::default()
        .set(|config| config.slots = 1)
        .agent("worker", |host| host.agent(|_, _| std::future::pending()));
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        let mut admissions = Vec::new();
        for _ in 0..3 {
            let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
            admissions.push(worker.admission());
            pass(10).await;
        }
        use reveille::Admission::{Admitted, Queued};
        assert_eq!(admissions, [Admitted, Queued { position: 0 }, Queued { position: 1 }]);
    });
}

#[test]
fn a_turn_that_waits_for_several_of_its_own_kind_takes_no_slot_until_all_have_ended() {
    let world = World::default().set(|config| config.slots = 1).agent("worker", |host| {
        host.agent(|turn, injection| async move {
            let reveille::message::Content::Text(text) = &injection.entries[0].content else {
                panic!("no text")
            };
            if text.body == "leaf" {
                pass(1_000).await;
                return Ok(TurnReport::success("leaf"));
            }
            let leaf = || Spawn::agent("worker").first_message("leaf");
            let mut leaves = Vec::new();
            for _ in 0..3 {
                leaves.push(turn.spawn(leaf()).await?);
            }
            // A wait that is dropped asks for a slot that the next wait does not need.
            let gave_up = turn.wait(leaves[2].address(), Duration::from_secs(60));
            let dropped = tokio::time::timeout(Duration::from_millis(500), gave_up).await;
            assert!(dropped.is_err());
            let waits = leaves.iter().map(|leaf| turn.wait(leaf.address(), LONG));
            let outcomes = futures_util::future::join_all(waits).await;
            assert!(
                outcomes.iter().all(|outcome| outcome.as_ref().unwrap().state() == "completed")
            );
            Ok(TurnReport::success("parent"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        let mut parents = Vec::new();
        for _ in 0..3 {
            let spawn = Spawn::agent("worker").first_message("parent");
            parents.push(runtime.spawn(lead.main(), spawn).await.unwrap());
        }
        for parent in &parents {
            let outcome = runtime.wait(parent.address(), Duration::from_secs(600)).await.unwrap();
            assert_eq!(outcome.state(), "completed");
        }
    });
}
