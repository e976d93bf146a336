//! Why something is as it is, and what something that has not happened waits for (section 14).
//!
//! Answers from the state alone, so that it says the same of a store at rest and of one that a runtime
//! holds; what only a runtime knows (slots, agents) the runtime adds.

use std::fmt::Write as _;

use reveille_core::need::{Need, Start, need};
use reveille_core::window::WindowSettings;
use reveille_core::{Kind, MessageId, RunId, Seq, Timestamp};
use serde::Serialize;

use crate::record::{HoldReason, Number, Sent, Settlement};
use crate::state::State;
use crate::state::row::{Mail, Row};
use crate::whereabouts::{MailState, whereabouts};

/// An explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Why {
    /// What was asked about.
    pub subject: String,
    /// How it stands, in one word.
    pub state: String,
    /// What it waits for; `None` when it waits for nothing.
    pub waiting_for: Option<String>,
    /// What is known, a line each: which mail, window, injection, turn, outcome, notice.
    pub facts: Vec<String>,
}

/// Explains an actor.
#[must_use]
pub fn actor(
    state: &State,
    number: Number,
    now: Timestamp,
    windows: WindowSettings,
) -> Option<Why> {
    let row = state.row(number)?;
    let mut facts = vec![mail_line(row, now)];
    facts.extend(row.open.iter().map(open_line));
    if let Some(run) = &row.run {
        let began = if run.begun { "under way" } else { "queued" };
        facts.push(format!("run {} is {began} since {}, {} turns", run.id, run.since, run.turns));
    }
    if let Some(ended) = &row.ended {
        facts.push(format!(
            "run {} ended {} (record {})",
            ended.id,
            ended.state.name(),
            ended.outcome
        ));
    }
    facts
        .extend(row.schedules.iter().map(|one| format!("schedule {} is due {}", one.key, one.due)));
    let unacknowledged = row.unacknowledged.len();
    if unacknowledged > 0 {
        facts.push(format!("{unacknowledged} read messages await acknowledgement"));
    }
    let waiting_for = hold_line(state, row).or_else(|| waits_for(state, number, row, now, windows));
    Some(Why { subject: row.address.to_string(), state: state_of(row).into(), waiting_for, facts })
}

/// The state of an actor in one word (section 7).
#[must_use]
pub const fn state_of(row: &Row) -> &'static str {
    match (&row.run, &row.stopped) {
        (_, Some(_)) => "stopped",
        (Some(run), None) if !run.begun => "queued",
        (Some(_), None) => "running",
        (None, None) => "idle",
    }
}

fn mail_line(row: &Row, now: Timestamp) -> String {
    let count = |what: &dyn Fn(&Mail) -> bool| row.pending.iter().filter(|mail| what(mail)).count();
    let wakes = count(&|mail| row.may_wake(mail, now));
    let delayed = count(&|mail| mail.at > now);
    let (pending, dead) = (row.pending.len(), row.dead.len());
    let mut line = format!("{pending} pending messages, {wakes} of them may wake");
    if delayed > 0 {
        let _ = write!(line, ", {delayed} are not due yet");
    }
    if dead > 0 {
        let _ = write!(line, "; {dead} are dead");
    }
    line
}

fn open_line(open: &crate::state::row::Open) -> String {
    let held = match open.turn {
        Some(turn) => format!("in turn {turn}"),
        None if open.attempt == 0 => "to be offered".to_owned(),
        None => "to be offered again".to_owned(),
    };
    let (id, count, attempt) = (open.id, open.mail.len(), open.attempt);
    format!("injection {id} ({}) holds {count} messages, attempt {attempt}, {held}", open.trigger)
}

fn hold_line(state: &State, row: &Row) -> Option<String> {
    if let Some(by) = &row.stopped {
        return Some(format!("a resume: {by} stopped it"));
    }
    if let Some(question) = row.questions.first() {
        let asked = question.asked.and_then(|asked| state.row(asked));
        let who = asked.map_or_else(|| "a person".to_owned(), |row| row.address.to_string());
        return Some(format!("an answer of {who} to {} since {}", question.id, question.since));
    }
    row.holds.first().map(|hold| match &hold.reason {
        HoldReason::Paused => format!("a release: it is held since {} ({})", hold.since, hold.note),
        HoldReason::Person => format!("a person since {} ({})", hold.since, hold.note),
        HoldReason::Alert(seq) => format!("an acknowledgement of the alert {seq}"),
    })
}

fn waits_for(
    state: &State,
    number: Number,
    row: &Row,
    now: Timestamp,
    windows: WindowSettings,
) -> Option<String> {
    if row.turn.is_some() {
        let waits = state.waits_of(number);
        let target = waits.first().and_then(|target| state.row(*target));
        return Some(match target {
            Some(target) => format!("{}, in its turn", target.address),
            None => "the end of its turn".to_owned(),
        });
    }
    match need(&row.standing(now), now, windows) {
        Need::Turn(Start::Again) => Some("a slot, to be offered its injection again".into()),
        Need::Turn(Start::Task) => Some("a slot, to begin its task".into()),
        Need::Turn(Start::Window) => Some("a slot: its window is closed".into()),
        Need::Look(at) if !row.open.is_empty() => Some(format!("its back-off, until {at}")),
        Need::Look(at) => Some(format!("the closing of its window at {at}")),
        Need::Nothing => quiet(state, number, row, now),
    }
}

/// What an actor waits for that has nothing to do.
fn quiet(state: &State, number: Number, row: &Row, now: Timestamp) -> Option<String> {
    let workers = state.open_workers(number);
    if workers > 0 {
        return Some(format!("{workers} workers"));
    }
    let next = row.next_moment(now);
    if row.pending.is_empty() {
        return next.map(|at| format!("what is due at {at}"));
    }
    // Mail waits and wakes nobody: say why, for the first of it.
    row.pending.front().map(|mail| not_waking(row, mail, now))
}

/// Why a pending message wakes nobody.
fn not_waking(row: &Row, mail: &Mail, now: Timestamp) -> String {
    let seq = mail.seq();
    if mail.at > now {
        return format!("the time of message {seq}: {}", mail.at);
    }
    if mail.delivery == reveille_core::Delivery::Passive {
        return format!("other mail: message {seq} is passive and rides along");
    }
    if let Some(group) = mail.group.and_then(|id| row.groups.iter().find(|group| group.id == id))
        && !group.is_met()
    {
        return format!("the policy of its group {}: {:?}", group.id, group.policy);
    }
    if mail.item.kind == Kind::Continuation {
        return format!("other mail: {} continuations in a row changed nothing", row.continuations);
    }
    if seq <= row.floor {
        return format!("other mail: message {seq} came before the run was cancelled");
    }
    format!("other mail: message {seq} does not wake an actor that was interrupted")
}

/// Explains a message, for each of its recipients.
#[must_use]
pub fn message(
    state: &State,
    id: MessageId,
    sent: &Sent,
    now: Timestamp,
    windows: WindowSettings,
) -> Vec<Why> {
    let about = |number: &Number| {
        let row = state.row(*number)?;
        let place = whereabouts(state, id.seq(), *number, now);
        let mut facts = vec![format!("{} from {} at {}", sent.kind, sent.from, id.at())];
        let mut waiting_for = None;
        match place {
            MailState::Pending | MailState::Delayed => {
                let mail = row.pending.iter().find(|mail| mail.seq() == id.seq())?;
                let wakes = row.may_wake(mail, now);
                waiting_for = if wakes {
                    actor(state, *number, now, windows).and_then(|why| why.waiting_for)
                } else {
                    Some(not_waking(row, mail, now))
                };
            }
            MailState::Offered { injection } => {
                facts.push(format!("in the open injection {}", name(row, injection)));
                waiting_for = waits_for(state, *number, row, now, windows);
            }
            other => facts.push(settled_line(other)),
        }
        let marks = state.marks(id.seq(), *number);
        facts.extend(marks.acknowledged.map(|at| format!("acknowledged at {at}")));
        facts.extend(marks.archived.map(|at| format!("archived at {at}")));
        let subject = format!("{id} to {}", row.address);
        Some(Why { subject, state: place.name().into(), waiting_for, facts })
    };
    sent.to.iter().filter_map(about).collect()
}

fn name(row: &Row, injection: Seq) -> String {
    let open = row.open.iter().find(|open| open.id.seq() == injection);
    open.map_or_else(|| injection.to_string(), |open| open.id.to_string())
}

fn settled_line(state: MailState) -> String {
    match state {
        MailState::Injected { injection } => format!("the turn of injection {injection} answered"),
        MailState::Collected { injection } => format!("a wait returned it ({injection})"),
        MailState::Settled { how: Settlement::Failed, .. } => {
            "its agent failed on it for good; it can be redriven".to_owned()
        }
        MailState::Settled { how, .. } => format!("settled: {}", how.name()),
        MailState::Dead => {
            "it cannot be delivered; it can be read, redriven and dropped".to_owned()
        }
        MailState::Dropped => "it was dead and was removed".to_owned(),
        _ => "what became of it has left the history".to_owned(),
    }
}

/// Explains a run: the latest ones of actors, open or ended.
#[must_use]
pub fn run(state: &State, id: RunId, now: Timestamp, windows: WindowSettings) -> Option<Why> {
    let rows = (0..).zip(state.rows());
    let has = |row: &Row| {
        row.run.as_ref().is_some_and(|run| run.id == id)
            || row.ended.as_ref().is_some_and(|ended| ended.id == id)
    };
    let (number, row): (Number, &Row) = rows.into_iter().find(|(_, row)| has(row))?;
    let subject = format!("{id} of {}", row.address);
    if row.run.as_ref().is_some_and(|run| run.id == id) {
        let why = actor(state, number, now, windows)?;
        return Some(Why { subject, ..why });
    }
    let ended = row.ended.as_ref()?;
    let told = notice_of(state, ended.outcome);
    let mut facts = vec![format!("its outcome is record {}", ended.outcome)];
    facts.extend(told);
    Some(Why { subject, state: ended.state.name().into(), waiting_for: None, facts })
}

/// Where the notice of an outcome waits.
fn notice_of(state: &State, outcome: Seq) -> Vec<String> {
    let tells = |mail: &&Mail| mail.tells.is_some_and(|tells| tells.outcome == Some(outcome));
    let line = |(_, row): (Number, &Row)| {
        let notice = row.unread().find(tells)?.seq();
        Some(format!("its notice {notice} waits for {}", row.address))
    };
    state.watched().filter_map(line).collect()
}
