//! Sending (section 3, P1, P10, P11): the checks, in the contract's order, against the state with
//! everything that was taken into the same commit.

use reveille_core::limits::{HOPS, RECIPIENTS, UNACKNOWLEDGED};
use reveille_core::{Address, Caller, Delivery, Kind, MessageId, OpError, Seq, TeamId};

use super::hold::end_alert;
use super::prepare::Options;
pub use super::prepare::{Post, Prepared, To};
use super::{Draft, Reach, Step, Token, fresh};
use crate::record::{
    Held, HoldReason, Mark, Marked, Number, Resumed, Sender, Sent, Settled, Settlement,
};
use crate::state::State;
use crate::state::row::{Mail, Row, Team};
use crate::whereabouts::{MailState, whereabouts};

/// Sends a message to every one of its recipients, or to none.
#[derive(Debug)]
pub struct Send {
    /// Whose mailboxes.
    pub to: To,
    /// The message.
    pub message: Prepared,
    /// The turn that sends it; it must be under way (P9).
    pub token: Option<Token>,
}

/// A message that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its id; that of the first call, when this one repeats it.
    pub id: MessageId,
    /// Whether an earlier call with the same key had sent it.
    pub duplicate: bool,
    /// Where it is, for each recipient.
    pub states: Vec<(Address, MailState)>,
}

impl Step for Send {
    type Answer = Accepted;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<Accepted, OpError> {
        let Self { to, message, token } = self;
        let sender = token.map(|token| fresh(state, token)).transpose()?;
        let (numbers, unknown) = resolve(state, &to, &message.sent.from);
        authority(state, draft, &numbers, &message)?;
        message.shape.clone()?;
        shape_of_call(&to)?;
        if let Some(answer) = repeated(state, &message, &numbers) {
            return answer;
        }
        broadcast(state, &to, &message.sent.from)?;
        unknown.map_or(Ok(()), Err)?;
        accepting(state, &numbers, &message.sent)?;
        room(state, draft, &numbers, &message.sent)?;
        let hops = sender.map_or(0, |row| row.hops + 1);
        if hops > HOPS {
            return Err(OpError::HopLimit { hops, limit: HOPS });
        }
        store_room(state, draft, numbers.len(), message.sent.bytes)?;
        let delayed = message.sent.not_before.is_some_and(|due| due > draft.at());
        let placed = if delayed { MailState::Delayed } else { MailState::Pending };
        let states =
            recipients(state, to, &numbers).into_iter().map(|address| (address, placed)).collect();
        let id = MessageId::new(accept(state, draft, numbers, message, hops)?, draft.stamp);
        Ok(Accepted { id, duplicate: false, states })
    }
}

/// The addresses of the recipients, each once.
fn recipients(state: &State, to: To, numbers: &[Number]) -> Vec<Address> {
    match to {
        To::Actors(to) if to.len() == numbers.len() => to,
        _ => {
            let rows = numbers.iter().filter_map(|&number| state.row(number));
            rows.map(|row| row.address.clone()).collect()
        }
    }
}

fn shape_of_call(to: &To) -> Result<(), OpError> {
    let To::Actors(to) = to else { return Ok(()) };
    OpError::at_most("recipients", to.len(), RECIPIENTS)?;
    if to.is_empty() {
        return Err(OpError::invalid("to", "", "at least one address"));
    }
    Ok(())
}

/// The recipients, each once, and what is wrong with the others: authority is asked first, for those
/// who are there. A team's are all members but the sender.
fn resolve(state: &State, to: &To, from: &Caller) -> (Vec<Number>, Option<OpError>) {
    match to {
        To::Actors(to) => {
            let (mut numbers, mut addresses) = (Vec::with_capacity(to.len()), Vec::new());
            for address in to {
                match state.find(address) {
                    Some(number) if numbers.contains(&number) => {}
                    Some(number) => numbers.push(number),
                    None => addresses.push(address.clone()),
                }
            }
            let any = !addresses.is_empty();
            (numbers, any.then_some(OpError::UnknownRecipient { addresses }))
        }
        To::Team(id) => match find_team(state, *id) {
            Ok((_, team)) => {
                let is_sender = |number: Number| {
                    state.row(number).is_some_and(|row| *from == Caller::Actor(row.address.clone()))
                };
                let members = team.members.iter().map(|member| member.actor);
                let others: Vec<Number> = members.filter(|number| !is_sender(*number)).collect();
                let alone = others.is_empty();
                let nobody = || OpError::invalid("to", &id.to_string(), "a team with others in it");
                (others, alone.then(nobody))
            }
            Err(unknown) => (Vec::new(), Some(unknown)),
        },
    }
}

/// The team with this id and its lead. The id's record made it, so its lead's row is near: rows are
/// looked through, which is rare.
pub(super) fn find_team(state: &State, id: TeamId) -> Result<(Number, &Team), OpError> {
    let teams = (0..)
        .zip(state.rows())
        .flat_map(|(number, row): (Number, &Row)| row.teams.iter().map(move |team| (number, team)));
    let mut found = teams.filter(|(_, team)| team.id == id);
    found.next().ok_or_else(|| OpError::UnknownId { id: id.to_string() })
}

/// What a caller may do (P11): reserved kinds and ranks are the runtime's and the host's; urgent,
/// steering and interrupting mail needs a person, the host, an ancestor of every recipient or the
/// lead of its team; resuming needs a person; a tree may be all that an actor reaches.
pub(super) fn authority(
    state: &State,
    draft: &Draft,
    to: &[Number],
    message: &Prepared,
) -> Result<(), OpError> {
    let Sent { from, kind, urgent, delivery, .. } = &message.sent;
    let forbidden = |what| Err(OpError::Forbidden { caller: from.to_string(), what });
    if kind.is_reserved() && !from.is_runtime() {
        return forbidden("send what only the runtime and the host send");
    }
    if message.options.chose_rank && !from.is_runtime() {
        return forbidden("choose a rank");
    }
    if message.options.resume && !from.is_human() {
        return forbidden("resume an actor by mail");
    }
    let Caller::Actor(address) = from else {
        return Ok(());
    };
    let Some(sender) = state.find(address) else {
        return Err(OpError::UnknownActor { address: address.clone() });
    };
    let leads =
        |number: &Number| state.is_below(*number, sender) || state.leads(*number).contains(&sender);
    if (*urgent || delivery.needs_authority()) && !to.iter().all(leads) {
        return forbidden("send urgent, steering or interrupting mail to one that is not below it");
    }
    let root = state.root(sender).0;
    let near = |number: &Number| state.root(*number).0 == root;
    if draft.limits.reach == Reach::Tree && !to.iter().all(near) {
        return forbidden("write to actors of another tree");
    }
    Ok(())
}

/// A call that was made before answers what it answered then, and where the message is now.
fn repeated(state: &State, message: &Prepared, to: &[Number]) -> Option<Result<Accepted, OpError>> {
    let key = message.sent.key?;
    Some(match state.called(key)? {
        Ok(first) => {
            let now = state.at();
            let row = |number: &Number| state.row(*number).map(|row| (*number, row));
            let states = to.iter().filter_map(row).map(|(number, row)| {
                (row.address.clone(), whereabouts(state, first.seq(), number, now))
            });
            Ok(Accepted { id: first, duplicate: true, states: states.collect() })
        }
        Err(first) => Err(OpError::IdempotencyConflict {
            key: message.options.key.clone().unwrap_or_default(),
            first: first.to_string(),
        }),
    })
}

/// Only its lead, a person and the host write to a whole team.
fn broadcast(state: &State, to: &To, from: &Caller) -> Result<(), OpError> {
    let (To::Team(id), Caller::Actor(sender)) = (to, from) else {
        return Ok(());
    };
    let (lead, _) = find_team(state, *id)?;
    if state.find(sender) == Some(lead) {
        Ok(())
    } else {
        let what = "write to a whole team without leading it";
        Err(OpError::Forbidden { caller: sender.to_string(), what })
    }
}

fn accepting(state: &State, to: &[Number], message: &Sent) -> Result<(), OpError> {
    let busy = |row: &&Row| row.turn.is_some() && message.delivery == Delivery::RejectIfBusy;
    let busy = to.iter().filter_map(|number| state.row(*number)).filter(busy);
    let addresses: Vec<Address> = busy.map(|row| row.address.clone()).collect();
    if addresses.is_empty() { Ok(()) } else { Err(OpError::Busy { addresses }) }
}

/// Refuses what a mailbox has no room for; offered mail counts as well. What a merge displaces makes
/// room.
fn room(state: &State, draft: &Draft, to: &[Number], message: &Sent) -> Result<(), OpError> {
    let limits = &draft.limits;
    let (most, most_bytes) = (limits.unread_messages as u64, limits.unread_bytes);
    let mut refusing: Vec<(Address, &'static str, u64, u64)> = Vec::new();
    for row in to.iter().filter_map(|number| state.row(*number)) {
        let gone: Vec<&Mail> = displaced(row, message).collect();
        let fewer: u64 = gone.iter().map(|mail| u64::from(mail.bytes)).sum();
        let messages = u64::from(row.unread_count) + 1 - gone.len() as u64;
        let bytes = row.bytes + u64::from(message.bytes) - fewer;
        let unacknowledged = row.unacknowledged.len() as u64 + u64::from(message.kind.is_due());
        let full = |field, value, limit| (row.address.clone(), field, value, limit);
        if messages > most {
            refusing.push(full("messages", messages, most));
        } else if bytes > most_bytes {
            refusing.push(full("bytes", bytes, most_bytes));
        } else if unacknowledged > UNACKNOWLEDGED as u64 {
            refusing.push(full("unacknowledged messages", unacknowledged, UNACKNOWLEDGED as u64));
        }
    }
    let Some(&(_, field, value, limit)) = refusing.first() else {
        return Ok(());
    };
    let addresses = refusing.into_iter().map(|(address, ..)| address).collect();
    Err(OpError::MailboxFull { addresses, field, value, limit })
}

/// Refuses what the whole store, or its disk, has no room for.
pub(super) fn store_room(
    state: &State,
    draft: &Draft,
    more: usize,
    bytes: u32,
) -> Result<(), OpError> {
    let limits = &draft.limits;
    let messages = state.counters.unread + more as u64;
    let bytes = state.counters.bytes + u64::from(bytes) * more as u64;
    for (field, value, limit) in
        [("messages", messages, limits.store_messages), ("bytes", bytes, limits.store_bytes)]
    {
        if value > limit {
            return Err(OpError::StoreFull { field, value, limit });
        }
    }
    match state.low_disk {
        Some((value, limit)) => {
            Err(OpError::StoreFull { field: "free bytes of the disk's reserve", value, limit })
        }
        None => Ok(()),
    }
}

fn displaced<'a>(row: &'a Row, message: &Sent) -> impl Iterator<Item = &'a Mail> + use<'a> {
    let (merge, sender) = (message.merge, message.sender);
    let merges = (merge != 0).then_some(&row.pending);
    merges.into_iter().flatten().filter(move |mail| (mail.merge, mail.sender) == (merge, sender))
}

/// Drafts what accepting the message changes.
fn accept(
    state: &State,
    draft: &mut Draft,
    to: Vec<Number>,
    message: Prepared,
    hops: u8,
) -> Result<Seq, OpError> {
    let Options { resume, hold, reply_to, .. } = message.options;
    let mut sent = message.to(to)?;
    sent.hops = hops;
    fill_in(state, &mut sent);
    answer_shutdown(state, draft, &sent, reply_to)?;
    if !resume && !hold {
        return Ok(place(state, draft, sent));
    }
    let (to, by) = (sent.to.clone(), sent.from.clone());
    let stopped = |actor: &&Number| state.row(**actor).is_some_and(|row| row.stopped.is_some());
    for &actor in to.iter().filter(stopped).filter(|_| resume) {
        draft.push(Resumed { actor, by: by.clone() });
    }
    let seq = place(state, draft, sent);
    for actor in to.into_iter().filter(|_| hold) {
        let (reason, note) = (HoldReason::Alert(seq), "an alert is to be acknowledged".into());
        draft.push(Held { actor, reason, note, by: by.clone() });
    }
    Ok(seq)
}

/// Says for the rules which actor sent it.
pub(super) fn fill_in(state: &State, sent: &mut Sent) {
    if let Caller::Actor(address) = &sent.from {
        sent.sender = state.find(address).map_or(Sender::Runtime, Sender::Actor);
    }
}

/// Puts a message into its mailboxes; what it displaces there is settled by that, and holds nobody.
pub(super) fn place(state: &State, draft: &mut Draft, mut sent: Sent) -> Seq {
    if sent.merge == 0 {
        return draft.push(sent);
    }
    let row = |&actor: &Number| state.row(actor).map(|row| (actor, row));
    let rows: Vec<(Number, &Row)> = sent.to.iter().filter_map(row).collect();
    let gone = |(actor, row)| {
        let gone: Vec<&Mail> = displaced(row, &sent).collect();
        (!gone.is_empty()).then_some((actor, row, gone))
    };
    let gone: Vec<(Number, &Row, Vec<&Mail>)> = rows.into_iter().filter_map(gone).collect();
    let times = gone.iter().flat_map(|(_, _, gone)| gone).map(|mail| mail.at);
    sent.since = times.min().filter(|_| sent.not_before.is_none());
    let by = sent.from.clone();
    let seq = draft.push(sent);
    for (actor, row, gone) in gone {
        gone.iter().for_each(|mail| end_alert(draft, (actor, row), mail.seq(), &by));
        let messages = gone.into_iter().map(Mail::seq).collect();
        draft.push(Settled { actor, messages, how: Settlement::Displaced });
    }
    seq
}

/// A request to shut down is answered by approving or rejecting it, once (section 11).
fn answer_shutdown(
    state: &State,
    draft: &mut Draft,
    sent: &Sent,
    reply_to: Option<Seq>,
) -> Result<(), OpError> {
    if !matches!(sent.kind, Kind::ShutdownApproved | Kind::ShutdownRejected) {
        return Ok(());
    }
    let wrong = || {
        OpError::invalid(
            "reply_to",
            "",
            "a shutdown_request to the sender that it has not answered",
        )
    };
    let Sender::Actor(actor) = sent.sender else {
        return Err(wrong());
    };
    let message = reply_to.ok_or_else(wrong)?;
    let row = state.row(actor).ok_or_else(wrong)?;
    let is_it = |seq: Seq, kind: Kind| seq == message && kind == Kind::ShutdownRequest;
    let pending = row.pending.iter().any(|mail| is_it(mail.seq(), mail.item.kind));
    let offered = row.unread().any(|mail| is_it(mail.seq(), mail.item.kind));
    let read = row.unacknowledged.iter().any(|due| is_it(due.seq, due.kind));
    let answered = state.marks(message, actor).acknowledged.is_some();
    if answered || !(offered || read) {
        return Err(wrong());
    }
    let by = sent.from.clone();
    draft.push(Marked { actor, message, mark: Mark::Acknowledged, settles: pending, by });
    Ok(())
}
