//! Sending (section 3): the order of refusals, repeated calls, merging, delays, hops, limits.

use reveille_core::{Delivery, Kind, OpError, Rank, Text};
use reveille_store::record::Settlement;
use reveille_store::step::Reach;
use reveille_store::step::chores::DoChores;
use reveille_store::step::send::{Post, Prepared, Send, To};
use reveille_store::whereabouts::MailState;

use crate::world::{World, actor, anna, of_kind, text};

fn code(error: &OpError) -> &'static str {
    error.code().name
}

#[test]
fn the_same_call_again_answers_the_first_and_another_one_under_the_key_is_refused() {
    let world = World::default();
    let (one, two) = (world.session("one"), world.session("two"));
    let keyed = |body: &str| Post { key: Some("k".into()), ..text(body) };
    let first = world.post(&anna(), &[&one], keyed("a")).unwrap();
    assert!(!first.duplicate);
    let again = world.post(&anna(), &[&one], keyed("a")).unwrap();
    assert_eq!((again.id, again.duplicate), (first.id, true));
    assert_eq!(again.states, [(one.clone(), MailState::Pending)]);
    let claim = world.claim(&one).unwrap();
    world.end(&claim);
    let injection = claim.injection.seq();
    let later = world.post(&anna(), &[&one], keyed("a")).unwrap();
    assert_eq!(later.states, [(one.clone(), MailState::Injected { injection })]);
    for other in
        [world.post(&anna(), &[&one], keyed("b")), world.post(&anna(), &[&two], keyed("a"))]
    {
        assert_eq!(code(&other.unwrap_err()), "idempotency_conflict");
    }
    // A key is its sender's own.
    let local = world.post(&reveille_core::Caller::Local, &[&one], keyed("b")).unwrap();
    assert!(!local.duplicate);
}

#[test]
fn refusals_come_in_the_order_of_the_contract() {
    let world = World::with(|limits| limits.unread_messages = 1);
    let (main, other) = (world.session("main"), world.session("other"));
    world.send(&other, "fills it");
    let key = || Some("k".to_owned());
    world.post(&actor(&main), &[&main], Post { key: key(), ..text("first") }).unwrap();
    // Everything is wrong at once; what is taken away shows the next refusal.
    let mut wrong = Post { key: key(), urgent: Some(true), ..text(&"x".repeat(40_000)) };
    let send = |post: Post| world.post(&actor(&main), &[&other], post).unwrap_err();
    assert_eq!(code(&send(wrong.clone())), "forbidden", "identity");
    wrong.urgent = Some(false);
    assert_eq!(code(&send(wrong.clone())), "too_large", "shape");
    wrong.text = Text::new("short");
    assert_eq!(code(&send(wrong.clone())), "idempotency_conflict", "idempotency");
    wrong.key = None;
    assert_eq!(code(&send(wrong)), "mailbox_full", "room");
}

#[test]
fn all_recipients_or_none_and_everybody_who_refuses_is_named() {
    let world = World::with(|limits| limits.unread_messages = 1);
    let (one, two, three) = (world.session("1"), world.session("2"), world.session("3"));
    world.send(&one, "full");
    world.send(&three, "full");
    let error = world.post(&anna(), &[&one, &two, &three], text("to all")).unwrap_err();
    let OpError::MailboxFull { addresses, field, value, limit } = error else {
        panic!("{error}");
    };
    assert_eq!((addresses, field, value, limit), (vec![one, three], "messages", 2, 1));
    assert!(world.row(&two).pending.is_empty());
}

#[test]
fn a_merged_message_takes_its_own_place_and_keeps_the_old_ones_time() {
    let world = World::default();
    let main = world.session("main");
    let merged = |body: &str| Post { merge_key: Some("m".into()), ..text(body) };
    let first = world.post(&anna(), &[&main], merged("old")).unwrap().id;
    let begun = world.now();
    world.pass(5);
    world.send(&main, "between");
    let second = world.post(&anna(), &[&main], merged("new")).unwrap().id;
    let how = Settlement::Displaced;
    assert_eq!(world.place(first, &main), MailState::Settled { how, injection: None });
    let row = world.row(&main);
    assert_eq!(row.unread_count, 2);
    let new = row.pending.iter().find(|mail| mail.seq() == second.seq()).unwrap();
    assert_eq!(new.at, begun, "windows count from the old one");
    let claim = world.claim(&main).unwrap();
    assert_eq!(world.bodies(&claim), ["between", "new"], "its place is its own");
    let other = world.post(&reveille_core::Caller::Host, &[&main], merged("host")).unwrap();
    assert_eq!(world.place(other.id, &main), MailState::Pending, "another sender's is another");
}

#[test]
fn delayed_mail_wakes_nobody_before_its_time_and_counts_from_then() {
    let world = World::default();
    let main = world.session("main");
    let due = world.now().after(std::time::Duration::from_secs(60));
    let later = Post { not_before: Some(due), ..text("later") };
    let id = world.post(&anna(), &[&main], later).unwrap().id;
    assert_eq!(world.place(id, &main), MailState::Delayed);
    assert!(!world.wakes(&main) && world.claim(&main).is_none());
    world.send(&main, "now");
    let claim = world.claim(&main).unwrap();
    assert_eq!(world.bodies(&claim), ["now"], "it does not ride along either");
    world.end(&claim);
    assert_eq!(world.row(&main).next_moment(world.now()), Some(due));
    world.pass(60);
    let mail = world.row(&main).wake_worthy(world.now()).unwrap();
    assert_eq!(mail.first, due);
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["later"]);
}

#[test]
fn expired_mail_is_dead_and_its_sender_is_told_and_offered_mail_does_not_expire() {
    let world = World::default();
    let (main, sender) = (world.session("main"), world.session("sender"));
    let at = world.now().after(std::time::Duration::from_secs(10));
    let mortal = |body: &str| Post { expires_at: Some(at), ..text(body) };
    let offered = world.post(&actor(&sender), &[&main], mortal("offered")).unwrap().id;
    let claim = world.claim(&main).unwrap();
    let id = world.post(&actor(&sender), &[&main], mortal("waits")).unwrap().id;
    world.pass(10);
    assert!(world.run(DoChores { actor: world.number(&main) }).unwrap());
    assert!(!world.run(DoChores { actor: world.number(&main) }).unwrap(), "once");
    assert_eq!(world.place(id, &main), MailState::Dead);
    assert!(matches!(world.place(offered, &main), MailState::Offered { .. }));
    world.end(&claim);
    let told = world.claim(&sender).unwrap();
    assert_eq!(world.bodies(&told), ["undelivered"]);
}

#[test]
fn mail_is_passed_on_so_often_and_not_further() {
    let world = World::default();
    let (ping, pong) = (world.session("ping"), world.session("pong"));
    world.send(&ping, "begin");
    let (mut from, mut to) = (&ping, &pong);
    for hop in 1..=17 {
        let claim = world.claim(from).unwrap();
        let list = To::Actors(vec![to.clone()]);
        let message = Prepared::new(actor(from), text("on"), &list);
        let sent = world.run(Send { to: list, message, token: Some(claim.token) });
        if hop <= 16 {
            sent.unwrap();
            assert_eq!(world.row(to).pending[0].hops, hop);
        } else {
            assert_eq!(code(&sent.unwrap_err()), "hop_limit");
        }
        world.end(&claim);
        (from, to) = (to, from);
    }
}

#[test]
fn who_may_send_what_is_decided_by_who_they_are() {
    let world = World::default();
    let (lead, stranger) = (world.session("lead"), world.session("stranger"));
    let worker = world.worker(&lead);
    let urgent = || Post { urgent: Some(true), ..text("now") };
    let steer = || Post { delivery: Delivery::Steer, ..text("in") };
    let interrupt = || Post { delivery: Delivery::Interrupt, ..text("stop that") };
    for post in [urgent(), steer(), interrupt(), of_kind(Kind::Alert, "fire")] {
        world.post(&actor(&lead), &[&worker], post.clone()).unwrap();
        let refused = world.post(&actor(&worker), &[&lead], post.clone()).unwrap_err();
        assert_eq!(code(&refused), "forbidden");
        let refused = world.post(&actor(&stranger), &[&worker], post).unwrap_err();
        assert_eq!(code(&refused), "forbidden");
    }
    for kind in [Kind::Continuation, Kind::PermissionRequest, Kind::Notice] {
        let refused = world.post(&anna(), &[&lead], of_kind(kind, "forged")).unwrap_err();
        assert_eq!(code(&refused), "forbidden", "{kind}");
        world.post(&reveille_core::Caller::Host, &[&lead], of_kind(kind, "the host's")).unwrap();
    }
    let ranked = Post { rank: Some(Rank::RunNotice), ..text("first!") };
    assert_eq!(code(&world.post(&anna(), &[&lead], ranked).unwrap_err()), "forbidden");
    let resumes = Post { resume: true, ..text("go") };
    let refused = world.post(&actor(&lead), &[&worker], resumes).unwrap_err();
    assert_eq!(code(&refused), "forbidden");
}

#[test]
fn where_reach_is_the_tree_actors_write_to_their_own_only() {
    let world = World::with(|limits| limits.reach = Reach::Tree);
    let (lead, stranger) = (world.session("lead"), world.session("stranger"));
    let worker = world.worker(&lead);
    world.post(&actor(&worker), &[&lead], text("up")).unwrap();
    let refused = world.post(&actor(&stranger), &[&lead], text("over")).unwrap_err();
    assert_eq!(code(&refused), "forbidden");
    world.send(&lead, "people reach everybody");
}

#[test]
fn what_the_whole_store_has_no_room_for_is_refused_and_settles_go_through() {
    let world = World::with(|limits| (limits.store_messages, limits.store_bytes) = (3, 1_000));
    let (one, two) = (world.session("one"), world.session("two"));
    world.send(&one, "a");
    let claim = world.claim(&one).unwrap();
    let refused = world.post(&anna(), &[&two], text(&"x".repeat(1_000))).unwrap_err();
    let OpError::StoreFull { field, value, limit } = refused else { panic!("{refused}") };
    assert_eq!((field, value, limit), ("bytes", 1_001, 1_000));
    world.send(&two, "b");
    world.send(&two, "c");
    let refused = world.post(&anna(), &[&two], text("d")).unwrap_err();
    assert!(matches!(refused, OpError::StoreFull { field: "messages", value: 4, limit: 3 }));
    world.end(&claim);
    world.send(&two, "d");
}

#[test]
fn a_full_mailbox_never_blocks_an_outcome() {
    let world = World::with(|limits| limits.unread_messages = 1);
    let lead = world.session("lead");
    let worker = world.worker(&lead);
    let task = world.claim(&worker).unwrap();
    world.send(&lead, "full");
    assert_eq!(code(&world.post(&anna(), &[&lead], text("more")).unwrap_err()), "mailbox_full");
    world.end(&task);
    let claim = world.claim(&lead).unwrap();
    assert_eq!(world.bodies(&claim), ["completed", "full"]);
}

#[test]
fn mail_that_wants_to_be_refused_while_its_receiver_is_busy_is() {
    let world = World::default();
    let main = world.session("main");
    let picky = || Post { delivery: Delivery::RejectIfBusy, ..text("only if you have time") };
    world.post(&anna(), &[&main], picky()).unwrap();
    let claim = world.claim(&main).unwrap();
    assert_eq!(code(&world.post(&anna(), &[&main], picky()).unwrap_err()), "busy");
    world.end(&claim);
    world.post(&anna(), &[&main], picky()).unwrap();
}
