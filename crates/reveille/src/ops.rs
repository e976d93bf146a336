//! The operations of a runtime, whoever calls them: the host, a person through it, or a turn.

use std::sync::Arc;

use reveille_core::id::Stamp;
use reveille_core::{
    Address, AgentName, Caller, Entry, Injection, InjectionId, MessageId, OpError, Outcome, RunId,
    Seq, Style,
};
use reveille_store::Reading;
use reveille_store::codec;
use reveille_store::record::{GroupPolicy, Mark, Number, Record, Sent};
use reveille_store::step::Token;
use reveille_store::step::actors::{self, NewWorker, Spawned};
use reveille_store::step::dead::BuryDamaged;
use reveille_store::step::mark::{MarkMail, MarkedMail};
use reveille_store::step::run::PARENT_ENDED;
use reveille_store::step::send::{Accepted, Prepared, Send};
use reveille_store::step::turn::Claim;

use crate::hub::Hub;
use crate::letter::Message;
use crate::resident::CancelRequest;
use crate::spec::{Admission, Spawn, Worker};

/// Sends a message in the name of `caller`. A turn may do so while the runtime closes.
pub(crate) async fn send(
    hub: &Hub,
    caller: Caller,
    message: Message,
    token: Option<Token>,
) -> Result<Accepted, OpError> {
    hub.open_to(token)?;
    let Message { to, post } = message;
    let message = Prepared::new(caller, post, &to);
    hub.store.run(Send { to, message, token }).await
}

/// Marks a message in one mailbox.
pub(crate) async fn mark(
    hub: &Hub,
    by: Caller,
    actor: Address,
    message: MessageId,
    mark: Mark,
    token: Option<Token>,
) -> Result<MarkedMail, OpError> {
    hub.open_to(token)?;
    hub.store.run(MarkMail { actor, message, mark, by, token }).await
}

fn new_worker(caller: Caller, spawn: Spawn) -> Result<NewWorker, OpError> {
    let Spawn { agent, first, key, task_id } = spawn;
    let agent = AgentName::new(&agent)?;
    Ok(NewWorker { agent, key, first: Prepared::text(caller, first), task_id })
}

/// How a worker that was spawned stands; `queue` is how its slots stood just before.
fn worker(spawned: Spawned, queue: Option<usize>) -> Worker {
    let admission = match (spawned.run, queue) {
        (None, _) => Admission::Existing,
        (Some(_), None) => Admission::Admitted,
        (Some(_), Some(position)) => Admission::Queued { position },
    };
    Worker { address: spawned.address, run: spawned.run, admission }
}

/// Spawns a worker of `parent` in the name of `caller`. A turn may do so while the runtime closes.
pub(crate) async fn spawn(
    hub: &Hub,
    caller: Caller,
    parent: Address,
    spawn: Spawn,
    token: Option<Token>,
) -> Result<Worker, OpError> {
    hub.open_to(token)?;
    let new = new_worker(caller, spawn)?;
    let queue = hub.slots.of(&new.agent).queue();
    let spawned = hub.store.run(actors::Spawn { parent, worker: new, token }).await?;
    Ok(worker(spawned, queue))
}

/// Spawns workers that belong together: all of them, or none.
pub(crate) async fn spawn_group(
    hub: &Hub,
    caller: Caller,
    parent: Address,
    policy: GroupPolicy,
    spawns: Vec<Spawn>,
    token: Option<Token>,
) -> Result<Vec<Worker>, OpError> {
    hub.open_to(token)?;
    let new = |spawn| new_worker(caller.clone(), spawn);
    let workers: Vec<NewWorker> = spawns.into_iter().map(new).collect::<Result<_, _>>()?;
    let queues: Vec<Option<usize>> =
        workers.iter().map(|new| hub.slots.of(&new.agent).queue()).collect();
    let group = actors::SpawnGroup { parent, policy, workers, token };
    let spawned = hub.store.run(group).await?;
    Ok(spawned.into_iter().zip(queues).map(|(spawned, queue)| worker(spawned, queue)).collect())
}

/// The number of an actor.
pub(crate) async fn number(hub: &Hub, address: &Address) -> Result<Number, OpError> {
    let wanted = address.clone();
    let number = hub.store.look(move |state| state.find(&wanted)).await?;
    number.ok_or_else(|| OpError::UnknownActor { address: address.clone() })
}

/// The outcome that a record holds.
pub(crate) async fn outcome(hub: &Hub, seq: Seq) -> Result<Outcome, OpError> {
    match records(hub, vec![seq]).await?.pop().flatten() {
        Some((_, Record::RunEnded(ended))) => Ok(ended.outcome),
        _ => Err(OpError::UnknownId { id: format!("outcome {seq}") }),
    }
}

/// A message as it was stored.
///
/// # Errors
///
/// `unknown_id` when there is none, or it has left the store.
pub(crate) async fn message(hub: &Hub, id: MessageId) -> Result<Sent, OpError> {
    match records(hub, vec![id.seq()]).await?.pop().flatten() {
        Some((stamp, Record::Sent(sent))) if MessageId::new(id.seq(), stamp) == id => Ok(sent),
        _ => Err(OpError::UnknownId { id: id.to_string() }),
    }
}

/// The records with these numbers, each or `None`: from memory if they are there, else off the disk,
/// on a thread that may block.
pub(crate) async fn records(
    hub: &Hub,
    seqs: Vec<Seq>,
) -> Result<Vec<Option<(Stamp, Record)>>, OpError> {
    if let Some(found) = hub.store.recent(&seqs)? {
        return Ok(found.into_iter().map(Some).collect());
    }
    let store = hub.store.clone();
    let read = tokio::task::spawn_blocking(move || store.records(&seqs));
    read.await.unwrap_or_else(|error| Err(OpError::StorageFailed { reason: error.to_string() }))
}

/// The same, each by itself: what is damaged keeps nothing else from being read.
pub(crate) async fn readings(hub: &Hub, seqs: Vec<Seq>) -> Result<Vec<Reading>, OpError> {
    if let Some(found) = hub.store.recent(&seqs)? {
        let found = found.into_iter().map(|(stamp, record)| Reading::Found(stamp, record));
        return Ok(found.collect());
    }
    let store = hub.store.clone();
    let read = tokio::task::spawn_blocking(move || store.read_each(&seqs));
    read.await.unwrap_or_else(|error| Err(OpError::StorageFailed { reason: error.to_string() }))
}

/// Reads the messages of a claim: after its commit, so bodies take no time of the writer. What cannot
/// be read is buried as damaged, and the rest is handed over (P2).
pub(crate) async fn injection(
    hub: &Hub,
    actor: &Address,
    claim: &Claim,
    style: Style,
) -> Result<Injection, OpError> {
    let seqs: Vec<Seq> = claim.picks.iter().map(|pick| pick.seq).collect();
    let names: Vec<Seq> = claim.names.clone();
    let found = readings(hub, seqs.iter().chain(&names).copied().collect()).await?;
    let (mut entries, mut damaged, mut predecessors) = (Vec::new(), Vec::new(), Vec::new());
    for ((seq, found), index) in seqs.iter().chain(&names).zip(found).zip(0..) {
        let (stamp, record) = match found {
            Reading::Found(stamp, record) => (stamp, record),
            // What it takes the place of is for its agent to know, no more.
            _ if index >= seqs.len() => continue,
            Reading::Gone => {
                return Err(OpError::StorageFailed { reason: format!("record {seq} is gone") });
            }
            Reading::Damaged(what) => {
                damaged.push((*seq, what));
                continue;
            }
        };
        match (record, claim.picks.get(index)) {
            (Record::Sent(sent), Some(pick)) => match codec::decode(&sent.content) {
                Ok(content) => entries.push(Entry {
                    id: MessageId::new(*seq, stamp),
                    from: sent.from,
                    sent: stamp.at,
                    content,
                    cut: pick.cut,
                }),
                Err(error) => damaged.push((*seq, error.to_string())),
            },
            (_, Some(_)) => damaged.push((*seq, "it is no message".to_owned())),
            (_, None) => predecessors.push(InjectionId::new(*seq, stamp)),
        }
    }
    if !damaged.is_empty() {
        hub.store.run(BuryDamaged { token: claim.token, damaged }).await?;
    }
    Ok(Injection {
        id: claim.injection,
        actor: actor.clone(),
        run: claim.run,
        trigger: claim.trigger,
        attempt: claim.attempt,
        names: predecessors,
        style,
        at: claim.at,
        entries,
    })
}

/// Cancels the run of a worker, because the run above it ended (S6, parent-close policy `cancel`).
pub(crate) fn close_child(hub: &Arc<Hub>, child: Address, run: RunId) {
    let hub = Arc::clone(hub);
    tokio::spawn(async move {
        let cancel = crate::Cancel::reason(PARENT_ENDED).silent();
        let request = CancelRequest::new(Caller::System, child.clone(), cancel).of_run(run);
        if let Err(error) = request.send(&hub).await {
            tracing::warn!(%child, %error, "a worker was not cancelled");
        }
    });
}

/// Cancels the open run of an actor.
pub(crate) async fn cancel_run(
    hub: &Hub,
    by: Caller,
    address: &Address,
    cancel: crate::Cancel,
) -> Result<crate::Cancelled, OpError> {
    CancelRequest::new(by, address.clone(), cancel).send(hub).await
}
