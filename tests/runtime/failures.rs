//! P4, S7, section 4: turns that fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reveille::{Message, Outcome, Presence, Spawn, TurnError, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

const LONG: Duration = Duration::from_secs(36_000);

#[test]
fn what_failed_for_a_while_is_offered_again_under_the_same_id() {
    let world = World::default().agent("lead", |host| {
        host.agent(|turn, injection| async move {
            let newer = reveille::message::Content::Text(reveille::Text::new("newer"));
            if turn.attempt() < 4 && injection.entries[0].content != newer {
                return Err(TurnError::transient("not yet"));
            }
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        pass(300).await;
        runtime.send(Message::text(lead.main(), "newer")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    let attempts: Vec<_> = seen.iter().map(|seen| (seen.attempt, seen.texts())).collect();
    assert_eq!(
        attempts,
        [(1, vec!["a"]), (2, vec!["a"]), (3, vec!["a"]), (4, vec!["a"]), (1, vec!["newer"])]
    );
    assert!(seen[..4].iter().all(|again| again.injection == seen[0].injection));
}

#[test]
fn an_agent_that_is_away_for_eight_hours_kills_no_mail() {
    let back = reveille_tests::world::START.after(Duration::from_secs(8 * 3_600));
    let world = World::default().agent("lead", move |host| {
        host.agent(move |_, injection| async move {
            if injection.at < back {
                return Err(TurnError::unavailable("rate limit"));
            }
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        idle(&runtime, &lead).await;
        let view = runtime.actors(None, 1).await.unwrap().remove(0);
        assert_eq!((view.dead, view.pending), (0, 0));
    });
    let seen = world.host.seen();
    let last = seen.last().unwrap();
    assert_eq!(last.texts(), ["a"]);
    assert!(last.at.since(back) <= Duration::from_secs(31), "back-off stays below its cap");
}

#[test]
fn mail_that_fails_at_every_attempt_is_dead_and_newer_mail_goes_on() {
    let world = World::default().agent("lead", |host| {
        host.agent(|_, injection| async move {
            let reveille::message::Content::Text(text) = &injection.entries[0].content else {
                panic!("no text")
            };
            if text.body == "poison" {
                return Err(TurnError::transient("cannot"));
            }
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "poison")).await.unwrap();
        pass(1_000).await;
        runtime.send(Message::text(lead.main(), "good")).await.unwrap();
        idle(&runtime, &lead).await;
        let view = runtime.actors(None, 1).await.unwrap().remove(0);
        assert_eq!(view.dead, 1);
    });
    let texts: Vec<_> = world.host.seen().iter().map(|seen| seen.entries[0].text.clone()).collect();
    assert_eq!(texts, ["poison", "poison", "poison", "poison", "poison", "good"]);
}

#[test]
fn a_panic_in_a_task_fails_its_run_and_a_panic_over_mail_makes_the_agent_anew() {
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", move |host| {
        host.agent(move |turn, _| {
            let count = Arc::clone(&count);
            async move {
                count.fetch_add(1, Ordering::SeqCst);
                assert!(turn.attempt() > 1, "no good");
                Ok(TurnReport::success("done"))
            }
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
        assert!(matches!(outcome, Outcome::Failed { error, .. } if error == "no good"));
        runtime.send(Message::text(worker.address().clone(), "again")).await.unwrap();
        idle(&runtime, &lead).await;
        let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
        assert_eq!(outcome.state(), "completed");
    });
    assert_eq!(made.load(Ordering::SeqCst), 3);
}

#[test]
fn an_agent_that_cannot_be_made_did_not_start() {
    let spec = reveille::AgentSpec::new(|_| async {
        Err::<Nobody, _>(std::io::Error::other("no licence"))
    });
    let world = World::default().agent("lead", |host| host.quick()).with("worker", spec);
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    assert_eq!(world.host.seen()[0].texts(), ["did not start."]);
}

struct Nobody;

impl reveille::Agent for Nobody {
    async fn turn(
        &mut self,
        _: &reveille::Turn,
        _: reveille::Injection,
    ) -> Result<TurnReport, TurnError> {
        Ok(TurnReport::new(""))
    }
}

#[test]
fn what_a_lost_turn_left_in_the_agent_is_settled_and_not_handed_over_again() {
    for (presence, handed_over) in [(Presence::Yes, 1), (Presence::No, 2), (Presence::Unknown, 2)] {
        let world = World::default().agent("lead", |host| {
            let hangs_once = |turn: reveille::Turn, _| async move {
                if turn.attempt() == 1 {
                    std::future::pending::<()>().await;
                }
                Ok(TurnReport::success("done"))
            };
            host.agent_with(hangs_once, presence)
        });
        let lead = world.live(async |runtime| {
            let lead = session(&runtime, "lead").await;
            runtime.send(Message::text(lead.main(), "a")).await.unwrap();
            pass(1_000).await;
            lead
        });
        world.live(async |runtime| idle(&runtime, &lead).await);
        assert_eq!(world.host.seen().len(), handed_over, "{presence:?}");
    }
}

#[test]
fn an_agent_that_failed_is_not_asked_whether_it_has_the_injection() {
    let world = World::default().agent("lead", |host| {
        let fails_once = |turn: reveille::Turn, _| async move {
            if turn.attempt() == 1 {
                return Err(TurnError::transient("provider"));
            }
            Ok(TurnReport::success("done"))
        };
        host.agent_with(fails_once, Presence::Yes)
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    assert_eq!(world.host.seen().len(), 2);
}

#[test]
fn a_result_that_is_too_large_fails_the_run_and_says_why() {
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
        host.agent(|_, _| async { Ok(TurnReport::success("x".repeat(2 << 20))) })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
        let Outcome::Failed { error, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(error, "result bytes has 2097152, at most 1048576 are allowed");
    });
}

#[test]
fn a_report_beyond_its_limits_fails_its_run_and_nobody_else() {
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
        host.agent(|_, injection| async move {
            let long = "x".repeat(5 << 20);
            let reveille::message::Content::Text(text) = &injection.entries[0].content else {
                panic!("no text")
            };
            Ok(match text.body.as_str() {
                "summary" => TurnReport::success("").summary(long),
                _ => TurnReport::success("").status(reveille::Status::Unrecognised(long)),
            })
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for what in ["summary", "status"] {
            let spawn = Spawn::agent("worker").first_message(what);
            let worker = runtime.spawn(lead.main(), spawn).await.unwrap();
            let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
            let Outcome::Failed { error, .. } = outcome else { panic!("{outcome:?}") };
            assert!(error.starts_with(&format!("{what} characters has 5242880")), "{error}");
        }
        idle(&runtime, &lead).await;
    });
}

/// An agent whose futures panic before they are polled, or whose drop panics.
struct Brittle;

impl Drop for Brittle {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

impl reveille::Agent for Brittle {
    fn turn(
        &mut self,
        _: &reveille::Turn,
        _: reveille::Injection,
    ) -> impl Future<Output = Result<TurnReport, TurnError>> + Send {
        let nothing: Vec<std::future::Ready<Result<TurnReport, TurnError>>> = Vec::new();
        nothing.into_iter().next().unwrap()
    }
}

#[test]
fn a_panic_anywhere_in_an_agent_ends_its_turn() {
    let spec = reveille::AgentSpec::new(|_| async { Ok::<_, std::io::Error>(Brittle) });
    let world = World::default().agent("lead", |host| host.quick()).with("worker", spec);
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        let outcome = runtime.wait(worker.address(), LONG).await.unwrap();
        assert!(matches!(outcome, Outcome::Failed { class: reveille::FailureClass::Panic, .. }));
        idle(&runtime, &lead).await;
    });
}

#[test]
fn mail_for_an_agent_that_cannot_be_made_waits_until_it_can() {
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let fixed = Arc::clone(&broken);
    let spec = reveille::AgentSpec::new(move |_| {
        let broken = broken.load(Ordering::SeqCst);
        async move { if broken { Err(std::io::Error::other("no licence")) } else { Ok(Nobody) } }
    });
    let world = World::default().with("lead", spec);
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        pass(3_600_000).await;
        let view = runtime.actors(None, 1).await.unwrap().remove(0);
        assert_eq!((view.pending, view.open.len(), view.dead), (1, 0, 0));
        fixed.store(false, Ordering::SeqCst);
        idle(&runtime, &lead).await;
    });
}
