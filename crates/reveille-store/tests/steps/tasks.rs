//! Section 4: how the mail of a task run ends with it, and what a wait inside a turn collects.

use futures_executor::block_on;
use reveille_core::failure::TurnFailure;
use reveille_core::{Address, Cause, Delivery, MessageId, Outcome, Trigger};
use reveille_store::step::recover::Recover;
use reveille_store::step::send::Post;
use reveille_store::step::turn::Claim;
use reveille_store::step::wait::{StopWaiting, WaitAnswer, WaitFor};

use crate::world::{HOST, World, anna, text};

/// A lead, and its worker with a message beside that of its task.
fn begun() -> (World, Address, Address, [MessageId; 2]) {
    let w = World::default();
    let lead = w.session("main");
    let worker = w.worker(&lead);
    let first = w.row(&worker).pending[0].id;
    let beside = w.send_as(HOST, &worker, "beside the task");
    (w, lead, worker, [first, beside])
}

fn interrupt(w: &World, worker: &Address) {
    w.end_run(worker, |end| end.outcome = Outcome::Interrupted { cause: Cause::Shutdown });
}

#[test]
fn however_a_queued_task_ends_its_first_message_ends_with_it_and_other_mail_waits() {
    let ends: [fn(&World, &Address, &Address); 4] = [
        |w, _, worker| _ = w.cancel(worker),
        |w, _, worker| _ = w.stop(worker),
        |w, _, worker| interrupt(w, worker),
        |w, lead, _| {
            w.send_as(HOST, lead, "work");
            let turn = w.claim(lead).unwrap();
            w.finish(&turn);
        },
    ];
    for end in ends {
        let (w, lead, worker, [first, beside]) = begun();
        end(&w, &lead, &worker);
        assert!(w.row(&worker).run.is_none());
        assert_eq!(w.place_name(first, &worker), "run_ended");
        assert_eq!(w.place_name(beside, &worker), "pending");
    }
}

#[test]
fn however_a_running_task_ends_its_first_message_ends_with_it_and_what_its_turn_held_is_released() {
    let ends: [fn(&World, &Address, &Claim); 8] = [
        |w, worker, _| _ = w.cancel(worker),
        |w, worker, _| _ = w.stop(worker),
        |w, worker, _| interrupt(w, worker),
        |w, _, turn| _ = w.fail(turn, TurnFailure::Permanent),
        |w, _, turn| _ = w.fail(turn, TurnFailure::Panic),
        |w, _, turn| _ = w.fail(turn, TurnFailure::Overflow),
        |w, _, turn| _ = w.fail(turn, TurnFailure::Lost { charged: true }),
        |w, _, _| _ = w.run(Recover).unwrap(),
    ];
    for end in ends {
        let (w, lead, worker, [first, beside]) = begun();
        let turn = w.claim(&worker).unwrap();
        let steer = Post { delivery: Delivery::Steer, ..text("let in") };
        let let_in = w.put(anna(), &worker, steer);
        w.safe_point(turn.token).unwrap();
        end(&w, &worker, &turn);
        assert!(w.row(&worker).run.is_none() && w.row(&worker).open.is_empty());
        assert_eq!(w.place_name(first, &worker), "run_ended");
        assert_eq!(w.waiting(&worker), ["beside the task", "let in"], "in their old places");
        assert_eq!(w.place_name(beside, &worker), "pending");
        assert_eq!(w.place_name(let_in, &worker), "pending");
        assert_eq!(w.notices(&lead).len(), 1);
    }
}

#[test]
fn a_task_that_backs_off_ends_with_its_last_attempt_and_so_does_its_message() {
    let (w, _, worker, [first, beside]) = begun();
    let mut turn = w.claim(&worker).unwrap();
    for _ in 0..4 {
        w.fail(&turn, TurnFailure::Transient);
        turn = w.again(&worker).unwrap();
    }
    w.fail(&turn, TurnFailure::Transient);
    assert_eq!(w.row(&worker).ended.unwrap().state.name(), "failed");
    assert_eq!(w.place_name(first, &worker), "run_ended");
    assert_eq!(w.place_name(beside, &worker), "pending");
}

#[test]
fn a_task_that_is_cancelled_while_it_backs_off_ends_likewise() {
    let (w, _, worker, [first, beside]) = begun();
    let turn = w.claim(&worker).unwrap();
    w.fail(&turn, TurnFailure::Transient);
    w.cancel(&worker);
    assert_eq!(w.again(&worker), None);
    assert_eq!(w.place_name(first, &worker), "run_ended");
    assert_eq!(w.place_name(beside, &worker), "pending");
}

#[test]
fn a_notice_that_a_wait_collects_is_an_injection_of_its_own() {
    for ends_first in [true, false] {
        let (w, lead, worker, _) = begun();
        let task = w.claim(&worker).unwrap();
        w.send_as(HOST, &lead, "work");
        let turn = w.claim(&lead).unwrap();
        let wait = WaitFor { token: turn.token, id: 1, target: worker.clone(), run: None };
        if ends_first {
            w.finish(&task);
        }
        let answer = block_on(w.store.wait_for(wait)).unwrap();
        if !ends_first {
            assert!(matches!(answer, WaitAnswer::Open(_)));
            w.finish(&task);
        }
        let open = w.row(&lead).open;
        let [opening, collected] = open.as_slice() else { panic!("{open:?}") };
        assert_eq!(opening.id, turn.injection);
        assert_eq!((collected.trigger, collected.attempt), (Trigger::Wait, 1));
        assert_eq!((collected.turn, collected.mail.len()), (Some(turn.token.turn), 1));
        if let WaitAnswer::Ended { collected: id, .. } = answer {
            assert_eq!(id, Some(collected.id));
        }
        let notice = collected.mail[0].mail.id;
        assert_eq!(w.place_name(notice, &lead), "offered");
        let over = StopWaiting { token: turn.token, id: 1, returned: true };
        block_on(w.store.stop_waiting(over)).unwrap();
        w.finish(&turn);
        let place = w.place(notice, &lead);
        let injection = collected.id.seq();
        assert_eq!(place, reveille_store::whereabouts::MailState::Collected { injection });
    }
}
