//! What people, agents and the host write: the fields of a message and their limits (section 3).

use serde::{Deserialize, Serialize};

use super::{Kind, label, short};
use crate::error::OpError;
use crate::id::MessageId;
use crate::limits::{
    ARTIFACT_BYTES, BODY_BYTES, LABEL_PAIR_BYTES, LABELS, LINE_CHARS, REFERENCES, RELATED,
    TRACE_BYTES, URI_BYTES,
};

/// A pointer to something outside, carried and never followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// What is pointed to, 1 to 1024 bytes.
    pub uri: String,
    /// What it is, at most 200 characters.
    pub description: String,
}

/// Content that is too large for a body: a file of the store, named by its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// The BLAKE3 hash of its bytes.
    pub hash: [u8; 32],
    /// How many bytes it has, at most 16 MiB.
    pub bytes: u64,
}

impl ArtifactRef {
    /// The hash as 64 hexadecimal digits, which is also its file's name.
    #[must_use]
    pub fn hex(&self) -> String {
        self.hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A message, without its sender and recipients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// What it is.
    pub kind: Kind,
    /// At most 200 characters.
    pub subject: Option<String>,
    /// At most 200 characters.
    pub summary: Option<String>,
    /// At most 32768 bytes; kept byte for byte.
    pub body: String,
    /// At most 32.
    pub references: Vec<Reference>,
    /// At most 16 pairs of a name and a value, each 1 to 64 bytes.
    pub labels: Vec<(String, String)>,
    /// What ties messages of one conversation together.
    pub correlation_id: Option<String>,
    /// The message that this answers.
    pub reply_to: Option<MessageId>,
    /// The task this belongs to.
    pub task_id: Option<String>,
    /// The mission this belongs to.
    pub mission_id: Option<String>,
    /// At most 16 ids of anything else that this is about.
    pub related: Vec<String>,
    /// W3C traceparent.
    pub trace: Option<String>,
    /// Larger content.
    pub artifact: Option<ArtifactRef>,
    /// The dead message that this was made of.
    pub redrives: Option<MessageId>,
}

impl Text {
    /// A plain text that is nothing but its body.
    #[must_use]
    pub fn new(body: impl Into<String>) -> Self {
        Self {
            kind: Kind::Text,
            subject: None,
            summary: None,
            body: body.into(),
            references: Vec::new(),
            labels: Vec::new(),
            correlation_id: None,
            reply_to: None,
            task_id: None,
            mission_id: None,
            related: Vec::new(),
            trace: None,
            artifact: None,
            redrives: None,
        }
    }

    /// Checks every field against its limit.
    ///
    /// # Errors
    ///
    /// `too_large` or `invalid`, naming the field, what it has and what is allowed.
    pub fn check(&self) -> Result<(), OpError> {
        for (field, line) in
            [("subject characters", &self.subject), ("summary characters", &self.summary)]
        {
            let chars = line.as_deref().map_or(0, |line| line.chars().count());
            OpError::at_most(field, chars, LINE_CHARS)?;
        }
        for (field, id) in [
            ("correlation_id", &self.correlation_id),
            ("task_id", &self.task_id),
            ("mission_id", &self.mission_id),
        ] {
            id.as_deref().map_or(Ok(()), |id| label(field, id))?;
        }
        OpError::at_most("related ids", self.related.len(), RELATED)?;
        self.related.iter().try_for_each(|id| label("related id", id))?;
        self.trace.as_deref().map_or(Ok(()), |trace| short("trace", trace, TRACE_BYTES))?;
        if self.kind == Kind::Handoff && self.task_id.is_none() {
            return Err(OpError::invalid("task_id", "", "a handoff names the task it hands over"));
        }
        self.check_lists()?;
        let artifact = self.artifact.map_or(0, |artifact| artifact.bytes);
        OpError::at_most(
            "artifact bytes",
            artifact.try_into().unwrap_or(usize::MAX),
            ARTIFACT_BYTES,
        )?;
        OpError::at_most("body bytes", self.body.len(), BODY_BYTES)
    }

    fn check_lists(&self) -> Result<(), OpError> {
        OpError::at_most("references", self.references.len(), REFERENCES)?;
        for Reference { uri, description } in &self.references {
            short("reference uri", uri, URI_BYTES)?;
            let chars = description.chars().count();
            OpError::at_most("reference description characters", chars, LINE_CHARS)?;
        }
        OpError::at_most("labels", self.labels.len(), LABELS)?;
        for (name, value) in &self.labels {
            short("label name", name, LABEL_PAIR_BYTES)?;
            short("label value", value, LABEL_PAIR_BYTES)?;
            if self.labels.iter().filter(|(other, _)| other == name).count() > 1 {
                return Err(OpError::invalid("label name", name, "each name once"));
            }
        }
        Ok(())
    }

    /// What counts against a mailbox's byte limit: body, subject and summary.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let line = |line: &Option<String>| line.as_deref().map_or(0, str::len);
        (self.body.len() + line(&self.subject) + line(&self.summary)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Text)) -> String {
        let mut text = Text::new("body");
        change(&mut text);
        text.check().unwrap_err().to_string()
    }

    #[test]
    fn a_body_at_the_limit_is_accepted_and_one_byte_more_is_not() {
        assert!(Text::new("x".repeat(BODY_BYTES)).check().is_ok());
        let error = Text::new("x".repeat(BODY_BYTES + 1)).check().unwrap_err();
        assert_eq!(error.to_string(), "body bytes has 32769, at most 32768 are allowed");
    }

    #[test]
    fn lines_are_measured_in_characters_and_bodies_in_bytes() {
        let mut text = Text::new("é".repeat(BODY_BYTES / 2));
        text.subject = Some("é".repeat(LINE_CHARS));
        assert!(text.check().is_ok());
        text.subject = Some("é".repeat(LINE_CHARS + 1));
        assert!(text.check().unwrap_err().to_string().starts_with("subject characters has 201"));
    }

    #[test]
    fn every_list_and_id_has_a_limit_that_its_refusal_names() {
        let reference = || Reference { uri: "file:a".into(), description: String::new() };
        let pair = |n: usize| (format!("n{n}"), "v".to_owned());
        let mut full = Text::new("body");
        full.references = vec![reference(); REFERENCES];
        full.labels = (0..LABELS).map(pair).collect();
        full.related = vec!["r".into(); RELATED];
        assert!(full.check().is_ok());
        assert!(
            refused(|text| text.references = vec![reference(); 33]).contains("references has 33")
        );
        assert!(
            refused(|text| text.labels = (0..17).map(pair).collect()).contains("labels has 17")
        );
        assert!(refused(|text| text.labels = vec![pair(1), pair(1)]).contains("each name once"));
        assert!(refused(|text| text.related = vec!["r".into(); 17]).contains("related ids has 17"));
        assert!(refused(|text| text.mission_id = Some("a\nb".into())).contains("mission_id"));
        assert!(
            refused(|text| text.correlation_id = Some(String::new())).contains("correlation_id")
        );
        assert!(refused(|text| text.kind = Kind::Handoff).contains("task_id"));
        let artifact = ArtifactRef { hash: [0; 32], bytes: 16 * 1024 * 1024 + 1 };
        assert!(refused(|text| text.artifact = Some(artifact)).contains("artifact bytes"));
    }
}
