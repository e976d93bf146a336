//! The summary, counted from the journals alone.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::journal::{Journals, LeadLine, WorkerEvent};
use super::kill::Killed;

/// What the demo showed. A run is told when the lead reads a notice of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    /// Workers that started or were told of.
    workers: usize,
    /// Messages that the lead read.
    reasons: usize,
    /// Injections that they came in.
    injections: usize,
    /// Turns that gathering saved.
    turns_saved: usize,
    /// Runs that started and were never told.
    lost: usize,
    /// Runs told in two injections, or twice in one attempt.
    duplicated: usize,
    /// Runs open at the KILL that were told.
    recovered: usize,
    /// Runs told as cancelled.
    cancelled: usize,
    /// Runs told as stalled.
    stalled: usize,
}

/// Counts.
pub(crate) fn count(journals: &Journals, killed: &Killed) -> anyhow::Result<Summary> {
    let (workers, lead) = (journals.workers()?, journals.lead()?);
    let distinct = |of: &dyn Fn(&LeadLine) -> Option<&String>| {
        lead.iter().filter_map(of).collect::<HashSet<_>>().len()
    };
    let (reasons, injections) =
        (distinct(&|line| Some(&line.message)), distinct(&|line| Some(&line.injection)));
    let ends = lead.iter().filter(|line| line.state.as_ref().is_some_and(|s| s != "stalled"));
    let mut told: HashMap<&String, Vec<&LeadLine>> = HashMap::new();
    for line in ends {
        if let Some(run) = &line.run {
            told.entry(run).or_default().push(line);
        }
    }
    let started = workers.iter().filter(|line| line.event == WorkerEvent::Start);
    let runs: HashSet<&String> = started.clone().map(|line| &line.run).collect();
    let addresses = started.map(|line| &line.address);
    let addresses = addresses.chain(lead.iter().filter_map(|line| line.about.as_ref()));
    let in_state = |state: &str| {
        let lines = lead.iter().filter(|line| line.state.as_deref() == Some(state));
        lines.filter_map(|line| line.run.as_ref()).collect::<HashSet<_>>().len()
    };
    Ok(Summary {
        workers: addresses.collect::<HashSet<_>>().len(),
        reasons,
        injections,
        turns_saved: reasons - injections,
        lost: runs.iter().filter(|run| !told.contains_key(*run)).count(),
        duplicated: told.values().filter(|lines| is_duplicated(lines)).count(),
        recovered: killed.running.iter().filter(|run| told.contains_key(&run.run)).count(),
        cancelled: in_state("cancelled"),
        stalled: in_state("stalled"),
    })
}

/// Whether a run was told in two injections, or twice in one attempt.
fn is_duplicated(lines: &[&LeadLine]) -> bool {
    let mut injections = HashSet::new();
    let mut attempts = HashSet::new();
    for line in lines {
        injections.insert(&line.injection);
        if !attempts.insert((&line.injection, line.attempt)) {
            return true;
        }
    }
    injections.len() > 1
}

impl Summary {
    /// Whether everything is as promised.
    pub(crate) const fn is_good(&self) -> bool {
        self.lost == 0 && self.duplicated == 0 && self.recovered > 0 && self.stalled == 1
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let Self { workers, reasons, injections, turns_saved, .. } = self;
        let Self { lost, duplicated, recovered, cancelled, stalled, .. } = self;
        format!(
            "{workers} workers in processes of their own gave the lead {reasons} reasons to wake\n\
             {injections} injections carried them all: {turns_saved} turns saved\n\
             the host was sent KILL while workers ran and an injection was open:\n  \
             {recovered} runs recovered, {lost} lost, {duplicated} told twice\n\
             {cancelled} cancelled, {stalled} reported stalled"
        )
    }
}
