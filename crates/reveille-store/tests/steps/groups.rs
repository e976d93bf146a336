//! W8, S1, S5: workers that are started together, and when their notices may wake.

use reveille_core::limits::GROUP_MEMBERS;
use reveille_core::{Address, NoticeState, Status, Timestamp};
use reveille_store::record::GroupPolicy;
use reveille_store::step::actors::{NewWorker, Spawn, SpawnGroup};
use reveille_store::step::send::{Post, Prepared, To};

use crate::world::{Done, HOST, World, text, worker};

fn group(w: &World, parent: &Address, policy: GroupPolicy, count: usize) -> Done<Vec<Address>> {
    let workers = (0..count).map(|n| worker(&format!("task {n}"))).collect();
    let parent = parent.clone();
    let made = w.run(SpawnGroup { parent, policy, workers, token: None })?;
    Ok(made.into_iter().map(|one| one.address).collect())
}

fn end(w: &World, worker: &Address, status: Status) {
    let task = w.claim(worker).unwrap();
    w.end_as(&task, status);
}

/// For each end of a member, in this order, whether its notice and those before it wake.
fn wakes_after(policy: GroupPolicy, ends: &[Status]) -> Vec<bool> {
    let mut w = World::default();
    let lead = w.session("main");
    let members = group(&w, &lead, policy, ends.len()).unwrap();
    let mut wakes = Vec::new();
    for (member, status) in members.iter().zip(ends) {
        end(&w, member, status.clone());
        w.restart();
        wakes.push(w.wakes(&lead));
    }
    wakes
}

#[test]
fn any_wakes_with_the_first_good_end_or_when_none_can_come_any_more() {
    use Status::{Blocked, Failed, Partial, Unreported};
    assert_eq!(wakes_after(GroupPolicy::Any, &[Failed, Partial, Failed]), [false, true, true]);
    assert_eq!(wakes_after(GroupPolicy::Any, &[Failed, Blocked]), [false, true]);
    assert_eq!(wakes_after(GroupPolicy::Any, &[Unreported, Failed]), [true, true]);
}

#[test]
fn a_run_that_is_lost_or_cancelled_counts_as_ended_and_not_as_good() {
    let w = World::default();
    let lead = w.session("main");
    let members = group(&w, &lead, GroupPolicy::Any, 2).unwrap();
    w.cancel(&members[0]);
    assert!(!w.wakes(&lead));
    w.cancel(&members[1]);
    assert!(w.wakes(&lead));
    let states: Vec<NoticeState> = w.notices(&lead).into_iter().map(|one| one.state).collect();
    assert_eq!(states, [NoticeState::Cancelled, NoticeState::Cancelled]);
}

#[test]
fn the_members_of_a_group_are_fixed_in_one_commit_all_or_none() {
    let w = World::default();
    let lead = w.session("main");
    let refused = group(&w, &lead, GroupPolicy::Quorum(3), 2).unwrap_err();
    assert!(refused.to_string().contains("quorum"), "{refused}");
    group(&w, &lead, GroupPolicy::Quorum(0), 2).unwrap_err();
    group(&w, &lead, GroupPolicy::All, 0).unwrap_err();
    group(&w, &lead, GroupPolicy::All, GROUP_MEMBERS + 1).unwrap_err();
    let budget = group(&w, &lead, GroupPolicy::All, 17).unwrap_err();
    assert_eq!(budget.code().name, "refused", "16 open runs among the children of one");
    let count = w.store.look(|state| state.rows().len());
    assert_eq!(futures_executor::block_on(count).unwrap(), 1, "nobody was made");
    let members = group(&w, &lead, GroupPolicy::All, 16).unwrap();
    let mut names: Vec<&Address> = members.iter().collect();
    names.dedup();
    assert_eq!(names.len(), 16);
}

#[test]
fn two_groups_of_one_parent_go_by_their_own_policies() {
    let w = World::default();
    let lead = w.session("main");
    let all = group(&w, &lead, GroupPolicy::All, 2).unwrap();
    let each = group(&w, &lead, GroupPolicy::Each, 1).unwrap();
    end(&w, &all[0], Status::Success);
    assert!(!w.wakes(&lead));
    end(&w, &each[0], Status::Success);
    assert!(w.wakes(&lead));
    let turn = w.claim(&lead).unwrap();
    assert_eq!(turn.picks.len(), 2, "the other one rides along");
}

#[test]
fn a_task_begins_at_once_so_its_message_neither_waits_nor_expires_nor_merges() {
    let w = World::default();
    let lead = w.session("main");
    let changes: [fn(&mut Post); 3] = [
        |post| post.not_before = Some(Timestamp::MAX),
        |post| post.expires_at = Some(Timestamp::MAX),
        |post| post.merge_key = Some("m".into()),
    ];
    for change in changes {
        let mut post = text("task");
        change(&mut post);
        let first = Prepared::new(HOST, post, &To::Actors(Vec::new()));
        let worker = NewWorker { first, ..worker("task") };
        let refused = w.run(Spawn { parent: lead.clone(), worker, token: None });
        assert_eq!(refused.unwrap_err().code().name, "invalid");
    }
}
