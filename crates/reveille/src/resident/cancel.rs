//! Cancelling a run (section 9): against completion, whichever outcome commits first is the answer.

use std::sync::Arc;

use ractor::ActorRef;
use reveille_core::{Address, Caller, OpError, Outcome, RunId};
use reveille_store::step::run::{EndRun, RunEnd};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Message, State, after};
use crate::hub::{Hub, Resident};
use crate::ops;
use crate::pulse::Pulse;
use crate::spec::{Cancel, Cancelled};

type Answer = Result<Cancelled, OpError>;

/// Somebody who wants a run to end, and waits for the answer.
pub(crate) struct CancelRequest {
    by: Caller,
    address: Address,
    cancel: Cancel,
    /// The run that was open when the cancel arrived: another one is not touched.
    run: Option<RunId>,
    /// What the cancel did, once the outcome is written.
    done: Option<Cancelled>,
    reply: Option<oneshot::Sender<Answer>>,
}

impl CancelRequest {
    pub(crate) const fn new(by: Caller, address: Address, cancel: Cancel) -> Self {
        Self { by, address, cancel, run: None, done: None, reply: None }
    }

    /// Only this run; another one that the actor may have begun meanwhile is not touched.
    pub(crate) const fn of_run(mut self, run: RunId) -> Self {
        self.run = Some(run);
        self
    }

    /// Hands it to the actor, or does it at once if the actor is not resident.
    pub(crate) async fn send(self, hub: &Hub) -> Answer {
        let number = ops::number(hub, &self.address).await?;
        match hub.resident(number) {
            Some(resident) => resident.cancel(self).await,
            None => self.end(hub, Cancelled::Ended).await,
        }
    }

    fn end_run(&self) -> EndRun {
        let reason = self.cancel.reason.chars().take(200).collect();
        EndRun {
            actor: self.address.clone(),
            run: self.run,
            outcome: Outcome::Cancelled { by: self.by.clone(), reason },
            raises_floor: !self.cancel.stops,
            silent: self.cancel.silent,
            stops: self.cancel.stops.then(|| self.by.clone()),
        }
    }

    async fn end(&self, hub: &Hub, how: Cancelled) -> Answer {
        Ok(match hub.store.run(self.end_run()).await? {
            RunEnd::Ended(_) => how,
            RunEnd::AlreadyEnded(ended) => Cancelled::AlreadyEnded(ended.state),
            RunEnd::Unknown => Cancelled::Unknown,
        })
    }

    /// Answers once the turn's task is over: its run may have ended, or may go on and is ended now.
    pub(super) async fn after_return(mut self, hub: &Hub) {
        let answer = match self.done.take() {
            Some(done) => Ok(done),
            None => self.end(hub, Cancelled::Ended).await,
        };
        self.answer(answer);
    }

    fn answer(mut self, answer: Answer) {
        if let Some(reply) = self.reply.take() {
            // Whoever asked may have gone; the run has ended all the same.
            let _ = reply.send(answer);
        }
    }
}

impl Resident {
    /// Cancels the actor's run and waits for the answer.
    async fn cancel(&self, mut request: CancelRequest) -> Answer {
        let (sender, receiver) = oneshot::channel();
        request.reply = Some(sender);
        self.actor.cast(Message::Cancel(request)).map_err(|_| OpError::ShuttingDown)?;
        receiver.await.unwrap_or(Err(OpError::ShuttingDown))
    }
}

impl State {
    /// A turn under way is asked to end by itself, within the grace; without one the run ends now.
    pub(super) async fn cancel(&mut self, myself: &ActorRef<Message>, mut request: CancelRequest) {
        let number = self.number;
        let open = self.hub.store.look(move |state| {
            let row = state.row(number)?;
            Some((row.run.as_ref().map(|run| run.id), row.turn.is_some()))
        });
        let (run, in_turn) = match open.await {
            Ok(Some(open)) => open,
            Ok(None) => return request.answer(Ok(Cancelled::Unknown)),
            Err(error) => return request.answer(Err(error)),
        };
        request.run = request.run.or(run);
        match &mut self.running {
            Some(running) if in_turn && request.run == run => {
                running.pulse.cancel();
                // The earliest deadline counts, and a turn that was cut is not given another.
                let deadline = Instant::now().checked_add(request.cancel.grace);
                let sooner = |deadline| running.deadline.is_none_or(|earlier| deadline < earlier);
                if deadline.is_some_and(sooner) {
                    running.deadline = deadline;
                    let over = Message::GraceOver(Arc::clone(&running.pulse));
                    running.patience = Some(after(request.cancel.grace, myself, over));
                }
                running.cancels.push(request);
                self.cancel_questions().await;
            }
            _ => {
                let answer = request.end(&self.hub, Cancelled::Ended).await;
                if answer == Ok(Cancelled::Ended) {
                    // A task that waits for a slot would find nothing to claim.
                    self.abort(myself);
                }
                request.answer(answer);
            }
        }
    }

    /// The grace is over: the outcome is written, which makes the token stale, and the task is cut.
    pub(super) async fn grace_over(&mut self, myself: &ActorRef<Message>, pulse: &Arc<Pulse>) {
        let Some(running) = &mut self.running else {
            return;
        };
        if !Arc::ptr_eq(&running.pulse, pulse) {
            return;
        }
        let mut cancels = std::mem::take(&mut running.cancels);
        self.note_held().await;
        for request in &mut cancels {
            // Answered when the task returns, or does not. Where the commit failed, the next try is
            // made then.
            request.done = request.end(&self.hub, Cancelled::Killed).await.ok();
        }
        if let Some(running) = &mut self.running {
            running.cancels = cancels;
            running.deadline = Some(Instant::now());
        }
        self.abort(myself);
    }

    /// A turn that was cut does not return: nothing of it counts any more, and no new turn starts
    /// until it does (S8).
    pub(super) fn abandoned(&mut self, pulse: &Arc<Pulse>) {
        let Some(running) = &mut self.running else {
            return;
        };
        if Arc::ptr_eq(&running.pulse, pulse) {
            tracing::warn!(actor = %self.address, "a turn does not yield; it is abandoned");
            // Of what it was given nothing is known.
            running.cut.clear();
            for mut request in running.cancels.drain(..) {
                let answer = match request.done.take() {
                    Some(Cancelled::Killed) => Ok(Cancelled::Abandoned),
                    Some(other) => Ok(other),
                    None => Err(OpError::OutcomeUnknown),
                };
                request.answer(answer);
            }
        }
    }
}
