//! Section 10, S4: questions, their answers, and waits that meet them.

use std::time::Duration;

use futures_executor::block_on;
use reveille_core::failure::TurnFailure;
use reveille_core::limits::QUESTION_LIMIT;
use reveille_core::{Address, Caller, Kind, OpError, QuestionId};
use reveille_store::record::{Answer, Question};
use reveille_store::step::question::{AnswerQuestion, Ask, AskAnswer};
use reveille_store::step::turn::Claim;
use reveille_store::step::wait::{WaitAnswer, WaitFor};

use crate::world::{Done, HOST, World, actor, anna};

fn permission(tool: &str) -> Question {
    Question { tool: Some(tool.into()), text: "may I?".into(), options: Vec::new() }
}

fn try_ask(w: &World, turn: &Claim, question: Question) -> Done<AskAnswer> {
    w.run(Ask { token: turn.token, question, limit: QUESTION_LIMIT })
}

fn ask(w: &World, turn: &Claim, question: Question) -> QuestionId {
    match try_ask(w, turn, question).unwrap() {
        AskAnswer::Waits(id) => id,
        AskAnswer::Granted => panic!("it was granted"),
    }
}

fn answer(w: &World, question: QuestionId, answer: Answer, by: Caller) -> Done<()> {
    w.run(AnswerQuestion { question, answer, by, token: None })
}

fn resolved(w: &World, question: QuestionId) -> Option<Answer> {
    block_on(w.store.look(move |state| state.answer_to(question.seq()))).unwrap()
}

/// A lead, its worker, and the turn of the worker.
fn working() -> (World, Address, Address, Claim) {
    let w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let turn = w.claim(&worker).unwrap();
    (w, lead, worker, turn)
}

#[test]
fn while_a_turn_asks_nothing_is_injected_not_even_at_a_safe_point() {
    let (w, _, worker, turn) = working();
    ask(&w, &turn, permission("shell"));
    let steer = reveille_core::Delivery::Steer;
    let post = reveille_store::step::send::Post { delivery: steer, ..crate::world::text("b") };
    w.put(anna(), &worker, post);
    assert_eq!(w.safe_point(turn.token), None);
}

#[test]
fn only_the_asked_a_person_and_the_host_answer_and_only_once() {
    let (w, lead, worker, turn) = working();
    let sibling = w.worker(&lead);
    let question = ask(&w, &turn, permission("shell"));
    for by in [actor(&worker), actor(&sibling)] {
        let refused = answer(&w, question, Answer::Approve, by);
        assert_eq!(refused.unwrap_err().code().name, "forbidden");
    }
    answer(&w, question, Answer::Deny, anna()).unwrap();
    let late = answer(&w, question, Answer::Approve, actor(&lead));
    assert_eq!(late.unwrap_err().code().name, "unknown_id");
    assert_eq!(resolved(&w, question), Some(Answer::Deny), "the first one counts");
}

#[test]
fn an_answer_must_be_one_of_those_that_were_offered() {
    let (w, lead, _, turn) = working();
    let options = vec!["red".to_owned(), "blue".to_owned()];
    let colour = Question { tool: None, text: "which colour?".into(), options };
    let question = ask(&w, &turn, colour);
    assert_eq!(w.row(&lead).pending[0].item.kind, Kind::DecisionRequest);
    for wrong in [
        Answer::Approve,
        Answer::ApproveAlways,
        Answer::TimedOut,
        Answer::Cancelled,
        Answer::Option("green".into()),
    ] {
        let refused = answer(&w, question, wrong, anna()).unwrap_err();
        assert!(refused.to_string().contains("red, blue"), "{refused}");
    }
    answer(&w, question, Answer::Option("blue".into()), anna()).unwrap();
}

#[test]
fn what_is_approved_for_ever_is_approved_for_the_tool_in_the_whole_tree() {
    let (mut w, lead, _, turn) = working();
    let question = ask(&w, &turn, permission("shell"));
    answer(&w, question, Answer::ApproveAlways, actor(&lead)).unwrap();
    assert_eq!(try_ask(&w, &turn, permission("shell")).unwrap(), AskAnswer::Granted);
    w.end(&turn);
    let sibling = w.worker(&lead);
    w.restart();
    let turn = w.claim(&sibling).unwrap();
    assert_eq!(try_ask(&w, &turn, permission("shell")).unwrap(), AskAnswer::Granted);
    ask(&w, &turn, permission("network"));
    let stranger = w.session("main");
    w.send_as(HOST, &stranger, "work");
    let turn = w.claim(&stranger).unwrap();
    ask(&w, &turn, permission("shell"));
}

#[test]
fn a_question_that_no_agent_answers_in_time_is_denied_once() {
    let (w, lead, worker, turn) = working();
    let question = ask(&w, &turn, permission("shell"));
    let request = w.row(&lead).pending[0].id;
    w.later(QUESTION_LIMIT - Duration::from_millis(1));
    assert!(!w.chores(&worker));
    w.later(Duration::from_millis(1));
    assert!(w.chores(&worker) && !w.chores(&worker));
    assert_eq!(resolved(&w, question), Some(Answer::TimedOut));
    assert_eq!(w.place_name(request, &lead), "acknowledged");
    w.end(&turn);
}

#[test]
fn a_question_is_cancelled_with_its_turn_its_run_and_by_an_interrupt() {
    let ends: [fn(&World, &Address, &Claim); 4] = [
        |w, _, turn| _ = w.end(turn),
        |w, _, turn| _ = w.fail(turn, TurnFailure::Panic),
        |w, worker, _| _ = w.cancel(worker),
        |w, _, turn| _ = w.fail(turn, TurnFailure::Interrupted),
    ];
    for end in ends {
        let (w, lead, worker, turn) = working();
        let question = ask(&w, &turn, permission("shell"));
        let request = w.row(&lead).pending[0].id;
        end(&w, &worker, &turn);
        assert_eq!(resolved(&w, question), Some(Answer::Cancelled));
        assert_eq!(w.place_name(request, &lead), "acknowledged");
        assert!(!w.row(&worker).is_held());
    }
}

#[test]
fn a_request_that_was_read_is_not_due_once_the_question_is_answered() {
    let (w, lead, _, turn) = working();
    let question = ask(&w, &turn, permission("shell"));
    let reads = w.claim(&lead).unwrap();
    let (by, token) = (actor(&lead), Some(reads.token));
    w.run(AnswerQuestion { question, answer: Answer::Approve, by, token }).unwrap();
    w.end(&reads);
    assert!(w.row(&lead).unacknowledged.is_empty());
    w.end(&turn);
}

#[test]
fn a_wait_that_would_wait_for_ones_own_answer_is_told_so_and_collects_the_request() {
    let (w, lead, worker, turn) = working();
    w.send_as(HOST, &lead, "work");
    let waits = w.claim(&lead).unwrap();
    let question = ask(&w, &turn, permission("shell"));
    let wait = WaitFor { token: waits.token, id: 1, target: worker.clone(), run: None };
    let told = block_on(w.store.wait_for(wait.clone())).unwrap();
    assert_eq!(told, WaitAnswer::Asking { address: worker, question });
    let request = w.row(&lead).open.iter().flat_map(|open| &open.mail).last().unwrap().mail.id;
    answer(&w, question, Answer::Approve, actor(&lead)).unwrap();
    assert!(matches!(block_on(w.store.wait_for(wait)).unwrap(), WaitAnswer::Open(_)));
    w.end(&waits);
    assert_eq!(w.place_name(request, &lead), "collected");
    w.end(&turn);
}

#[test]
fn a_turn_that_is_over_asks_nothing_and_questions_have_a_limit() {
    let (w, _, worker, turn) = working();
    for n in 0..reveille_core::limits::QUESTIONS {
        ask(&w, &turn, permission(&format!("tool{n}")));
    }
    let many = try_ask(&w, &turn, permission("one more")).unwrap_err();
    assert_eq!(many.code().name, "too_large");
    w.cancel(&worker);
    assert_eq!(try_ask(&w, &turn, permission("shell")), Err(OpError::StaleToken));
}
