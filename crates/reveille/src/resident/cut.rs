//! Turns that are cut: by mail that interrupts (W3), by a shutdown (section 12). What their agents
//! have of the mail they were given is asked when they have returned.

use std::sync::Arc;

use ractor::ActorRef;
use reveille_core::failure::TurnFailure;
use reveille_core::limits::CANCEL_GRACE;
use reveille_core::{Cause, FailureClass, InjectionId, Seq, Trigger};
use reveille_store::step::end::FailTurn;
use reveille_store::step::question::CancelQuestions;

use super::{Message, State, after, lose};
use crate::pulse::Pulse;

impl State {
    /// Asks a turn to end, because mail interrupts it; it has the grace to do so by itself.
    pub(super) async fn interrupt(&mut self, myself: &ActorRef<Message>) {
        let Some(running) = self.running.as_mut().filter(|running| !running.interrupted) else {
            return;
        };
        running.interrupted = true;
        if running.deadline.is_none() {
            running.pulse.interrupt();
            let over = Message::InterruptOver(Arc::clone(&running.pulse));
            running.patience = Some(after(CANCEL_GRACE, myself, over));
        }
        self.cancel_questions().await;
    }

    /// Resolves the questions of the turn that is asked to end, so that it need not wait for answers.
    pub(super) async fn cancel_questions(&mut self) {
        let token = self.running.as_ref().and_then(|running| *running.pulse.token.lock());
        let Some(token) = token else { return };
        if let Err(error) = self.hub.store.run(CancelQuestions { token }).await {
            tracing::debug!(code = %error.code(), "a turn that was asked to end had ended");
        }
    }

    /// The grace is over: the mail of the turn moves into the next injection, and the task is cut.
    pub(super) async fn interrupt_over(&mut self, myself: &ActorRef<Message>, pulse: &Arc<Pulse>) {
        let is_it = self.running.as_ref().is_some_and(|running| Arc::ptr_eq(&running.pulse, pulse));
        let token = *pulse.token.lock();
        let Some(token) = token.filter(|_| is_it) else {
            return;
        };
        self.note_held().await;
        let interrupted = FailTurn {
            token,
            failure: TurnFailure::Interrupted,
            class: FailureClass::Transient,
            error: "mail interrupted the turn".into(),
            back_off: std::time::Duration::ZERO,
            cause: Cause::Crash,
        };
        if let Err(error) = self.hub.store.run(interrupted).await {
            tracing::debug!(code = %error.code(), "an interrupted turn had ended");
        }
        self.abort(myself);
    }

    /// Notes what the turn that is about to be cut was given.
    pub(super) async fn note_held(&mut self) {
        let number = self.number;
        let held = self.hub.store.look(move |state| {
            let row = state.row(number)?;
            let held = row.open.iter().filter(|open| {
                open.turn.is_some() && open.turn == row.turn && open.trigger != Trigger::Wait
            });
            let mail = |open: &reveille_store::state::row::Open| -> (InjectionId, Vec<Seq>) {
                (open.id, open.mail.iter().map(|offered| offered.mail.seq()).collect())
            };
            Some(held.map(mail).collect::<Vec<_>>())
        });
        if let (Ok(Some(held)), Some(running)) = (held.await, &mut self.running) {
            running.cut = held;
        }
    }

    /// Cuts a turn that is still running when the runtime closes: it is a lost turn (section 12).
    pub(super) async fn cut(&mut self, myself: &ActorRef<Message>) {
        let Some(running) = &self.running else { return };
        let token = *running.pulse.token.lock();
        if let Some(token) = token {
            lose(&self.hub, token, Cause::Shutdown).await;
        }
        self.abort(myself);
    }

    /// Aborts the turn's task, and waits a while for it to return.
    pub(super) fn abort(&mut self, myself: &ActorRef<Message>) {
        let grace = self.hub.config.abort_grace;
        if let Some(running) = &mut self.running {
            running.task.0.abort();
            running.pulse.over();
            let message = Message::Abandoned(Arc::clone(&running.pulse));
            running.patience = Some(after(grace, myself, message));
        }
    }
}
