//! Section 3: messages that are sent at a time, or again and again.

use std::time::Duration;

use reveille_core::limits::{LABELS, SCHEDULES, URI_BYTES};
use reveille_core::{Address, Caller, Kind, Rank, Reference, Text, Timestamp};
use reveille_store::step::schedule::{Schedule, Unschedule, When};

use crate::world::{Done, HOST, World, actor, anna};

const HOUR: Duration = Duration::from_secs(3_600);

fn declare(w: &World, address: &Address, when: When, text: Text, by: Caller) -> Done<Timestamp> {
    let (actor, key) = (address.clone(), "nightly".to_owned());
    w.run(Schedule { actor, key, when, text, by })
}

fn hourly(w: &World, address: &Address, body: &str) -> Timestamp {
    declare(w, address, When::Every(HOUR), Text::new(body), HOST).unwrap()
}

#[test]
fn a_tick_is_sent_when_it_is_due_and_the_next_one_a_period_later() {
    let mut w = World::default();
    let a = w.session("main");
    let due = hourly(&w, &a, "tick");
    assert_eq!(due, w.now().after(HOUR));
    assert!(!w.chores(&a));
    assert_eq!(w.row(&a).next_moment(w.now()), Some(due));
    w.restart();
    w.later(HOUR);
    assert!(w.chores(&a) && !w.chores(&a), "once");
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["tick"]);
    assert_eq!(w.row(&a).open[0].mail[0].mail.item.rank, Rank::Reminder);
    assert!(w.text_of(turn.picks[0].seq).labels.is_empty(), "it is not late");
    assert_eq!(w.row(&a).schedules[0].due, due.after(HOUR));
    w.end(&turn);
}

#[test]
fn declaring_it_again_changes_what_is_sent_and_keeps_the_time() {
    let w = World::default();
    let a = w.session("main");
    let due = hourly(&w, &a, "old");
    w.later(HOUR / 2);
    assert_eq!(hourly(&w, &a, "new"), due);
    let before = futures_executor::block_on(w.store.look(|state| state.next())).unwrap();
    assert_eq!(hourly(&w, &a, "new"), due);
    let after = futures_executor::block_on(w.store.look(|state| state.next())).unwrap();
    assert_eq!(after, before, "nothing new, nothing written");
    w.later(HOUR / 2);
    w.chores(&a);
    assert_eq!(w.waiting(&a), ["new"]);
}

#[test]
fn ticks_of_an_actor_that_reads_nothing_do_not_fill_its_mailbox() {
    let w = World::default();
    let a = w.session("main");
    hourly(&w, &a, "tick");
    w.stop(&a);
    for _ in 0..50 {
        w.later(HOUR);
        w.chores(&a);
    }
    assert_eq!(w.waiting(&a), ["tick"]);
    assert_eq!(w.row(&a).unread_count, 1);
}

#[test]
fn a_single_moment_is_sent_once_and_forgotten() {
    let w = World::default();
    let a = w.session("main");
    let at = w.now().after(HOUR);
    declare(&w, &a, When::At(at), Text::new("once"), HOST).unwrap();
    let later = at.after(HOUR);
    assert_eq!(declare(&w, &a, When::At(later), Text::new("once"), HOST).unwrap(), later);
    w.later(HOUR * 2);
    w.chores(&a);
    assert_eq!(w.waiting(&a), ["once"]);
    assert!(w.row(&a).schedules.is_empty());
}

#[test]
fn a_cancelled_schedule_stays_cancelled() {
    let mut w = World::default();
    let a = w.session("main");
    hourly(&w, &a, "tick");
    let cancel = |w: &World| w.run(Unschedule { actor: a.clone(), key: "nightly".into() }).unwrap();
    assert!(cancel(&w) && !cancel(&w));
    w.restart();
    w.later(HOUR);
    assert!(!w.chores(&a));
}

#[test]
fn a_tick_comes_from_whoever_declared_it_and_is_no_more_urgent_than_it_says() {
    let w = World::default();
    let (a, other) = (w.session("main"), w.session("main"));
    for by in [HOST, anna(), actor(&other)] {
        w.pass(1);
        declare(&w, &a, When::At(w.now()), Text::new("tick"), by.clone()).unwrap();
        w.chores(&a);
        let mail = *w.row(&a).pending.back().unwrap();
        assert!(!mail.urgent);
        let reveille_store::record::Record::Sent(sent) = w.record(mail.seq()) else {
            panic!("no message");
        };
        assert_eq!(sent.from, by);
    }
}

#[test]
fn nobody_schedules_what_he_may_not_send() {
    let w = World::default();
    let (a, other) = (w.session("main"), w.session("main"));
    for kind in [Kind::Notice, Kind::Continuation, Kind::Alert] {
        let text = Text { kind, ..Text::new("b") };
        let refused = declare(&w, &a, When::At(w.now()), text, actor(&other)).unwrap_err();
        assert_eq!(refused.code().name, "forbidden", "{kind}");
    }
}

#[test]
fn what_is_declared_can_be_sent_however_late() {
    let w = World::default();
    let a = w.session("main");
    let pair = |n: usize| (format!("n{n}"), "v".to_owned());
    let mut text = Text::new("tick");
    text.labels = (0..LABELS - 1).map(pair).chain([("late".into(), "mine".into())]).collect();
    declare(&w, &a, When::Every(HOUR), text, HOST).unwrap();
    w.later(HOUR * 3);
    assert!(w.chores(&a));
    let labels = w.text_of(w.row(&a).pending[0].seq()).labels;
    assert_eq!(labels.len(), LABELS);
    assert_eq!(labels[LABELS - 2].1, "7200s");

    let reference = Reference { uri: "u".repeat(URI_BYTES), description: String::new() };
    let text = Text { references: vec![reference; 20], ..Text::new("too long a list") };
    let refused = declare(&w, &a, When::Every(HOUR), text, HOST).unwrap_err();
    assert_eq!(refused.code().name, "too_large", "told now, not when it is due");
}

#[test]
fn schedules_have_limits() {
    let w = World::default();
    let a = w.session("main");
    let add = |n: usize, every| {
        let (actor, key) = (a.clone(), format!("s{n}"));
        let (when, text) = (When::Every(every), Text::new("tick"));
        w.run(Schedule { actor, key, when, text, by: HOST })
    };
    assert_eq!(add(0, Duration::from_millis(999)).unwrap_err().code().name, "invalid");
    (0..SCHEDULES).for_each(|n| assert!(add(n, HOUR).is_ok()));
    assert_eq!(add(SCHEDULES, HOUR).unwrap_err().code().name, "too_large");
    add(0, HOUR).unwrap();
}

#[test]
fn a_single_moment_that_was_sent_is_not_sent_again_however_often_it_is_declared() {
    let mut w = World::default();
    let a = w.session("main");
    let at = w.now().after(HOUR);
    let once = |w: &World, at| declare(w, &a, When::At(at), Text::new("once"), HOST).unwrap();
    once(&w, at);
    w.later(HOUR);
    assert!(w.chores(&a));
    w.restart();
    assert_eq!(once(&w, at), at, "it keeps its time");
    assert!(!w.chores(&a));
    assert_eq!(w.waiting(&a), ["once"]);
    // Another moment is another tick, and so is the same one after a cancel.
    w.later(HOUR);
    let later = w.now();
    once(&w, later);
    assert!(w.chores(&a));
    let future = later.after(HOUR);
    once(&w, future);
    assert!(w.run(Unschedule { actor: a.clone(), key: "nightly".into() }).unwrap());
    once(&w, future);
    w.later(HOUR);
    assert!(w.chores(&a), "what was cancelled was never sent");
}

#[test]
fn of_single_moments_that_were_sent_the_latest_are_remembered() {
    let w = World::default();
    let a = w.session("main");
    let moment = w.now();
    let once = |n: usize| {
        let (actor, key) = (a.clone(), format!("s{n}"));
        let (when, text) = (When::At(moment), Text::new("once"));
        w.run(Schedule { actor, key, when, text, by: HOST }).unwrap();
        w.chores(&a)
    };
    assert!((0..=SCHEDULES).all(once));
    assert!(!once(1), "remembered");
    assert!(once(0), "forgotten: there is a limit");
}
