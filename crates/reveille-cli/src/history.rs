//! The history of a runtime: every record of every commit as one JSON line, for outside checkers.
//!
//! `{"seq", "at", "salt", "record", "fields"}`: the record's number, the time of its commit in
//! milliseconds and the salt of its incarnation (these three make its ids), its type, and its fields
//! as `docs/design.md` lists them; a message's content is written out. Lines are appended, each
//! commit in one write, before anybody is answered.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use reveille::message::Content;
use reveille::{Committed, Observer};
use reveille_store::codec;
use reveille_store::record::Record;
use serde_json::{Value, json};

use crate::out;

/// Opens the file and gives what writes to it.
pub(crate) fn observer(path: &Path) -> anyhow::Result<Observer> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.with_context(|| format!("the history {}", path.display()))?;
    Ok(Arc::new(move |commit| {
        if let Err(error) = write(&file, commit) {
            out::note(format_args!("the history is incomplete: {error:#}"));
        }
    }))
}

fn write(mut file: &File, commit: &Committed<'_>) -> anyhow::Result<()> {
    let mut lines = String::new();
    for (seq, record) in commit.records {
        let line = json!({
            "seq": seq,
            "at": commit.stamp.at,
            "salt": commit.stamp.salt,
            "record": record.name(),
            "fields": fields(record)?,
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    file.write_all(lines.as_bytes())?;
    Ok(())
}

fn fields(record: &Record) -> anyhow::Result<Value> {
    let mut fields = record.serialize_fields(serde_json::value::Serializer)?;
    if let (Record::Sent(sent), Some(fields)) = (record, fields.as_object_mut()) {
        let content: Content = codec::decode(&sent.content)?;
        fields.insert("content".into(), serde_json::to_value(content)?);
    }
    Ok(fields)
}
