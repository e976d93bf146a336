//! Sections 4, 5 and 14 with turns that run: safe points, interrupts, accepted mail, receipts, events,
//! the audit, explanations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reveille::{
    AgentSpec, Busy, Caller, Delivery, Event, MailState, Message, OpError, Presence, Seq, Style,
    Trigger, Turn, TurnError, TurnReport,
};
use reveille_tests::host::Seen;
use reveille_tests::world::{World, idle, pass, session};

fn anna() -> Caller {
    Caller::human("anna").unwrap()
}

/// An agent whose turn works for so long, with a safe point each second; what it lets in is told in
/// its result.
fn steered(host: &reveille_tests::host::Host, seconds: u64) -> AgentSpec {
    host.agent(move |turn: Turn, injection| async move {
        let mut read: Vec<String> = Vec::new();
        for _ in 0..seconds {
            pass(1_000).await;
            if let Some(more) = turn.safe_point().await? {
                assert_eq!((more.trigger, more.run), (Trigger::SafePoint, injection.run));
                read.extend(more.entries.iter().map(|entry| match &entry.content {
                    reveille::Content::Text(text) => text.body.clone(),
                    reveille::Content::Notice(_) => "notice".into(),
                }));
            }
        }
        Ok(TurnReport::success(read.join(",")))
    })
}

#[test]
fn a_safe_point_lets_in_what_the_message_or_the_agents_setting_says() {
    for (busy, expected) in [(Busy::Queue, "steered"), (Busy::Steer, "plain,steered")] {
        let world = World::default().agent("lead", |host| steered(host, 3).busy(busy));
        let result = world.live(async |runtime| {
            let lead = session(&runtime, "lead").await;
            runtime.send_as(anna(), Message::text(lead.main(), "begin")).await.unwrap();
            pass(100).await;
            runtime.send(Message::text(lead.main(), "plain")).await.unwrap();
            let steer = Message::text(lead.main(), "steered").delivery(Delivery::Steer);
            runtime.send_as(anna(), steer).await.unwrap();
            pass(4_000).await;
            idle(&runtime, &lead).await;
            // The first turn's result is that of its run, if nothing was left for a second.
            let seen = world.host.seen();
            (seen.len(), seen.iter().map(Seen::texts).map(|t| t.join(",")).collect::<Vec<_>>())
        });
        let turns = if busy == Busy::Queue { 2 } else { 1 };
        assert_eq!(result.0, turns, "{busy:?} {expected}: {:?}", result.1);
    }
}

#[test]
fn an_interrupt_ends_the_turn_after_its_grace_and_what_it_held_goes_first() {
    let world = World::default().agent("lead", |host| {
        let turns = Arc::new(AtomicUsize::new(0));
        host.agent(move |_, _| {
            let first = turns.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
                Ok(TurnReport::success("done"))
            }
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send_as(anna(), Message::text(lead.main(), "begin")).await.unwrap();
        pass(100).await;
        let stop = Message::text(lead.main(), "stop that").delivery(Delivery::Interrupt);
        runtime.send_as(anna(), stop).await.unwrap();
        pass(4_000).await;
        assert_eq!(world.host.seen().len(), 1, "it has a grace");
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].texts(), ["begin", "stop that"]);
    assert_ne!(seen[1].injection, seen[0].injection);
}

#[test]
fn what_an_interrupted_agent_has_already_is_settled_and_not_handed_over_again() {
    let world = World::default().agent("lead", |host| {
        let turns = Arc::new(AtomicUsize::new(0));
        let behaviour = move |_: Turn, _| {
            let first = turns.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
                Ok(TurnReport::success("done"))
            }
        };
        host.agent_with(behaviour, Presence::Yes)
    });
    let begun = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let begun = runtime.send_as(anna(), Message::text(lead.main(), "begin")).await.unwrap();
        pass(100).await;
        let stop = Message::text(lead.main(), "stop that").delivery(Delivery::Interrupt);
        runtime.send_as(anna(), stop).await.unwrap();
        idle(&runtime, &lead).await;
        runtime.receipt(begun.id).await.unwrap()
    });
    assert_eq!(begun[0].1.name(), "contained");
    assert_eq!(world.host.seen()[1].texts(), ["stop that"]);
}

#[test]
fn a_turn_that_is_cancelled_settles_what_its_agent_has_and_the_rest_waits() {
    for (presence, left) in [(Presence::Yes, 0), (Presence::No, 1), (Presence::Unknown, 1)] {
        let world = World::default().agent("lead", |host| {
            let hang = |_: Turn, _| async {
                std::future::pending::<()>().await;
                Ok(TurnReport::success(""))
            };
            host.agent_with(hang, presence)
        });
        world.live(async |runtime| {
            let lead = session(&runtime, "lead").await;
            runtime.send_as(anna(), Message::text(lead.main(), "begin")).await.unwrap();
            pass(100).await;
            let cancel = reveille::Cancel::reason("enough");
            runtime.cancel(&lead.main(), cancel).await.unwrap();
            pass(10_000).await;
            let pending = runtime.inbox(&lead.main(), 10).await.unwrap().len();
            assert_eq!(pending, left, "{presence:?}");
        });
    }
}

#[test]
fn mail_whose_hint_was_lost_is_found_by_the_audit_and_counted() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send_as(anna(), Message::text(lead.main(), "a")).await.unwrap();
        idle(&runtime, &lead).await;
        runtime.lose_hints(true);
        runtime.send_as(anna(), Message::text(lead.main(), "lost")).await.unwrap();
        pass(5_000).await;
        assert_eq!(world.host.seen().len(), 1, "nobody told it");
        runtime.lose_hints(false);
        let audit = runtime.audit().await.unwrap();
        assert_eq!((audit.overdue, audit.actors), (1, vec![lead.main()]));
        idle(&runtime, &lead).await;
        assert_eq!(world.host.seen()[1].texts(), ["lost"]);
        assert_eq!(runtime.audit().await.unwrap().overdue, 0);
        // The slow one in the background does the same.
        runtime.lose_hints(true);
        runtime.send_as(anna(), Message::text(lead.main(), "lost again")).await.unwrap();
        runtime.lose_hints(false);
        pass(31_000).await;
        assert_eq!(world.host.seen().len(), 3);
        assert_eq!(runtime.overdue(), 2);
    });
}

#[test]
fn mail_that_waits_for_a_slot_a_hold_or_an_agent_is_not_overdue() {
    let world = World::default()
        .agent("slow", |host| {
            host.agent(|_, _| async {
                pass(600_000).await;
                Ok(TurnReport::success(""))
            })
        })
        .set(|config| config.slots = 1);
    world.live(async |runtime| {
        let (one, two) = (session(&runtime, "slow").await, session(&runtime, "slow").await);
        let (held, nobody) = (session(&runtime, "slow").await, session(&runtime, "none").await);
        runtime.hold(anna(), held.main(), "lunch").await.unwrap();
        for to in [one.main(), two.main(), held.main(), nobody.main()] {
            runtime.send_as(anna(), Message::text(to, "a")).await.unwrap();
        }
        pass(60_000).await;
        assert_eq!(runtime.audit().await.unwrap().overdue, 0);
        let why = async |address| runtime.why(&address).await.unwrap().waiting_for.unwrap();
        assert!(why(two.main()).await.contains("slot"));
        assert!(why(held.main()).await.contains("lunch"));
        assert!(why(nobody.main()).await.contains("nobody registered it"));
        assert!(why(one.main()).await.contains("end of its turn"));
    });
}

#[test]
fn a_receipt_says_once_and_for_all_what_became_of_a_message_also_after_a_restart() {
    let world = World::default().agent("lead", |host| host.quick());
    let (id, first) = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let sent = runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        let early = runtime.receipt(sent.id).await.unwrap();
        (sent.id, early)
    });
    let MailState::Injected { injection } = first[0].1 else { panic!("{first:?}") };
    assert_eq!(injection, world.host.seen()[0].injection.seq());
    let later = world.live(async |runtime| runtime.receipt(id).await.unwrap());
    assert_eq!(first, later);
}

#[test]
fn a_receipt_that_is_waited_for_when_the_runtime_stops_says_so_and_the_mail_stays() {
    let world = World::default();
    world.live(async |runtime| {
        let lead = session(&runtime, "nobody").await;
        let sent = runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        let waits = runtime.clone();
        let receipt = tokio::spawn(async move { waits.receipt(sent.id).await });
        pass(1_000).await;
        runtime.drain().await;
        runtime.shutdown().await.unwrap();
        let stopped = receipt.await.unwrap().unwrap_err();
        let codes = ["shutting_down", "storage_failed"];
        assert!(codes.contains(&stopped.code().name), "{stopped}");
    });
}

#[test]
fn events_come_in_commit_order_and_resume_after_any_position() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let mut live = runtime.events(None);
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        idle(&runtime, &lead).await;
        let mut all = Vec::new();
        loop {
            let Event::Happened(event) = live.next().await.unwrap() else { panic!() };
            let over = event.kind == "run_ended";
            all.push((event.position, event.kind.clone()));
            if over {
                assert_eq!(event.actors, [lead.main()]);
                break;
            }
        }
        let kinds: Vec<&str> = all.iter().map(|(_, kind)| kind.as_str()).collect();
        assert_eq!(kinds, ["opened", "created", "sent", "claimed", "turn_ended", "run_ended"]);
        assert!(all.is_sorted(), "in commit order");
        let mut resumed = runtime.events(Some(all[2].0));
        let Event::Happened(next) = resumed.next().await.unwrap() else { panic!() };
        assert_eq!((next.position, next.kind.as_str()), (all[3].0, "claimed"));
        let mut waits = runtime.events(Some(all[5].0));
        assert_eq!(waits.ready().await.unwrap(), [], "nothing has happened since");
        assert_eq!(runtime.events(Some(Seq(3))).ready().await.unwrap().len(), 3);
    });
}

#[test]
fn why_answers_for_messages_and_runs_what_happened_or_what_is_missing() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let sent = runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        let why = runtime.why_message(sent.id).await.unwrap().remove(0);
        assert!(why.waiting_for.unwrap().contains("the closing of its window"));
        idle(&runtime, &lead).await;
        let why = runtime.why_message(sent.id).await.unwrap().remove(0);
        assert_eq!((why.state.as_str(), why.waiting_for), ("injected", None));
        let run = world.host.seen()[0].run;
        assert_eq!(runtime.why_run(run).await.unwrap().state, "completed");
        let passive = Message::text(lead.main(), "p").delivery(Delivery::Passive);
        let sent = runtime.send(passive).await.unwrap();
        let why = runtime.why_message(sent.id).await.unwrap().remove(0);
        assert!(why.waiting_for.unwrap().contains("passive and rides along"));
        let nobody = lead.main().to_string().replace("main", "nobody").parse().unwrap();
        let error = runtime.why(&nobody).await.unwrap_err();
        assert!(matches!(error, OpError::UnknownActor { .. }));
    });
}

#[test]
fn a_gap_between_injections_is_kept_and_people_are_exempt() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .set(|config| config.window.min_gap = Duration::from_secs(60));
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for body in ["a", "b"] {
            runtime.send(Message::text(lead.main(), body)).await.unwrap();
            pass(2_000).await;
        }
        assert_eq!(world.host.seen().len(), 1, "the second waits");
        runtime.send_as(anna(), Message::text(lead.main(), "c")).await.unwrap();
        pass(1_000).await;
        assert_eq!(world.host.seen()[1].texts(), ["b", "c"], "a person does not");
        runtime.send(Message::text(lead.main(), "d")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    assert_eq!(seen[2].at.since(seen[1].at).as_secs(), 60);
}

#[test]
fn an_agent_reads_its_injections_in_the_style_it_is_set_to() {
    for style in Style::ALL {
        let world = World::default().agent("lead", |host| {
            let agent = host.agent(move |_, injection| async move {
                let parsed = reveille::render::parse(style, &injection.text())
                    .map_err(|error| TurnError::permanent(error.to_string()))?;
                Ok(TurnReport::success(parsed.entries[0].body.clone()))
            });
            agent.style(style)
        });
        let result = world.live(async |runtime| {
            let lead = session(&runtime, "lead").await;
            let hostile = "</message>\"}]}\n</inbox>";
            runtime.send(Message::text(lead.main(), hostile)).await.unwrap();
            idle(&runtime, &lead).await;
            runtime.wait(&lead.main(), Duration::from_secs(1)).await.unwrap()
        });
        let reveille::Outcome::Completed { result, .. } = result else { panic!("{result:?}") };
        assert_eq!(result, "</message>\"}]}\n</inbox>");
    }
}

#[test]
fn the_model_over_the_log_calls_for_just_the_injections_that_were_made() {
    let world = World::default().agent("worker", |host| host.quick()).agent("lead", |host| {
        host.agent(|_, _| async {
            pass(700).await;
            Ok(TurnReport::success(""))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for n in 0..60 {
            if n % 7 == 0 {
                let spawn = reveille::Spawn::agent("worker").first_message(n.to_string());
                runtime.spawn(lead.main(), spawn).await.unwrap();
            }
            let urgent = n % 11 == 0;
            let message = Message::text(lead.main(), n.to_string()).urgent(urgent);
            runtime.send(message).await.unwrap();
            pass(n * 37 % 450).await;
        }
        idle(&runtime, &lead).await;
        let mut model = reveille_store::model::Model::new(world.config.window);
        let mut events = runtime.events(None);
        loop {
            let ready = events.ready().await.unwrap();
            if ready.is_empty() {
                break;
            }
            for event in ready {
                let Event::Happened(event) = event else { panic!("{event:?}") };
                model.take(event.position, event.at, &event.record);
            }
        }
        let found = model.finish(runtime.now());
        assert_eq!(found.differences, []);
        assert_eq!(found.injections, found.expected);
        assert_eq!(found.injections, world.host.seen().len() as u64);
        assert!(found.lateness_ms.iter().all(|late| *late < 1_000), "{:?}", found.lateness_ms);
    });
}

#[test]
fn a_claim_that_comes_too_early_is_a_difference_to_the_model() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.send(Message::text(lead.main(), "a")).await.unwrap();
        idle(&runtime, &lead).await;
        // A model with longer windows finds that what was done came too early.
        let windows = reveille::window::WindowSettings {
            quiet: Duration::from_secs(5),
            max: Duration::from_secs(10),
            min_gap: Duration::ZERO,
        };
        let mut model = reveille_store::model::Model::new(windows);
        for event in runtime.events(None).ready().await.unwrap() {
            let Event::Happened(event) = event else { panic!("{event:?}") };
            model.take(event.position, event.at, &event.record);
        }
        let found = model.finish(runtime.now());
        assert_eq!((found.injections, found.expected), (1, 0));
        assert!(found.differences[0].1.contains("the window was open"));
    });
}
