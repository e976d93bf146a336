//! Windows, safe points, groups, holds (section 5).

use std::time::Duration;

use reveille_core::failure::TurnFailure;
use reveille_core::{Caller, Delivery, Kind, Outcome, Trigger};
use reveille_store::record::{GroupPolicy, HoldReason};
use reveille_store::step::actors::SpawnGroup;
use reveille_store::step::end::Next;
use reveille_store::step::hold::{Hold, Release, Resume};
use reveille_store::step::run::EndRun;
use reveille_store::step::send::Post;

use crate::world::{World, anna, of_kind, text, worker};

fn steer(body: &str) -> Post {
    Post { delivery: Delivery::Steer, ..text(body) }
}

#[test]
fn steered_a_plain_b_steered_c_of_one_sender_arrive_in_that_order() {
    let world = World::default();
    let main = world.session("main");
    world.send(&main, "begin");
    let claim = world.claim(&main).unwrap();
    assert!(world.safe_point(claim.token).is_none(), "nothing wants in");
    for post in [steer("a"), text("b"), steer("c")] {
        world.post(&anna(), &[&main], post).unwrap();
    }
    world.post(&Caller::Host, &[&main], text("somebody else's")).unwrap();
    let point = world.safe_point(claim.token).unwrap();
    assert_eq!((point.trigger, point.token), (Trigger::SafePoint, claim.token));
    assert_eq!(world.bodies(&point), ["a", "b", "c"]);
    assert!(world.safe_point(claim.token).is_none());
    world.end(&claim);
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["somebody else's"]);
}

#[test]
fn plain_mail_waits_for_the_end_and_steering_mail_without_a_safe_point_is_ordinary() {
    let world = World::default();
    let main = world.session("main");
    world.send(&main, "begin");
    let claim = world.claim(&main).unwrap();
    world.post(&anna(), &[&main], text("plain")).unwrap();
    assert!(world.safe_point(claim.token).is_none(), "the turn is not disturbed");
    world.post(&anna(), &[&main], steer("late")).unwrap();
    world.end(&claim);
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["plain", "late"]);
}

#[test]
fn the_mail_of_an_interrupted_turn_goes_first_into_the_new_injection_which_names_the_old() {
    let world = World::default();
    let main = world.session("main");
    world.send(&main, "begin");
    let claim = world.claim(&main).unwrap();
    world.post(&anna(), &[&main], steer("let in")).unwrap();
    let point = world.safe_point(claim.token).unwrap();
    let stop = Post { delivery: Delivery::Interrupt, ..text("stop that") };
    world.post(&anna(), &[&main], stop).unwrap();
    assert!(world.row(&main).wants_interrupt(world.now()));
    world.fail(&claim, TurnFailure::Interrupted);
    let next = world.claim(&main).unwrap();
    assert_eq!(world.bodies(&next), ["begin", "let in", "stop that"]);
    assert_eq!(next.names, [claim.injection.seq(), point.injection.seq()]);
    assert_eq!((next.run, next.attempt), (claim.run, 1), "one run, a new injection");
}

#[test]
fn passive_mail_wakes_nobody_and_rides_along() {
    let world = World::default();
    let main = world.session("main");
    let passive = Post { delivery: Delivery::Passive, ..text("by the way") };
    world.post(&anna(), &[&main], passive).unwrap();
    assert!(!world.wakes(&main) && world.claim(&main).is_none());
    world.send(&main, "now");
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["by the way", "now"]);
}

fn group(
    world: &World,
    policy: GroupPolicy,
    count: usize,
) -> (reveille_core::Address, Vec<reveille_core::Address>) {
    let lead = world.session("lead");
    let workers = (0..count).map(|n| worker(&n.to_string())).collect();
    let spawn = SpawnGroup { parent: lead.clone(), policy, workers, token: None };
    let members = world.run(spawn).unwrap().into_iter().map(|spawned| spawned.address);
    (lead, members.collect())
}

fn finish(world: &World, member: &reveille_core::Address, well: bool) {
    let task = world.claim(member).unwrap();
    if well {
        world.end(&task)
    } else {
        world.fail(&task, TurnFailure::Permanent)
    };
}

#[test]
fn notices_of_a_group_wake_once_its_policy_is_met() {
    for (policy, ends, met_at) in [
        (GroupPolicy::Each, [false, true, true], 1),
        (GroupPolicy::Any, [false, true, true], 2),
        (GroupPolicy::Any, [false, false, false], 3),
        (GroupPolicy::All, [true, false, true], 3),
        (GroupPolicy::Quorum(2), [true, false, true], 3),
        (GroupPolicy::Quorum(2), [false, false, true], 2),
    ] {
        let world = World::default();
        let (lead, members) = group(&world, policy, 3);
        for (n, (member, well)) in members.iter().zip(ends).enumerate() {
            assert_eq!(world.wakes(&lead), n >= met_at, "{policy:?} before end {n}");
            finish(&world, member, well);
        }
        assert!(world.wakes(&lead));
        let claim = world.claim(&lead).unwrap();
        assert_eq!(claim.picks.len(), 3, "every notice of the group is in it");
    }
}

#[test]
fn until_the_policy_is_met_notices_ride_along_with_other_mail() {
    let world = World::default();
    let (lead, members) = group(&world, GroupPolicy::All, 2);
    finish(&world, &members[0], true);
    world.send(&lead, "hello");
    assert_eq!(world.bodies(&world.claim(&lead).unwrap()), ["completed", "hello"]);
}

#[test]
fn a_quorum_above_its_members_and_a_group_beyond_a_budget_are_refused_whole() {
    let world = World::with(|limits| limits.budgets.children = 2);
    let lead = world.session("lead");
    let spawn = |policy, count: usize| {
        let workers = (0..count).map(|n| worker(&n.to_string())).collect();
        let group = SpawnGroup { parent: lead.clone(), policy, workers, token: None };
        world.run(group).unwrap_err().code().name
    };
    assert_eq!(spawn(GroupPolicy::Quorum(3), 2), "invalid");
    assert_eq!(spawn(GroupPolicy::All, 3), "refused");
    assert_eq!(world.row(&lead).groups.len(), 0);
    let left = futures_executor::block_on(world.store.look(|state| state.rows().len())).unwrap();
    assert_eq!(left, 1, "none of them was made");
}

#[test]
fn a_hold_stops_injections_and_its_release_lets_what_waited_go_at_once() {
    let world = World::default();
    let main = world.session("main");
    let reason = || HoldReason::Paused;
    let hold = || Hold { actor: main.clone(), reason: reason(), note: "lunch".into(), by: anna() };
    let id = world.run(hold()).unwrap();
    assert_eq!(world.run(hold()).unwrap(), id, "declared again it is the same");
    world.send(&main, "waits");
    world.pass(100);
    assert!(world.claim(&main).is_none());
    let release = || Release { actor: main.clone(), hold: None, by: anna() };
    assert_eq!(world.run(release()).unwrap(), 1);
    assert_eq!(world.run(release()).unwrap(), 0);
    assert!(world.claim(&main).is_some());
}

#[test]
fn a_stopped_actor_starts_only_by_a_resume_and_stopping_raises_no_floor() {
    let world = World::default();
    let main = world.session("main");
    world.send(&main, "before");
    let stop = |by: Caller| EndRun {
        actor: main.clone(),
        run: None,
        outcome: Outcome::Cancelled { by: by.clone(), reason: "stop".into() },
        raises_floor: false,
        silent: false,
        stops: Some(by),
    };
    world.run(stop(anna())).unwrap();
    world.send(&main, "after");
    assert!(world.claim(&main).is_none());
    assert!(world.run(Resume { actor: main.clone(), by: anna() }).unwrap());
    assert!(!world.run(Resume { actor: main.clone(), by: anna() }).unwrap());
    let claim = world.claim(&main).unwrap();
    assert_eq!(world.bodies(&claim), ["before", "after"]);
    world.run(stop(anna())).unwrap();
    let go = Post { resume: true, ..text("go on") };
    world.post(&anna(), &[&main], go).unwrap();
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["before", "after", "go on"]);
}

#[test]
fn continuations_that_change_nothing_end_after_eight_in_a_row() {
    let world = World::default();
    let main = world.session("main");
    let go_on = || {
        world.post(&Caller::Host, &[&main], of_kind(Kind::Continuation, "go on")).unwrap();
        world.claim(&main)
    };
    for _ in 0..8 {
        world.report(&go_on().unwrap(), false, Next::Auto).unwrap();
    }
    assert!(go_on().is_none(), "it ends by itself");
    world.send(&main, "news");
    let claim = world.claim(&main).unwrap();
    assert_eq!(world.bodies(&claim), ["news", "go on"], "and rides along");
    world.end(&claim);
    for _ in 0..20 {
        world.report(&go_on().unwrap(), true, Next::Auto).unwrap();
    }
}

#[test]
fn mail_below_the_wake_floor_rides_along_and_delayed_mail_counts_from_its_due_time() {
    let world = World::default();
    let main = world.session("main");
    world.send(&main, "begin");
    world.claim(&main).unwrap();
    let due = world.now().after(Duration::from_secs(60));
    let later = Post { not_before: Some(due), ..text("later") };
    world.post(&anna(), &[&main], later).unwrap();
    world.pass(1);
    let outcome = Outcome::Cancelled { by: anna(), reason: "enough".into() };
    let actor_ = main.clone();
    let cancel = EndRun {
        actor: actor_,
        run: None,
        outcome,
        raises_floor: true,
        silent: false,
        stops: None,
    };
    world.run(cancel).unwrap();
    assert!(!world.wakes(&main), "what came before the cancel wakes nobody");
    world.pass(60);
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["begin", "later"]);
}
