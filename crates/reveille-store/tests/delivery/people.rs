//! Questions, teams, schedules, who is told (sections 3, 7, 10, 11).

use std::time::Duration;

use reveille_core::failure::TurnFailure;
use reveille_core::{Kind, Text};
use reveille_store::record::{Answer, Question};
use reveille_store::step::chores::DoChores;
use reveille_store::step::question::{AnswerQuestion, Ask, AskAnswer};
use reveille_store::step::schedule::{Schedule, Unschedule, When};
use reveille_store::step::send::{Post, To};
use reveille_store::step::team::{AddMember, CreateTeam, Joins, RemoveMember, members};
use reveille_store::step::turn::Claim;

use crate::world::{Done, World, actor, anna, of_kind, text};

const LIMIT: Duration = Duration::from_secs(300);

fn may_i(tool: &str) -> Question {
    Question { tool: Some(tool.into()), text: "may I?".into(), options: Vec::new() }
}

fn ask(world: &World, claim: &Claim, tool: &str) -> AskAnswer {
    let ask = Ask { token: claim.token, question: may_i(tool), limit: LIMIT };
    world.run(ask).unwrap()
}

fn answer(world: &World, asked: &AskAnswer, answer: Answer, by: reveille_core::Caller) -> Done<()> {
    let AskAnswer::Waits(question) = asked else { panic!("{asked:?}") };
    world.run(AnswerQuestion { question: *question, answer, by, token: None })
}

#[test]
fn a_workers_question_goes_to_its_main_and_is_settled_however_it_is_resolved() {
    let world = World::default();
    let lead = world.session("lead");
    let worker = world.worker(&lead);
    let task = world.claim(&worker).unwrap();
    let asked = ask(&world, &task, "shell");
    assert!(world.row(&worker).is_held());
    assert!(world.safe_point(task.token).is_none(), "nothing is injected meanwhile");
    let request = world.row(&lead).pending[0];
    assert_eq!((request.item.kind, request.urgent), (Kind::PermissionRequest, true));
    let stranger = world.session("stranger");
    let refused = answer(&world, &asked, Answer::Approve, actor(&stranger)).unwrap_err();
    assert_eq!(refused.code().name, "forbidden");
    let wrong = answer(&world, &asked, Answer::Option("perhaps".into()), anna()).unwrap_err();
    assert!(wrong.to_string().contains("approve_always"), "{wrong}");
    answer(&world, &asked, Answer::Approve, actor(&lead)).unwrap();
    assert!(!world.row(&worker).is_held());
    assert!(!world.wakes(&lead), "its request is settled");
    let late = answer(&world, &asked, Answer::Deny, anna()).unwrap_err();
    assert_eq!(late.code().name, "unknown_id");
}

#[test]
fn what_was_approved_for_ever_is_asked_no_more_in_that_tree() {
    let world = World::default();
    let lead = world.session("lead");
    let (one, two) = (world.worker(&lead), world.worker(&lead));
    let (first, second) = (world.claim(&one).unwrap(), world.claim(&two).unwrap());
    let asked = ask(&world, &first, "shell");
    answer(&world, &asked, Answer::ApproveAlways, anna()).unwrap();
    assert_eq!(ask(&world, &second, "shell"), AskAnswer::Granted);
    assert!(matches!(ask(&world, &second, "network"), AskAnswer::Waits(_)), "another tool");
    let other = world.session("other");
    world.send(&other, "begin");
    let turn = world.claim(&other).unwrap();
    assert!(matches!(ask(&world, &turn, "shell"), AskAnswer::Waits(_)), "another tree");
}

#[test]
fn a_question_to_an_agent_is_denied_in_time_and_one_to_a_person_waits() {
    let world = World::default();
    let lead = world.session("lead");
    let worker = world.worker(&lead);
    let task = world.claim(&worker).unwrap();
    ask(&world, &task, "shell");
    world.send(&lead, "begin");
    let turn = world.claim(&lead).unwrap();
    ask(&world, &turn, "shell");
    world.pass(299);
    world.run(DoChores { actor: world.number(&worker) }).unwrap();
    assert!(world.row(&worker).is_held());
    world.pass(1);
    world.run(DoChores { actor: world.number(&worker) }).unwrap();
    assert!(!world.row(&worker).is_held(), "denied");
    world.pass(1_000_000);
    world.run(DoChores { actor: world.number(&lead) }).unwrap();
    assert!(world.row(&lead).is_held(), "a person has no limit");
}

#[test]
fn a_turn_that_ends_takes_its_questions_with_it() {
    let world = World::default();
    let lead = world.session("lead");
    let worker = world.worker(&lead);
    let task = world.claim(&worker).unwrap();
    ask(&world, &task, "shell");
    world.fail(&task, TurnFailure::Transient);
    assert!(world.row(&worker).questions.is_empty());
    assert!(!world.wakes(&lead), "nobody is asked any more");
}

#[test]
fn the_outcome_of_a_mail_run_goes_to_those_whose_request_it_settled() {
    let world = World::default();
    let lead = world.session("lead");
    let (worker, colleague) = (world.worker(&lead), world.session("colleague"));
    let task = world.claim(&worker).unwrap();
    world.end(&task);
    let told = world.claim(&lead).unwrap();
    world.end(&told);
    for _ in 0..2 {
        let request = of_kind(Kind::Request, "please");
        world.post(&actor(&colleague), &[&worker], request).unwrap();
    }
    let turn = world.claim(&worker).unwrap();
    world.end(&turn);
    assert_eq!(world.bodies(&world.claim(&colleague).unwrap()), ["completed"], "once");
    assert!(world.claim(&lead).is_none(), "the parent is not told as well");
    world.send(&worker, "nobody asks");
    let turn = world.claim(&worker).unwrap();
    world.end(&turn);
    assert_eq!(world.bodies(&world.claim(&lead).unwrap()), ["completed"], "then the parent is");
}

#[test]
fn a_team_has_at_most_eight_members_and_its_lead_alone_writes_to_all() {
    let world = World::default();
    let lead = world.session("lead");
    let team = world.run(CreateTeam { lead: lead.clone(), name: "build".into() }).unwrap();
    let again = world.run(CreateTeam { lead: lead.clone(), name: "build".into() }).unwrap();
    assert_eq!(team, again);
    let mut others = Vec::new();
    for _ in 0..7 {
        let member = Joins::Agent(reveille_core::AgentName::new("tester").unwrap());
        let add = AddMember { team, member, role: "tests".into(), by: anna() };
        others.push(world.run(add).unwrap());
    }
    let ninth = world.session("ninth");
    let (member, role) = (Joins::Actor(ninth), "late".to_owned());
    let refused = world.run(AddMember { team, member, role, by: anna() }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "refused by the budget team members: 9 with this one, at most 8"
    );
    let post = |from| world.post_to(&from, To::Team(team), text("all"));
    assert_eq!(post(actor(&others[0])).unwrap_err().code().name, "forbidden");
    assert_eq!(post(actor(&lead)).unwrap().states.len(), 7, "every other member");
    assert!(world.row(&lead).pending.is_empty());
    let member = others[0].clone();
    let leave = || RemoveMember { team, member: member.clone(), by: actor(&member) };
    assert!(world.run(leave()).unwrap());
    assert!(!world.run(leave()).unwrap());
    let look = move |state: &_| members(state, team);
    let listed = futures_executor::block_on(world.store.look(look)).unwrap().unwrap();
    assert_eq!((listed.len(), listed[0].role.as_str()), (7, "lead"));
}

#[test]
fn a_lead_writes_urgently_to_members_and_is_told_once_of_one_that_failed() {
    let world = World::default();
    let (lead, member) = (world.session("lead"), world.session("member"));
    let team = world.run(CreateTeam { lead: lead.clone(), name: "build".into() }).unwrap();
    let urgent = || Post { urgent: Some(true), ..text("now") };
    assert!(world.post(&actor(&lead), &[&member], urgent()).is_err());
    let (joins, role) = (Joins::Actor(member.clone()), "tests".to_owned());
    world.run(AddMember { team, member: joins, role, by: anna() }).unwrap();
    world.post(&actor(&lead), &[&member], urgent()).unwrap();
    let turn = world.claim(&member).unwrap();
    world.fail(&turn, TurnFailure::Permanent);
    assert_eq!(world.bodies(&world.claim(&lead).unwrap()), ["failed"]);
}

#[test]
fn a_request_to_shut_down_is_answered_once() {
    let world = World::default();
    let (lead, member) = (world.session("lead"), world.session("member"));
    let request = of_kind(Kind::ShutdownRequest, "please end");
    let id = world.post(&actor(&lead), &[&member], request).unwrap().id;
    let approve = || {
        let text = Text { reply_to: Some(id), kind: Kind::ShutdownApproved, ..Text::new("bye") };
        world.post(&actor(&member), &[&lead], Post::new(text))
    };
    let unasked = of_kind(Kind::ShutdownApproved, "bye");
    assert_eq!(world.post(&actor(&lead), &[&member], unasked).unwrap_err().code().name, "invalid");
    let turn = world.claim(&member).unwrap();
    world.end(&turn);
    assert_eq!(world.row(&member).unacknowledged.len(), 1);
    approve().unwrap();
    assert!(world.row(&member).unacknowledged.is_empty());
    assert_eq!(approve().unwrap_err().code().name, "invalid", "once");
}

#[test]
fn a_schedule_keeps_its_time_when_declared_again_and_missed_ticks_become_one_that_is_late() {
    let world = World::default();
    let main = world.session("main");
    let declare = |every: u64, body: &str| {
        let (actor, key) = (main.clone(), "nightly".to_owned());
        let when = When::Every(Duration::from_secs(every));
        world.run(Schedule { actor, key, when, text: Text::new(body), by: anna() })
    };
    let due = declare(60, "tick").unwrap();
    world.pass(30);
    assert_eq!(declare(60, "tock").unwrap(), due, "declared again");
    assert!(declare(0, "never").unwrap_err().to_string().contains("at least a second"));
    let number = world.number(&main);
    assert!(!world.run(DoChores { actor: number }).unwrap());
    world.pass(30 + 5 * 60 + 7);
    assert!(world.run(DoChores { actor: number }).unwrap());
    let claim = world.claim(&main).unwrap();
    assert_eq!(world.bodies(&claim), ["tock"], "six ticks are one");
    let record = world.store.records(&[claim.picks[0].seq]).unwrap().remove(0).unwrap().1;
    let reveille_store::record::Record::Sent(sent) = record else { panic!() };
    let content: reveille_core::Content = reveille_store::codec::decode(&sent.content).unwrap();
    let reveille_core::Content::Text(text) = content else { panic!() };
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(text.labels, [label("late", "307s"), label("missed", "5")]);
    let next = world.row(&main).schedules[0].due;
    assert_eq!(next, due.after(Duration::from_secs(6 * 60)), "its rhythm is kept");
    let cancel = || Unschedule { actor: main.clone(), key: "nightly".into() };
    assert!(world.run(cancel()).unwrap());
    assert!(!world.run(cancel()).unwrap());
    assert!(world.row(&main).schedules.is_empty());
}
