//! Holds, stops, questions, teams and schedules, as a host declares them.

use std::time::Duration;

use reveille_core::{
    Address, AgentName, Caller, OpError, QuestionId, Seq, SessionId, TeamId, Text, Timestamp,
};
use reveille_store::record::{Answer, GroupPolicy, HoldReason, Record};
use reveille_store::state::row::{self, Row, Team};
use reveille_store::step::hold::{Hold, Release, Resume};
use reveille_store::step::question::AnswerQuestion;
use reveille_store::step::schedule::{Schedule, Unschedule, When};
use reveille_store::step::team::{AddMember, CreateTeam, Joins, RemoveMember, TeamMember, members};

use crate::ops;
use crate::runtime::Runtime;
use crate::spec::{Cancel, Cancelled, Spawn, Worker};

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionView {
    /// Which.
    pub id: QuestionId,
    /// Who asks.
    pub asker: Address,
    /// Who is asked; `None` is a person.
    pub asked: Option<Address>,
    /// What it asks, unless that has left the history.
    pub text: Option<String>,
    /// The tool that a permission is asked for.
    pub tool: Option<String>,
    /// What may be answered; empty means approve, deny, approve_always.
    pub options: Vec<String>,
    /// Since when.
    pub since: Timestamp,
    /// When it is denied.
    pub until: Option<Timestamp>,
}

/// A team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamView {
    /// Which.
    pub id: TeamId,
    /// What people call it.
    pub name: String,
    /// Who leads it.
    pub lead: Address,
    /// How many members it has, its lead included.
    pub members: usize,
}

/// A message that is sent at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleView {
    /// To whom.
    pub address: Address,
    /// What the schedule is called.
    pub key: String,
    /// When it is due next.
    pub due: Timestamp,
    /// How long from one time to the next; `None` is once.
    pub every: Option<Duration>,
    /// Who declared it.
    pub by: Caller,
}

impl Runtime {
    /// Spawns workers of `parent` that belong together, all or none; the policy says from when on
    /// their notices wake it (W8).
    ///
    /// # Errors
    ///
    /// As [`Runtime::spawn`]; `invalid` for a quorum above their number.
    pub async fn spawn_group(
        &self,
        parent: Address,
        policy: GroupPolicy,
        spawns: Vec<Spawn>,
    ) -> Result<Vec<Worker>, OpError> {
        ops::spawn_group(&self.hub, Caller::Host, parent, policy, spawns, None).await
    }

    /// Stops an actor: its run ends as by a cancel, its mail waits, and nothing starts it but a
    /// resume (W9).
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `storage_failed`, `shutting_down`.
    pub async fn stop(
        &self,
        by: Caller,
        address: &Address,
        cancel: Cancel,
    ) -> Result<Cancelled, OpError> {
        ops::cancel_run(&self.hub, by, address, cancel.stops()).await
    }

    /// Lets an actor that was stopped start again; answers whether it was.
    ///
    /// # Errors
    ///
    /// `unknown_actor`.
    pub async fn resume(&self, by: Caller, actor: Address) -> Result<bool, OpError> {
        self.hub.store.run(Resume { actor, by }).await
    }

    /// Holds an actor: nothing is injected until it is released. Answers the hold's number.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `too_large`.
    pub async fn hold(
        &self,
        by: Caller,
        actor: Address,
        note: impl Into<String>,
    ) -> Result<Seq, OpError> {
        let (reason, note) = (HoldReason::Paused, note.into());
        self.hub.store.run(Hold { actor, reason, note, by }).await
    }

    /// Releases what [`Runtime::hold`] held; answers how many holds there were.
    ///
    /// # Errors
    ///
    /// `unknown_actor`.
    pub async fn release(&self, by: Caller, actor: Address) -> Result<usize, OpError> {
        self.hub.store.run(Release { actor, hold: None, by }).await
    }

    /// All questions that wait for an answer.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn questions(&self) -> Result<Vec<QuestionView>, OpError> {
        let questions = self.hub.store.look(|state| {
            let address = |number| state.row(number).map(|row| row.address.clone());
            let view = |row: &Row| {
                let view = |open: &row::OpenQuestion| QuestionView {
                    id: open.id,
                    asker: row.address.clone(),
                    asked: open.asked.and_then(address),
                    text: None,
                    tool: open.tool.clone(),
                    options: open.options.clone(),
                    since: open.since,
                    until: open.until,
                };
                row.questions.iter().map(view).collect::<Vec<_>>()
            };
            state.watched().flat_map(|(_, row)| view(row)).collect::<Vec<_>>()
        });
        let mut questions = questions.await?;
        let asked = questions.iter().map(|question| question.id.seq()).collect();
        for (question, record) in questions.iter_mut().zip(ops::records(&self.hub, asked).await?) {
            if let Some((_, Record::Asked(asked))) = record {
                question.text = Some(asked.question.text);
            }
        }
        Ok(questions)
    }

    /// Answers a question in the name of somebody whom the host has identified.
    ///
    /// # Errors
    ///
    /// `unknown_id`, `forbidden`, `invalid` naming what may be answered.
    pub async fn answer(
        &self,
        by: Caller,
        question: QuestionId,
        answer: Answer,
    ) -> Result<(), OpError> {
        self.hub.store.run(AnswerQuestion { question, answer, by, token: None }).await
    }

    /// Makes a team; a lead has one of a name, and making it again answers that.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `invalid`.
    pub async fn create_team(
        &self,
        lead: Address,
        name: impl Into<String>,
    ) -> Result<TeamId, OpError> {
        self.hub.store.run(CreateTeam { lead, name: name.into() }).await
    }

    /// All teams, in the order of their leads.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn teams(&self) -> Result<Vec<TeamView>, OpError> {
        let teams = self.hub.store.look(|state| {
            let view = |row: &Row| {
                let lead = row.address.clone();
                let view = move |team: &Team| TeamView {
                    id: team.id,
                    name: team.name.clone(),
                    lead: lead.clone(),
                    members: team.members.len(),
                };
                row.teams.iter().map(view).collect::<Vec<_>>()
            };
            state.rows().iter().flat_map(view).collect()
        });
        teams.await
    }

    /// Makes an actor that is there a member of a team.
    ///
    /// # Errors
    ///
    /// `unknown_id`, `unknown_actor`, `refused` beyond 8 members.
    pub async fn add_member(
        &self,
        by: Caller,
        team: TeamId,
        member: Address,
        role: impl Into<String>,
    ) -> Result<Address, OpError> {
        let (member, role) = (Joins::Actor(member), role.into());
        self.hub.store.run(AddMember { team, member, role, by }).await
    }

    /// Makes a new actor of the lead's session that runs this agent, as a member of its team.
    ///
    /// # Errors
    ///
    /// As [`Runtime::add_member`], `invalid`.
    pub async fn add_new_member(
        &self,
        by: Caller,
        team: TeamId,
        agent: &str,
        role: impl Into<String>,
    ) -> Result<Address, OpError> {
        let member = Joins::Agent(AgentName::new(agent)?);
        let role = role.into();
        self.hub.store.run(AddMember { team, member, role, by }).await
    }

    /// Removes a member; answers whether it was one. The lead stays.
    ///
    /// # Errors
    ///
    /// `unknown_id`, `unknown_actor`.
    pub async fn remove_member(
        &self,
        by: Caller,
        team: TeamId,
        member: Address,
    ) -> Result<bool, OpError> {
        self.hub.store.run(RemoveMember { team, member, by }).await
    }

    /// The members of a team, the lead first.
    ///
    /// # Errors
    ///
    /// `unknown_id`.
    pub async fn members(&self, team: TeamId) -> Result<Vec<TeamMember>, OpError> {
        self.hub.store.look(move |state| members(state, team)).await?
    }

    /// All schedules, of one actor or of all, for each actor in the order of their declaration.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `storage_failed`.
    pub async fn schedules(&self, actor: Option<Address>) -> Result<Vec<ScheduleView>, OpError> {
        if let Some(actor) = &actor {
            ops::number(&self.hub, actor).await?;
        }
        let schedules = self.hub.store.look(move |state| {
            let wanted = |row: &&Row| actor.as_ref().is_none_or(|address| row.address == *address);
            let view = |row: &Row| {
                let address = row.address.clone();
                let view = move |one: &row::Schedule| ScheduleView {
                    address: address.clone(),
                    key: one.key.clone(),
                    due: one.due,
                    every: one.every.map(Duration::from_millis),
                    by: one.by.clone(),
                };
                row.schedules.iter().map(view).collect::<Vec<_>>()
            };
            state.watched().map(|(_, row)| row).filter(wanted).flat_map(view).collect()
        });
        schedules.await
    }

    /// Sends a text at a moment. Declaring the same key again changes what is sent and when.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `invalid`, `too_large`.
    pub async fn schedule_at(
        &self,
        by: Caller,
        actor: Address,
        key: impl Into<String>,
        at: Timestamp,
        text: Text,
    ) -> Result<Timestamp, OpError> {
        let (key, when) = (key.into(), When::At(at));
        self.hub.store.run(Schedule { actor, key, when, text, by }).await
    }

    /// Sends a text again and again. Declaring the same key again keeps the time at which it is due
    /// next; ticks that were missed become one that says how late it is. Answers that time.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `invalid` for less than a second, `too_large`.
    pub async fn schedule_every(
        &self,
        by: Caller,
        actor: Address,
        key: impl Into<String>,
        every: Duration,
        text: Text,
    ) -> Result<Timestamp, OpError> {
        let (key, when) = (key.into(), When::Every(every));
        self.hub.store.run(Schedule { actor, key, when, text, by }).await
    }

    /// Cancels a schedule, durably; answers whether there was one.
    ///
    /// # Errors
    ///
    /// `unknown_actor`.
    pub async fn unschedule(
        &self,
        actor: Address,
        key: impl Into<String>,
    ) -> Result<bool, OpError> {
        self.hub.store.run(Unschedule { actor, key: key.into() }).await
    }

    /// The main actor of a session, by the session's name or id; the latest of a name.
    ///
    /// # Errors
    ///
    /// `unknown_id`.
    pub async fn find_session(&self, name: &str) -> Result<SessionId, OpError> {
        let sessions = self.sessions().await?;
        let is_it =
            |session: &&crate::Session| session.name() == name || session.id().to_string() == name;
        let found = sessions.iter().rev().find(is_it).map(crate::Session::id);
        found.ok_or_else(|| OpError::UnknownId { id: name.to_owned() })
    }
}
