//! Section 4, P4: failures, splits, halves, early acceptance, and the cap on continuations (W9).

use std::time::Duration;

use reveille_core::failure::TurnFailure;
use reveille_core::limits::CONTINUATIONS;
use reveille_core::{InjectionId, Kind, OpError, Status};
use reveille_store::step::end::{Accept, Contained, Next, TurnEnd};
use reveille_store::step::recover::Recover;
use reveille_store::step::turn::Claim;

use crate::world::{HOST, World, anna, of_kind, text};

fn accept(w: &World, claim: &Claim, injection: InjectionId) {
    w.run(Accept { token: claim.token, injection }).unwrap();
}

fn unchanged(w: &World, claim: &Claim, next: Next) -> TurnEnd {
    w.report(claim, false, next).unwrap()
}

#[test]
fn what_is_offered_again_has_the_same_id_and_one_attempt_more_and_precedes_newer_mail() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "one");
    let first = w.claim(&a).unwrap();
    w.send_as(HOST, &a, "newer");
    w.fail_after(&first, TurnFailure::Transient, Duration::from_secs(1));
    assert_eq!(w.again(&a), None, "not before the back-off is over");
    assert_eq!(w.claim(&a), None, "nor anything else");
    w.pass(1);
    let second = w.again(&a).unwrap();
    assert_eq!((second.injection, second.attempt), (first.injection, 2));
    assert_eq!(second.run, first.run);
    assert_eq!(w.bodies(&second), ["one"]);
    assert_ne!(second.token, first.token);
    assert_eq!(w.report(&first, true, Next::Auto), Err(OpError::StaleToken));
    w.end(&second);
    assert_eq!(w.bodies(&w.claim(&a).unwrap()), ["newer"]);
}

#[test]
fn one_poison_among_ten_takes_none_with_it() {
    let w = World::default();
    let a = w.session("main");
    let ids: Vec<_> = (0..10).map(|n| w.send_as(HOST, &a, &format!("m{n}"))).collect();
    let mut turn = w.claim(&a).unwrap();
    let whole = turn.injection;
    for _ in 0..3 {
        w.fail(&turn, TurnFailure::Panic);
        turn = w.again(&a).unwrap();
        assert_eq!(turn.injection, whole);
    }
    // The fourth failure splits: the last attempt is made message by message.
    w.fail(&turn, TurnFailure::Panic);
    for (n, id) in ids.iter().enumerate() {
        let turn = w.again(&a).unwrap();
        assert_eq!((turn.attempt, turn.names.clone()), (1, vec![whole.seq()]));
        assert_eq!(w.bodies(&turn), [format!("m{n}")]);
        assert_eq!(w.safe_point(turn.token), None, "neighbours keep away from it");
        if n == 4 {
            w.fail(&turn, TurnFailure::Panic);
            assert_eq!(w.place_name(*id, &a), "dead");
        } else {
            w.end(&turn);
            assert_eq!(w.place_name(*id, &a), "injected");
        }
    }
    assert!(w.row(&a).open.is_empty() && w.row(&a).run.is_none());
}

#[test]
fn charges_survive_a_release() {
    let w = World::default();
    let a = w.session("main");
    let message = w.send_as(HOST, &a, "poison");
    let mut turn = w.claim(&a).unwrap();
    for _ in 0..4 {
        w.fail(&turn, TurnFailure::Transient);
        turn = w.again(&a).unwrap();
    }
    w.cancel(&a);
    assert_eq!(w.place_name(message, &a), "pending");
    w.send_as(HOST, &a, "wakes it");
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["poison", "wakes it"]);
    w.fail(&turn, TurnFailure::Transient);
    let alone = w.again(&a).unwrap();
    assert_eq!(w.bodies(&alone), ["poison"], "four attempts were charged before");
    w.fail(&alone, TurnFailure::Transient);
    assert_eq!(w.place_name(message, &a), "dead");
    assert_eq!(w.bodies(&w.again(&a).unwrap()), ["wakes it"]);
}

#[test]
fn a_task_is_never_run_again_after_a_panic_and_its_other_mail_is_released() {
    let w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let first = w.row(&worker).pending[0].id;
    let other = w.send_as(HOST, &worker, "beside the task");
    let task = w.claim(&worker).unwrap();
    assert_eq!(task.picks.len(), 2);
    w.fail(&task, TurnFailure::Panic);
    assert_eq!(w.place_name(first, &worker), "run_ended");
    assert_eq!(w.place_name(other, &worker), "pending");
    assert_eq!(w.waiting(&lead), ["failed"]);
}

#[test]
fn accepted_mail_is_settled_and_after_a_loss_a_continuation_names_it() {
    let w = World::default();
    let a = w.session("main");
    let message = w.send_as(HOST, &a, "long work");
    let turn = w.claim(&a).unwrap();
    accept(&w, &turn, turn.injection);
    accept(&w, &turn, turn.injection);
    assert_eq!(w.place_name(message, &a), "accepted");
    let lost = w.fail(&turn, TurnFailure::Lost { charged: false });
    assert_eq!(lost, TurnEnd::Continues);
    let next = w.claim(&a).unwrap();
    assert_eq!(next.run, turn.run);
    let text = w.text_of(next.picks[0].seq);
    assert_eq!(text.kind, Kind::Continuation);
    assert_eq!(text.related, [turn.injection.to_string()]);
}

#[test]
fn what_was_not_accepted_in_a_lost_turn_is_offered_again_before_the_continuation() {
    let mut w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "accepted");
    let turn = w.claim(&a).unwrap();
    accept(&w, &turn, turn.injection);
    w.put(anna(), &a, steer("not accepted"));
    let let_in = w.safe_point(turn.token).unwrap();
    w.restart();
    let found = w.run(Recover).unwrap();
    assert_eq!(found.again, vec![a.clone()]);
    let again = w.again(&a).unwrap();
    assert_eq!((again.injection, again.attempt), (let_in.injection, 2));
    w.end(&again);
    assert_eq!(w.text_of(w.claim(&a).unwrap().picks[0].seq).kind, Kind::Continuation);
}

fn steer(body: &str) -> reveille_store::step::send::Post {
    use reveille_core::Delivery;
    reveille_store::step::send::Post { delivery: Delivery::Steer, ..text(body) }
}

#[test]
fn an_injection_that_the_turn_does_not_hold_is_not_accepted() {
    let w = World::default();
    let (a, b) = (w.session("main"), w.session("main"));
    w.send_as(HOST, &a, "for a");
    w.send_as(HOST, &b, "for b");
    let (mine, other) = (w.claim(&a).unwrap(), w.claim(&b).unwrap());
    let refused = w.run(Accept { token: mine.token, injection: other.injection });
    assert_eq!(refused.unwrap_err().code().name, "unknown_id");
}

#[test]
fn an_agent_that_accepts_and_is_lost_again_and_again_is_given_up_with_patience() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "deadly");
    let back_off = Duration::from_secs(1);
    let mut turns = 1;
    let mut turn = w.claim(&a).unwrap();
    loop {
        accept(&w, &turn, turn.injection);
        match w.fail_after(&turn, TurnFailure::Lost { charged: true }, back_off) {
            TurnEnd::Ended(_) => break,
            TurnEnd::Continues => {}
        }
        assert_eq!(w.claim(&a), None, "it backs off");
        w.later(back_off);
        turn = w.claim(&a).unwrap();
        turns += 1;
        assert!(turns < 100, "it never ends");
    }
    assert_eq!(turns, CONTINUATIONS + 1);
    assert_eq!(w.row(&a).ended.unwrap().state.name(), "failed");
}

#[test]
fn a_turn_that_accepted_more_than_a_continuation_can_name_is_lost_like_any_other() {
    let w = World::default();
    let a = w.session("main");
    w.send_as(HOST, &a, "work");
    let turn = w.claim(&a).unwrap();
    accept(&w, &turn, turn.injection);
    for n in 0..1_100 {
        w.put(anna(), &a, steer(&n.to_string()));
        let let_in = w.safe_point(turn.token).unwrap();
        accept(&w, &turn, let_in.injection);
    }
    assert_eq!(w.fail(&turn, TurnFailure::Lost { charged: false }), TurnEnd::Continues);
    let next = w.claim(&a).unwrap();
    let text = w.text_of(next.picks[0].seq);
    assert!(text.related.contains(&turn.injection.to_string()));
    assert!(text.body.contains("and 1085 more"), "{}", text.body);
}

#[test]
fn continuations_end_after_eight_in_a_row_without_a_change() {
    let mut w = World::default();
    let a = w.session("main");
    let go_on = || of_kind(Kind::Continuation, "go on");
    w.send_as(HOST, &a, "begin");
    let turn = w.claim(&a).unwrap();
    w.put(HOST, &a, go_on());
    unchanged(&w, &turn, Next::Yield);
    for n in 0..CONTINUATIONS {
        assert_eq!(w.row(&a).continuations, n);
        let turn = w.claim(&a).unwrap();
        w.put(HOST, &a, go_on());
        let ended = unchanged(&w, &turn, Next::Yield);
        let last = n + 1 == CONTINUATIONS;
        assert_eq!(matches!(ended, TurnEnd::Ended(_)), last, "nothing continues it any more");
        w.restart();
    }
    assert_eq!(w.claim(&a), None, "the count survived the restarts");
    w.send_as(HOST, &a, "something else");
    let turn = w.claim(&a).unwrap();
    assert_eq!(w.bodies(&turn), ["something else", "go on"], "it rides along");
    w.end(&turn);
    assert_eq!(w.row(&a).continuations, 0);
}

#[test]
fn a_change_lets_continuations_go_on() {
    let w = World::default();
    let a = w.session("main");
    w.put(HOST, &a, of_kind(Kind::Continuation, "go on"));
    for _ in 0..2 * CONTINUATIONS {
        let turn = w.claim(&a).unwrap();
        w.put(HOST, &a, of_kind(Kind::Continuation, "go on"));
        w.end_as(&turn, Status::Success);
    }
    assert!(w.wakes(&a));
}

#[test]
fn what_the_agent_has_of_a_turn_that_was_cut_is_settled_and_the_rest_waits() {
    let w = World::default();
    let a = w.session("main");
    let (has, lacks) = (w.send_as(HOST, &a, "has"), w.send_as(HOST, &a, "lacks"));
    w.claim(&a).unwrap();
    w.cancel(&a);
    let messages = vec![has.seq()];
    let contained = || Contained { actor: w.number(&a), messages: messages.clone() };
    w.run(contained()).unwrap();
    w.run(contained()).unwrap();
    assert_eq!(w.place_name(has, &a), "contained");
    assert_eq!(w.place_name(lacks, &a), "pending");
}

#[test]
fn an_earlier_start_of_the_store_has_no_say() {
    let mut w = World::default();
    let a = w.session("main");
    let message = w.send_as(HOST, &a, "work");
    let old = w.claim(&a).unwrap();
    w.restart();
    w.run(Recover).unwrap();
    assert_eq!(w.report(&old, true, Next::Auto), Err(OpError::StaleToken));
    let again = w.again(&a).unwrap();
    assert_eq!((again.injection, again.attempt, again.lost), (old.injection, 2, true));
    let found = w.run(Recover).unwrap();
    assert_eq!(found.again, vec![a.clone()]);
    assert_eq!(w.run(Recover).unwrap().again, [], "doing it twice changes nothing");
    assert_eq!(w.place_name(message, &a), "offered");
}
