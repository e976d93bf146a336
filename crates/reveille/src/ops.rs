//! The operations of a runtime, whoever calls them: the host, a person through it, or a turn.

use std::sync::Arc;

use reveille_core::{
    Address, AgentName, Caller, Entry, Injection, MessageId, OpError, Outcome, RunId, Seq,
};
use reveille_store::codec;
use reveille_store::record::{Number, Record};
use reveille_store::step::run::PARENT_ENDED;
use reveille_store::step::send::{Prepared, Send};
use reveille_store::step::turn::Claim;
use reveille_store::step::{Token, actors};

use crate::hub::Hub;
use crate::resident::CancelRequest;
use crate::spec::{Admission, Message, Spawn, Worker};

/// Sends a message in the name of `caller`. A turn may do so while the runtime closes.
pub(crate) async fn send(
    hub: &Hub,
    caller: Caller,
    message: Message,
    token: Option<Token>,
) -> Result<MessageId, OpError> {
    hub.open_to(token)?;
    let Message { to, text, urgent } = message;
    let urgent = urgent.unwrap_or_else(|| caller.is_human());
    let message = Prepared::text(caller, text, urgent)?;
    hub.store.run(Send { to, message, token }).await
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
    let Spawn { agent, first, key, task_id } = spawn;
    let agent = AgentName::new(&agent)?;
    let first = Prepared::text(caller, first, false)?;
    let queue = hub.slots.of(&agent).queue();
    let spawned =
        hub.store.run(actors::Spawn { parent, agent, key, first, task_id, token }).await?;
    let admission = match (spawned.run, queue) {
        (None, _) => Admission::Existing,
        (Some(_), None) => Admission::Admitted,
        (Some(_), Some(position)) => Admission::Queued { position },
    };
    Ok(Worker { address: spawned.address, run: spawned.run, admission })
}

/// The number of an actor.
pub(crate) async fn number(hub: &Hub, address: &Address) -> Result<Number, OpError> {
    let wanted = address.clone();
    let number = hub.store.look(move |state| state.find(&wanted)).await?;
    number.ok_or_else(|| OpError::UnknownActor { address: address.clone() })
}

/// The outcome that a record holds.
pub(crate) async fn outcome(hub: &Hub, seq: Seq) -> Result<Outcome, OpError> {
    match records(hub, vec![seq]).await?.pop() {
        Some((_, Record::RunEnded(ended))) => Ok(ended.outcome),
        _ => Err(OpError::UnknownId { id: format!("outcome {seq}") }),
    }
}

/// The records with these numbers: from memory if they are there, else off the disk, on a thread
/// that may block.
async fn records(
    hub: &Hub,
    seqs: Vec<Seq>,
) -> Result<Vec<(reveille_core::id::Stamp, Record)>, OpError> {
    if let Some(found) = hub.store.recent(&seqs)? {
        return Ok(found);
    }
    let store = hub.store.clone();
    let read = tokio::task::spawn_blocking(move || {
        let found = store.records(&seqs)?;
        let missing =
            |seq: &Seq| OpError::StorageFailed { reason: format!("record {seq} is gone") };
        seqs.iter().zip(found).map(|(seq, found)| found.ok_or_else(|| missing(seq))).collect()
    });
    read.await.unwrap_or_else(|error| Err(OpError::StorageFailed { reason: error.to_string() }))
}

/// Reads the messages of a claim: after its commit, so bodies take no time of the writer.
pub(crate) async fn injection(
    hub: &Hub,
    actor: &Address,
    claim: &Claim,
) -> Result<Injection, OpError> {
    let records = records(hub, claim.picks.iter().map(|pick| pick.seq).collect()).await?;
    let entries = claim.picks.iter().zip(records).map(|(pick, (stamp, record))| {
        let damaged = |what: String| OpError::StorageFailed { reason: what };
        let Record::Sent(sent) = record else {
            return Err(damaged(format!("record {} is no message", pick.seq)));
        };
        let content = codec::decode(&sent.content)
            .map_err(|error| damaged(format!("message {}: {error}", pick.seq)))?;
        Ok(Entry {
            id: MessageId::new(pick.seq, stamp),
            from: sent.from,
            sent: stamp.at,
            content,
            cut: pick.cut,
        })
    });
    Ok(Injection {
        id: claim.injection,
        actor: actor.clone(),
        run: claim.run,
        trigger: claim.trigger,
        attempt: claim.attempt,
        at: claim.at,
        entries: entries.collect::<Result<_, _>>()?,
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
