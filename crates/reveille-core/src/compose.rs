//! What goes into one injection: W5 (order) and W6 (limits and cuts).
//!
//! Works on what the store knows of a message without reading it: its place, its rank, and how many
//! bytes it takes when rendered whole and when cut. Promises that an injection made of anything at
//! all holds at least one message, that the messages are the first of the mailbox in commit order,
//! and that their costs stay within the limits. Rendering itself is in [`crate::render`].

use serde::{Deserialize, Serialize};

use crate::id::Seq;
use crate::limits::{INJECTION_BYTES, INJECTION_HEAD_BYTES, INJECTION_MESSAGES};
use crate::message::{Kind, Rank};

/// What composition needs to know of a waiting message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its place in commit order.
    pub seq: Seq,
    /// Its place within an injection.
    pub rank: Rank,
    /// What it is: only notices may be cut to make room for others.
    pub kind: Kind,
    /// Rendered bytes when whole, envelope included.
    pub cost: u32,
    /// Rendered bytes when cut, envelope included; at most `cost`.
    pub cut_cost: u32,
}

/// A message chosen for an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    /// Which message.
    pub seq: Seq,
    /// Whether its text is cut to fit.
    pub cut: bool,
}

/// How much one injection may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectionLimits {
    /// Messages, 1 to 1000.
    pub messages: usize,
    /// Rendered bytes of all messages together, envelopes included.
    pub bytes: usize,
}

impl Default for InjectionLimits {
    fn default() -> Self {
        Self { messages: INJECTION_MESSAGES, bytes: INJECTION_BYTES - INJECTION_HEAD_BYTES }
    }
}

/// Chooses the messages of an injection from a mailbox in commit order, and arranges them by rank.
///
/// ```
/// use reveille_core::compose::{compose, InjectionLimits, Item};
/// use reveille_core::{Kind, Rank, Seq};
///
/// let mail = |seq, rank| Item { seq: Seq(seq), rank, kind: Kind::Text, cost: 10, cut_cost: 10 };
/// let picks = compose([mail(1, Rank::Mail), mail(2, Rank::RunNotice)], InjectionLimits::default());
/// assert_eq!(picks.iter().map(|pick| pick.seq.0).collect::<Vec<_>>(), [2, 1]);
/// ```
pub fn compose(mailbox: impl IntoIterator<Item = Item>, limits: InjectionLimits) -> Vec<Pick> {
    let (taken, least) = take_first(mailbox, limits);
    let mut room = limits.bytes.saturating_sub(least);
    let mut picks: Vec<(Rank, Pick)> = Vec::with_capacity(taken.len());
    for item in taken {
        let more = (item.cost - item.cut_cost) as usize;
        let reserved = least_cost(&item, limits) == item.cost as usize;
        let whole = reserved || more <= room;
        if whole && !reserved {
            room -= more;
        }
        picks.push((item.rank, Pick { seq: item.seq, cut: !whole }));
    }
    picks.sort_by_key(|(rank, pick)| (*rank, pick.seq));
    picks.into_iter().map(|(_, pick)| pick).collect()
}

/// The first messages that fit with every notice cut, and what they take then. One that is alone
/// too large is taken cut, alone or not: waiting would not make it smaller.
fn take_first(
    mailbox: impl IntoIterator<Item = Item>,
    limits: InjectionLimits,
) -> (Vec<Item>, usize) {
    let mut taken = Vec::new();
    let mut least = 0;
    for item in mailbox.into_iter().take(limits.messages.max(1)) {
        let cost = least_cost(&item, limits);
        if !taken.is_empty() && least + cost > limits.bytes {
            break;
        }
        least += cost;
        taken.push(item);
    }
    (taken, least)
}

/// The fewest bytes that a message may be given.
fn least_cost(item: &Item, limits: InjectionLimits) -> usize {
    let may_be_cut = item.kind == Kind::Notice || item.cost as usize > limits.bytes;
    (if may_be_cut { item.cut_cost } else { item.cost }) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: InjectionLimits = InjectionLimits { messages: 10, bytes: 1000 };

    fn text(seq: u64, cost: u32) -> Item {
        let cut_cost = cost.min(900);
        Item { seq: Seq(seq), rank: Rank::Mail, kind: Kind::Text, cost, cut_cost }
    }

    fn notice(seq: u64, cost: u32) -> Item {
        let cut_cost = cost.min(50);
        Item { seq: Seq(seq), rank: Rank::RunNotice, kind: Kind::Notice, cost, cut_cost }
    }

    fn seqs(picks: &[Pick]) -> Vec<u64> {
        picks.iter().map(|pick| pick.seq.0).collect()
    }

    #[test]
    fn nothing_waiting_makes_nothing() {
        assert!(compose([], LIMITS).is_empty());
    }

    #[test]
    fn notices_come_before_mail_and_each_rank_keeps_commit_order() {
        let picks = compose([text(1, 10), notice(2, 10), text(3, 10), notice(4, 10)], LIMITS);
        assert_eq!(seqs(&picks), [2, 4, 1, 3]);
        assert!(picks.iter().all(|pick| !pick.cut));
    }

    #[test]
    fn notices_are_cut_before_a_message_has_to_wait() {
        let picks = compose([notice(1, 600), text(2, 500)], LIMITS);
        assert_eq!(seqs(&picks), [1, 2]);
        assert_eq!(picks.iter().map(|pick| pick.cut).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_message_that_does_not_fit_waits_and_holds_those_behind_it() {
        let picks = compose([text(1, 600), text(2, 600), text(3, 10)], LIMITS);
        assert_eq!(seqs(&picks), [1]);
    }

    #[test]
    fn a_message_that_is_alone_too_large_is_cut_and_goes() {
        let picks = compose([text(1, 5000), text(2, 100)], LIMITS);
        assert_eq!(seqs(&picks), [1, 2]);
        assert_eq!(picks.iter().map(|pick| pick.cut).collect::<Vec<_>>(), [true, false]);
    }

    fn item() -> impl Strategy<Value = (bool, u32)> {
        (any::<bool>(), prop_oneof![1u32..200, 1u32..3000])
    }

    proptest! {
        #[test]
        fn an_injection_makes_progress_keeps_order_and_stays_within_its_limits(
            items in prop::collection::vec(item(), 1..40)
        ) {
            let mailbox: Vec<Item> = items.iter().zip(1..)
                .map(|(&(is_notice, cost), seq)| if is_notice { notice(seq, cost) } else { text(seq, cost) })
                .collect();
            let picks = compose(mailbox.iter().copied(), LIMITS);
            prop_assert!(!picks.is_empty() && picks.len() <= LIMITS.messages);

            let mut first = seqs(&picks);
            first.sort_unstable();
            prop_assert_eq!(first, (1..=picks.len() as u64).collect::<Vec<_>>(), "the first ones, each once");

            let find = |seq: Seq| mailbox.iter().find(|item| item.seq == seq).unwrap();
            let bytes: u32 = picks.iter()
                .map(|pick| if pick.cut { find(pick.seq).cut_cost } else { find(pick.seq).cost })
                .sum();
            prop_assert!(bytes as usize <= LIMITS.bytes);
            for pick in picks.iter().filter(|pick| pick.cut) {
                let item = find(pick.seq);
                prop_assert!(item.kind == Kind::Notice || item.cost as usize > LIMITS.bytes);
            }
            let ranked: Vec<(Rank, Seq)> = picks.iter().map(|pick| (find(pick.seq).rank, pick.seq)).collect();
            prop_assert!(ranked.is_sorted());
        }
    }
}
