//! What several steps do that are taken into one commit: each sees what those before it have done.

use futures_executor::block_on;
use reveille_store::raw::together;
use reveille_store::step::actors::Spawn;
use reveille_store::step::mark::MarkMail;
use reveille_store::step::send::{Post, Prepared, Send};
use reveille_store::step::turn::ClaimMail;

use crate::world::{HOST, World, anna, text, to, worker};

fn send(address: &reveille_core::Address, post: Post) -> Send {
    let to = to(&[address]);
    Send { message: Prepared::new(HOST, post, &to), to, token: None }
}

#[test]
fn sends_that_together_are_too_many_are_counted_together() {
    let limits = reveille_store::step::Limits { unread_messages: 1, ..Default::default() };
    let w = World::with(|set| *set = limits);
    let a = w.session("main");
    let (one, two) = (send(&a, text("one")), send(&a, text("two")));
    let (one, two) =
        block_on(together(&w.store, |commit| (commit.step(one), commit.step(two)))).unwrap();
    one.unwrap();
    assert_eq!(two.unwrap_err().code().name, "mailbox_full");
    assert_eq!(w.waiting(&a), ["one"], "the refused one took nothing with it");
}

#[test]
fn a_send_that_comes_with_the_claim_is_in_it_and_one_after_it_waits() {
    let w = World::default();
    let a = w.session("main");
    let (actor, windows) = (w.number(&a), w.windows);
    let (before, after) = (send(&a, text("before")), send(&a, text("after")));
    let claim = together(&w.store, move |commit| {
        commit.step(before).unwrap();
        let claim = commit.step(ClaimMail { actor, windows }).unwrap();
        commit.step(after).unwrap();
        claim
    });
    let claim = block_on(claim).unwrap().unwrap();
    assert_eq!(w.bodies(&claim), ["before"]);
    assert_eq!(w.waiting(&a), ["after"]);
}

#[test]
fn an_acknowledgement_that_comes_with_the_claim_leaves_nothing_to_inject() {
    let w = World::default();
    let a = w.session("main");
    let message = w.send_as(HOST, &a, "never mind");
    let (actor, windows, address) = (w.number(&a), w.windows, a.clone());
    let claim = together(&w.store, move |commit| {
        let mark = reveille_store::record::Mark::Acknowledged;
        let mark = MarkMail { actor: address, message, mark, by: anna(), token: None };
        commit.step(mark).unwrap();
        commit.step(ClaimMail { actor, windows }).unwrap()
    });
    assert_eq!(block_on(claim).unwrap(), None);
}

#[test]
fn a_spawn_and_mail_for_its_worker_fit_into_one_commit() {
    let w = World::default();
    let lead = w.session("main");
    let spawn = || {
        let mut new = worker("task");
        new.key = Some("the one".into());
        Spawn { parent: lead.clone(), worker: new, token: None }
    };
    let (first, second) = (spawn(), spawn());
    let made = together(&w.store, move |commit| {
        let first = commit.step(first).unwrap();
        let second = commit.step(second).unwrap();
        commit.step(send(&first.address, text("and this"))).unwrap();
        (first, second)
    });
    let (first, second) = block_on(made).unwrap();
    assert_eq!((first.address.clone(), None), (second.address, second.run));
    assert_eq!(w.bodies(&w.claim(&first.address).unwrap()), ["task", "and this"]);
}
