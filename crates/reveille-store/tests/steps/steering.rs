//! W3: mail that is let into a turn under way, and mail that ends it.

use reveille_core::Delivery;
use reveille_core::compose::InjectionLimits;
use reveille_core::failure::TurnFailure;
use reveille_core::limits::{INJECTION_BYTES, INJECTION_HEAD_BYTES, INJECTION_NAME_BYTES};
use reveille_store::step::end::Contained;
use reveille_store::step::send::Post;
use reveille_store::step::turn::SafePoint;

use crate::world::{HOST, World, anna, text};

fn steer(body: &str) -> Post {
    Post { delivery: Delivery::Steer, ..text(body) }
}

fn interrupt(body: &str) -> Post {
    Post { delivery: Delivery::Interrupt, ..text(body) }
}

#[test]
fn mail_that_leaves_it_to_the_receiver_is_let_in_if_the_receiver_is_set_so() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    w.send_as(HOST, &a, "as you like");
    w.put(HOST, &a, Post { delivery: Delivery::Queue, ..text("later") });
    assert_eq!(w.safe_point(turn.token), None);
    let let_in = w.run(SafePoint { token: turn.token, steer: true }).unwrap().unwrap();
    assert_eq!(w.bodies(&let_in), ["as you like"]);
}

#[test]
fn all_that_a_turn_holds_is_settled_with_its_report_and_offered_again_without_one() {
    let w = World::default();
    let a = w.session("main");
    let first = w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    let steered = w.put(HOST, &a, steer("this way"));
    let let_in = w.safe_point(turn.token).unwrap();
    w.fail(&turn, TurnFailure::Transient);
    let newer = w.put(HOST, &a, steer("newer"));
    let again = w.again(&a).unwrap();
    assert_eq!(again.injection, turn.injection, "the opening one first");
    let second = w.safe_point(again.token).unwrap();
    assert_eq!((second.injection, second.attempt), (let_in.injection, 2), "then the others");
    let third = w.safe_point(again.token).unwrap();
    assert_eq!(w.bodies(&third), ["newer"], "then newer mail");
    w.end(&again);
    for id in [first, steered, newer] {
        assert_eq!(w.place_name(id, &a), "injected");
    }
}

#[test]
fn what_no_safe_point_took_is_a_turn_of_its_own_before_newer_mail() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, steer("this way"));
    let let_in = w.safe_point(turn.token).unwrap();
    w.fail(&turn, TurnFailure::Transient);
    w.send_as(HOST, &a, "newer");
    w.end(&w.again(&a).unwrap());
    let own = w.again(&a).unwrap();
    assert_eq!(own.injection, let_in.injection);
    w.end(&own);
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["newer"]);
}

#[test]
fn mail_that_interrupts_moves_what_the_turn_held_into_its_injection_first_and_names_it() {
    let w = World::default();
    let a = w.session("main");
    let message = w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, steer("this way"));
    let let_in = w.safe_point(turn.token).unwrap();
    w.put(anna(), &a, interrupt("stop that"));
    assert!(w.row(&a).wants_interrupt(w.now()));
    w.fail(&turn, TurnFailure::Interrupted);
    let next = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&next), ["work", "this way", "stop that"]);
    assert_eq!(next.names, [turn.injection.seq(), let_in.injection.seq()]);
    assert_eq!((next.run, next.attempt), (turn.run, 1));
    w.finish(&next);
    assert_eq!(w.place_name(message, &a), "injected");
    w.send_as(HOST, &a, "something else");
    assert!(w.claim(&a).unwrap().names.is_empty(), "named once");
}

#[test]
fn only_what_moves_is_named_when_others_were_open_beside_it() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, steer("this way"));
    let let_in = w.safe_point(turn.token).unwrap();
    w.fail(&turn, TurnFailure::Transient);
    // The opening one is under way again, the other one waits for a safe point.
    let again = w.again(&a).unwrap();
    w.put(anna(), &a, interrupt("stop that"));
    w.fail(&again, TurnFailure::Interrupted);
    let other = w.again(&a).unwrap();
    assert_eq!(other.injection, let_in.injection, "what is offered again precedes newer mail");
    w.end(&other);
    let next = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&next), ["work", "stop that"]);
    assert_eq!(next.names, [turn.injection.seq()], "the other one was settled");
}

#[test]
fn injections_that_are_interrupted_one_after_the_other_are_all_named() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, steer("this way"));
    let let_in = w.safe_point(turn.token).unwrap();
    w.fail(&turn, TurnFailure::Transient);
    let again = w.again(&a).unwrap();
    w.put(anna(), &a, interrupt("stop that"));
    w.fail(&again, TurnFailure::Interrupted);
    let other = w.again(&a).unwrap();
    w.fail(&other, TurnFailure::Interrupted);
    let next = w.claim(&a).unwrap();
    assert_eq!(next.names, [turn.injection.seq(), let_in.injection.seq()]);
}

#[test]
fn an_interrupt_is_not_wanted_once_it_is_taken_back_or_below_the_floor() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    let message = w.put(anna(), &a, interrupt("stop that"));
    w.acknowledge(&a, message);
    assert!(!w.row(&a).wants_interrupt(w.now()));
    w.end(&turn);
}

#[test]
fn an_injection_whose_mail_the_agent_has_is_not_named_by_the_next() {
    let w = World::default();
    let a = w.session("main");
    let work = w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, steer("this way"));
    let let_in = w.safe_point(turn.token).unwrap();
    w.put(anna(), &a, interrupt("stop that"));
    w.fail(&turn, TurnFailure::Interrupted);
    w.run(Contained { actor: w.number(&a), messages: vec![work.seq()] }).unwrap();
    let next = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&next), ["this way", "stop that"]);
    assert_eq!(next.names, [let_in.injection.seq()], "the other one was settled");
}

#[test]
fn what_moves_and_does_not_fit_is_named_where_it_goes() {
    let injection = InjectionLimits { messages: 2, ..InjectionLimits::default() };
    let w = World::with(|limits| limits.injection = injection);
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    let mut let_in = Vec::new();
    for body in ["one", "two"] {
        w.put(HOST, &a, steer(body));
        let_in.push(w.safe_point(turn.token).unwrap().injection.seq());
    }
    w.put(anna(), &a, interrupt("stop that"));
    w.fail(&turn, TurnFailure::Interrupted);
    let first = w.claim(&a).unwrap();
    assert_eq!((w.bodies(&first).len(), first.names.len()), (2, 2));
    w.end(&first);
    let second = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&second), ["two", "stop that"]);
    assert_eq!(second.names, let_in[1..], "in the one that its mail went into");
}

/// Mail is as long as fits with what it names, whatever it names.
#[test]
fn an_injection_that_takes_the_place_of_many_stays_within_its_limit() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    for n in 0..99 {
        w.put(HOST, &a, steer(&format!("{n:0>500}")));
        w.safe_point(turn.token).unwrap();
    }
    w.put(anna(), &a, interrupt("stop that"));
    w.fail(&turn, TurnFailure::Interrupted);
    let next = w.claim(&a).unwrap();
    assert_eq!(next.names.len(), next.picks.len(), "each came in an injection of its own");
    let costs: u32 = w.row(&a).open[0].mail.iter().map(|one| one.mail.item.cost).sum();
    let whole = costs as usize + next.names.len() * INJECTION_NAME_BYTES;
    let limit = INJECTION_BYTES - INJECTION_HEAD_BYTES;
    assert!(whole <= limit && whole + 1_000 > limit, "{whole} bytes, at most {limit}");
    let rendered = w.rendered(&a, &next);
    assert!(rendered.len() <= INJECTION_BYTES, "{} bytes", rendered.len());
    let names = rendered.split("names=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(names.len() + 1, next.names.len() * INJECTION_NAME_BYTES);
}
