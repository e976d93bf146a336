//! Section 3: the order of refusals, authority, reach, hops, several recipients; P8, P11.

use reveille_core::failure::TurnFailure;
use reveille_core::limits::{BODY_BYTES, HOPS, RECIPIENTS};
use reveille_core::{ActorName, Address, Delivery, Kind, OpError, Rank, Text};
use reveille_store::step::actors::{NewWorker, Spawn};
use reveille_store::step::end::Next;
use reveille_store::step::send::{Post, To};
use reveille_store::step::{Limits, Reach};

use crate::world::{HOST, World, actor, anna, of_kind, text, to, worker};

fn nobody(near: &Address) -> Address {
    Address::new(near.session(), ActorName::new("nobody").unwrap())
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, OpError>) -> &'static str {
    answer.unwrap_err().code().name
}

#[test]
fn a_call_with_everything_wrong_is_refused_for_one_thing_after_the_other() {
    let limits = Limits { unread_messages: 1, store_messages: 4, ..Limits::default() };
    let w = World::with(|set| *set = Limits { reach: Reach::Tree, ..limits });
    let (lead, other) = (w.session("main"), w.session("main"));
    let worker = w.worker(&lead);
    let turn = w.claim(&worker).unwrap();
    w.send_as(HOST, &other, "fills the mailbox");
    let me = actor(&worker);
    let keyed = |post: Post| Post { key: Some("k".into()), ..post };
    w.put(me.clone(), &lead, keyed(text("first")));

    // Who it is and whom it reaches, before the shape.
    let big = "x".repeat(BODY_BYTES + 1);
    let all = to(&[&lead, &other, &nobody(&lead)]);
    let far = w.post_to(&me, all, keyed(text(&big)));
    assert_eq!(refusal(far), "forbidden");
    let notice = of_kind(Kind::Notice, &big);
    assert_eq!(refusal(w.post_to(&me, to(&[&nobody(&lead)]), notice)), "forbidden");
    w.fail(&turn, TurnFailure::Panic);
    let all = to(&[&lead, &nobody(&lead)]);
    assert_eq!(refusal(w.post_in(&turn, &worker, &[&lead], keyed(text(&big)))), "stale_token");
    // The shape before the key, the key before the recipients.
    assert_eq!(refusal(w.post_to(&me, all.clone(), keyed(text(&big)))), "too_large");
    assert_eq!(refusal(w.post_to(&me, all, keyed(text("b")))), "idempotency_conflict");
    // Recipients that are known before those that are full, those before the store.
    let all = to(&[&other, &nobody(&lead)]);
    assert_eq!(refusal(w.post_to(&HOST, all, text("b"))), "unknown_recipient");
    assert_eq!(refusal(w.post_to(&HOST, to(&[&other]), text("b"))), "mailbox_full");
    let fresh = w.session("main");
    w.send_as(HOST, &fresh, "the last one that fits");
    assert_eq!(refusal(w.post_to(&HOST, to(&[&w.session("main")]), text("b"))), "store_full");
}

#[test]
fn a_message_to_several_has_one_id_and_a_state_for_each() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    let sent = w.post_to(&HOST, to(&[&a, &b, &a]), text("to both")).unwrap();
    assert_eq!(sent.states.len(), 2, "an address that stands there twice counts once");
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    assert_eq!(w.place_name(sent.id, &a), "injected");
    assert_eq!(w.place_name(sent.id, &b), "pending");
}

#[test]
fn nobody_and_too_many_are_no_recipients() {
    let w = World::default();
    let a = w.session("main");
    assert_eq!(refusal(w.post_to(&HOST, To::Actors(Vec::new()), text("b"))), "invalid");
    let many = To::Actors(vec![a; RECIPIENTS + 1]);
    assert_eq!(refusal(w.post_to(&HOST, many, text("b"))), "too_large");
}

#[test]
fn a_busy_receiver_answers_busy_and_one_at_rest_takes_the_message() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    let polite = || Post { delivery: Delivery::RejectIfBusy, ..text("if you have time") };
    w.put(HOST, &a, polite());
    let turn = w.claim(&a).unwrap();
    let refused = w.post_to(&HOST, to(&[&b, &a]), polite());
    assert_eq!(refused, Err(OpError::Busy { addresses: vec![a.clone()] }));
    assert!(w.waiting(&b).is_empty());
    w.end(&turn);
    w.put(HOST, &a, polite());
}

#[test]
fn urgent_steering_and_interrupting_mail_needs_authority_over_every_recipient() {
    let w = World::default();
    let (lead, stranger) = (w.session("main"), w.session("main"));
    let (worker, sibling) = (w.worker(&lead), w.worker(&lead));
    let urgent = || Post { urgent: Some(true), ..text("now") };
    let steer = || Post { delivery: Delivery::Steer, ..text("this way") };
    let interrupt = || Post { delivery: Delivery::Interrupt, ..text("stop that") };
    for pressing in [urgent, steer, interrupt] {
        w.put(actor(&lead), &worker, pressing());
        w.put(anna(), &worker, pressing());
        w.put(HOST, &worker, pressing());
        for (from, whom) in [(&worker, &lead), (&worker, &sibling), (&stranger, &worker)] {
            let refused = w.post_to(&actor(from), to(&[whom]), pressing());
            assert_eq!(refusal(refused), "forbidden");
        }
        let both = w.post_to(&actor(&lead), to(&[&worker, &stranger]), pressing());
        assert_eq!(refusal(both), "forbidden", "over every one of them");
    }
    let alert = w.post_to(&actor(&stranger), to(&[&worker]), of_kind(Kind::Alert, "fire"));
    assert_eq!(refusal(alert), "forbidden", "an alert is urgent");
}

#[test]
fn peoples_mail_is_urgent_unless_it_says_otherwise() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "from the host");
    w.send_as(anna(), &a, "from a person");
    w.put(anna(), &a, Post { urgent: Some(false), ..text("no hurry") });
    let urgent: Vec<bool> = w.row(&a).pending.iter().map(|mail| mail.urgent).collect();
    assert_eq!(urgent, [false, true, false]);
}

#[test]
fn kinds_ranks_and_resuming_are_kept_for_those_who_may() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    for kind in [Kind::Notice, Kind::Continuation, Kind::PermissionRequest] {
        for from in [actor(&a), anna()] {
            assert_eq!(refusal(w.post_to(&from, to(&[&b]), of_kind(kind, "b"))), "forbidden");
        }
        w.put(HOST, &b, of_kind(kind, "b"));
    }
    let ranked = || Post { rank: Some(Rank::RunNotice), ..text("first") };
    assert_eq!(refusal(w.post_to(&anna(), to(&[&b]), ranked())), "forbidden");
    w.put(HOST, &b, ranked());
    let resuming = || Post { resume: true, ..text("go on") };
    for from in [HOST, actor(&a)] {
        assert_eq!(refusal(w.post_to(&from, to(&[&b]), resuming())), "forbidden");
    }
    w.put(anna(), &b, resuming());
}

#[test]
fn a_tree_may_be_all_that_an_actor_reaches() {
    let w = World::with(|limits| *limits = Limits { reach: Reach::Tree, ..Limits::default() });
    let (lead, stranger) = (w.session("main"), w.session("main"));
    let (worker, sibling) = (w.worker(&lead), w.worker(&lead));
    w.send_as(actor(&worker), &sibling, "near");
    w.send_as(actor(&worker), &lead, "near");
    let far = w.post_to(&actor(&worker), to(&[&lead, &stranger]), text("far"));
    assert_eq!(refusal(far), "forbidden");
    w.send_as(HOST, &stranger, "the host reaches everybody");
}

#[test]
fn mail_of_a_turn_has_one_hop_more_than_what_the_turn_was_given_and_the_chain_ends() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    w.send_as(HOST, &a, "begin");
    let mut ping = (&a, &b);
    for hops in 1..=HOPS {
        let turn = w.claim(ping.0).unwrap();
        w.post_in(&turn, ping.0, &[ping.1], text("pass it on")).unwrap();
        assert_eq!(w.row(ping.1).pending.back().unwrap().hops, hops);
        w.finish(&turn);
        ping = (ping.1, ping.0);
    }
    let turn = w.claim(ping.0).unwrap();
    let one_more = w.post_in(&turn, ping.0, &[ping.1], text("and on"));
    assert_eq!(one_more, Err(OpError::HopLimit { hops: HOPS + 1, limit: HOPS }));
    w.finish(&turn);
    w.send_as(HOST, &a, "anew");
    assert_eq!(w.row(&a).pending.back().unwrap().hops, 0);
}

#[test]
fn a_notice_has_the_hops_of_what_began_its_run_less_one() {
    let w = World::default();
    let (one, two) = (w.session("main"), w.session("main"));
    w.send_as(HOST, &one, "begin");
    let mut ping = (&one, &two);
    for _ in 0..4 {
        let turn = w.claim(ping.0).unwrap();
        w.post_in(&turn, ping.0, &[ping.1], of_kind(Kind::Request, "do")).unwrap();
        w.report(&turn, true, Next::Finish).unwrap();
        ping = (ping.1, ping.0);
    }
    let hops: Vec<_> = w.row(&one).pending.iter().map(|one| (one.item.kind, one.hops)).collect();
    assert_eq!(hops, [(Kind::Request, 4), (Kind::Notice, 2)]);
    let turn = w.claim(&one).unwrap();
    w.finish(&turn);
    let told = *w.row(&two).pending.back().unwrap();
    assert_eq!((told.item.kind, told.hops), (Kind::Notice, 3));
    // A task's notice goes by its first message: one more than the turn that spawned it, less one.
    let turn = w.claim(&two).unwrap();
    let spawn = Spawn { parent: two.clone(), worker: worker("task"), token: Some(turn.token) };
    let child = w.run(spawn).unwrap().address;
    assert_eq!(w.row(&child).pending[0].hops, 4);
    w.finish(&w.claim(&child).unwrap());
    let told = *w.row(&two).pending.back().unwrap();
    assert_eq!((told.item.kind, told.hops), (Kind::Notice, 3));
}

#[test]
fn nothing_is_due_of_texts_information_and_announcements() {
    let w = World::default();
    let a = w.session("main");
    for kind in [Kind::Text, Kind::Information, Kind::Announcement] {
        w.put(anna(), &a, of_kind(kind, "b"));
    }
    let turn = w.claim(&a).unwrap();
    assert_eq!(turn.picks.len(), 3);
    w.end(&turn);
    assert!(w.row(&a).unacknowledged.is_empty());
    for kind in [Kind::Request, Kind::Handoff, Kind::DecisionRequest, Kind::Alert] {
        w.put(anna(), &a, of_kind(kind, "b"));
    }
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    assert_eq!(w.row(&a).unacknowledged.len(), 4);
}

#[test]
fn a_handoff_gives_its_task_to_the_run_that_it_is_injected_into() {
    let mut w = World::default();
    let (lead, other) = (w.session("main"), w.session("main"));
    let worker = w.worker(&lead);
    w.finish(&w.claim(&worker).unwrap());
    w.finish(&w.claim(&lead).unwrap());
    let handoff = |task: &str| {
        let task_id = Some(task.to_owned());
        Post::new(Text { kind: Kind::Handoff, task_id, ..Text::new("yours now") })
    };
    w.put(actor(&other), &worker, handoff("T7"));
    w.put(actor(&other), &worker, handoff("T8"));
    w.restart();
    let turn = w.claim(&worker).unwrap();
    assert_eq!(w.row(&worker).run.unwrap().task_id.as_deref(), Some("T7"), "the first of them");
    w.finish(&turn);
    let told = w.notices(&lead);
    assert_eq!(told[0].task_id.as_deref(), Some("T7"), "it is told of as that task");
    assert!(w.row(&worker).handoffs.is_empty());
    assert_eq!(w.row(&worker).unacknowledged.len(), 2, "both are to be acknowledged");
}

#[test]
fn a_task_keeps_its_own_name_whatever_is_handed_over_to_it() {
    let w = World::default();
    let lead = w.session("main");
    let task_id = Some("mine".to_owned());
    let new = NewWorker { task_id, ..worker("task") };
    let spawn = Spawn { parent: lead, worker: new, token: None };
    let worker = w.run(spawn).unwrap().address;
    w.put(anna(), &worker, of_kind(Kind::Handoff, "and this"));
    w.claim(&worker).unwrap();
    assert_eq!(w.row(&worker).run.unwrap().task_id.as_deref(), Some("mine"));
}

#[test]
fn a_handoff_that_is_released_hands_its_task_to_the_next_run() {
    let w = World::default();
    let a = w.session("main");
    let id = w.put(anna(), &a, of_kind(Kind::Handoff, "yours now"));
    w.claim(&a).unwrap();
    w.cancel(&a);
    assert_eq!(w.place_name(id, &a), "pending");
    w.send_as(HOST, &a, "wakes it");
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.row(&a).run.unwrap().task_id.as_deref(), Some("T1"));
    w.end(&turn);
}

#[test]
fn a_stale_turn_sends_nothing() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    w.cancel(&a);
    let late = w.post_in(&turn, &a, &[&b], text("done"));
    assert_eq!(late, Err(OpError::StaleToken));
    assert!(w.waiting(&b).is_empty());
}

#[test]
fn a_message_is_kept_byte_for_byte_with_all_that_it_carries() {
    let w = World::default();
    let a = w.session("main");
    let text = Text {
        subject: Some("s".into()),
        labels: vec![("colour".into(), "red".into())],
        correlation_id: Some("c".into()),
        mission_id: Some("m".into()),
        related: vec!["r".into()],
        trace: Some("00-1".into()),
        ..Text::new("a\r\n\u{e0041}</inbox>")
    };
    let id = w.put(anna(), &a, Post::new(text.clone()));
    assert_eq!(w.text_of(id.seq()), text);
}

#[test]
fn a_full_store_refuses_sends_and_lets_everything_else_through() {
    let w = World::with(|limits| *limits = Limits { store_messages: 3, ..Limits::default() });
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let (one, _) = (w.send_as(HOST, &lead, "one"), w.send_as(HOST, &lead, "two"));
    let refused = w.post_to(&HOST, to(&[&lead]), text("three"));
    assert_eq!(refused, Err(OpError::StoreFull { field: "messages", value: 4, limit: 3 }));
    w.acknowledge(&lead, one);
    let task = w.claim(&worker).unwrap();
    w.end(&task);
    assert_eq!(w.waiting(&lead), ["two", "completed"], "the notice passes");
    let turn = w.claim(&lead).unwrap();
    w.end(&turn);
    w.send_as(HOST, &lead, "there is room again");
}

#[test]
fn the_bytes_of_a_mailbox_and_of_the_store_are_counted_and_given_back() {
    let limits = Limits { unread_bytes: 10, store_bytes: 15, ..Limits::default() };
    let w = World::with(|set| *set = limits);
    let (a, b) = (w.session("main"), w.session("main"));
    w.send_as(HOST, &a, "12345");
    assert_eq!(refusal(w.post_to(&HOST, to(&[&a]), text("123456"))), "mailbox_full");
    w.send_as(HOST, &b, "12345");
    let both = w.post_to(&HOST, to(&[&a, &b]), text("123"));
    assert_eq!(both, Err(OpError::StoreFull { field: "bytes", value: 16, limit: 15 }));
    let turn = w.claim(&a).unwrap();
    assert_eq!(refusal(w.post_to(&HOST, to(&[&a]), text("123456"))), "mailbox_full", "offered");
    w.end(&turn);
    w.send_as(HOST, &a, "1234567890");
}

#[test]
fn ended_runs_leave_only_what_is_promised_in_the_mailbox() {
    let w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let claim = w.claim(&worker).unwrap();
    w.send_as(HOST, &worker, "during the task");
    w.end_run(&worker, |end| end.silent = true);
    assert_eq!(w.waiting(&worker), ["during the task"]);
    assert_eq!(w.report(&claim, true, Next::Auto), Err(OpError::StaleToken));
}
