//! Lines on the socket: read with a limit, written whole.

use reveille::Code;
use reveille::limits::BODY_BYTES;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::unix::OwnedReadHalf;

use crate::failure::Told;

/// Bytes of a request: a body of which every byte takes six in JSON, and all other fields.
pub(super) const LINE_BYTES: usize = 6 * BODY_BYTES + 128 * 1024;

pub(super) const MALFORMED: Code = Code { name: "malformed", http: 400, exit: 2 };
pub(super) const TOO_LARGE: Code = Code { name: "too_large", http: 413, exit: 4 };
pub(super) const FORBIDDEN: Code = Code { name: "forbidden", http: 403, exit: 4 };
pub(super) const RATE_LIMITED: Code = Code { name: "rate_limited", http: 429, exit: 4 };

/// A line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The request was performed.
    Ok(Value),
    /// It was refused.
    Error(Told),
    /// One event of a tail; more lines follow.
    Event(Value),
}

impl Reply {
    /// Its line.
    pub(super) fn line(&self) -> Vec<u8> {
        // Values, texts and numbers always are JSON.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The lines that a client sends.
pub(super) struct Lines {
    reader: BufReader<OwnedReadHalf>,
}

impl Lines {
    pub(super) fn new(read: OwnedReadHalf) -> Self {
        Self { reader: BufReader::new(read) }
    }

    /// The next line, or `None` when the client is done. Never holds more than a line may have.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Told> {
        let mut line = Vec::new();
        let most = LINE_BYTES as u64 + 1;
        let read = (&mut self.reader).take(most).read_until(b'\n', &mut line).await;
        match (read, line.pop()) {
            // A client that broke off has nothing to be told.
            (Err(_), _) | (Ok(_), None) => Ok(None),
            (Ok(_), Some(b'\n')) => Ok(Some(line)),
            (Ok(_), Some(_)) if line.len() >= LINE_BYTES => {
                Err(Told::new(&TOO_LARGE, format!("a line has at most {LINE_BYTES} bytes")))
            }
            (Ok(_), Some(_)) => Err(Told::new(&MALFORMED, "the line has no end")),
        }
    }

    /// Ends when the client sends more, or goes.
    pub(super) async fn stirs(&mut self) {
        // What went wrong is seen by whoever reads next.
        let _ = self.reader.fill_buf().await;
    }
}
