//! Cancels that raced, and processes that outlived them.

use std::time::Duration;

use reveille::{Cancel, Cancelled, Outcome, Spawn, TurnError, TurnReport};
use reveille_agents::Command;
use reveille_tests::binary::eventually;
use reveille_tests::skip;
use reveille_tests::world::{World, idle, pass, session};

/// A cancel decided on what it had read before it waited: finished work was recorded as cancelled
/// and its text lost.
#[test]
fn b78_a_cancel_does_not_overwrite_a_result_that_is_there() {
    const WORLDS: u64 = 50;
    const EACH: u64 = 200;
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let (mut completed, mut cancelled) = (0, 0);
    for round in 0..WORLDS {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
            host.agent(|turn, injection| async move {
                let reveille::message::Content::Text(text) = &injection.entries[0].content else {
                    panic!("no text")
                };
                let ends: u64 = text.body.parse()?;
                tokio::select! {
                    biased;
                    () = pass(ends) => {}
                    () = turn.cancelled(), if ends.is_multiple_of(2) => {
                        return Err(TurnError::permanent("asked to end"));
                    }
                }
                Ok(TurnReport::success("X"))
            })
        });
        let world = world.set(|config| {
            config.limits.budgets.spawns_per_minute = u32::MAX;
        });
        world.live(async |runtime| {
            let lead = session(&runtime, "lead").await;
            for _ in 0..EACH {
                let ends = 90 + random.u64(0..20);
                let spawn = Spawn::agent("worker").first_message(ends.to_string());
                let worker = runtime.spawn(lead.main(), spawn).await.unwrap();
                pass(90 + random.u64(0..20)).await;
                for _ in 0..random.usize(0..6) {
                    tokio::task::yield_now().await;
                }
                let grace = Duration::from_millis(random.u64(0..10));
                let cancel = Cancel::reason("race").grace(grace);
                let answer = runtime.cancel(worker.address(), cancel).await.unwrap();
                let outcome = runtime.wait(worker.address(), Duration::ZERO).await.unwrap();
                match (&answer, &outcome) {
                    (Cancelled::AlreadyEnded(state), Outcome::Completed { result, .. }) => {
                        assert_eq!((state.name(), result.as_str()), ("completed", "X"));
                        completed += 1;
                    }
                    (Cancelled::Ended | Cancelled::Killed, Outcome::Cancelled { .. }) => {
                        cancelled += 1;
                    }
                    other => panic!("round {round}, seed {seed}: {other:?}"),
                }
            }
            idle(&runtime, &lead).await;
            let told = world.host.seen_by(&lead.main());
            let notices = told.iter().map(|seen| seen.entries.len() as u64).sum::<u64>();
            assert_eq!(notices, EACH, "one notice each: seed {seed}");
        });
    }
    eprintln!("{completed} completed, {cancelled} cancelled");
    assert!(completed > 100 && cancelled > 100, "both must happen: seed {seed}");
}

/// Only the shell was killed; its children lived on for hours and held the only slot.
#[test]
fn b83_cancelling_a_program_ends_its_whole_group() {
    if !skip::has("sh") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    // The second child ignores TERM.
    let script = format!(
        "sleep 600 & echo $! >> {0}; (trap '' TERM; sleep 600 & echo $! >> {0}; wait) & \
         echo $$ >> {0}; wait",
        pids.display()
    );
    let alive = |pids: &[i32]| {
        let alive = |pid: &&i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // Who waits for a zombie is somebody else's business.
            !stat.is_empty() && !stat.contains(") Z ")
        };
        pids.iter().filter(alive).count()
    };
    let read = || -> Vec<i32> {
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let config = reveille::Config { slots: 1, ..reveille::Config::default() };
        let runtime = reveille::Runtime::builder(reveille::Store::in_memory())
            .config(config)
            .agent("program", Command::new(["sh", "-c", &script]).spec())
            .agent("next", Command::new(["true"]).spec())
            .start()
            .await
            .unwrap();
        let lead = session(&runtime, "absent").await;
        let program = runtime.spawn(lead.main(), Spawn::agent("program")).await.unwrap();
        tokio::task::block_in_place(|| eventually("all three run", || read().len() == 3));
        assert_eq!(alive(&read()), 3);
        let grace = Cancel::reason("enough").grace(Duration::from_secs(1));
        let answer = runtime.cancel(program.address(), grace).await.unwrap();
        assert!(matches!(answer, Cancelled::Ended | Cancelled::Killed), "{answer:?}");
        let outcome = runtime.wait(program.address(), Duration::ZERO).await.unwrap();
        assert_eq!(outcome.state(), "cancelled");
        tokio::task::block_in_place(|| eventually("nobody is left", || alive(&read()) == 0));
        let next = runtime.spawn(lead.main(), Spawn::agent("program")).await.unwrap();
        tokio::task::block_in_place(|| eventually("the slot is free", || read().len() == 6));
        runtime.cancel(next.address(), Cancel::reason("").grace(Duration::ZERO)).await.unwrap();
        tokio::task::block_in_place(|| eventually("nobody is left", || alive(&read()) == 0));
        runtime.shutdown().await.unwrap();
    });
}
