//! Turns that fail: poison, overflow, accepted mail, the process that dies (section 4).

use reveille_core::failure::TurnFailure;
use reveille_core::{Outcome, Trigger};
use reveille_store::record::{Mark, Settlement};
use reveille_store::step::end::{Accept, TurnEnd};
use reveille_store::step::recover::Recover;
use reveille_store::whereabouts::MailState;

use crate::world::{World, actor, text};

#[test]
fn one_poison_message_among_ten_takes_none_with_it() {
    let world = World::default();
    let (main, sender) = (world.session("main"), world.session("sender"));
    let ids: Vec<_> = (0..10)
        .map(|n| world.post(&actor(&sender), &[&main], text(&n.to_string())).unwrap().id)
        .collect();
    let poison = ids[6];
    let mut attempts = Vec::new();
    let mut claim = world.claim(&main).unwrap();
    loop {
        let holds = claim.picks.iter().any(|pick| pick.seq == poison.seq());
        attempts.push((claim.picks.len(), holds));
        if holds {
            world.fail(&claim, TurnFailure::Panic);
        } else {
            world.end(&claim);
        }
        match world.again(&main) {
            Some(next) => claim = next,
            None => break,
        }
    }
    assert_eq!(attempts[..4], [(10, true); 4], "four attempts at all of them");
    assert_eq!(attempts.len(), 14, "the last one message by message: {attempts:?}");
    assert_eq!(attempts[4..].iter().filter(|(count, holds)| *count == 1 && *holds).count(), 1);
    for id in ids {
        let place = world.place(id, &main);
        if id == poison {
            assert_eq!(place, MailState::Dead);
        } else {
            assert!(matches!(place, MailState::Injected { .. }), "{place:?}");
        }
    }
    assert!(world.row(&main).run.is_none(), "the run is over");
    assert_eq!(world.bodies(&world.claim(&sender).unwrap()), ["undelivered"], "told once");
}

#[test]
fn parts_of_a_split_injection_have_ids_of_their_own_and_name_it() {
    let world = World::default();
    let main = world.session("main");
    for n in 0..4 {
        world.send(&main, &n.to_string());
    }
    let claim = world.claim(&main).unwrap();
    world.fail(&claim, TurnFailure::Overflow);
    let half = world.again(&main).unwrap();
    assert_ne!(half.injection, claim.injection);
    assert_eq!((half.names.clone(), half.attempt), (vec![claim.injection.seq()], 1));
    assert_eq!(world.bodies(&half), ["0", "1"], "the first half comes first");
    world.fail(&half, TurnFailure::Overflow);
    assert_eq!(world.bodies(&world.again(&main).unwrap()), ["0"]);
}

#[test]
fn a_message_that_is_too_much_by_itself_is_dead_and_its_neighbours_arrive() {
    let world = World::default();
    let main = world.session("main");
    let ids: Vec<_> = (0..5).map(|n| world.send(&main, &n.to_string())).collect();
    let mut claim = world.claim(&main).unwrap();
    loop {
        if claim.picks.iter().any(|pick| pick.seq == ids[2].seq()) {
            world.fail(&claim, TurnFailure::Overflow);
        } else {
            world.end(&claim);
        }
        match world.again(&main) {
            Some(next) => claim = next,
            None => break,
        }
    }
    for (n, id) in ids.iter().enumerate() {
        let dead = world.place(*id, &main) == MailState::Dead;
        assert_eq!(dead, n == 2, "message {n}");
    }
}

#[test]
fn an_outage_of_the_provider_kills_no_mail_however_long_it_lasts() {
    let world = World::default();
    let main = world.session("main");
    let id = world.send(&main, "patient");
    let mut claim = world.claim(&main).unwrap();
    for _ in 0..1_000 {
        world.fail(&claim, TurnFailure::Unavailable);
        world.pass(30);
        claim = world.again(&main).unwrap();
    }
    assert_eq!(claim.attempt, 1_001);
    world.end(&claim);
    assert!(matches!(world.place(id, &main), MailState::Injected { .. }));
}

#[test]
fn mail_of_a_permanent_failure_is_settled_as_failed_and_the_run_fails() {
    let world = World::default();
    let main = world.session("main");
    let id = world.send(&main, "no");
    let claim = world.claim(&main).unwrap();
    let end = world.fail(&claim, TurnFailure::Permanent);
    let TurnEnd::Ended(ended) = end else { panic!("{end:?}") };
    let outcome = world.store.outcome(ended.outcome).unwrap();
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    let how = Settlement::Failed;
    assert_eq!(world.place(id, &main), MailState::Settled { how, injection: None });
}

#[test]
fn accepted_mail_is_settled_early_and_a_loss_after_that_asks_the_actor_to_go_on() {
    let world = World::default();
    let main = world.session("main");
    let id = world.send(&main, "a");
    let claim = world.claim(&main).unwrap();
    let accept = || Accept { token: claim.token, injection: claim.injection };
    world.run(accept()).unwrap();
    world.run(accept()).unwrap();
    let injection = Some(claim.injection.seq());
    let how = Settlement::Accepted;
    assert_eq!(world.place(id, &main), MailState::Settled { how, injection });
    world.run(Recover).unwrap();
    assert!(world.again(&main).is_none(), "it is not handed over again");
    let next = world.claim(&main).unwrap();
    assert_eq!(next.run, claim.run, "the run goes on");
    let bodies = world.bodies(&next);
    assert!(bodies[0].contains(&claim.injection.to_string()), "{bodies:?}");
}

#[test]
fn a_death_is_charged_to_a_turn_that_ran_alone_or_began_last_in_a_short_life() {
    let world = World::default();
    let (one, two) = (world.session("one"), world.session("two"));
    world.run(Recover).unwrap();
    world.pass(3_600);
    world.send(&one, "a");
    world.send(&two, "b");
    world.claim(&one).unwrap();
    world.claim(&two).unwrap();
    let deaths = |address| world.row(address).open[0].charges.deaths;
    assert!(!world.run(Recover).unwrap().one_by_one);
    assert_eq!((deaths(&one), deaths(&two)), (0, 0), "a long life, two turns: nobody's");
    world.again(&one).unwrap();
    world.again(&two).unwrap();
    assert!(world.run(Recover).unwrap().one_by_one, "a short life");
    assert_eq!((deaths(&one), deaths(&two)), (0, 1), "the one that began last");
    world.pass(3_600);
    world.again(&one).unwrap();
    world.run(Recover).unwrap();
    assert_eq!((deaths(&one), deaths(&two)), (1, 1), "the one that ran alone");
}

#[test]
fn other_injections_of_a_lost_turn_are_offered_at_the_safe_points_of_the_next() {
    let world = World::default();
    let main = world.session("main");
    world.send(&main, "opening");
    let claim = world.claim(&main).unwrap();
    for body in ["first", "second"] {
        let delivery = reveille_core::Delivery::Steer;
        let post = reveille_store::step::send::Post { delivery, ..text(body) };
        world.post(&crate::world::anna(), &[&main], post).unwrap();
        world.safe_point(claim.token).unwrap();
    }
    world.run(Recover).unwrap();
    world.send(&main, "newer");
    let again = world.again(&main).unwrap();
    assert_eq!((world.bodies(&again), again.attempt), (vec!["opening".to_owned()], 2));
    let first = world.safe_point(again.token).unwrap();
    assert_eq!((world.bodies(&first), first.attempt), (vec!["first".to_owned()], 2));
    assert_eq!(first.trigger, Trigger::SafePoint);
    world.end(&again);
    let second = world.again(&main).unwrap();
    assert_eq!(world.bodies(&second), ["second"], "what is left is a turn of its own");
    world.end(&second);
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["newer"], "before newer mail");
}

#[test]
fn marking_offered_mail_leaves_its_injection_alone() {
    let world = World::default();
    let main = world.session("main");
    let id = world.send(&main, "a");
    let claim = world.claim(&main).unwrap();
    world.mark(&main, id, Mark::Acknowledged).unwrap();
    assert!(matches!(world.place(id, &main), MailState::Offered { .. }));
    world.end(&claim);
    assert!(matches!(world.place(id, &main), MailState::Injected { .. }));
}
