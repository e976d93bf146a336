//! The KILL: while workers run and an injection is open.
//!
//! The moment is chosen from the journals: the cancel and the stall have been told, workers run, and
//! the lead has just noted an injection, over which it takes a while. What was running and open is
//! then read from the store that the dead process left. Should it have fallen between two things, the
//! demo begins anew.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use indicatif::ProgressBar;
use serde::Serialize;

use super::journal::{LeadLine, WorkerEvent};
use super::{Host, LOOK, Stage, now_ms, pause};

/// How long a moment is waited for.
const PATIENCE: Duration = Duration::from_secs(90);

/// What was going on when the KILL fell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Killed {
    /// When, in milliseconds.
    pub(crate) at: u64,
    /// The workers whose run was under way.
    pub(crate) running: Vec<RunningWorker>,
    /// The injection of the lead that was open.
    pub(crate) injection: Option<String>,
}

/// A worker whose run was under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RunningWorker {
    pub(crate) address: String,
    pub(crate) run: String,
}

/// Kills the host at such a moment, and writes `kill.json`. `None` when it fell between two things.
pub(crate) fn while_busy(
    stage: &Stage,
    host: &mut Host,
    bar: &ProgressBar,
) -> anyhow::Result<Option<Killed>> {
    wait_for_moment(stage, host, bar)?;
    host.0.kill()?;
    let at = now_ms();
    host.0.wait()?;
    let killed = look(&stage.data(), at)?;
    if killed.injection.is_none() || killed.running.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(&killed)?;
    std::fs::write(stage.dir.join("kill.json"), text + "\n")?;
    Ok(Some(killed))
}

fn wait_for_moment(stage: &Stage, host: &mut Host, bar: &ProgressBar) -> anyhow::Result<()> {
    let mut seen = stage.journals.lead()?.len();
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        let lead = stage.journals.lead()?;
        let fresh = lead.len() > seen;
        seen = lead.len();
        bar.set_position(stage.journals.ended()? as u64);
        if fresh && told(&lead, "cancelled") && told(&lead, "stalled") && busy(stage)? {
            return Ok(());
        }
        if let Some(status) = host.0.try_wait()? {
            anyhow::bail!("the host of the crew ended with {status} before the KILL");
        }
        pause(LOOK);
        waited += LOOK;
    }
    anyhow::bail!("no moment for the KILL within {PATIENCE:?}")
}

fn told(lead: &[LeadLine], state: &str) -> bool {
    lead.iter().any(|line| line.state.as_deref() == Some(state))
}

/// Whether a good part of the files is done and a worker is at one, or all are done and only the
/// hanging worker is left.
fn busy(stage: &Stage) -> anyhow::Result<bool> {
    let lines = stage.journals.workers()?;
    let of = |event| lines.iter().filter(|line| line.event == event).count();
    let (started, ended, files) = (of(WorkerEvent::Start), of(WorkerEvent::End), stage.plan.files);
    // Two of those that started never end by themselves.
    Ok(ended >= files || (ended * 4 >= files && started >= ended + 3))
}

/// What the store says was going on.
fn look(data: &Path, at: u64) -> anyhow::Result<Killed> {
    let report = reveille_store::verify::verify(data)?;
    let state = report.state.context("the store cannot be read after the KILL")?;
    let mut killed = Killed { at, running: Vec::new(), injection: None };
    for row in state.rows() {
        let Some(run) = row.run.as_ref().filter(|run| run.begun) else {
            continue;
        };
        if row.parent.is_some() {
            let (address, run) = (row.address.to_string(), run.id.to_string());
            killed.running.push(RunningWorker { address, run });
        } else if row.turn.is_some() {
            killed.injection = row.open.first().map(|open| open.id.to_string());
        }
    }
    Ok(killed)
}
