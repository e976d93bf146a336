//! Teams (section 11): a lead and at most seven others; the lead's broadcast is a send.

use reveille_core::limits::{TEAM_MEMBERS, TEAMS};
use reveille_core::message::label;
use reveille_core::{ActorName, Address, AgentName, Caller, OpError, TeamId, Timestamp};

use super::actors::{NewActor, make, resting};
use super::send::find_team;
use super::{Draft, Step, known};
use crate::record::{MemberJoined, MemberLeft, Number, TeamCreated};
use crate::state::State;

/// Makes a team.
#[derive(Debug)]
pub struct CreateTeam {
    /// Who leads it.
    pub lead: Address,
    /// What people call it; a lead has one team of a name.
    pub name: String,
}

impl Step for CreateTeam {
    type Answer = TeamId;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<TeamId, OpError> {
        let Self { lead, name } = self;
        let (lead, row) = known(state, &lead)?;
        ActorName::new(&name)?;
        if let Some(team) = row.teams.iter().find(|team| team.name == name) {
            return Ok(team.id);
        }
        OpError::at_most("teams", row.teams.len() + 1, TEAMS)?;
        let seq = draft.push(TeamCreated { lead, name });
        Ok(TeamId::new(seq, draft.stamp))
    }
}

/// Who joins a team.
#[derive(Debug)]
pub enum Joins {
    /// An actor that is there.
    Actor(Address),
    /// A new subagent of the lead's session that runs this agent.
    Agent(AgentName),
}

/// Adds a member; answers its address. One that is a member already stays what it is.
#[derive(Debug)]
pub struct AddMember {
    /// Which team.
    pub team: TeamId,
    /// Who joins.
    pub member: Joins,
    /// As what, 1 to 256 bytes.
    pub role: String,
    /// Who says so: the lead, a person or the host.
    pub by: Caller,
}

impl Step for AddMember {
    type Answer = Address;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Address, OpError> {
        let Self { team: id, member, role, by } = self;
        let (lead, team) = find_team(state, id)?;
        allowed(state, lead, &by)?;
        label("role", &role)?;
        if let Joins::Actor(address) = &member {
            let (number, _) = known(state, address)?;
            if team.members.iter().any(|one| one.actor == number) {
                return Ok(address.clone());
            }
        }
        if team.members.len() >= TEAM_MEMBERS {
            let (value, limit) = (team.members.len() as u64 + 1, TEAM_MEMBERS as u64);
            return Err(OpError::Refused { budget: "team members", value, limit });
        }
        let (member, address) = match member {
            Joins::Actor(address) => (known(state, &address)?.0, address),
            Joins::Agent(agent) => {
                draft.limits.budgets.admit(&resting(state, draft, lead))?;
                let new = NewActor { parent: lead, agent, key: None };
                make(state, draft, new, &[])?
            }
        };
        draft.push(MemberJoined { team: id.seq(), lead, member, role });
        Ok(address)
    }
}

/// Removes a member; answers whether it was one. The lead stays.
#[derive(Debug)]
pub struct RemoveMember {
    /// Which team.
    pub team: TeamId,
    /// Who leaves.
    pub member: Address,
    /// Who says so: the lead, the member itself, a person or the host.
    pub by: Caller,
}

impl Step for RemoveMember {
    type Answer = bool;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<bool, OpError> {
        let Self { team: id, member: address, by } = self;
        let (lead, team) = find_team(state, id)?;
        let (member, _) = known(state, &address)?;
        if !matches!(&by, Caller::Actor(caller) if *caller == address) {
            allowed(state, lead, &by)?;
        }
        let is_member = team.members.iter().any(|one| one.actor == member);
        if member == lead || !is_member {
            return Ok(false);
        }
        draft.push(MemberLeft { team: id.seq(), lead, member });
        Ok(true)
    }
}

fn allowed(state: &State, lead: Number, by: &Caller) -> Result<(), OpError> {
    let leads = |caller: &Address| state.find(caller) == Some(lead);
    match by {
        Caller::Actor(caller) if !leads(caller) => {
            let what = "change a team without leading it";
            Err(OpError::Forbidden { caller: by.to_string(), what })
        }
        _ => Ok(()),
    }
}

/// A member of a team, for people who look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamMember {
    /// Where mail for it goes.
    pub address: Address,
    /// The agent that runs its turns.
    pub agent: Option<AgentName>,
    /// As what it is in the team.
    pub role: String,
    /// Since when.
    pub joined_at: Timestamp,
}

/// The members of a team, the lead first.
///
/// # Errors
///
/// `unknown_id`.
pub fn members(state: &State, team: TeamId) -> Result<Vec<TeamMember>, OpError> {
    let (_, team) = find_team(state, team)?;
    let member = |one: &crate::state::row::Member| {
        let row = state.row(one.actor)?;
        let (address, agent) = (row.address.clone(), row.agent.clone());
        Some(TeamMember { address, agent, role: one.role.clone(), joined_at: one.joined_at })
    };
    Ok(team.members.iter().filter_map(member).collect())
}
