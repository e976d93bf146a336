//! Slots: a FIFO limit on the turns that compute at the same time (S4).
//!
//! Each agent has slots of its own, so a lead never waits behind the workers of another agent.
//! A slot that is given back goes to the first who waits, without a gap in which a later one could
//! take it. A turn that goes on after a wait takes its place at the head of the queue. A slot is a
//! value; however its owner ends, dropping it gives it back.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use reveille_core::AgentName;
use tokio::sync::oneshot;

/// The slots of all agents.
#[derive(Debug)]
pub(crate) struct SlotTable {
    limit: usize,
    agents: Mutex<HashMap<AgentName, Slots>>,
}

impl SlotTable {
    /// `limit` slots for each agent; 0 means no limit.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, agents: Mutex::default() }
    }

    /// The slots of an agent.
    pub(crate) fn of(&self, agent: &AgentName) -> Slots {
        let mut agents = self.agents.lock();
        agents.entry(agent.clone()).or_insert_with(|| Slots::new(self.limit)).clone()
    }
}

/// The slots of one agent.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    queue: Option<Arc<Mutex<Queue>>>,
}

#[derive(Debug)]
struct Queue {
    free: usize,
    /// Those who go on, before those who begin; each in the order in which they came.
    going_on: VecDeque<oneshot::Sender<Slot>>,
    beginning: VecDeque<oneshot::Sender<Slot>>,
}

/// One slot, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    queue: Option<Arc<Mutex<Queue>>>,
}

/// Where somebody who asks for a slot is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before everybody: it goes on.
    Head,
    /// Behind everybody: it begins.
    Tail,
}

impl Slots {
    /// `limit` slots; 0 means no limit.
    pub(crate) fn new(limit: usize) -> Self {
        let (going_on, beginning) = (VecDeque::new(), VecDeque::new());
        let queue = Queue { free: limit, going_on, beginning };
        Self { queue: (limit > 0).then(|| Arc::new(Mutex::new(queue))) }
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    pub(crate) async fn acquire(&self, place: Place) -> Slot {
        let Some(shared) = &self.queue else {
            return Slot { queue: None };
        };
        let waiter = {
            let mut queue = shared.lock();
            if queue.free > 0 {
                queue.free -= 1;
                return Slot { queue: Some(Arc::clone(shared)) };
            }
            let (sender, waiter) = oneshot::channel();
            match place {
                Place::Head => queue.going_on.push_back(sender),
                Place::Tail => queue.beginning.push_back(sender),
            }
            waiter
        };
        // The sender is dropped only with the queue, which this future's owner keeps.
        waiter.await.unwrap_or(Slot { queue: None })
    }

    /// How many wait for a slot; `None` while one is free.
    pub(crate) fn queue(&self) -> Option<usize> {
        let mut queue = self.queue.as_ref()?.lock();
        let Queue { free, going_on, beginning } = &mut *queue;
        for waiting in [&mut *going_on, &mut *beginning] {
            waiting.retain(|waiter| !waiter.is_closed());
        }
        (*free == 0).then(|| going_on.len() + beginning.len())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(shared) = self.queue.take() else {
            return;
        };
        let mut slot = Self { queue: Some(Arc::clone(&shared)) };
        loop {
            let next = {
                let mut queue = shared.lock();
                let next = queue.going_on.pop_front().or_else(|| queue.beginning.pop_front());
                if next.is_none() {
                    queue.free += 1;
                }
                next
            };
            let Some(next) = next else {
                // Nobody waits: the slot is free, and this value is not one any more.
                slot.queue = None;
                return;
            };
            match next.send(slot) {
                Ok(()) => return,
                Err(back) => slot = back,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn slots_go_in_order_and_who_goes_on_goes_first() {
        let slots = Slots::new(1);
        let held = slots.acquire(Place::Tail).await;
        let mut first = Box::pin(slots.acquire(Place::Tail));
        let mut second = Box::pin(slots.acquire(Place::Tail));
        let mut on = Box::pin(slots.acquire(Place::Head));
        for waiter in [&mut first, &mut second, &mut on] {
            assert!(waiter.now_or_never().is_none());
        }
        assert_eq!(slots.queue(), Some(3));
        drop(held);
        let held = on.now_or_never().unwrap();
        assert!((&mut first).now_or_never().is_none());
        drop(held);
        let held = first.now_or_never().unwrap();
        drop(held);
        assert!(second.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_slot_passes_over_those_who_left_the_queue() {
        let slots = Slots::new(1);
        let held = slots.acquire(Place::Tail).await;
        let mut gone = Box::pin(slots.acquire(Place::Tail));
        let mut waits = Box::pin(slots.acquire(Place::Tail));
        assert!((&mut gone).now_or_never().is_none() && (&mut waits).now_or_never().is_none());
        drop(gone);
        drop(held);
        drop(waits.now_or_never().unwrap());
        assert!(slots.acquire(Place::Tail).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_slot_given_to_somebody_who_is_gone_before_looking_is_free_again() {
        let slots = Slots::new(1);
        let held = slots.acquire(Place::Tail).await;
        let mut waits = Box::pin(slots.acquire(Place::Tail));
        assert!((&mut waits).now_or_never().is_none());
        drop(held);
        drop(waits);
        assert!(slots.acquire(Place::Tail).now_or_never().is_some());
    }

    #[tokio::test]
    async fn zero_means_no_limit() {
        let slots = Slots::new(0);
        let _held = (slots.acquire(Place::Tail).await, slots.acquire(Place::Tail).await);
        assert_eq!(slots.queue(), None);
    }
}
