//! Section 14: events tell what happened, by name, and what a reader has missed.

use reveille::{Caller, Event, Message, Runtime, Seq};
use reveille_store::{DiskOptions, Options};
use reveille_tests::world::{World, idle, session};

/// The kinds of all events after a position, each with how many actors it concerns.
async fn kinds(runtime: &Runtime, after: Seq) -> Vec<(String, usize)> {
    let ready = runtime.events(Some(after)).ready().await.unwrap();
    let kind = |event| match event {
        Event::Happened(event) => (event.kind, event.actors.len()),
        Event::Lost { .. } => panic!("{event:?}"),
    };
    ready.into_iter().map(kind).collect()
}

#[test]
fn teams_are_told_of_by_their_events() {
    let world = World::default();
    world.live(async |runtime| {
        let (lead, member) = (session(&runtime, "lead").await, session(&runtime, "other").await);
        let last = runtime.events(None).ready().await.unwrap().pop().unwrap();
        let Event::Happened(last) = last else { panic!("{last:?}") };
        let team = runtime.create_team(lead.main(), "build").await.unwrap();
        runtime.add_member(Caller::Host, team, member.main(), "tests").await.unwrap();
        runtime.add_new_member(Caller::Host, team, "tester", "tests").await.unwrap();
        runtime.remove_member(Caller::Host, team, member.main()).await.unwrap();
        let expected = [
            ("team_created", 1),
            ("member_joined", 2),
            ("created", 1),
            ("member_joined", 2),
            ("member_left", 2),
        ];
        let expected = expected.map(|(kind, actors)| (kind.to_owned(), actors));
        assert_eq!(kinds(&runtime, last.position).await, expected);
    });
}

#[test]
fn a_reader_that_fell_behind_is_told_what_it_lost_and_goes_on_with_what_there_is() {
    let disk = DiskOptions { history_bytes: 4_000, ..DiskOptions::default() };
    let store = Options { disk, ..Options::default() }.in_memory();
    let world = World::on(store).agent("lead", |host| host.quick());
    world.live(async |runtime| {
        let lead = session(&runtime, "lead").await;
        let mut slow = runtime.events(None);
        let Event::Happened(first) = slow.next().await.unwrap() else { panic!() };
        while let Some(Event::Happened(_)) = slow.ready().await.unwrap().pop() {}
        let mut live = runtime.events(Some(first.position));
        let mut at = first.position;
        for n in 0..60 {
            runtime.send(Message::text(lead.main(), "x".repeat(200 + n))).await.unwrap();
            idle(&runtime, &lead).await;
            for event in live.ready().await.unwrap() {
                let Event::Happened(event) = event else { panic!("one that keeps up loses none") };
                assert_eq!(event.position, at.next());
                at = event.position;
            }
        }
        let Event::Lost { from, until } = slow.next().await.unwrap() else { panic!() };
        assert!(from < until && until < at, "{from} to {until} of {at}");
        let mut next = until;
        for event in slow.ready().await.unwrap() {
            let Event::Happened(event) = event else { panic!("{event:?}") };
            assert_eq!(event.position, next, "from there on nothing is missing");
            next = event.position.next();
        }
        // What was lost can be looked at: the state is there.
        assert_eq!(runtime.actor(&lead.main()).await.unwrap().pending, 0);
        let resumed = runtime.events(Some(Seq(1))).ready().await.unwrap();
        assert!(matches!(resumed[0], Event::Lost { from: Seq(2), .. }), "{:?}", resumed[0]);
    });
}
