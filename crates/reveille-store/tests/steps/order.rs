//! P4, P8: what an injection holds from one attempt to the next, and by what mail is ordered.

use reveille_core::failure::TurnFailure;
use reveille_store::step::dead::BuryDamaged;
use reveille_store::step::turn::Claim;

use crate::world::{HOST, World};

fn bury(w: &World, turn: &Claim, message: reveille_core::MessageId) {
    let damaged = vec![(message.seq(), "it cannot be decoded".to_owned())];
    w.run(BuryDamaged { token: turn.token, damaged }).unwrap();
}

#[test]
fn under_one_id_content_only_shrinks_and_an_injection_of_nothing_is_closed() {
    let mut w = World::default();
    let a = w.session("main");
    let ids = ["one", "two", "three"].map(|body| w.send_as(HOST, &a, body));
    let first = w.claim(&a).unwrap();
    w.send_as(HOST, &a, "newer");
    bury(&w, &first, ids[1]);
    w.fail(&first, TurnFailure::Unavailable);
    w.restart();
    let second = w.again(&a).unwrap();
    assert_eq!((second.injection, second.attempt), (first.injection, 2));
    assert_eq!(w.bodies(&second), ["one", "three"], "what was buried is gone, nothing is added");
    bury(&w, &second, ids[0]);
    w.fail(&second, TurnFailure::Unavailable);
    let third = w.again(&a).unwrap();
    assert_eq!((third.injection, w.bodies(&third)), (first.injection, vec!["three".to_owned()]));
    bury(&w, &third, ids[2]);
    assert!(w.row(&a).open.is_empty(), "nothing is left in it");
    w.fail(&third, TurnFailure::Unavailable);
    assert_eq!(w.again(&a), None);
    let next = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&next), ["newer"]);
    assert_ne!(next.injection, first.injection);
}

#[test]
fn neither_the_wall_clock_nor_ids_order_mail() {
    let mut w = World::default();
    let a = w.session("main");
    let first = w.send_as(HOST, &a, "first");
    w.set_back(3_600);
    let second = w.send_as(HOST, &a, "second");
    w.restart_with_salt(3);
    let third = w.send_as(HOST, &a, "third");
    assert!(second.at() >= first.at(), "the time of commits does not go back");
    assert!(third.to_string() < first.to_string(), "ids are in another order");
    assert_eq!(w.waiting(&a), ["first", "second", "third"]);
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["first", "second", "third"]);
}
