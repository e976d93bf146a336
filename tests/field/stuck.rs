//! Runs that never ended, windows that never closed, states that nobody compared.

use std::time::Duration;

use reveille::{Message, Spawn, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

/// Completion was guessed from "stable for a while": tasks that ended too fast ran for ever, or were
/// complete at once and empty.
#[test]
fn b59_a_task_that_ends_fast_has_its_outcome_and_its_output() {
    let world = World::default().agent("worker", |host| {
        host.agent(|_, injection| async move {
            let reveille::message::Content::Text(text) = &injection.entries[0].content else {
                panic!("no text")
            };
            let millis: u64 = text.body.parse()?;
            if millis > 0 {
                pass(millis).await;
            }
            Ok(TurnReport::success(format!("output of {millis}")))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        for millis in [0, 1, 50, 4_999, 5_001] {
            let begun = tokio::time::Instant::now();
            let spawn = Spawn::agent("worker").first_message(millis.to_string());
            let worker = runtime.spawn(lead.main(), spawn).await.unwrap();
            let outcome = runtime.wait(worker.address(), Duration::from_secs(60)).await.unwrap();
            assert!(begun.elapsed() <= Duration::from_millis(millis + 100));
            let reveille::Outcome::Completed { result, .. } = outcome else {
                panic!("{outcome:?}")
            };
            assert_eq!(result, format!("output of {millis}"));
            pass(60_000).await;
            let again = runtime.wait(worker.address(), Duration::ZERO).await.unwrap();
            assert_eq!(again.state(), "completed", "it never changes");
        }
    });
}

/// The window's timer was set anew by each message and had no longest wait: steady input was never
/// dispatched.
#[test]
fn b71_steady_mail_does_not_push_the_window_back_for_ever() {
    let world = World::default().agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        for n in 0..200 {
            runtime.send(Message::text(lead.main(), n.to_string())).await.unwrap();
            pass(50).await;
        }
        idle(&runtime, &lead).await;
    });
    let seen = world.host.seen();
    assert!((9..=51).contains(&seen.len()), "{} injections", seen.len());
    let mut all = Vec::new();
    for injection in &seen {
        assert!(injection.entries.len() <= 100);
        for entry in &injection.entries {
            assert!(injection.at.since(entry.sent) <= Duration::from_millis(1_050));
            all.push(entry.text.parse::<u32>().unwrap());
        }
    }
    assert_eq!(all, (0..200).collect::<Vec<_>>(), "each exactly once, in order");
    for pair in seen.windows(2) {
        assert!(pair[1].at.since(pair[0].at) >= Duration::from_millis(200));
    }
}

/// The state was stored, the worker was not, and nobody compared the two at the start: ghosts that
/// ran for ever.
#[test]
fn b97_nothing_is_still_running_after_a_restart() {
    let world = World::default().set(|config| config.slots = 3).agent("worker", |host| {
        host.agent(|_, injection| async move {
            let reveille::message::Content::Text(text) = &injection.entries[0].content else {
                panic!("no text")
            };
            if text.body != "quick" {
                pass(3_600_000).await;
            }
            Ok(TurnReport::success("done"))
        })
    });
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "absent").await;
        let quick = Spawn::agent("worker").first_message("quick");
        let completing = runtime.spawn(lead.main(), quick).await.unwrap();
        runtime.wait(completing.address(), Duration::from_secs(1)).await.unwrap();
        for _ in 0..5 {
            let slow = Spawn::agent("worker").first_message("slow");
            runtime.spawn(lead.main(), slow).await.unwrap();
        }
        pass(1_000).await;
        lead
    });
    let states = |views: &[reveille::ActorView]| {
        let count = |state: &str| {
            let workers = views.iter().filter(|view| view.parent.is_some());
            workers.filter(|view| view.ended.is_some_and(|(_, ended)| ended == state)).count()
        };
        (count("interrupted"), count("completed"))
    };
    world.live(async |runtime| {
        // Before the first answer: nothing has had time to start.
        let views = runtime.actors(None, 100).await.unwrap();
        assert_eq!(states(&views), (3, 1));
        assert_eq!(views.iter().filter(|view| view.in_turn).count(), 0);
        let main = views.iter().find(|view| view.address == lead.main()).unwrap();
        assert_eq!(main.pending, 4, "each end is told");
        assert_eq!(runtime.recovered().queued.len(), 2);
        pass(1_000).await;
        let views = runtime.actors(None, 100).await.unwrap();
        assert_eq!(views.iter().filter(|view| view.in_turn).count(), 2, "the queued ones started");
        assert_eq!(states(&views), (3, 1));
    });
}
