//! Section 3: calls that are repeated under a key, and messages that take the place of others.

use std::time::Duration;

use reveille_core::failure::TurnFailure;
use reveille_core::{Address, Kind, Timestamp};
use reveille_store::DiskOptions;
use reveille_store::step::Limits;
use reveille_store::step::send::Post;

use crate::world::{HOST, World, actor, anna, of_kind, text, to};

fn keyed(body: &str) -> Post {
    Post { key: Some("key".into()), ..text(body) }
}

fn merged(body: &str) -> Post {
    Post { merge_key: Some("progress".into()), ..text(body) }
}

#[test]
fn the_same_call_again_answers_the_first_id_and_where_the_message_is() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    let both = to(&[&a, &b]);
    let first = w.post_to(&HOST, both.clone(), keyed("once")).unwrap();
    assert!(!first.duplicate);
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    let again = w.post_to(&HOST, both, keyed("once")).unwrap();
    assert!(again.duplicate);
    assert_eq!(again.id, first.id);
    let places: Vec<&str> = again.states.iter().map(|(_, state)| state.name()).collect();
    assert_eq!(places, ["injected", "pending"]);
    assert_eq!(w.waiting(&b).len(), 1);
}

#[test]
fn a_repeated_call_is_answered_even_if_it_would_be_refused_now() {
    let w = World::with(|limits| *limits = Limits { unread_messages: 1, ..Limits::default() });
    let a = w.session("main");
    let first = w.put(HOST, &a, keyed("once"));
    let again = w.post_to(&HOST, to(&[&a]), keyed("once")).unwrap();
    assert_eq!((again.id, again.duplicate), (first, true));
}

#[test]
fn a_call_that_was_refused_leaves_its_key_free() {
    let w = World::with(|limits| *limits = Limits { unread_messages: 1, ..Limits::default() });
    let a = w.session("main");
    w.send_as(HOST, &a, "fills it");
    w.post_to(&HOST, to(&[&a]), keyed("once")).unwrap_err();
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    assert!(!w.post_to(&HOST, to(&[&a]), keyed("once")).unwrap().duplicate);
}

#[test]
fn keys_are_remembered_over_a_restart_and_when_the_log_has_left_them_behind() {
    let disk = DiskOptions { history_bytes: 4_000, ..DiskOptions::default() };
    let mut w = World::on(disk, |_| {});
    let a = w.session("main");
    let first = w.put(HOST, &a, keyed("once"));
    w.restart();
    assert_eq!(w.post_to(&HOST, to(&[&a]), keyed("once")).unwrap().id, first);
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    for _ in 0..200 {
        w.send_as(HOST, &a, &"x".repeat(200));
        let turn = w.claim(&a).unwrap();
        w.end(&turn);
    }
    assert_eq!(w.store.records(&[first.seq()]).unwrap(), [None], "the message has left the store");
    w.restart();
    let again = w.post_to(&HOST, to(&[&a]), keyed("once")).unwrap();
    assert_eq!((again.id, again.duplicate), (first, true));
    let other = w.post_to(&HOST, to(&[&a]), keyed("twice")).unwrap_err();
    assert_eq!(other.code().name, "idempotency_conflict");
}

/// Sends mail that nobody repeats until what came before has left the log.
fn let_the_log_go_on(w: &World, address: &Address) {
    for _ in 0..60 {
        w.send_as(HOST, address, &"x".repeat(200));
        w.end(&w.claim(address).unwrap());
    }
}

#[test]
fn keys_are_remembered_for_their_age_and_no_longer() {
    let disk = DiskOptions { history_bytes: 4_000, ..DiskOptions::default() };
    let week = disk.key_age;
    assert_eq!(week, Duration::from_secs(7 * 24 * 3_600));
    let mut w = World::on(disk, |_| {});
    let a = w.session("main");
    let first = w.put(HOST, &a, keyed("once"));
    w.end(&w.claim(&a).unwrap());
    let_the_log_go_on(&w, &a);
    w.later(week - Duration::from_secs(1));
    let_the_log_go_on(&w, &a);
    w.restart();
    let again = w.post_to(&HOST, to(&[&a]), keyed("once")).unwrap();
    assert_eq!((again.id, again.duplicate), (first, true));
    w.pass(2);
    let_the_log_go_on(&w, &a);
    for _ in 0..2 {
        let anew = w.post_to(&HOST, to(&[&a]), keyed("once"));
        assert_ne!(anew.unwrap().id, first, "it is another call now");
        w.restart();
    }
}

#[test]
fn no_more_keys_are_remembered_than_may_be() {
    let disk = DiskOptions { history_bytes: 4_000, keys: 300, ..DiskOptions::default() };
    let mut w = World::on(disk, |_| {});
    let a = w.session("main");
    let call = |w: &World, n: usize| {
        let post = Post { key: Some(format!("key{n}")), ..text("once") };
        let sent = w.post_to(&HOST, to(&[&a]), post).unwrap();
        if !sent.duplicate {
            w.end(&w.claim(&a).unwrap());
        }
        sent.duplicate
    };
    assert!(!(0..1_000).any(|n| call(&w, n)));
    w.restart();
    assert!((900..1_000).all(|n| call(&w, n)), "the latest are remembered");
    assert!(!call(&w, 0), "the oldest are not");
}

#[test]
fn what_became_of_messages_is_forgotten_with_the_log_and_nothing_unread_is() {
    let disk = DiskOptions { history_bytes: 4_000, ..DiskOptions::default() };
    let mut w = World::on(disk, |_| {});
    let (a, idle) = (w.session("main"), w.session("main"));
    let unread = w.send_as(HOST, &idle, "unread");
    let read = w.send_as(HOST, &a, "read");
    let turn = w.claim(&a).unwrap();
    w.end(&turn);
    assert_eq!(w.place_name(read, &a), "injected");
    for _ in 0..200 {
        w.send_as(HOST, &a, &"x".repeat(200));
        let turn = w.claim(&a).unwrap();
        w.end(&turn);
    }
    assert_eq!(w.place_name(read, &a), "unknown");
    w.restart();
    assert_eq!(w.place_name(read, &a), "unknown", "the same after a restart");
    let turn = w.claim(&idle).unwrap();
    assert_eq!(w.bodies(&turn), ["unread"]);
    w.end(&turn);
    assert_eq!(w.place_name(unread, &idle), "injected");
}

#[test]
fn a_result_is_kept_as_long_as_a_notice_of_it_waits_is_offered_or_is_dead() {
    let places: [fn(&World, &Address); 3] = [
        |_, _| {},
        |w, asker| _ = w.claim(asker).unwrap(),
        |w, asker| {
            let mut turn = w.claim(asker).unwrap();
            for _ in 0..5 {
                w.fail(&turn, TurnFailure::Transient);
                turn = w.again(asker).unwrap_or(turn);
            }
            assert_eq!((w.row(asker).dead.len(), w.row(asker).unread_count), (1, 0));
        },
    ];
    for place in places {
        let disk = DiskOptions { history_bytes: 4_000, ..DiskOptions::default() };
        let mut w = World::on(disk, |_| {});
        let (asker, doer, busy) = (w.session("main"), w.session("main"), w.session("main"));
        w.put(actor(&asker), &doer, of_kind(Kind::Request, "do"));
        w.finish(&w.claim(&doer).unwrap());
        let outcome = w.row(&doer).ended.unwrap().outcome;
        w.send_as(HOST, &doer, "something else");
        w.finish(&w.claim(&doer).unwrap());
        assert_ne!(w.row(&doer).ended.unwrap().outcome, outcome, "it is not the latest");
        let notice = w.row(&asker).pending[0].id;
        place(&w, &asker);
        let_the_log_go_on(&w, &busy);
        w.restart();
        assert!(w.store.since(outcome, 1).unwrap().lost_until.is_some(), "the log has left it");
        assert!(w.store.outcome(outcome).is_ok(), "{}", w.place_name(notice, &asker));
    }
}

#[test]
fn a_merged_message_takes_a_new_place_and_keeps_the_old_time() {
    let w = World::default();
    let a = w.session("main");
    let old = w.put(HOST, &a, merged("half"));
    let begun = w.now();
    w.later(Duration::from_millis(300));
    w.send_as(HOST, &a, "between");
    w.later(Duration::from_millis(300));
    let new = w.put(HOST, &a, merged("done"));
    assert_eq!(w.waiting(&a), ["between", "done"]);
    assert_eq!(w.place_name(old, &a), "displaced");
    assert_eq!(w.row(&a).wake_worthy(w.now()).unwrap().first, begun);
    // Over and over again: the time is still that of the first.
    w.later(Duration::from_millis(300));
    w.put(HOST, &a, merged("really done"));
    assert_eq!(w.row(&a).wake_worthy(w.now()).unwrap().first, begun);
    assert_eq!(w.place_name(new, &a), "displaced");
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["between", "really done"]);
}

#[test]
fn only_the_senders_own_waiting_message_is_displaced() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    w.put(HOST, &a, merged("of the host"));
    w.put(anna(), &a, merged("of anna"));
    w.put(HOST, &b, merged("with b"));
    w.put(HOST, &a, Post { merge_key: Some("other".into()), ..text("other") });
    assert_eq!(w.waiting(&a), ["of the host", "of anna", "other"]);
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, merged("offered mail stays"));
    assert_eq!(w.waiting(&a), ["offered mail stays"]);
    w.end(&turn);
    assert_eq!(w.waiting(&b), ["with b"]);
}

#[test]
fn a_merged_message_to_several_keeps_for_each_the_time_of_what_it_displaces_there() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    let begun = w.now();
    w.put(HOST, &a, merged("half"));
    w.pass(5);
    w.post_to(&HOST, to(&[&a, &b]), merged("done")).unwrap();
    let first = |address| w.row(address).wake_worthy(w.now()).unwrap().first;
    assert_eq!(first(&a), begun);
    assert_eq!(first(&b), w.now(), "nothing waited there before");
}

#[test]
fn what_a_merge_displaces_makes_room() {
    let w = World::with(|limits| *limits = Limits { unread_messages: 1, ..Limits::default() });
    let a = w.session("main");
    w.put(HOST, &a, merged("one"));
    w.put(HOST, &a, merged("two"));
    assert_eq!(w.waiting(&a), ["two"]);
    assert_eq!(w.row(&a).unread_count, 1);
}

#[test]
fn delayed_mail_wakes_at_its_time_and_keeps_its_place() {
    let w = World::default();
    let a = w.session("main");
    let due = w.now().after(Duration::from_secs(60));
    let delayed = w.put(HOST, &a, Post { not_before: Some(due), ..text("later") });
    assert_eq!(w.place_name(delayed, &a), "delayed");
    assert_eq!(w.claim(&a), None);
    assert_eq!(w.row(&a).next_moment(w.now()), Some(due));
    w.send_as(HOST, &a, "now");
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["now"], "it does not ride along before its time");
    w.end(&turn);
    w.pass(60);
    w.send_as(HOST, &a, "after");
    assert_eq!(w.place_name(delayed, &a), "pending");
    assert_eq!(w.row(&a).wake_worthy(w.now()).unwrap().first, due);
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["later", "after"], "ordered by commit");
}

#[test]
fn delayed_mail_counts_for_the_wake_floor_as_committed_when_it_is_due() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let soon = w.now().after(Duration::from_secs(1));
    let late = w.now().after(Duration::from_secs(60));
    w.put(HOST, &a, Post { not_before: Some(late), ..text("late") });
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, Post { not_before: Some(soon), ..text("soon") });
    w.pass(2);
    w.cancel(&a);
    drop(turn);
    assert!(!w.wakes(&a), "what was due before the cancel is below the floor");
    w.pass(60);
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["work", "late", "soon"]);
}

#[test]
fn expired_mail_is_dead_and_offered_mail_does_not_expire() {
    let w = World::default();
    let (a, sender) = (w.session("main"), w.session("main"));
    let soon = w.now().after(Duration::from_secs(1));
    let short = |body: &str| Post { expires_at: Some(soon), ..text(body) };
    let offered = w.put(HOST, &a, short("offered"));
    let turn = w.claim(&a).unwrap();
    let waits = w.put(crate::world::actor(&sender), &a, short("waits"));
    w.pass(1);
    assert!(w.row(&a).has_chores(w.now()));
    assert!(w.chores(&a) && !w.chores(&a), "once");
    assert_eq!(w.place_name(waits, &a), "dead");
    assert_eq!(w.place_name(offered, &a), "offered");
    w.end(&turn);
    assert_eq!(w.place_name(offered, &a), "injected");
    let told = w.notices(&sender);
    assert_eq!(told.len(), 1, "the sender is told once");
    assert_eq!(told[0].about, a);
}

#[test]
fn expired_mail_wakes_nobody_even_before_it_is_buried() {
    let w = World::default();
    let a = w.session("main");
    let soon = w.now().after(Duration::from_secs(1));
    w.put(HOST, &a, Post { expires_at: Some(soon), ..text("short") });
    w.pass(1);
    assert_eq!(w.claim(&a), None);
}

#[test]
fn mail_that_expires_before_it_is_due_is_refused() {
    let w = World::default();
    let a = w.session("main");
    let at = |n| Some(Timestamp::from_millis(n));
    let never = Post { not_before: at(2), expires_at: at(2), ..text("never") };
    assert_eq!(w.post_to(&HOST, to(&[&a]), never).unwrap_err().code().name, "invalid");
}
