//! Questions (section 10): a turn asks, is held, and goes on with the answer.
//!
//! A worker's question goes to its parent's `main` as a message; one of a main actor waits for a
//! person. However it is resolved, its message is settled as acknowledged in the same commit.

use reveille_core::limits::{LINE_CHARS, QUESTIONS};
use reveille_core::{ActorName, Address, Caller, Kind, OpError, QuestionId, Text, Timestamp};

use super::prepare::{Post, Prepared, To};
use super::{Draft, Step, Token, fresh};
use crate::record::{Answer, Answered, Asked, Mark, Marked, Number, Question, Sender};
use crate::state::State;
use crate::state::row::{OpenQuestion, Row};

/// Asks in the name of a turn.
#[derive(Debug)]
pub struct Ask {
    /// The turn.
    pub token: Token,
    /// What it asks.
    pub question: Question,
    /// How long an agent has to answer before it counts as denied; a person has no limit.
    pub limit: std::time::Duration,
}

/// What asking did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskAnswer {
    /// The tool was approved for ever before.
    Granted,
    /// The question waits for an answer.
    Waits(QuestionId),
}

impl Step for Ask {
    type Answer = AskAnswer;

    fn decide(self, state: &State, draft: &mut Draft) -> Result<AskAnswer, OpError> {
        let Self { token, question, limit } = self;
        let row = fresh(state, token)?;
        check(&question)?;
        let root = state.root(token.actor).0;
        let granted = |tool: &String| state.row(root).is_some_and(|row| row.grants.contains(tool));
        if question.tool.as_ref().is_some_and(granted) {
            return Ok(AskAnswer::Granted);
        }
        OpError::at_most("questions", row.questions.len() + 1, QUESTIONS)?;
        let asked = row.parent.and_then(|parent| main_of(state, parent));
        let asked = asked.filter(|main| *main != token.actor);
        let id = |seq| QuestionId::new(seq, draft.stamp);
        let (request, id) = match asked {
            Some(to) => {
                let id = id(draft.ahead(1));
                let sent = request(token.actor, row, to, &question, id)?;
                (Some(draft.push(sent)), id)
            }
            None => (None, id(draft.ahead(0))),
        };
        let until = asked.map(|_| draft.at().after(limit));
        let Token { actor, turn, .. } = token;
        draft.push(Asked { actor, turn, asked, question, request, until });
        Ok(AskAnswer::Waits(id))
    }
}

fn check(question: &Question) -> Result<(), OpError> {
    let Question { tool, text, options } = question;
    OpError::at_most("question bytes", text.len(), reveille_core::limits::BODY_BYTES)?;
    tool.as_deref().map_or(Ok(()), |tool| reveille_core::message::label("tool", tool))?;
    OpError::at_most("options", options.len(), 16)?;
    for option in options {
        OpError::at_most("option characters", option.chars().count(), LINE_CHARS)?;
    }
    Ok(())
}

/// The main actor of the session that this actor belongs to.
fn main_of(state: &State, actor: Number) -> Option<Number> {
    let session = state.row(actor)?.address.session();
    state.find(&Address::new(session, ActorName::main()))
}

fn request(
    asker: Number,
    row: &Row,
    to: Number,
    question: &Question,
    id: QuestionId,
) -> Result<crate::record::Sent, OpError> {
    let mut text = Text::new(question.text.clone());
    let is_permission = question.tool.is_some() && question.options.is_empty();
    text.kind = if is_permission { Kind::PermissionRequest } else { Kind::DecisionRequest };
    text.subject = question.tool.clone();
    text.correlation_id = Some(id.to_string());
    text.related = question.options.clone();
    let post = Post { urgent: Some(true), ..Post::new(text) };
    let from = Caller::Actor(row.address.clone());
    let mut sent = Prepared::new(from, post, &To::Actors(Vec::new())).to(vec![to])?;
    sent.sender = Sender::Actor(asker);
    sent.hops = row.hops;
    Ok(sent)
}

/// Answers a question; only the asked actor, a person or the host may.
#[derive(Debug)]
pub struct AnswerQuestion {
    /// Which.
    pub question: QuestionId,
    /// The answer.
    pub answer: Answer,
    /// Who answers.
    pub by: Caller,
    /// The asked actor's turn, if it is one (P9).
    pub token: Option<Token>,
}

impl Step for AnswerQuestion {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let Self { question: id, answer, by, token } = self;
        token.map_or(Ok(()), |token| fresh(state, token).map(drop))?;
        let (actor, question) = find(state, id)?;
        let asked = question.asked.and_then(|asked| state.row(asked));
        if let Caller::Actor(caller) = &by
            && asked.is_none_or(|asked| asked.address != *caller)
        {
            let what = "answer a question that somebody else was asked";
            return Err(OpError::Forbidden { caller: by.to_string(), what });
        }
        let fits = match (&answer, question.options.is_empty()) {
            (Answer::Option(option), _) => question.options.contains(option),
            (Answer::Approve | Answer::Deny, empty) => empty,
            (Answer::ApproveAlways, empty) => empty && question.tool.is_some(),
            (Answer::TimedOut | Answer::Cancelled, _) => false,
        };
        if !fits {
            let allowed = if question.options.is_empty() {
                "approve, deny, approve_always for a tool".to_owned()
            } else {
                question.options.join(", ")
            };
            return Err(OpError::invalid("answer", &format!("{answer:?}"), allowed));
        }
        resolve(state, draft, actor, question, answer, by);
        Ok(())
    }
}

fn find(state: &State, id: QuestionId) -> Result<(Number, &OpenQuestion), OpError> {
    let questions = state
        .watched()
        .flat_map(|(number, row)| row.questions.iter().map(move |question| (number, question)));
    let mut found = questions.filter(|(_, question)| question.id == id);
    found.next().ok_or_else(|| OpError::UnknownId { id: id.to_string() })
}

/// Drafts the answer, and settles the message that asked.
pub(super) fn resolve(
    state: &State,
    draft: &mut Draft,
    actor: Number,
    question: &OpenQuestion,
    answer: Answer,
    by: Caller,
) {
    if let Some((asked, message)) = question.asked.zip(question.request)
        && let Some(row) = state.row(asked)
        && state.marks(message, asked).acknowledged.is_none()
    {
        let settles = row.pending.iter().any(|mail| mail.seq() == message);
        let mark = Mark::Acknowledged;
        draft.push(Marked { actor: asked, message, mark, settles, by: by.clone() });
    }
    draft.push(Answered { actor, question: question.id.seq(), answer, by });
}

/// The turn or the run that asked is over: nobody waits for the answers any more.
pub(super) fn cancel_questions(state: &State, draft: &mut Draft, actor: Number, row: &Row) {
    for question in &row.questions {
        let answered = |record: &crate::record::Record| matches!(record, crate::record::Record::Answered(done) if done.question == question.id.seq());
        // A turn's end may also be its run's: once is enough.
        if !draft.records.iter().any(answered) {
            resolve(state, draft, actor, question, Answer::Cancelled, Caller::System);
        }
    }
}

/// Resolves what a turn has asked, because the turn is asked to end: it may do so by itself then.
#[derive(Debug)]
pub struct CancelQuestions {
    /// The turn.
    pub token: Token,
}

impl Step for CancelQuestions {
    type Answer = ();

    fn decide(self, state: &State, draft: &mut Draft) -> Result<(), OpError> {
        let row = fresh(state, self.token)?;
        cancel_questions(state, draft, self.token.actor, row);
        Ok(())
    }
}

/// Questions that nobody answered in time are denied.
pub(super) fn time_out(
    state: &State,
    draft: &mut Draft,
    (actor, row): (Number, &Row),
    now: Timestamp,
) {
    for question in row.questions.iter().filter(|one| one.until.is_some_and(|at| at <= now)) {
        resolve(state, draft, actor, question, Answer::TimedOut, Caller::System);
    }
}
