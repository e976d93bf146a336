//! P3, P5, W1 to W4, W12: reasons to wake become one injection per window.

use reveille::{Caller, Message, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

fn texts(n: u32) -> Vec<String> {
    (0..n).map(|n| format!("message {n}")).collect()
}

#[test]
fn forty_messages_in_a_burst_are_one_injection() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for text in texts(40) {
            runtime.send(Message::text(lead.main(), text)).await.unwrap();
        }
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].texts(), texts(40));
}

#[test]
fn a_window_closes_quiet_after_the_latest_mail() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        pass(150).await;
        runtime.send(Message::text(lead.main(), "b")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    assert_eq!(seen.len(), 1);
    let last = seen[0].entries[1].sent;
    assert_eq!(seen[0].at.since(last).as_millis(), 200);
}

#[test]
fn urgent_mail_and_mail_of_people_go_at_once() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        let person = Caller::human("anna").unwrap();
        runtime.send_as(person.clone(), Message::text(lead.main(), "b")).await.unwrap();
        idle(&runtime, &lead).await;
        let patient = Message::text(lead.main(), "c").urgent(false);
        runtime.send_as(person, patient).await.unwrap();
        idle(&runtime, &lead).await;
        runtime.send(Message::text(lead.main(), "d").urgent(true)).await.unwrap();
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    let waited: Vec<_> =
        seen.iter().map(|seen| seen.at.since(seen.entries[0].sent).as_millis()).collect();
    assert_eq!(seen[0].texts(), ["a", "b"]);
    assert_eq!(waited, [0, 200, 0]);
}

#[test]
fn mail_during_a_turn_waits_and_goes_as_one_injection_when_it_ends() {
    let world = World::default().agent("lead", |host| {
        host.agent(|_, _| async {
            pass(5_000).await;
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "first")).await.unwrap();
        pass(1_000).await;
        for text in texts(10) {
            runtime.send(Message::text(lead.main(), text)).await.unwrap();
            pass(100).await;
        }
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].texts(), texts(10));
    assert_eq!(seen[1].at.since(seen[0].at).as_millis(), 5_000, "what waited long goes at once");
    assert_eq!(seen[0].run, seen[1].run, "mail that waits keeps the run open");
}

#[test]
fn mail_for_an_agent_that_nobody_registered_waits_until_somebody_does() {
    let world = World::default();
    let spec = world.host.quick();
    world.live(async |runtime| {
        let lead = session(&runtime, "late").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        pass(60_000).await;
        assert!(world.host.seen().is_empty());
        runtime.register_agent("late", spec).unwrap();
        idle(&runtime, &lead).await;
    });
    assert_eq!(world.host.seen().len(), 1);
}

#[test]
fn one_message_to_several_is_in_every_mailbox_once_or_in_none() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let (a, b) = (session(&runtime, "lead").await, session(&runtime, "lead").await);
        let both = Message::text(a.main(), "to both").and_to(b.main()).and_to(a.main());
        let id = runtime.send(both).await.unwrap();
        idle(&runtime, &a).await;
        idle(&runtime, &b).await;
        let ids: Vec<_> = world.host.seen().iter().map(|seen| seen.entries[0].id).collect();
        assert_eq!(ids, [id.id, id.id]);

        let nobody = reveille::Address::new(a.id(), "nobody".parse().unwrap());
        let error =
            runtime.send(Message::text(a.main(), "x").and_to(nobody.clone())).await.unwrap_err();
        assert_eq!(error.code().name, "unknown_recipient");
        assert!(error.to_string().contains(&nobody.to_string()));
        pass(10_000).await;
        assert_eq!(world.host.seen().len(), 2);
    });
}

#[test]
fn a_full_mailbox_refuses_with_its_limit_and_takes_nothing() {
    let world = World::default().set(|config| config.limits.unread_messages = 3);
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        for text in texts(3) {
            runtime.send(Message::text(lead.main(), text)).await.unwrap();
        }
        let error = runtime.send(Message::text(lead.main(), "one more")).await.unwrap_err();
        assert_eq!(error.code().name, "mailbox_full");
        assert!(error.to_string().contains("4 messages with this message, at most 3"), "{error}");
        let view = runtime.actors(None, 10).await.unwrap().remove(0);
        assert_eq!(view.pending, 3);
    });
}

#[test]
fn a_window_over_mail_that_is_gone_when_it_closes_is_counted_and_makes_no_injection() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let send = async |message| {
            let id = runtime.send(message).await.unwrap().id;
            pass(50).await;
            id
        };
        let plain = || Message::text(lead.main(), "never mind");
        let retracted = send(plain()).await;
        runtime.retract(Caller::Host, retracted).await.unwrap();
        pass(10_000).await;
        assert_eq!(runtime.stale_wakes(), 1, "taken back");
        let acknowledged = send(plain()).await;
        runtime.ack(Caller::Host, lead.main(), acknowledged).await.unwrap();
        pass(10_000).await;
        assert_eq!(runtime.stale_wakes(), 2, "acknowledged");
        let soon = runtime.now().after(std::time::Duration::from_millis(100));
        send(plain().expires_at(soon)).await;
        pass(10_000).await;
        assert_eq!(runtime.stale_wakes(), 3, "expired");
        assert!(world.host.seen().is_empty());
        // Something is left: that is no stale wake.
        let retracted = send(plain()).await;
        send(plain()).await;
        runtime.retract(Caller::Host, retracted).await.unwrap();
        idle(&runtime, &lead).await;
        // Nor is a window that a hold or the end of the runtime closes: its mail stays.
        send(plain()).await;
        pass(100).await;
        runtime.hold(Caller::Host, lead.main(), "lunch").await.unwrap();
        pass(10_000).await;
        assert_eq!((runtime.stale_wakes(), world.host.seen().len()), (3, 1));
        runtime.release(Caller::Host, lead.main()).await.unwrap();
        idle(&runtime, &lead).await;
        send(plain()).await;
        pass(100).await;
        runtime.drain().await;
        pass(10_000).await;
        assert_eq!((runtime.stale_wakes(), world.host.seen().len()), (3, 2));
        assert_eq!(runtime.inbox(&lead.main(), 10).await.unwrap().len(), 1);
    });
}

#[test]
fn mail_that_is_gone_when_its_slot_is_free_is_counted_likewise() {
    let world = World::default().set(|config| config.slots = 1).agent("lead", |host| {
        host.agent(|_, _| async {
            pass(5_000).await;
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let (one, two) = (session(&runtime, "lead").await, session(&runtime, "lead").await);
        runtime.send(Message::text(one.main(), "a")).await.unwrap();
        pass(1_000).await;
        let waits = runtime.send(Message::text(two.main(), "never mind")).await.unwrap();
        pass(1_000).await;
        runtime.retract(Caller::Host, waits.id).await.unwrap();
        pass(10_000).await;
        assert_eq!((runtime.stale_wakes(), world.host.seen().len()), (1, 1));
    });
}

/// Every kind of timer runs: windows, delays, expiries, schedules, questions, back-offs, starts,
/// stalls, graces.
#[test]
fn no_timer_outlives_its_owner() {
    let hours = std::time::Duration::from_secs(36_000);
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("away", |host| {
            host.agent(|_, _| async { Err(reveille::TurnError::unavailable("away")) })
        })
        .agent("asks", |host| {
            host.agent(|turn: reveille::Turn, _| async move {
                let question = reveille::Question {
                    tool: Some("shell".into()),
                    text: "may I?".into(),
                    options: Vec::new(),
                };
                turn.ask(question).await?;
                Ok(TurnReport::success("asked"))
            })
        })
        .agent("hangs", |host| host.agent(|_, _| std::future::pending()));
    world.live(async |runtime| {
        let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let lead = session(&runtime, "lead").await;
        let later = runtime.now().after(hours);
        let delayed =
            Message::text(lead.main(), "delayed").not_before(later).expires_at(later.after(hours));
        runtime.send(delayed).await.unwrap();
        let text = reveille::Text::new("tick");
        runtime.schedule_every(Caller::Host, lead.main(), "tick", hours, text).await.unwrap();
        for agent in ["away", "hangs", "nobody"] {
            let one = session(&runtime, agent).await;
            runtime.send(Message::text(one.main(), "work")).await.unwrap();
        }
        let asks = reveille::Spawn::agent("asks").first_message("work");
        runtime.spawn(lead.main(), asks).await.unwrap();
        let hangs = reveille::Spawn::agent("hangs").first_message("work");
        let hangs = runtime.spawn(lead.main(), hangs).await.unwrap();
        pass(10_000).await;
        let cancelled = runtime.clone();
        let cancel = tokio::spawn(async move {
            let cancel = reveille::Cancel::reason("enough").grace(hours);
            cancelled.cancel(hangs.address(), cancel).await
        });
        pass(100).await;
        runtime.send(Message::text(lead.main(), "its window is open")).await.unwrap();
        pass(100).await;
        assert!(alive() > 10, "{} tasks", alive());
        let before = world.host.seen().len();
        runtime.shutdown().await.unwrap();
        drop(cancel.await.unwrap());
        pass(1).await;
        assert_eq!(alive(), 0, "tasks are left");
        pass(2 * 36_000_000).await;
        assert_eq!(world.host.seen().len(), before);
    });
}
