//! Section 10, 9.6: what passes while a turn waits for an answer.

use std::time::Duration;

use reveille::{
    Answer, Caller, Cancel, Cancelled, Delivery, Message, Question, Runtime, Session, Spawn, Turn,
    TurnError, TurnReport, Worker,
};
use reveille_tests::world::{World, idle, pass, session};

fn anna() -> Caller {
    Caller::human("anna").unwrap()
}

fn may_i() -> Question {
    Question { tool: Some("shell".into()), text: "may I?".into(), options: Vec::new() }
}

/// A lead that hears of its worker, and a worker that asks; it fails if its question was cancelled.
fn asking() -> World {
    World::default()
        .set(|config| config.question_limit = Duration::from_secs(36_000))
        .agent("lead", |host| host.quick())
        .agent("worker", |host| {
            host.agent(|turn: Turn, injection| async move {
                if injection.entries.len() > 1 {
                    return Ok(TurnReport::success("told"));
                }
                match turn.ask(may_i()).await? {
                    Answer::Cancelled => Err(TurnError::permanent("nobody will answer")),
                    answer => Ok(TurnReport::success(format!("{answer:?}"))),
                }
            })
        })
}

async fn asks(runtime: &Runtime) -> (Session, Worker) {
    let lead = session(runtime, "lead").await;
    let spawn = Spawn::agent("worker").first_message("go");
    let worker = runtime.spawn(lead.main(), spawn).await.unwrap();
    pass(1_000).await;
    assert_eq!(runtime.questions().await.unwrap().len(), 1);
    (lead, worker)
}

#[test]
fn a_cancel_resolves_the_open_question_at_once_and_the_turn_may_end_by_itself() {
    let world = asking();
    world.live(async |runtime| {
        let (lead, worker) = asks(&runtime).await;
        let begun = runtime.now();
        let cancel = Cancel::reason("enough").grace(Duration::from_secs(60));
        let answer = runtime.cancel(worker.address(), cancel).await.unwrap();
        assert_eq!(answer, Cancelled::Ended);
        assert_eq!(runtime.now(), begun, "the grace was not needed");
        assert!(runtime.questions().await.unwrap().is_empty());
        idle(&runtime, &lead).await;
        let outcome = runtime.wait(worker.address(), Duration::from_secs(1)).await.unwrap();
        assert_eq!(outcome.state(), "cancelled");
        assert!(runtime.unacknowledged().await.unwrap().is_empty(), "the request is settled");
    });
}

#[test]
fn a_persons_interrupt_resolves_the_open_question_and_nobody_elses_passes() {
    let world = World::default()
        .set(|config| config.question_limit = Duration::from_secs(36_000))
        .agent("lead", |host| {
            host.agent(|turn: Turn, injection| async move {
                let answer = if injection.entries.len() > 1 {
                    "told".to_owned()
                } else {
                    format!("{:?}", turn.ask(may_i()).await?)
                };
                Ok(TurnReport::success(answer))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "work")).await.unwrap();
        pass(1_000).await;
        let interrupt = || Message::text(lead.main(), "stop that").delivery(Delivery::Interrupt);
        runtime.send_as(Caller::Host, interrupt()).await.unwrap();
        let steer = Message::text(lead.main(), "this way").delivery(Delivery::Steer);
        runtime.send_as(anna(), steer).await.unwrap();
        pass(3_600_000).await;
        assert_eq!(runtime.questions().await.unwrap().len(), 1, "it waits for the answer");
        assert_eq!(world.host.seen().len(), 1);
        runtime.send_as(anna(), interrupt()).await.unwrap();
        idle(&runtime, &lead).await;
        assert!(runtime.questions().await.unwrap().is_empty());
        let seen = world.host.seen();
        assert_eq!(seen[1].texts(), ["stop that", "this way", "stop that"]);
    });
}

#[test]
fn a_turn_that_waits_for_an_answer_is_not_silent() {
    let world = asking();
    world.live(async |runtime| {
        let (lead, worker) = asks(&runtime).await;
        pass(2 * 3_600_000).await;
        let told = world.host.seen_by(&lead.main());
        let texts: Vec<&str> = told.iter().flat_map(|seen| seen.texts()).collect();
        assert_eq!(texts, ["may I?"], "nothing but the question");
        let question = runtime.questions().await.unwrap().remove(0);
        runtime.answer(anna(), question.id, Answer::Approve).await.unwrap();
        runtime.wait(worker.address(), Duration::from_secs(60)).await.unwrap();
    });
}
