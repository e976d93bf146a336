//! Section 4: dead mail is readable, sent anew, dropped; damaged mail does not stop a mailbox (P2).

use std::time::Duration;

use reveille_core::failure::TurnFailure;
use reveille_core::{Address, MessageId, Text};
use reveille_store::step::dead::{BuryDamaged, DropDead, DropOld, Redrive};
use reveille_store::step::send::{Accepted, Post, Prepared};

use crate::world::{Done, HOST, World, actor, anna, text, to};

fn expire(w: &World, address: &Address, body: &str) -> MessageId {
    let soon = w.now().after(Duration::from_secs(1));
    let id = w.put(HOST, address, Post { expires_at: Some(soon), ..text(body) });
    w.pass(1);
    w.chores(address);
    id
}

fn redrive(w: &World, address: &Address, message: MessageId) -> Done<Accepted> {
    let text = Text { redrives: Some(message), ..w.text_of(message.seq()) };
    let anew = Prepared::new(HOST, Post::new(text), &to(&[address]));
    w.run(Redrive { actor: address.clone(), message, anew })
}

#[test]
fn dead_mail_stays_readable_and_is_redriven_as_a_message_that_names_it() {
    let mut w = World::default();
    let a = w.session("main");
    let dead = expire(&w, &a, "too late");
    w.restart();
    assert_eq!(w.place_name(dead, &a), "dead");
    let anew = redrive(&w, &a, dead).unwrap().id;
    assert_ne!(anew, dead);
    assert_eq!(w.text_of(anew.seq()).redrives, Some(dead));
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["too late"]);
    assert_eq!(w.place_name(dead, &a), "dead", "only a drop removes it");
}

#[test]
fn mail_that_is_not_dead_is_not_redriven() {
    let w = World::default();
    let a = w.session("main");
    let alive = w.send_as(HOST, &a, "alive");
    assert_eq!(redrive(&w, &a, alive).unwrap_err().code().name, "invalid");
    let turn = w.claim(&a).unwrap();
    w.fail(&turn, TurnFailure::Permanent);
    assert_eq!(w.place_name(alive, &a), "failed");
    redrive(&w, &a, alive).unwrap();
}

#[test]
fn dropped_mail_is_gone_and_what_is_not_dead_is_not_dropped() {
    let w = World::default();
    let a = w.session("main");
    let dead = expire(&w, &a, "too late");
    let alive = w.send_as(HOST, &a, "alive");
    let drop = |message| w.run(DropDead { actor: a.clone(), message, by: anna() });
    assert_eq!(drop(alive).unwrap_err().code().name, "unknown_id");
    drop(dead).unwrap();
    assert_eq!(w.place_name(dead, &a), "dropped");
    assert_eq!(drop(dead).unwrap_err().code().name, "unknown_id");
    assert!(w.row(&a).dead.is_empty());
}

#[test]
fn old_dead_mail_is_dropped_in_small_steps_and_young_is_not() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    expire(&w, &a, "one");
    expire(&w, &b, "two");
    expire(&w, &a, "three");
    w.pass(60);
    let before = w.now();
    let young = expire(&w, &b, "young");
    let drop = |limit| w.run(DropOld { before, limit }).unwrap();
    assert_eq!([drop(2), drop(2), drop(2)], [2, 1, 0]);
    assert_eq!(w.place_name(young, &b), "dead");
}

#[test]
fn damaged_mail_is_dead_and_its_neighbours_are_delivered() {
    let w = World::default();
    let a = w.session("main");
    let (good, bad) = (w.send_as(HOST, &a, "good"), w.send_as(HOST, &a, "bad"));
    let turn = w.claim(&a).unwrap();
    let bury = || {
        let damaged = vec![(bad.seq(), "it cannot be decoded".to_owned())];
        w.run(BuryDamaged { token: turn.token, damaged })
    };
    bury().unwrap();
    assert_eq!(w.place_name(bad, &a), "dead");
    bury().unwrap();
    assert_eq!(w.row(&a).dead.len(), 1, "once");
    w.end(&turn);
    assert_eq!(w.place_name(good, &a), "injected");
    assert_eq!(bury().unwrap_err().code().name, "stale_token");
}

#[test]
fn the_sender_of_poison_is_told_once() {
    let w = World::default();
    let (a, sender) = (w.session("main"), w.session("main"));
    let poison = w.send_as(actor(&sender), &a, "poison");
    let mut turn = w.claim(&a).unwrap();
    for _ in 0..4 {
        w.fail(&turn, TurnFailure::Transient);
        turn = w.again(&a).unwrap();
    }
    assert_eq!(turn.attempt, 5);
    w.fail(&turn, TurnFailure::Transient);
    assert_eq!(w.place_name(poison, &a), "dead");
    assert!(w.row(&a).run.is_none(), "nothing of the run is left");
    assert_eq!(w.notices(&sender).len(), 1);
    assert_eq!(w.row(&a).ended.unwrap().state.name(), "failed");
}
