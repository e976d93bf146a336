//! Looking: mailboxes, and the audit that finds wakes that were lost (P5).

use std::time::Duration;

use reveille_core::limits::OVERDUE;
use reveille_core::need::{Need, need};
use reveille_core::{Address, Caller, Content, Kind, MessageId, OpError, Timestamp};
use reveille_store::codec;
use reveille_store::record::{Number, Record};
use reveille_store::step::dead::DropOld;

use crate::hub::{Hub, Phase};
use crate::ops;
use crate::runtime::Runtime;

/// Dead messages that are dropped by one look of the audit, at most.
const DROPS: usize = 256;

/// A message that waits in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxEntry {
    /// Which.
    pub id: MessageId,
    /// Who sent it.
    pub from: Caller,
    /// What it is.
    pub kind: Kind,
    /// Its subject, if it has one that can be read.
    pub subject: Option<String>,
    /// Since when windows count it.
    pub since: Timestamp,
    /// Whether it is in an open injection.
    pub offered: bool,
    /// Whether it may wake its receiver now.
    pub wakes: bool,
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// Messages that should have been injected and were not: 0, unless a hint was lost.
    pub overdue: u64,
    /// Whose they are; these actors were looked at by that.
    pub actors: Vec<Address>,
}

impl Runtime {
    /// The mail that waits in a mailbox, in commit order, at most `limit`.
    ///
    /// # Errors
    ///
    /// `unknown_actor`, `storage_failed`.
    pub async fn inbox(&self, address: &Address, limit: usize) -> Result<Vec<InboxEntry>, OpError> {
        let number = ops::number(&self.hub, address).await?;
        let now = self.hub.clock.now();
        let found = self.hub.store.look(move |state| {
            let Some(row) = state.row(number) else {
                return Vec::new();
            };
            let offered = row.open.iter().flat_map(|open| &open.mail).map(|one| (one.mail, true));
            let pending = row.pending.iter().map(|mail| (*mail, false));
            let all = offered.chain(pending).take(limit);
            all.map(|(mail, offered)| (mail, offered, !offered && row.may_wake(&mail, now)))
                .collect()
        });
        let found = found.await?;
        let records = found.iter().map(|(mail, _, _)| mail.seq()).collect();
        let records = ops::records(&self.hub, records).await?;
        let entry = |((mail, offered, wakes), record): (
            (reveille_store::state::row::Mail, _, _),
            Option<_>,
        )| {
            let Some((stamp, Record::Sent(sent))) = record else {
                return None;
            };
            let (id, kind) = (MessageId::new(mail.seq(), stamp), mail.item.kind);
            let subject = match codec::decode(&sent.content) {
                Ok(Content::Text(text)) => text.subject,
                Ok(Content::Notice(_)) | Err(_) => None,
            };
            Some(InboxEntry { id, from: sent.from, kind, subject, since: mail.at, offered, wakes })
        };
        Ok(found.into_iter().zip(records).filter_map(entry).collect())
    }

    /// Looks for mail that should have been injected and was not, and has its actors looked at. The
    /// runtime does so by itself every half a minute; what it counts is 0 unless a hint was lost.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn audit(&self) -> Result<Audit, OpError> {
        audit(&self.hub).await
    }

    /// The positions of all pending mail, in no order: for those who count what they sent.
    ///
    /// # Errors
    ///
    /// `storage_failed`.
    pub async fn pending_positions(&self) -> Result<Vec<u64>, OpError> {
        let positions = self.hub.store.look(|state| {
            let pending = state.watched().flat_map(|(_, row)| &row.pending);
            pending.map(|mail| mail.seq().0).collect()
        });
        positions.await
    }

    /// Loses every hint from now on, or no more: mail then wakes nobody until somebody looks.
    #[cfg(feature = "test-util")]
    pub fn lose_hints(&self, lose: bool) {
        self.hub.loses_hints.store(lose, std::sync::atomic::Ordering::Relaxed);
    }

    /// How much overdue mail all audits of this start have found.
    #[must_use]
    pub fn overdue(&self) -> u64 {
        self.hub.overdue()
    }
}

/// Looks once.
pub(crate) async fn audit(hub: &Hub) -> Result<Audit, OpError> {
    let (now, windows) = (hub.clock.now(), hub.config.window);
    let found = hub.store.look(move |state| {
        let overdue = |row: &reveille_store::state::row::Row| {
            let standing = row.standing(now);
            let closed = need(&standing, now, windows);
            let waiting = standing.mail.filter(|_| matches!(closed, Need::Turn(_)))?;
            let due = reveille_core::window::opens_turn_at(&waiting, standing.claimed_at, windows);
            let late = due.after(OVERDUE) < now;
            late.then(|| row.pending.iter().filter(|mail| row.may_wake(mail, now)).count() as u64)
        };
        let chores = state.watched().filter(|(_, row)| row.has_chores(now));
        let chores: Vec<Number> = chores.map(|(number, _)| number).collect();
        let mail = state.watched().filter_map(|(number, row)| {
            let agent = row.agent.clone()?;
            Some((number, row.address.clone(), agent, overdue(row)?))
        });
        (mail.collect::<Vec<_>>(), chores)
    });
    let (mail, chores) = found.await?;
    chores.into_iter().for_each(|number| hub.touch(number));
    let mut audit = Audit::default();
    for (number, address, agent, count) in mail {
        // A slot, the start cap, a missing agent and a shutdown explain why mail waits.
        let explained = hub.agent(&agent).is_none()
            || hub.unmade_until(number).is_some()
            || hub.is_executing(number)
            || hub.phase() != Phase::Running;
        if !explained {
            audit.overdue += count;
            audit.actors.push(address);
            hub.touch(number);
        }
    }
    if let Some(first) = audit.actors.first() {
        let (overdue, actors) = (audit.overdue, audit.actors.len());
        tracing::error!(overdue, actors, %first, "mail is overdue: a hint was lost, or all is late");
    }
    hub.count_overdue(audit.overdue);
    Ok(audit)
}

/// Audits, and drops what has been dead for too long, until the runtime closes.
pub(crate) async fn keep_auditing(hub: std::sync::Arc<Hub>) {
    let every = hub.config.audit_every;
    loop {
        tokio::select! {
            biased;
            () = hub.closing() => return,
            () = tokio::time::sleep(every) => {}
        }
        if let Err(error) = audit(&hub).await {
            tracing::warn!(%error, "the audit could not look");
        }
        let age = hub.config.dead_age;
        let before =
            Timestamp::from_millis(hub.clock.now().as_millis().saturating_sub(millis(age)));
        if let Err(error) = hub.store.run(DropOld { before, limit: DROPS }).await {
            tracing::warn!(%error, "old dead mail was not dropped");
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
