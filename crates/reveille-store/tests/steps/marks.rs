//! Section 3: acknowledging, archiving, retracting; alerts that hold.

use std::time::Duration;

use reveille_core::failure::TurnFailure;
use reveille_core::{Address, Caller, Kind, MessageId};
use reveille_store::record::{Mark, Settlement};
use reveille_store::step::mark::{MarkMail, MarkedMail, Retract};
use reveille_store::step::send::Post;
use reveille_store::whereabouts::MailState;

use crate::world::{Done, HOST, World, actor, anna, of_kind, text, to};

fn retract(
    w: &World,
    message: MessageId,
    whom: &[&Address],
    by: &Caller,
) -> Done<Vec<(Address, MailState)>> {
    let to = whom.iter().map(|address| w.number(address)).collect();
    w.run(Retract { message, to, from: HOST, by: by.clone(), token: None })
}

fn due(w: &World, address: &Address) -> usize {
    w.row(address).unacknowledged.len()
}

#[test]
fn acknowledging_twice_answers_what_the_first_did_also_after_a_restart() {
    let mut w = World::default();
    let a = w.session("main");
    let message = w.put(HOST, &a, of_kind(Kind::Request, "do this"));
    let first = w.acknowledge(&a, message);
    w.pass(5);
    assert_eq!(w.acknowledge(&a, message), MarkedMail { news: false, ..first });
    w.restart();
    assert_eq!(w.acknowledge(&a, message), MarkedMail { news: false, ..first });
}

#[test]
fn marks_go_forward_only() {
    let w = World::default();
    let a = w.session("main");
    let message = w.send_as(HOST, &a, "to be filed");
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    let archived = w.mark(&a, message, Mark::Archived).unwrap();
    assert!(archived.news && archived.marks.archived.is_some());
    let back = w.acknowledge(&a, message);
    assert!(!back.news, "archived mail is not acknowledged afterwards");
    assert_eq!(back.marks, archived.marks);
    assert!(!w.mark(&a, message, Mark::Archived).unwrap().news);
}

#[test]
fn an_acknowledgement_that_is_missing_is_listed_and_injects_nothing_again() {
    let w = World::default();
    let a = w.session("main");
    let message = w.put(HOST, &a, of_kind(Kind::Request, "do this"));
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    assert_eq!(due(&w, &a), 1);
    w.pass(3_600);
    assert_eq!(w.claim(&a), None);
    assert!(w.acknowledge(&a, message).news);
    assert_eq!(due(&w, &a), 0);
}

#[test]
fn what_was_acknowledged_in_its_turn_is_not_due_afterwards() {
    let w = World::default();
    let a = w.session("main");
    let message = w.put(HOST, &a, of_kind(Kind::Request, "do this"));
    let turn = w.claim(&a).unwrap();
    let mark = Mark::Acknowledged;
    let (by, token) = (actor(&a), Some(turn.token));
    let marked = w.run(MarkMail { actor: a.clone(), message, mark, by, token }).unwrap();
    assert_eq!((marked.news, marked.state.name()), (true, "offered"));
    w.end(&turn);
    assert_eq!(w.place_name(message, &a), "injected");
    assert_eq!(due(&w, &a), 0);
}

#[test]
fn what_was_acknowledged_in_a_turn_that_was_lost_is_not_due_after_the_next_one() {
    let w = World::default();
    let a = w.session("main");
    let message = w.put(HOST, &a, of_kind(Kind::Request, "do this"));
    let turn = w.claim(&a).unwrap();
    w.acknowledge(&a, message);
    w.fail(&turn, TurnFailure::Transient);
    let turn = w.again(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["do this"], "acknowledged is not done");
    w.end(&turn);
    assert_eq!(due(&w, &a), 0);
}

#[test]
fn the_first_message_of_a_task_waits_for_its_run_whoever_marks_or_retracts_it() {
    let w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let first = w.row(&worker).pending[0].id;
    assert!(w.acknowledge(&worker, first).news);
    assert_eq!(w.place_name(first, &worker), "pending");
    let states = retract(&w, first, &[&worker], &HOST).unwrap();
    assert_eq!(states[0].1, MailState::Pending);
    let task = w.claim(&worker).unwrap();
    assert_eq!(w.bodies(&task), ["task"]);
}

#[test]
fn only_the_sender_takes_mail_back_and_only_where_it_waits() {
    let w = World::default();
    let (read, waits) = (w.session("main"), w.session("main"));
    let message = w.post_to(&HOST, to(&[&read, &waits]), text("never mind")).unwrap().id;
    assert_eq!(
        retract(&w, message, &[&read, &waits], &anna()).unwrap_err().code().name,
        "forbidden"
    );
    let turn = w.claim(&read).unwrap();
    let states = |w: &World| -> Vec<&'static str> {
        let states = retract(w, message, &[&read, &waits], &HOST).unwrap();
        states.iter().map(|(_, state)| state.name()).collect()
    };
    assert_eq!(states(&w), ["offered", "retracted"]);
    w.end(&turn);
    assert_eq!(states(&w), ["injected", "retracted"], "again: what the first did");
    assert_eq!(w.claim(&waits), None);
    let by = MailState::Settled { how: Settlement::Retracted, injection: None };
    assert_eq!(w.place(message, &waits), by);
}

#[test]
fn an_alert_without_a_hold_is_injected_at_once_and_is_due() {
    let w = World::default();
    let a = w.session("main");
    w.put(HOST, &a, of_kind(Kind::Alert, "look"));
    assert!(w.row(&a).pending[0].urgent);
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    assert_eq!(due(&w, &a), 1);
    let refused = w.post_to(&HOST, to(&[&a]), Post { hold: true, ..text("no alert") });
    assert_eq!(refused.unwrap_err().code().name, "invalid");
}

#[test]
fn an_alert_that_is_taken_back_replaced_or_expired_holds_nobody_any_more() {
    let w = World::default();
    let a = w.session("main");
    let holding = || Post { hold: true, ..of_kind(Kind::Alert, "stop everything") };
    let alert = w.put(HOST, &a, holding());
    retract(&w, alert, &[&a], &HOST).unwrap();
    assert!(!w.row(&a).is_held(), "taken back");

    let merged = || Post { merge_key: Some("m".into()), ..holding() };
    w.put(HOST, &a, merged());
    let second = w.put(HOST, &a, merged());
    assert_eq!(w.row(&a).holds.len(), 1, "replaced");
    w.acknowledge(&a, second);
    assert!(!w.row(&a).is_held());

    let soon = w.now().after(Duration::from_secs(1));
    w.put(HOST, &a, Post { expires_at: Some(soon), ..holding() });
    w.pass(1);
    w.chores(&a);
    assert!(!w.row(&a).is_held(), "expired");
}
