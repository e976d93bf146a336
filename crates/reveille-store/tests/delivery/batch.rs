//! Decision 3: a check inside a batch sees what the batch already holds.

use std::time::Duration;

use futures_executor::block_on;
use reveille_core::window::WindowSettings;
use reveille_core::{OpError, Outcome};
use reveille_store::raw::together;
use reveille_store::step::end::{EndTurn, Next, Report};
use reveille_store::step::run::{EndRun, RunEnd};
use reveille_store::step::send::{Post, Prepared, Send, To};
use reveille_store::step::turn::ClaimMail;

use crate::world::{World, anna, text};

#[test]
fn two_sends_with_one_key_in_one_commit_are_one_message() {
    let world = World::default();
    let main = world.session("main");
    let send = |body: &str| {
        let to = To::Actors(vec![main.clone()]);
        let post = Post { key: Some("k".into()), ..text(body) };
        Send { message: Prepared::new(anna(), post, &to), to, token: None }
    };
    let (first, second, other) = (send("a"), send("a"), send("b"));
    let (first, second, other) = block_on(together(&world.store, move |batch| {
        (batch.step(first), batch.step(second), batch.step(other))
    }))
    .unwrap();
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!((first.id, first.duplicate, second.duplicate), (second.id, false, true));
    assert_eq!(other.unwrap_err().code().name, "idempotency_conflict");
    assert_eq!(world.row(&main).pending.len(), 1);
}

#[test]
fn of_two_outcomes_in_one_commit_the_first_wins_and_the_other_is_told_so() {
    let world = World::default();
    let lead = world.session("lead");
    let worker = world.worker(&lead);
    let task = world.claim(&worker).unwrap();
    let report = Report {
        status: reveille_core::Status::Success,
        summary: None,
        result: "done".into(),
        changed: true,
        next: Next::Auto,
    };
    let finish = EndTurn { token: task.token, report };
    let cancel = EndRun {
        actor: worker,
        run: Some(task.run),
        outcome: Outcome::Cancelled { by: anna(), reason: "too late".into() },
        raises_floor: true,
        silent: false,
        stops: None,
    };
    let (finished, cancelled) =
        block_on(together(&world.store, move |batch| (batch.step(finish), batch.step(cancel))))
            .unwrap();
    finished.unwrap();
    let RunEnd::AlreadyEnded(ended) = cancelled.unwrap() else { panic!() };
    assert_eq!(ended.state.name(), "completed");
    assert_eq!(world.row(&lead).pending.len(), 1, "told once");
}

#[test]
fn of_two_claims_in_one_commit_one_gets_the_mail() {
    let world = World::default();
    let main = world.session("main");
    world.send(&main, "a");
    let actor = world.number(&main);
    let zero = Duration::ZERO;
    let windows = WindowSettings { quiet: zero, max: zero, min_gap: zero };
    let (first, second) = block_on(together(&world.store, move |batch| {
        let claim = || ClaimMail { actor, windows };
        (batch.step(claim()), batch.step(claim()))
    }))
    .unwrap();
    assert!(first.unwrap().is_some());
    assert_eq!(second.unwrap(), None);
}

#[test]
fn a_refusal_inside_a_commit_leaves_nothing_of_its_own_and_all_of_the_others() {
    let world = World::with(|limits| limits.unread_messages = 1);
    let main = world.session("main");
    let send = |body: &str| {
        let to = To::Actors(vec![main.clone()]);
        Send { message: Prepared::new(anna(), text(body), &to), to, token: None }
    };
    let (first, second) = (send("fits"), send("does not"));
    let (first, second) =
        block_on(together(&world.store, move |batch| (batch.step(first), batch.step(second))))
            .unwrap();
    first.unwrap();
    assert!(matches!(second.unwrap_err(), OpError::MailboxFull { .. }));
    assert_eq!(world.bodies(&world.claim(&main).unwrap()), ["fits"]);
}
