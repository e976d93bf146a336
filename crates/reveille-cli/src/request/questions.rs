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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use reveille::{
        Agent, AgentSpec, Injection, Message, NewAgent, Question, SessionSpec, Store, Turn,
        TurnError, TurnReport,
    };

    use super::*;

    /// Asks what it is told to: options separated by spaces, or a permission.
    struct Asker;

    impl Agent for Asker {
        async fn turn(&mut self, turn: &Turn, mail: Injection) -> Result<TurnReport, TurnError> {
            let reveille::message::Content::Text(text) = &mail.entries[0].content else {
                return Err(TurnError::permanent("no text"));
            };
            let options: Vec<String> = text.body.split_whitespace().map(str::to_owned).collect();
            let tool = options.is_empty().then(|| "rm".to_owned());
            let question = Question { tool, text: "may I?".into(), options };
            let answer = turn.ask(question).await?;
            Ok(TurnReport::success(format!("{answer:?}")))
        }
    }

    /// The answer that an agent got whose question was answered by this word.
    async fn answered(options: &str, word: &str) -> Result<String, OpError> {
        let agent = AgentSpec::new(async |_: NewAgent| Ok::<_, Infallible>(Asker));
        let runtime = Runtime::builder(Store::in_memory()).agent("a", agent).start().await.unwrap();
        let lead = runtime.create_session(SessionSpec::new("lead").agent("a")).await.unwrap();
        runtime.send(Message::text(lead.main(), options).urgent(true)).await.unwrap();
        let open = loop {
            let open = list(&runtime).await?;
            if open.as_array().is_some_and(|open| !open.is_empty()) {
                break open;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(open[0]["text"], "may I?");
        let question = open[0]["id"].as_str().unwrap().to_owned();
        Answer { question, answer: word.to_owned() }.perform(&runtime).await?;
        let outcome = runtime.wait(&lead.main(), Duration::from_secs(60)).await?;
        match outcome {
            reveille::Outcome::Completed { result, .. } => Ok(result),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_word_is_an_option_where_there_are_options_and_a_verdict_where_there_are_none() {
        assert_eq!(answered("", "approve").await.unwrap(), "Approve");
        assert_eq!(answered("", "deny").await.unwrap(), "Deny");
        assert_eq!(answered("", "approve_always").await.unwrap(), "ApproveAlways");
        assert_eq!(answered("approve wait", "approve").await.unwrap(), "Option(\"approve\")");
        assert_eq!(answered("left right", "up").await.unwrap_err().code().name, "invalid");
    }
}
