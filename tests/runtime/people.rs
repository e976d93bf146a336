//! Sections 3, 5, 10 and 11 with turns that run: questions, stops, schedules, groups, agents that are
//! not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reveille::{
    Answer, Caller, Cancel, GroupPolicy, Kind, Message, OpError, Outcome, Question, Spawn, Text,
    Turn, TurnError, TurnReport,
};
use reveille_tests::world::{World, idle, pass, session};

fn anna() -> Caller {
    Caller::human("anna").unwrap()
}

fn may_i() -> Question {
    Question { tool: Some("shell".into()), text: "may I?".into(), options: Vec::new() }
}

fn result(outcome: Outcome) -> String {
    match outcome {
        Outcome::Completed { result, .. } => result,
        other => panic!("{other:?}"),
    }
}

/// A lead that waits for its worker, and a worker that asks before it works.
fn asking() -> World {
    World::default()
        .agent("worker", |host| {
            host.agent(|turn: Turn, _| async move {
                let answer = turn.ask(may_i()).await?;
                Ok(TurnReport::success(format!("{answer:?}")))
            })
        })
        .agent("lead", |host| {
            host.agent(|turn: Turn, _| async move {
                let worker = turn.spawn(Spawn::agent("worker").first_message("go")).await?;
                let limit = Duration::from_secs(3_600);
                loop {
                    match turn.wait(worker.address(), limit).await {
                        Ok(outcome) => return Ok(TurnReport::success(result(outcome))),
                        Err(OpError::Asking { question, .. }) => {
                            turn.answer(question, Answer::Approve).await?;
                        }
                        Err(error) => return Err(TurnError::permanent(error.to_string())),
                    }
                }
            })
        })
}

#[test]
fn a_lead_that_waits_for_a_worker_is_told_that_the_worker_asks() {
    let world = asking();
    let outcome = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send_as(anna(), Message::text(lead.main(), "begin")).await.unwrap();
        idle(&runtime, &lead).await;
        assert!(runtime.questions().await.unwrap().is_empty());
        runtime.wait(&lead.main(), Duration::from_secs(1)).await.unwrap()
    });
    assert_eq!(result(outcome), "Approve");
}

#[test]
fn a_main_actor_asks_a_person_who_takes_as_long_as_it_takes() {
    let world = World::default().agent("lead", |host| {
        host.agent(|turn: Turn, _| async move {
            let answer = turn.ask(may_i()).await?;
            Ok(TurnReport::success(format!("{answer:?}")))
        })
    });
    let outcome = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send_as(anna(), Message::text(lead.main(), "begin")).await.unwrap();
        pass(3 * 3_600_000).await;
        let question = runtime.questions().await.unwrap().remove(0);
        assert_eq!((question.asker, question.asked, question.until), (lead.main(), None, None));
        runtime.answer(anna(), question.id, Answer::Deny).await.unwrap();
        idle(&runtime, &lead).await;
        runtime.wait(&lead.main(), Duration::from_secs(1)).await.unwrap()
    });
    assert_eq!(result(outcome), "Deny");
    assert_eq!(world.host.seen().len(), 1, "and is not called silent meanwhile");
}

#[test]
fn a_question_that_no_agent_answers_is_denied_after_five_minutes() {
    let world = World::default()
        .agent("worker", |host| {
            host.agent(|turn: Turn, _| async move {
                let answer = turn.ask(may_i()).await?;
                Ok(TurnReport::success(format!("{answer:?}")))
            })
        })
        .agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let spawn = Spawn::agent("worker").first_message("go");
        let worker = runtime.spawn(lead.main(), spawn).await.unwrap();
        let begun = runtime.now();
        let outcome = runtime.wait(worker.address(), Duration::from_secs(3_600)).await.unwrap();
        assert_eq!(result(outcome), "TimedOut");
        assert_eq!(runtime.now().since(begun).as_secs(), 300);
    });
}

#[test]
fn a_stopped_actor_keeps_its_mail_and_goes_on_when_it_is_resumed() {
    let world = World::default().agent("lead", |host| {
        let turns = Arc::new(AtomicUsize::new(0));
        host.agent(move |_, _| {
            let first = turns.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
                Ok(TurnReport::success("done"))
            }
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send_as(anna(), Message::text(lead.main(), "begin")).await.unwrap();
        pass(100).await;
        runtime.stop(anna(), &lead.main(), Cancel::reason("stop")).await.unwrap();
        runtime.send_as(anna(), Message::text(lead.main(), "later")).await.unwrap();
        pass(60_000).await;
        assert_eq!(world.host.seen().len(), 1);
        assert!(runtime.why(&lead.main()).await.unwrap().waiting_for.unwrap().contains("resume"));
        let go = Message::text(lead.main(), "go on").resume();
        runtime.send_as(anna(), go).await.unwrap();
        idle(&runtime, &lead).await;
        assert_eq!(world.host.seen()[1].texts(), ["begin", "later", "go on"]);
    });
}

#[test]
fn a_schedule_ticks_survives_a_restart_and_says_how_late_it_is() {
    let world = World::default().agent("lead", |host| host.quick());
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let every = Duration::from_secs(3_600);
        let text = Text::new("tick");
        runtime.schedule_every(anna(), lead.main(), "hourly", every, text).await.unwrap();
        pass(2 * 3_600_000 + 5_000).await;
        assert_eq!(world.host.seen().len(), 2);
        lead
    });
    world.live(async |runtime| {
        pass(3_700_000).await;
        assert_eq!(world.host.seen().len(), 3, "the next start goes on");
        assert!(runtime.unschedule(lead.main(), "hourly").await.unwrap());
        pass(10 * 3_600_000).await;
    });
    assert_eq!(world.host.seen().len(), 3);
}

#[test]
fn delayed_mail_is_injected_when_it_is_due_and_expired_mail_never() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let due = runtime.now().after(Duration::from_secs(60));
        let later = Message::text(lead.main(), "later").not_before(due);
        runtime.send(later).await.unwrap();
        runtime.hold(anna(), lead.main(), "until it expired").await.unwrap();
        let mortal = Message::text(lead.main(), "mortal").expires_at(due);
        let mortal = runtime.send(mortal).await.unwrap();
        pass(61_000).await;
        runtime.release(anna(), lead.main()).await.unwrap();
        idle(&runtime, &lead).await;
        assert_eq!(world.host.seen()[0].texts(), ["later"]);
        assert_eq!(runtime.receipt(mortal.id).await.unwrap()[0].1.name(), "dead");
        let dead = runtime.dead(None, 10).await.unwrap();
        assert_eq!((dead.len(), dead[0].reason.name()), (1, "expired"));
    });
}

#[test]
fn workers_of_one_group_cost_one_turn_when_all_have_ended() {
    let world = World::default()
        .agent("worker", |host| {
            let started = Arc::new(AtomicUsize::new(0));
            host.agent(move |_, _| {
                let n = started.fetch_add(1, Ordering::SeqCst) as u64;
                async move {
                    pass(10_000 * (n + 1)).await;
                    Ok(TurnReport::success("done"))
                }
            })
        })
        .agent("lead", |host| host.quick());
    let main = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let spawns = (0..4).map(|n| Spawn::agent("worker").first_message(n.to_string())).collect();
        let made = runtime.spawn_group(lead.main(), GroupPolicy::All, spawns).await.unwrap();
        assert_eq!(made.len(), 4);
        pass(120_000).await;
        idle(&runtime, &lead).await;
        lead.main()
    });
    let seen = world.host.seen_by(&main);
    assert_eq!((seen.len(), seen[0].entries.len()), (1, 4));
}

#[test]
fn a_request_is_answered_with_the_outcome_of_what_it_began() {
    let world = World::default()
        .agent("asker", |host| host.quick())
        .agent("doer", |host| host.agent(|_, _| async { Ok(TurnReport::success("42")) }));
    world.live(async |runtime| {
        let (asker, doer) = (session(&runtime, "asker").await, session(&runtime, "doer").await);
        let caller = Caller::Actor(asker.main());
        let request = Message::new(doer.main(), Kind::Request, "what is the answer?");
        let sent = runtime.send_as(caller, request).await.unwrap();
        idle(&runtime, &doer).await;
        pass(1_000).await;
        idle(&runtime, &asker).await;
        let told = world.host.seen_by(&asker.main());
        assert_eq!(told[0].entries[0].told.unwrap().1, "completed");
        let due = runtime.unacknowledged().await.unwrap();
        assert_eq!((due.len(), due[0].id), (1, sent.id), "it is still to be acknowledged");
        runtime.ack(anna(), doer.main(), sent.id).await.unwrap();
        assert!(runtime.unacknowledged().await.unwrap().is_empty());
    });
}

/// An agent whose making takes so long; how many are being made at once is counted.
fn slow_to_make(seconds: u64, most: &Arc<AtomicUsize>) -> reveille::AgentSpec {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::clone(most));
    reveille::AgentSpec::new(move |_| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            pass(seconds * 1_000).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, std::io::Error>(Quick)
        }
    })
}

struct Quick;

impl reveille::Agent for Quick {
    async fn turn(&mut self, _: &Turn, _: reveille::Injection) -> Result<TurnReport, TurnError> {
        Ok(TurnReport::success("made"))
    }
}

#[test]
fn no_more_turns_are_starting_than_may_and_live_mail_is_not_behind_a_backlog() {
    let most = Arc::new(AtomicUsize::new(0));
    let world = World::default()
        .with("slow", slow_to_make(10, &most))
        .set(|config| (config.starting, config.slots) = (2, 0));
    let sessions = world.live(async |runtime| {
        runtime.register_agent("slow", slow_to_make(10, &most)).unwrap();
        let mut sessions = Vec::new();
        for _ in 0..10 {
            let session = session(&runtime, "slow").await;
            runtime.hold(anna(), session.main(), "until the restart").await.unwrap();
            runtime.send_as(anna(), Message::text(session.main(), "a")).await.unwrap();
            sessions.push(session);
        }
        for session in &sessions {
            runtime.release(anna(), session.main()).await.unwrap();
        }
        sessions
    });
    world.live(async |runtime| {
        let live = session(&runtime, "slow").await;
        runtime.send_as(anna(), Message::text(live.main(), "live")).await.unwrap();
        pass(25_000).await;
        let outcome = runtime.wait(&live.main(), Duration::from_millis(1)).await;
        assert!(outcome.is_ok(), "it went before most of the backlog");
        let last = &sessions[9];
        assert!(runtime.wait(&last.main(), Duration::from_millis(1)).await.is_err());
        for session in &sessions {
            idle(&runtime, session).await;
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[test]
fn a_task_whose_agent_takes_too_long_to_make_did_not_start_and_mail_waits_for_it() {
    let most = Arc::new(AtomicUsize::new(0));
    let world = World::default().with("slow", slow_to_make(3_600, &most));
    world.live(async |runtime| {
        let lead = session(&runtime, "nobody").await;
        let spawn = Spawn::agent("slow").first_message("go");
        let worker = runtime.spawn(lead.main(), spawn).await.unwrap();
        let begun = runtime.now();
        let outcome = runtime.wait(worker.address(), Duration::from_secs(600)).await.unwrap();
        let Outcome::Failed { class, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(class, reveille::FailureClass::DidNotStart);
        assert_eq!(runtime.now().since(begun).as_secs(), 60);
        let slow = session(&runtime, "slow").await;
        runtime.send_as(anna(), Message::text(slow.main(), "a")).await.unwrap();
        pass(70_000).await;
        let why = runtime.why(&slow.main()).await.unwrap();
        assert!(why.facts.iter().any(|fact| fact.starts_with("no_agent")), "{why:?}");
        runtime.register_agent("slow", slow_to_make(0, &most)).unwrap();
        idle(&runtime, &slow).await;
    });
}
