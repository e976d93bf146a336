//! L1, L2: silence is told once, and again after progress.

use std::time::Duration;

use reveille::{Spawn, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

fn told(world: &World) -> Vec<String> {
    let main = |seen: &&reveille_tests::host::Seen| seen.actor.name().as_str() == "main";
    let seen = world.host.seen();
    seen.iter().filter(main).flat_map(|seen| seen.texts()).map(str::to_owned).collect()
}

#[test]
fn each_silence_is_told_once_however_long_it_lasts() {
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
        host.agent(|turn, _| async move {
            pass(3_600_000).await;
            turn.progress();
            pass(3_600_000).await;
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    let stalled = "appears stalled (no activity for 360s).";
    assert_eq!(told(&world), [stalled, stalled, "completed."]);
}

#[test]
fn progress_and_declared_waits_are_not_silence() {
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
        host.agent(|turn, _| async move {
            for _ in 0..20 {
                pass(300_000).await;
                turn.progress();
            }
            let tool = turn.tool("build", Duration::from_secs(3_600));
            pass(3_500_000).await;
            drop(tool);
            pass(300_000).await;
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    assert_eq!(told(&world), ["completed."]);
}

#[test]
fn a_parent_that_waits_for_its_child_is_not_stalled() {
    let world = World::default()
        .agent("lead", |host| host.quick())
        .agent("middle", |host| {
            host.agent(|turn, _| async move {
                let child = turn.spawn(Spawn::agent("slow")).await?;
                turn.wait(child.address(), Duration::from_secs(36_000)).await?;
                Ok(TurnReport::success("done"))
            })
        })
        .agent("slow", |host| {
            host.agent(|turn, _| async move {
                for _ in 0..20 {
                    pass(300_000).await;
                    turn.progress();
                }
                Ok(TurnReport::success("done"))
            })
        });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.spawn(lead.main(), Spawn::agent("middle")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    assert_eq!(told(&world), ["completed."]);
}

/// A lead whose worker has a task behind it and is silent over its mail.
fn silent_over_mail(progress: bool) -> World {
    World::default().agent("lead", |host| host.quick()).agent("worker", move |host| {
        host.agent(move |turn, injection| async move {
            if injection.trigger == reveille::Trigger::Task {
                return Ok(TurnReport::success("first"));
            }
            if progress && turn.attempt() > 1 {
                turn.progress();
            }
            pass(1_000_000).await;
            Ok(TurnReport::success("second"))
        })
    })
}

fn stalls_before_and_after_a_restart(world: &World) -> (usize, usize) {
    let stalls = || told(world).iter().filter(|text| text.contains("stalled")).count();
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let worker = runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        runtime.wait(worker.address(), Duration::from_secs(60)).await.unwrap();
        let more = reveille::Message::text(worker.address().clone(), "more");
        runtime.send(more).await.unwrap();
        pass(500_000).await;
        lead
    });
    let before = stalls();
    world.live(async |runtime| idle(&runtime, &lead).await);
    (before, stalls())
}

#[test]
fn a_silence_that_was_told_is_not_told_again_after_a_restart() {
    assert_eq!(stalls_before_and_after_a_restart(&silent_over_mail(false)), (1, 1));
}

#[test]
fn a_silence_after_progress_is_a_new_one_after_a_restart_too() {
    assert_eq!(stalls_before_and_after_a_restart(&silent_over_mail(true)), (1, 2));
}

#[test]
fn a_later_turn_of_the_same_run_that_hangs_is_told_as_well() {
    let world = World::default().agent("lead", |host| host.quick()).agent("middle", |host| {
        host.agent(|turn, injection| async move {
            if injection.trigger.to_string() == "task" {
                turn.spawn(Spawn::agent("child")).await?;
            }
            // Both turns are silent for longer than they may be, and end just after it is told.
            pass(360_100).await;
            Ok(TurnReport::success("done"))
        })
    });
    let world = world.agent("child", |host| {
        host.agent(|turn, _| async move {
            for _ in 0..10 {
                pass(100_000).await;
                turn.progress();
            }
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.spawn(lead.main(), Spawn::agent("middle")).await.unwrap();
        idle(&runtime, &lead).await;
    });
    let stalls = told(&world).iter().filter(|text| text.contains("stalled")).count();
    assert_eq!(stalls, 2, "{:?}", told(&world));
}

#[test]
fn a_tool_that_ends_early_leaves_no_gap_in_the_watch() {
    let world = World::default().agent("lead", |host| host.quick()).agent("worker", |host| {
        host.agent(|turn, _| async move {
            drop(turn.tool("quick", Duration::from_secs(86_400)));
            let other = turn.tool("second", Duration::from_secs(600));
            drop(turn.tool("third", Duration::from_secs(60)));
            pass(500_000).await;
            drop(other);
            pass(3_600_000).await;
            Ok(TurnReport::success("done"))
        })
    });
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        runtime.spawn(lead.main(), Spawn::agent("worker")).await.unwrap();
        pass(500_000 + 360_000 + 370_000).await;
        assert_eq!(told(&world).len(), 1, "{:?}", told(&world));
    });
}
