//! A store that nobody runs: the same operations, and no turn.

use std::time::Duration;

use reveille::{Caller, MailState, Message, OpError, Runtime, Text, TurnReport};
use reveille_tests::world::{World, idle, pass, session};

fn world() -> World {
    World::default().agent("a", |host| host.quick())
}

fn at_rest<T>(world: &World, work: impl AsyncFnOnce(Runtime) -> T) -> T {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio.block_on(async { work(Runtime::at_rest(world.store.clone()).await.unwrap()).await })
}

#[test]
fn a_store_at_rest_takes_mail_and_starts_nothing_and_the_next_start_goes_on() {
    let world = world();
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "a").await;
        idle(&runtime, &lead).await;
        lead
    });
    let id = at_rest(&world, async |rest| {
        assert!(rest.is_at_rest());
        let sent = rest.send_as(Caller::Local, Message::text(lead.main(), "x")).await.unwrap();
        let entry = rest.tree(None, 10).await.unwrap().remove(0);
        assert_eq!(entry.waiting_for.as_deref(), Some("a runtime: nobody runs this store"));
        assert_eq!((entry.state.as_str(), entry.pending), ("idle", 1));
        assert_eq!(rest.audit().await.unwrap().overdue, 0, "nobody was to wake it");
        // What only a turn could end is not waited for.
        assert_eq!(rest.receipt(sent.id).await, Err(OpError::ShuttingDown));
        assert_eq!(rest.actors(None, 10).await.unwrap()[0].run, None);
        sent.id
    });
    world.live(async |runtime| {
        idle(&runtime, &lead).await;
        let receipt = runtime.receipt(id).await.unwrap();
        assert!(matches!(receipt[0].1, MailState::Injected { .. }), "{receipt:?}");
    });
    assert_eq!(world.host.seen().len(), 1);
}

#[test]
fn looking_at_a_store_at_rest_after_a_crash_recovers_nothing() {
    let world = World::default().agent("a", |host| {
        host.agent(|_, _| async {
            pass(60_000).await;
            Ok(TurnReport::success("done"))
        })
    });
    let lead = world.live(async |runtime| {
        let lead = session(&runtime, "a").await;
        runtime.send(Message::text(lead.main(), "x")).await.unwrap();
        pass(10_000).await;
        lead
    });
    at_rest(&world, async |rest| {
        let entry = rest.tree(None, 10).await.unwrap().remove(0);
        assert_eq!(entry.state, "running", "as the crash left it");
        assert!(rest.events(None).ready().await.unwrap().len() > 1);
        assert!(rest.why(&lead.main()).await.unwrap().facts.len() > 1);
    });
    world.live(async |runtime| {
        assert_eq!(runtime.recovered().again, [lead.main()], "the start finds what there was");
    });
}

#[test]
fn who_declares_a_schedule_is_told_by_identity() {
    world().live(async |runtime| {
        let lead = session(&runtime, "a").await;
        let anna = Caller::human("anna").unwrap();
        let every = Duration::from_secs(60);
        let text = Text::new("tick");
        runtime.schedule_every(anna.clone(), lead.main(), "k", every, text).await.unwrap();
        let schedules = runtime.schedules(Some(lead.main())).await.unwrap();
        assert_eq!((&schedules[0].by, schedules[0].every), (&anna, Some(every)));
        let team = runtime.create_team(lead.main(), "crew").await.unwrap();
        runtime.add_new_member(anna, team, "a", "tests").await.unwrap();
        let teams = runtime.teams().await.unwrap();
        assert_eq!((teams[0].id, teams[0].members), (team, 2));
    });
}
