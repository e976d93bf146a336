//! `team create, list, members, add, remove` (section 11).

use clap::Args;
use reveille::{OpError, Runtime, TeamId, TeamMember, TeamView};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answer, ME, address, time};

/// A team that is made.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Create {
    /// Who leads it: an address, a session, or SESSION/ACTOR.
    lead: String,
    /// What it is called; a lead has one team of a name.
    name: String,
}

impl Create {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let lead = address(runtime, &self.lead).await?;
        let id = runtime.create_team(lead.clone(), self.name.clone()).await?;
        Ok(json!({ "id": id, "name": self.name, "lead": lead }))
    }
}

/// All teams.
pub(super) async fn list(runtime: &Runtime) -> Answer {
    let view = |team: &TeamView| json!({ "id": team.id, "name": team.name, "lead": team.lead, "members": team.members });
    Ok(runtime.teams().await?.iter().map(view).collect::<Value>())
}

/// The team that a text names: by its id, or the latest of a name.
async fn find(runtime: &Runtime, text: &str) -> Result<TeamId, OpError> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let named = runtime.teams().await?.into_iter().filter(|team| team.name == text);
    let latest = named.map(|team| team.id).max_by_key(|id| id.seq());
    latest.ok_or_else(|| OpError::UnknownId { id: text.to_owned() })
}

/// A team.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Its id, or its name: the latest of that name.
    team: String,
}

impl Which {
    pub(super) async fn members(self, runtime: &Runtime) -> Answer {
        let team = find(runtime, &self.team).await?;
        let view = |member: &TeamMember| {
            json!({
                "address": member.address,
                "agent": member.agent,
                "role": member.role,
                "joined_at": time(member.joined_at),
            })
        };
        Ok(runtime.members(team).await?.iter().map(view).collect::<Value>())
    }
}

/// A new member.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    /// The team's id, or its name.
    team: String,
    /// Who joins; without it, a new actor of the lead's session that runs the agent.
    #[arg(required_unless_present = "agent", conflicts_with = "agent")]
    address: Option<String>,
    /// The agent of a new actor.
    #[arg(long)]
    agent: Option<String>,
    /// As what it joins.
    #[serde(default = "member")]
    #[arg(long, default_value = "member")]
    role: String,
}

fn member() -> String {
    "member".to_owned()
}

impl Add {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let team = find(runtime, &self.team).await?;
        let joined = match (&self.address, &self.agent) {
            (Some(text), None) => {
                let joins = address(runtime, text).await?;
                runtime.add_member(ME, team, joins, self.role).await?
            }
            (None, Some(agent)) => runtime.add_new_member(ME, team, agent, self.role).await?,
            _ => return Err(OpError::invalid("address", "", "either address or agent")),
        };
        Ok(json!({ "team": team, "address": joined }))
    }
}

/// A member that leaves.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remove {
    /// The team's id, or its name.
    team: String,
    /// Who leaves.
    address: String,
}

impl Remove {
    pub(super) async fn perform(self, runtime: &Runtime) -> Answer {
        let team = find(runtime, &self.team).await?;
        let leaves = address(runtime, &self.address).await?;
        let removed = runtime.remove_member(ME, team, leaves.clone()).await?;
        Ok(json!({ "team": team, "address": leaves, "removed": removed }))
    }
}
