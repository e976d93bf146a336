//! Section 11: teams, their limits, the lead's broadcast, shutting down, members that fail.

use reveille_core::budget::Budgets;
use reveille_core::failure::TurnFailure;
use reveille_core::limits::{CHILDREN_EVER, TEAM_MEMBERS, TEAMS};
use reveille_core::{Address, AgentName, Delivery, Kind, MessageId, OpError, TeamId, Text};
use reveille_store::record::GroupPolicy;
use reveille_store::step::Limits;
use reveille_store::step::actors::{Spawn, SpawnGroup};
use reveille_store::step::send::{Accepted, Post, To};
use reveille_store::step::team::{AddMember, CreateTeam, Joins, RemoveMember, members};

use crate::world::{Done, HOST, World, actor, anna, of_kind, text, to, worker};

fn team(w: &World, lead: &Address) -> TeamId {
    w.run(CreateTeam { lead: lead.clone(), name: "build".into() }).unwrap()
}

fn join(w: &World, team: TeamId, member: &Address) -> Done<Address> {
    let (member, role) = (Joins::Actor(member.clone()), "tests".to_owned());
    w.run(AddMember { team, member, role, by: HOST })
}

fn names(w: &World, team: TeamId) -> Vec<Address> {
    let look = w.store.look(move |state| members(state, team));
    let members = futures_executor::block_on(look).unwrap().unwrap();
    members.into_iter().map(|member| member.address).collect()
}

#[test]
fn a_team_has_its_lead_and_at_most_seven_others() {
    let mut w = World::default();
    let lead = w.session("main");
    let id = team(&w, &lead);
    assert_eq!(team(&w, &lead), id, "one of a name");
    let others: Vec<Address> = (1..TEAM_MEMBERS).map(|_| w.session("main")).collect();
    others.iter().for_each(|other| drop(join(&w, id, other).unwrap()));
    let full = join(&w, id, &w.session("main")).unwrap_err();
    assert!(full.to_string().contains("team members: 9"), "{full}");
    join(&w, id, &others[0]).unwrap();
    w.restart();
    assert_eq!(names(&w, id).len(), TEAM_MEMBERS);
    assert_eq!(names(&w, id)[0], lead);
}

#[test]
fn a_lead_has_a_limited_number_of_teams_and_new_members_count_as_its_workers() {
    let w = World::default();
    let lead = w.session("main");
    let make = |n| w.run(CreateTeam { lead: lead.clone(), name: format!("team-{n}") });
    (0..TEAMS).for_each(|n| assert!(make(n).is_ok()));
    assert_eq!(make(TEAMS).unwrap_err().code().name, "too_large");

    let mut limits = Limits::default();
    limits.budgets.spawns_per_minute = 1;
    let w = World::with(|set| *set = limits);
    let lead = w.session("main");
    let id = team(&w, &lead);
    let new = || {
        let member = Joins::Agent(AgentName::new("tester").unwrap());
        w.run(AddMember { team: id, member, role: "tests".into(), by: HOST })
    };
    new().unwrap();
    assert_eq!(new().unwrap_err().code().name, "refused");
    assert!(CHILDREN_EVER as usize > TEAM_MEMBERS);
}

#[test]
fn a_broadcast_reaches_every_other_member_or_none() {
    let w = World::with(|limits| *limits = Limits { unread_messages: 1, ..Limits::default() });
    let lead = w.session("main");
    let (a, b) = (w.session("main"), w.session("main"));
    let id = team(&w, &lead);
    join(&w, id, &a).unwrap();
    join(&w, id, &b).unwrap();
    let say = |from, body: &str| w.post_to(&from, To::Team(id), text(body));
    say(actor(&lead), "all").unwrap();
    assert_eq!((w.waiting(&a).len(), w.waiting(&b).len(), w.waiting(&lead).len()), (1, 1, 0));
    w.claim(&b).unwrap();
    let refused = say(actor(&lead), "again").unwrap_err();
    assert_eq!(refused.code().name, "mailbox_full");
    assert!(refused.to_string().contains(&a.to_string()), "{refused}");
    assert_eq!(say(actor(&a), "me too").unwrap_err().code().name, "forbidden");
}

#[test]
fn a_broadcast_to_nobody_is_refused() {
    let w = World::default();
    let lead = w.session("main");
    let id = team(&w, &lead);
    let alone = w.post_to(&actor(&lead), To::Team(id), text("hello?")).unwrap_err();
    assert_eq!(alone.code().name, "invalid");
}

#[test]
fn a_lead_may_press_its_members_and_only_as_long_as_they_are() {
    let w = World::default();
    let (lead, member) = (w.session("main"), w.session("main"));
    let id = team(&w, &lead);
    join(&w, id, &member).unwrap();
    let steer = || Post { delivery: Delivery::Steer, ..text("this way") };
    w.put(actor(&lead), &member, steer());
    assert_eq!(
        w.post_to(&actor(&member), to(&[&lead]), steer()).unwrap_err().code().name,
        "forbidden"
    );
    let remove = |by| w.run(RemoveMember { team: id, member: member.clone(), by });
    assert!(remove(actor(&member)).unwrap() && !remove(anna()).unwrap());
    assert_eq!(
        w.post_to(&actor(&lead), to(&[&member]), steer()).unwrap_err().code().name,
        "forbidden"
    );
    let lead_leaves = w.run(RemoveMember { team: id, member: lead, by: HOST });
    assert!(!lead_leaves.unwrap(), "the lead stays");
}

#[test]
fn only_the_lead_a_person_and_the_host_change_a_team() {
    let w = World::default();
    let (lead, member, other) = (w.session("main"), w.session("main"), w.session("main"));
    let id = team(&w, &lead);
    join(&w, id, &member).unwrap();
    let add = |by| {
        let (member, role) = (Joins::Actor(other.clone()), "tests".to_owned());
        w.run(AddMember { team: id, member, role, by })
    };
    assert_eq!(add(actor(&member)).unwrap_err().code().name, "forbidden");
    let remove = w.run(RemoveMember { team: id, member, by: actor(&other) });
    assert_eq!(remove.unwrap_err().code().name, "forbidden");
    add(actor(&lead)).unwrap();
}

#[test]
fn a_member_that_failed_is_reported_to_the_lead_once() {
    let w = World::default();
    let (lead, far) = (w.session("main"), w.session("main"));
    let id = team(&w, &lead);
    let child = w.worker(&lead);
    join(&w, id, &far).unwrap();
    join(&w, id, &child).unwrap();
    w.send_as(HOST, &far, "work");
    w.fail(&w.claim(&far).unwrap(), TurnFailure::Permanent);
    assert_eq!(w.waiting(&lead), ["failed"], "a member of another tree");
    w.fail(&w.claim(&child).unwrap(), TurnFailure::Panic);
    assert_eq!(w.waiting(&lead), ["failed", "failed"], "one that is its worker as well");
    w.send_as(HOST, &far, "work");
    w.finish(&w.claim(&far).unwrap());
    assert_eq!(w.waiting(&lead).len(), 2, "one that ended well is no news");
}

#[test]
fn a_request_to_shut_down_is_answered_once_by_the_one_who_was_asked() {
    let w = World::default();
    let (lead, member) = (w.session("main"), w.session("main"));
    let id = team(&w, &lead);
    join(&w, id, &member).unwrap();
    let request = w.put(actor(&lead), &member, of_kind(Kind::ShutdownRequest, "please end"));
    let reply = |from: &Address, kind, reply_to: Option<MessageId>| -> Done<Accepted> {
        let text = Text { kind, reply_to, ..Text::new("all right") };
        w.post_to(&actor(from), to(&[&lead]), Post::new(text))
    };
    let approve = Kind::ShutdownApproved;
    for (from, reply_to) in [(&member, None), (&lead, Some(request))] {
        assert_eq!(reply(from, approve, reply_to).unwrap_err().code().name, "invalid");
    }
    let turn = w.claim(&member).unwrap();
    reply(&member, approve, Some(request)).unwrap();
    let again = reply(&member, Kind::ShutdownRejected, Some(request));
    assert_eq!(again.unwrap_err().code().name, "invalid");
    w.end(&turn);
    assert!(w.row(&member).unacknowledged.is_empty(), "the answer acknowledges it");
}

/// A way to get one more worker below an actor.
type Path = fn(&World, &Address) -> Done<()>;

const PATHS: [Path; 3] = [
    |w, parent| {
        let spawn = Spawn { parent: parent.clone(), worker: worker("task"), token: None };
        w.run(spawn).map(drop)
    },
    |w, parent| {
        let (policy, workers) = (GroupPolicy::All, vec![worker("task")]);
        let group = SpawnGroup { parent: parent.clone(), policy, workers, token: None };
        w.run(group).map(drop)
    },
    |w, parent| {
        let member = Joins::Agent(AgentName::new("tester").unwrap());
        let add = AddMember { team: team(w, parent), member, role: "tests".into(), by: HOST };
        w.run(add).map(drop)
    },
];

#[test]
fn budgets_are_inherited_and_checked_on_every_path() {
    type Set = fn(&mut Budgets);
    let budgets: [(&str, Set); 4] = [
        ("depth", |budgets| budgets.depth = 2),
        ("children_ever", |budgets| budgets.children_ever = 0),
        ("spawns_per_minute", |budgets| budgets.spawns_per_minute = 2),
        ("depth", |budgets| (budgets.depth, budgets.tree) = (1, 1)),
    ];
    for (budget, set) in budgets {
        for path in PATHS {
            let w = World::with(|limits| set(&mut limits.budgets));
            let lead = w.session("main");
            let child = w.worker(&lead);
            // What the root is allowed is what everybody below it is counted against.
            let mut below = child;
            let refused = loop {
                match path(&w, &below) {
                    Ok(()) => below = last(&w),
                    Err(refused) => break refused,
                }
            };
            let OpError::Refused { budget: found, .. } = refused else { panic!("{refused}") };
            assert_eq!(found, budget);
        }
    }
}

#[test]
fn open_runs_are_counted_on_every_path_that_begins_one() {
    for path in &PATHS[..2] {
        for (budget, set) in [
            ("children", (|budgets| budgets.children = 1) as fn(&mut Budgets)),
            ("tree", |budgets| budgets.tree = 1),
        ] {
            let w = World::with(|limits| set(&mut limits.budgets));
            let lead = w.session("main");
            let child = w.worker(&lead);
            let refused = path(&w, &lead).unwrap_err();
            let OpError::Refused { budget: found, value, limit } = refused else { panic!() };
            assert_eq!((found, value, limit), (budget, 2, 1));
            PATHS[2](&w, &lead).expect("a member without a run is none of them");
            w.cancel(&child);
            path(&w, &lead).expect("a run that ended counts no more");
        }
    }
}

/// The actor that was made last.
fn last(w: &World) -> Address {
    let look = w.store.look(|state| state.rows().last().map(|row| row.address.clone()));
    futures_executor::block_on(look).unwrap().unwrap()
}
