//! Section 9, W4, W9, W10: holds, stops, cancels, the wake floor.

use reveille_core::{Kind, OpError};
use reveille_store::record::HoldReason;
use reveille_store::step::end::Next;
use reveille_store::step::hold::{Hold, Release, Resume};
use reveille_store::step::run::RunEnd;
use reveille_store::step::send::Post;

use crate::world::{HOST, World, actor, anna, of_kind, text};

fn resume(w: &World, address: &reveille_core::Address) -> bool {
    w.run(Resume { actor: address.clone(), by: anna() }).unwrap()
}

fn hold(w: &World, address: &reveille_core::Address, reason: HoldReason) -> reveille_core::Seq {
    w.run(Hold { actor: address.clone(), reason, note: "wait".into(), by: anna() }).unwrap()
}

#[test]
fn a_held_actor_gets_nothing_and_what_waited_goes_when_the_last_hold_is_gone() {
    let mut w = World::default();
    let a = w.session("main");
    let paused = hold(&w, &a, HoldReason::Paused);
    assert_eq!(hold(&w, &a, HoldReason::Paused), paused, "declared twice is one");
    hold(&w, &a, HoldReason::Person);
    w.send_as(anna(), &a, "work");
    w.restart();
    assert_eq!(w.claim(&a), None);
    let release = |hold| w.run(Release { actor: a.clone(), hold, by: anna() }).unwrap();
    assert_eq!(release(Some(paused)), 1);
    assert_eq!(release(Some(paused)), 0);
    assert_eq!(w.claim(&a), None);
    assert_eq!(release(None), 1);
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["work"]);
}

#[test]
fn a_hold_keeps_back_what_is_offered_again_as_well() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    hold(&w, &a, HoldReason::Paused);
    w.fail(&turn, reveille_core::failure::TurnFailure::Transient);
    assert_eq!(w.again(&a), None);
    w.run(Release { actor: a.clone(), hold: None, by: anna() }).unwrap();
    assert_eq!(w.again(&a).unwrap().attempt, 2);
}

#[test]
fn releasing_everything_leaves_alerts_to_be_acknowledged() {
    let w = World::default();
    let a = w.session("main");
    w.put(anna(), &a, Post { hold: true, ..of_kind(Kind::Alert, "stop") });
    assert_eq!(w.run(Release { actor: a.clone(), hold: None, by: anna() }).unwrap(), 0);
    assert!(w.row(&a).is_held());
}

#[test]
fn a_persons_mail_may_resume_what_was_stopped() {
    let w = World::default();
    let a = w.session("main");
    w.stop(&a);
    w.send_as(HOST, &a, "waits");
    w.put(anna(), &a, Post { resume: true, ..text("go on") });
    assert!(w.row(&a).stopped.is_none());
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["waits", "go on"]);
    w.stop(&a);
    w.stop(&a);
    assert!(resume(&w, &a));
}

#[test]
fn a_cancel_releases_the_mail_and_raises_the_floor() {
    let mut w = World::default();
    let a = w.session("main");
    let (read, waits) = (w.send_as(HOST, &a, "read"), w.session("main"));
    let turn = w.claim(&a).unwrap();
    w.send_as(HOST, &a, "waits");
    assert!(matches!(w.cancel(&a), RunEnd::Ended(_)));
    assert_eq!(w.place_name(read, &a), "pending");
    w.restart();
    assert_eq!(w.claim(&a), None, "earlier mail wakes nobody");
    w.send_as(HOST, &a, "newer");
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["read", "waits", "newer"], "and rides along");
    assert_eq!(w.report(&turn, true, Next::Auto), Err(OpError::StaleToken));
    assert_eq!(w.cancel(&waits), RunEnd::Unknown);
}

#[test]
fn the_first_end_of_a_run_is_the_answer_to_every_other() {
    let w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let task = w.claim(&worker).unwrap();
    w.end(&task);
    let ended = w.row(&worker).ended.unwrap();
    assert_eq!(w.cancel(&worker), RunEnd::AlreadyEnded(ended));
    assert_eq!(w.waiting(&lead), ["completed"], "told once");
}

#[test]
fn a_queued_task_that_is_cancelled_never_starts() {
    let mut w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    w.cancel(&worker);
    w.restart();
    assert_eq!(w.claim(&worker), None);
    assert_eq!(w.waiting(&lead), ["cancelled"]);
    assert!(w.waiting(&worker).is_empty(), "its first message ended with it");
}

#[test]
fn whoever_sent_a_request_is_told_and_the_parent_only_if_there_was_none() {
    let w = World::default();
    let (lead, one, two) = (w.session("main"), w.session("main"), w.session("main"));
    let worker = w.worker(&lead);
    let task = w.claim(&worker).unwrap();
    w.finish(&task);
    let turn = w.claim(&lead).unwrap();
    w.finish(&turn);
    for from in [&one, &two, &one] {
        w.put(actor(from), &worker, of_kind(Kind::Request, "do"));
    }
    w.send_as(actor(&lead), &worker, "no request");
    let turn = w.claim(&worker).unwrap();
    w.finish(&turn);
    assert_eq!(w.waiting(&one), ["completed"], "once");
    assert_eq!(w.waiting(&two), ["completed"]);
    assert!(w.waiting(&lead).is_empty());
    w.send_as(HOST, &worker, "no request");
    let turn = w.claim(&worker).unwrap();
    w.finish(&turn);
    assert_eq!(w.waiting(&lead), ["completed"]);
}

#[test]
fn notices_do_not_wake_a_worker_that_was_interrupted() {
    let mut w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let below = w.worker(&worker);
    w.claim(&worker).unwrap();
    w.claim(&below).unwrap();
    w.restart();
    w.run(reveille_store::step::recover::Recover).unwrap();
    assert_eq!(w.waiting(&worker), ["interrupted"]);
    assert_eq!(w.claim(&worker), None);
    assert_eq!(w.bodies(&w.claim(&lead).unwrap()), ["interrupted"]);
    w.send_as(HOST, &worker, "go on");
    assert_eq!(w.bodies(&w.claim(&worker).unwrap()), ["interrupted", "go on"]);
}
