//! Acknowledging, archiving, retracting; dead mail (sections 3 and 4).

use reveille_core::failure::TurnFailure;
use reveille_core::{Kind, Text};
use reveille_store::record::{Mark, Settlement};
use reveille_store::step::dead::{BuryDamaged, DropDead, DropOld, Redrive};
use reveille_store::step::mark::Retract;
use reveille_store::step::send::{Post, Prepared, To};
use reveille_store::whereabouts::MailState;

use crate::world::{World, actor, anna, of_kind, text};

const ACKNOWLEDGED: MailState =
    MailState::Settled { how: Settlement::Acknowledged, injection: None };

#[test]
fn acknowledging_pending_mail_settles_it_and_no_wake_for_it_remains() {
    let world = World::default();
    let main = world.session("main");
    let id = world.send(&main, "a");
    assert!(world.wakes(&main));
    let first = world.mark(&main, id, Mark::Acknowledged).unwrap();
    assert!(first.news && first.state == ACKNOWLEDGED);
    assert!(!world.wakes(&main) && world.claim(&main).is_none());
    world.pass(10);
    let again = world.mark(&main, id, Mark::Acknowledged).unwrap();
    assert_eq!((again.news, again.marks), (false, first.marks), "what the first did");
}

#[test]
fn states_only_go_forward_and_a_missing_acknowledgement_is_listed() {
    let world = World::default();
    let main = world.session("main");
    let id = world.post(&anna(), &[&main], of_kind(Kind::Request, "do it")).unwrap().id;
    let claim = world.claim(&main).unwrap();
    world.end(&claim);
    assert_eq!(world.row(&main).unacknowledged[0].seq, id.seq());
    assert!(!world.wakes(&main), "it never re-injects");
    let archived = world.mark(&main, id, Mark::Archived).unwrap();
    assert!(archived.marks.archived.is_some());
    assert!(world.row(&main).unacknowledged.is_empty());
    let back = world.mark(&main, id, Mark::Acknowledged).unwrap();
    assert!(!back.news && back.marks.acknowledged.is_none(), "archived mail stays archived");
}

#[test]
fn only_its_receiver_and_people_mark_mail() {
    let world = World::default();
    let (one, two) = (world.session("one"), world.session("two"));
    let id = world.send(&one, "a");
    let (message, mark) = (id, Mark::Acknowledged);
    let by = actor(&two);
    let step = reveille_store::step::mark::MarkMail { actor: one, message, mark, by, token: None };
    assert_eq!(world.run(step).unwrap_err().code().name, "forbidden");
    assert_eq!(world.mark(&two, id, mark).unwrap_err().code().name, "unknown_id");
}

#[test]
fn an_alert_may_hold_its_receiver_until_it_is_acknowledged() {
    let world = World::default();
    let main = world.session("main");
    let alert = Post { hold: true, ..of_kind(Kind::Alert, "fire") };
    let id = world.post(&anna(), &[&main], alert).unwrap().id;
    assert!(world.row(&main).is_held() && world.claim(&main).is_none());
    world.send(&main, "waits");
    world.mark(&main, id, Mark::Acknowledged).unwrap();
    assert!(!world.row(&main).is_held());
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["waits"]);
}

#[test]
fn a_sender_takes_back_what_nobody_has_yet() {
    let world = World::default();
    let (one, two) = (world.session("one"), world.session("two"));
    let id = world.post(&anna(), &[&one, &two], text("oops")).unwrap().id;
    let claim = world.claim(&one).unwrap();
    let to = vec![world.number(&one), world.number(&two)];
    let retract = |by| Retract { message: id, to: to.clone(), from: anna(), by, token: None };
    let refused = world.run(retract(actor(&one))).unwrap_err();
    assert_eq!(refused.code().name, "forbidden");
    let places = world.run(retract(anna())).unwrap();
    let how = Settlement::Retracted;
    assert!(matches!(places[0].1, MailState::Offered { .. }));
    assert_eq!(places[1].1, MailState::Settled { how, injection: None });
    assert!(!world.wakes(&two));
    assert_eq!(world.run(retract(anna())).unwrap(), places, "twice answers the same");
    world.end(&claim);
}

#[test]
fn dead_mail_is_sent_anew_under_its_own_name_and_dropped_only_by_somebody_or_by_age() {
    let world = World::default();
    let (main, sender) = (world.session("main"), world.session("sender"));
    let id = world.post(&actor(&sender), &[&main], text("too much")).unwrap().id;
    let claim = world.claim(&main).unwrap();
    world.fail(&claim, TurnFailure::Overflow);
    assert_eq!(world.place(id, &main), MailState::Dead);
    assert_eq!(world.bodies(&world.claim(&sender).unwrap()), ["undelivered"], "told once");

    let text = Text { redrives: Some(id), ..Text::new("too much") };
    let to = To::Actors(vec![main.clone()]);
    let anew = Prepared::new(actor(&sender), Post::new(text), &to);
    let redrive = Redrive { actor: main.clone(), message: id, anew };
    let new = world.run(redrive).unwrap().id;
    assert_ne!(new, id);
    assert_eq!(world.place(id, &main), MailState::Dead, "it stays readable");
    assert_eq!(world.place(new, &main), MailState::Pending);

    let before = |seconds: u64| {
        let now = world.now().as_millis();
        reveille_core::Timestamp::from_millis(now - seconds * 1_000)
    };
    assert_eq!(world.run(DropOld { before: before(1), limit: 10 }).unwrap(), 0);
    world.pass(100);
    assert_eq!(world.run(DropOld { before: before(1), limit: 10 }).unwrap(), 1);
    assert_eq!(world.place(id, &main), MailState::Dropped);
    let gone = world.run(DropDead { actor: main, message: id, by: anna() }).unwrap_err();
    assert_eq!(gone.code().name, "unknown_id");
}

#[test]
fn mail_that_cannot_be_read_is_dead_as_damaged_and_the_rest_goes_on() {
    let world = World::default();
    let main = world.session("main");
    let (bad, good) = (world.send(&main, "bad"), world.send(&main, "good"));
    let claim = world.claim(&main).unwrap();
    let damaged = vec![(bad.seq(), "its bytes are not a message".to_owned())];
    world.run(BuryDamaged { token: claim.token, damaged }).unwrap();
    assert_eq!(world.place(bad, &main), MailState::Dead);
    world.end(&claim);
    assert!(matches!(world.place(good, &main), MailState::Injected { .. }));
}
