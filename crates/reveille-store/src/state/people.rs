//! How a row changes by what people, teams, groups, schedules and harnesses do (sections 3, 10, 11).

use reveille_core::id::Stamp;
use reveille_core::limits::SCHEDULES;
use reveille_core::{QuestionId, Seq, TeamId, Timestamp};

use super::Broken;
use super::moves::must;
use super::row::{Fired, Group, GroupMember, Hold, Member, OpenQuestion, Row, Schedule, Team};
use crate::record::{
    Answered, Asked, Grouped, Held, MemberJoined, Number, Scheduled, Stopped, TeamCreated, Ticked,
};

impl Row {
    pub(super) fn hold(&mut self, seq: Seq, at: Timestamp, held: &Held) {
        let (reason, note) = (held.reason.clone(), held.note.clone());
        self.holds.push(Hold { id: seq, reason, note, since: at });
    }

    pub(super) fn unhold(&mut self, hold: Seq) -> Result<(), Broken> {
        let before = self.holds.len();
        self.holds.retain(|held| held.id != hold);
        must(self.holds.len() < before, "W4", || format!("there is no hold {hold}"))
    }

    pub(super) fn stop(&mut self, stopped: &Stopped) -> Result<(), Broken> {
        must(self.run.is_none(), "W9", || "a run is open".into())?;
        self.stopped = Some(stopped.by.clone());
        Ok(())
    }

    pub(super) fn resume(&mut self) -> Result<(), Broken> {
        must(self.stopped.take().is_some(), "W9", || "the actor is not stopped".into())
    }

    pub(super) fn ask(&mut self, seq: Seq, stamp: Stamp, asked: &Asked) -> Result<(), Broken> {
        must(self.turn == Some(asked.turn), "P9", || {
            format!("turn {} is not under way", asked.turn)
        })?;
        self.questions.push(OpenQuestion {
            id: QuestionId::new(seq, stamp),
            turn: asked.turn,
            asked: asked.asked,
            tool: asked.question.tool.clone(),
            options: asked.question.options.clone(),
            request: asked.request,
            until: asked.until,
            since: stamp.at,
        });
        Ok(())
    }

    pub(super) fn answer(&mut self, answered: &Answered) -> Result<(), Broken> {
        let before = self.questions.len();
        self.questions.retain(|open| open.id.seq() != answered.question);
        must(self.questions.len() < before, "P6", || {
            format!("question {} is not open", answered.question)
        })
    }

    pub(super) fn grant(&mut self, tool: &str) {
        if !self.grants.iter().any(|granted| granted == tool) {
            self.grants.push(tool.to_owned());
        }
    }

    pub(super) fn group(&mut self, seq: Seq, grouped: &Grouped) {
        let member = |&(actor, run): &(Number, Seq)| GroupMember { actor, run, ended: None };
        let members = grouped.members.iter().map(member).collect();
        // Groups that nothing waits for any more make room.
        let pending = &self.pending;
        self.groups.retain(|group| {
            let open = group.members.iter().any(|member| member.ended.is_none());
            open || pending.iter().any(|mail| mail.group == Some(group.id))
        });
        self.groups.push(Group { id: seq, policy: grouped.policy, members });
    }

    /// The first run of a member of a group has an outcome.
    pub(super) fn member_ended(&mut self, actor: Number, run: Seq, well: bool) {
        let members = self.groups.iter_mut().flat_map(|group| &mut group.members);
        let of = |member: &&mut GroupMember| (member.actor, member.run) == (actor, run);
        members.filter(of).for_each(|member| member.ended = Some(well));
    }

    pub(super) fn make_team(&mut self, seq: Seq, stamp: Stamp, created: &TeamCreated) {
        let lead = Member { actor: created.lead, role: "lead".to_owned(), joined_at: stamp.at };
        let id = TeamId::new(seq, stamp);
        self.teams.push(Team { id, name: created.name.clone(), members: vec![lead] });
    }

    fn team(&mut self, team: Seq) -> Result<&mut Team, Broken> {
        let found = self.teams.iter_mut().find(|one| one.id.seq() == team);
        found.ok_or_else(|| ("P2", format!("there is no team {team}")))
    }

    pub(super) fn join(&mut self, joined: &MemberJoined, at: Timestamp) -> Result<(), Broken> {
        let team = self.team(joined.team)?;
        let is_member = team.members.iter().any(|member| member.actor == joined.member);
        must(!is_member, "P2", || "the member is one already".into())?;
        let role = joined.role.clone();
        team.members.push(Member { actor: joined.member, role, joined_at: at });
        Ok(())
    }

    pub(super) fn leave(&mut self, team: Seq, member: Number) -> Result<(), Broken> {
        let team = self.team(team)?;
        let before = team.members.len();
        team.members.retain(|one| one.actor != member);
        must(team.members.len() < before, "P2", || "the member is none".into())
    }

    pub(super) fn schedule(&mut self, scheduled: &Scheduled) {
        let Scheduled { key, due, every, by, text, .. } = scheduled.clone();
        self.schedules.retain(|schedule| schedule.key != key);
        self.fired.retain(|fired| fired.key != key);
        self.schedules.push(Schedule { key, due, every, by, text });
    }

    pub(super) fn tick(&mut self, ticked: &Ticked, at: Timestamp) -> Result<(), Broken> {
        let index = self.schedules.iter().position(|schedule| schedule.key == ticked.key);
        let index = index.ok_or_else(|| ("P2", format!("there is no schedule {}", ticked.key)))?;
        match (ticked.next, self.schedules.get_mut(index)) {
            (Some(next), Some(schedule)) => {
                let later = next > schedule.due && next > at;
                must(later, "W1", || format!("schedule {} ticks twice", ticked.key))?;
                schedule.due = next;
            }
            _ => {
                let Schedule { key, due, .. } = self.schedules.remove(index);
                if ticked.sent {
                    self.fired.push(Fired { key, due });
                }
                if self.fired.len() > SCHEDULES {
                    self.fired.remove(0);
                }
            }
        }
        Ok(())
    }
}
