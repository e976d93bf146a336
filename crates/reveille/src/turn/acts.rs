//! What a turn does beside waiting: lets mail in, asks, answers, marks mail, starts groups.

use reveille_core::{Address, Caller, Injection, InjectionId, MessageId, OpError, QuestionId};
use reveille_store::record::{Answer, GroupPolicy, Mark, Question};
use reveille_store::step::end::Accept;
use reveille_store::step::mark::MarkedMail;
use reveille_store::step::question::{AnswerQuestion, Ask, AskAnswer};
use reveille_store::step::turn::SafePoint;
use reveille_store::whereabouts::MailState;

use super::Turn;
use crate::agent::Busy;
use crate::hub::Waited;
use crate::ops;
use crate::runtime::mail;
use crate::spec::{Spawn, Worker};

impl Turn {
    fn me(&self) -> Caller {
        Caller::Actor(self.address.clone())
    }

    /// Lets mail in, between tool calls for example: what is open from an earlier turn, or all mail
    /// that wants in and earlier mail of its senders (W3). It is an injection of its own, and settles
    /// with this turn.
    ///
    /// # Errors
    ///
    /// `stale_token`, `storage_failed`.
    pub async fn safe_point(&self) -> Result<Option<Injection>, OpError> {
        self.progress();
        let steer = self.busy == Busy::Steer;
        match self.hub.store.run(SafePoint { token: self.token, steer }).await? {
            Some(claim) => {
                let injection =
                    ops::injection(&self.hub, &self.address, &claim, self.style).await?;
                Ok(Some(injection).filter(|injection| !injection.entries.is_empty()))
            }
            None => Ok(None),
        }
    }

    /// Settles an injection of this turn at once: the agent has it in a durable transcript of its
    /// own. If the turn is lost after that, the actor is told to go on instead of being given the
    /// same mail again (section 4).
    ///
    /// # Errors
    ///
    /// `stale_token`; `unknown_id` when the turn does not hold it.
    pub async fn accept(&self, injection: InjectionId) -> Result<(), OpError> {
        self.hub.store.run(Accept { token: self.token, injection }).await
    }

    /// Asks whoever decides and waits for the answer: a worker asks its parent's main actor, a main
    /// actor asks a person (section 10). Nothing is injected meanwhile, and the turn is not silent.
    ///
    /// # Errors
    ///
    /// `stale_token` when the turn ends meanwhile, `too_large`, `invalid`.
    pub async fn ask(&self, question: Question) -> Result<Answer, OpError> {
        let declared = self.pulse.declare(None);
        let answer = self.answered(question).await;
        self.pulse.undeclare(declared);
        if answer.is_ok() {
            self.pulse.go_on(&self.slots).await;
        }
        answer
    }

    async fn answered(&self, question: Question) -> Result<Answer, OpError> {
        let limit = self.hub.config.question_limit;
        let id = match self.hub.store.run(Ask { token: self.token, question, limit }).await? {
            AskAnswer::Granted => return Ok(Answer::ApproveAlways),
            AskAnswer::Waits(id) => id,
        };
        self.pulse.give_back();
        loop {
            let told = self.hub.next(Waited::Answer(id.seq()));
            if let Some(answer) = mail::answer_of(&self.hub, self.token.actor, id).await? {
                return Ok(answer);
            }
            // Nobody tells any more only when the runtime goes; the next look says so.
            let _ = told.await;
        }
    }

    /// Answers a question that this actor was asked.
    ///
    /// # Errors
    ///
    /// `unknown_id`, `forbidden`, `invalid` naming what may be answered, `stale_token`.
    pub async fn answer(&self, question: QuestionId, answer: Answer) -> Result<(), OpError> {
        let answer = AnswerQuestion { question, answer, by: self.me(), token: Some(self.token) };
        self.hub.store.run(answer).await
    }

    /// Acknowledges mail of this actor; twice answers the same.
    ///
    /// # Errors
    ///
    /// `unknown_id`, `stale_token`.
    pub async fn ack(&self, message: MessageId) -> Result<MarkedMail, OpError> {
        self.mark(message, Mark::Acknowledged).await
    }

    /// Archives mail of this actor.
    ///
    /// # Errors
    ///
    /// As [`Turn::ack`].
    pub async fn archive(&self, message: MessageId) -> Result<MarkedMail, OpError> {
        self.mark(message, Mark::Archived).await
    }

    async fn mark(&self, message: MessageId, mark: Mark) -> Result<MarkedMail, OpError> {
        let (address, token) = (self.address.clone(), Some(self.token));
        ops::mark(&self.hub, self.me(), address, message, mark, token).await
    }

    /// Takes a message of this actor back from those who have not got it yet.
    ///
    /// # Errors
    ///
    /// `unknown_id`, `forbidden`, `stale_token`.
    pub async fn retract(&self, message: MessageId) -> Result<Vec<(Address, MailState)>, OpError> {
        mail::retract(&self.hub, self.me(), message, Some(self.token)).await
    }

    /// Spawns workers that belong together, all or none; the policy says from when on their notices
    /// wake this actor (W8).
    ///
    /// # Errors
    ///
    /// As [`Turn::spawn`]; `invalid` for a quorum above their number.
    pub async fn spawn_group(
        &self,
        policy: GroupPolicy,
        spawns: Vec<Spawn>,
    ) -> Result<Vec<Worker>, OpError> {
        let (me, parent, token) = (self.me(), self.address.clone(), Some(self.token));
        ops::spawn_group(&self.hub, me, parent, policy, spawns, token).await
    }
}
