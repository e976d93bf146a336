//! `questions`, `answer`: what agents want to know of people (section 10).

use clap::Args;
use reveille::{OpError, QuestionId, QuestionView, Runtime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ME, maybe_time, time};

/// All questions that wait for an answer.
pub(super) async fn list(runtime: &Runtime) -> super::Answer {
    let view = |question: &QuestionView| {
        json!({
            "id": question.id,
            "asker": question.asker,
            "asked": question.asked,
            "tool": question.tool,
            "text": question.text,
            "options": question.options,
            "since": time(question.since),
            "until": maybe_time(question.until),
        })
    };
    Ok(runtime.questions().await?.iter().map(view).collect::<Value>())
}

/// The answer to a question.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// The question.
    question: String,
    /// One of its options; approve, deny or approve_always when it has none.
    answer: String,
}

impl Answer {
    pub(super) async fn perform(self, runtime: &Runtime) -> super::Answer {
        let Self { question, answer } = self;
        let wrong = |_| OpError::invalid("question", &question, "que_ and a ULID");
        let id: QuestionId = question.parse().map_err(wrong)?;
        let open = runtime.questions().await?;
        let has_options = open.iter().any(|one| one.id == id && !one.options.is_empty());
        let meant = match answer.as_str() {
            "approve" if !has_options => reveille::Answer::Approve,
            "deny" if !has_options => reveille::Answer::Deny,
            "approve_always" if !has_options => reveille::Answer::ApproveAlways,
            _ => reveille::Answer::Option(answer.clone()),
        };
        runtime.answer(ME, id, meant).await?;
        Ok(json!({ "id": id, "answer": answer }))
    }
}
