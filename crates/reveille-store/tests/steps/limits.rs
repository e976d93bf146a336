//! W5, W6, W1, W2, W4: what goes into one injection, and when.

use std::time::Duration;

use reveille_core::compose::InjectionLimits;
use reveille_core::window::WindowSettings;
use reveille_core::{Rank, Trigger};
use reveille_store::step::Limits;
use reveille_store::step::send::Post;

use crate::world::{HOST, World, actor, anna, text};

#[test]
fn an_injection_takes_the_first_so_many_and_the_next_one_the_rest() {
    let injection = InjectionLimits { messages: 2, ..InjectionLimits::default() };
    let w = World::with(|limits| *limits = Limits { injection, ..Limits::default() });
    let a = w.session("main");
    for body in ["one", "two", "three"] {
        w.send_as(HOST, &a, body);
    }
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["one", "two"]);
    assert_eq!(w.claim(&a), None, "not before the turn's end");
    w.end(&turn);
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["three"]);
}

#[test]
fn an_injection_is_arranged_by_rank_and_then_by_commit() {
    let w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let ranked = |rank, body: &str| Post { rank: Some(rank), ..text(body) };
    w.put(HOST, &lead, ranked(Rank::Reminder, "reminder"));
    w.put(HOST, &lead, ranked(Rank::Summary, "summary"));
    w.send_as(anna(), &lead, "mail");
    let task = w.claim(&worker).unwrap();
    w.end(&task);
    w.send_as(HOST, &lead, "more mail");
    let turn = w.claim(&lead).unwrap();
    assert_eq!(w.bodies(&turn), ["completed", "mail", "more mail", "summary", "reminder"]);
}

#[test]
fn a_window_is_closed_by_quiet_by_its_longest_time_and_by_urgent_mail() {
    let mut w = World::default();
    w.windows = WindowSettings::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "one");
    w.later(Duration::from_millis(199));
    assert_eq!(w.claim(&a), None);
    for _ in 0..4 {
        w.send_as(HOST, &a, "another");
        w.later(Duration::from_millis(199));
        assert_eq!(w.claim(&a), None, "each pushes the end back");
    }
    w.send_as(HOST, &a, "the last");
    w.later(Duration::from_millis(5));
    assert_eq!(w.claim(&a).unwrap().picks.len(), 6, "a second after the first it closes");

    let b = w.session("main");
    w.send_as(HOST, &b, "no hurry");
    w.send_as(anna(), &b, "now");
    assert_eq!(w.bodies(&w.claim(&b).unwrap()), ["no hurry", "now"]);
}

#[test]
fn a_window_over_mail_that_was_taken_away_makes_no_injection() {
    let w = World::default();
    let a = w.session("main");
    let message = w.send_as(HOST, &a, "never mind");
    w.acknowledge(&a, message);
    assert_eq!(w.claim(&a), None);
}

#[test]
fn what_waited_for_the_turns_end_goes_at_once() {
    let mut w = World::default();
    w.windows = WindowSettings::default();
    let a = w.session("main");
    w.send_as(anna(), &a, "work");
    let turn = w.claim(&a).unwrap();
    w.send_as(HOST, &a, "meanwhile");
    w.pass(5);
    w.end(&turn);
    let next = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&next), ["meanwhile"]);
    assert_eq!(next.trigger, Trigger::Window);
    assert_eq!(next.run, turn.run, "the run goes on");
}

#[test]
fn a_gap_between_injections_is_kept_for_everybody_but_people() {
    let mut w = World::default();
    w.windows.min_gap = Duration::from_secs(10);
    let a = w.session("main");
    w.send_as(HOST, &a, "one");
    w.pass(10);
    let turn = w.claim(&a).unwrap();
    w.finish(&turn);
    w.send_as(HOST, &a, "two");
    assert_eq!(w.claim(&a), None);
    w.pass(10);
    let turn = w.claim(&a).unwrap();
    w.finish(&turn);
    w.send_as(HOST, &a, "three");
    w.send_as(anna(), &a, "from a person");
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["three", "from a person"]);
}

#[test]
fn mail_of_one_actor_wakes_no_other() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    w.send_as(actor(&a), &b, "for b");
    assert_eq!(w.claim(&a), None);
    assert_eq!(w.bodies(&w.claim(&b).unwrap()), ["for b"]);
}
