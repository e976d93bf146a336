//! The side of a verb: where its request goes, and the answer back.
//!
//! A runtime that holds the folder is asked over its socket. A folder that nobody holds is opened for
//! the one request and closed again; no turn starts then.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use reveille::{OpError, OpenError, Options, Runtime};
use serde_json::Value;

use super::wire::{LINE_BYTES, Reply};
use super::{Folder, NAME};
use crate::failure::Told;
use crate::out;
use crate::request::Request;
use crate::request::tail::Tail;

/// How long an answer may take, beside the time that the request itself gives.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an answer.
const ANSWER_BYTES: u64 = 64 * 1024 * 1024;
/// How often somebody who holds the folder without a socket is looked for again: it may be starting.
const TRIES: u32 = 2;

/// Where requests go.
pub(crate) enum Client {
    /// The runtime that holds the folder.
    Runtime(BufReader<UnixStream>),
    /// The store itself, which nobody runs.
    Rest(Box<Rest>),
}

/// A store at rest, for as long as a verb needs it.
pub(crate) struct Rest {
    executor: tokio::runtime::Runtime,
    runtime: Runtime,
}

impl Client {
    /// Finds who answers for a data folder.
    ///
    /// # Errors
    ///
    /// When there is no store, it is damaged, or it is held by somebody without a socket.
    pub(crate) fn of(data: &Path) -> anyhow::Result<Self> {
        let mut tried = 1;
        loop {
            if let Some(stream) = connect(data)? {
                return Ok(Self::Runtime(BufReader::new(stream)));
            }
            match Options::default().open_existing(data) {
                Ok(store) => {
                    // Whoever comes meanwhile waits: this takes a moment.
                    store.closing();
                    let executor =
                        tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                    let runtime = executor.block_on(Runtime::at_rest(store))?;
                    return Ok(Self::Rest(Box::new(Rest { executor, runtime })));
                }
                Err(OpenError::AlreadyInUse { .. }) if tried < TRIES => tried += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether nobody runs the store.
    pub(crate) const fn is_at_rest(&self) -> bool {
        matches!(self, Self::Rest(_))
    }

    /// Asks, and gives the answer.
    ///
    /// # Errors
    ///
    /// What the operation refuses; `outcome_unknown` when the runtime went away in the middle.
    pub(crate) fn ask(&mut self, request: Request) -> anyhow::Result<Value> {
        match self {
            Self::Rest(rest) => Ok(rest.executor.block_on(request.perform(&rest.runtime))?),
            Self::Runtime(stream) => {
                let grace = match &request {
                    Request::Stop(stop) => stop.grace(),
                    _ => Duration::ZERO,
                };
                stream.get_ref().set_read_timeout(Some(PATIENCE.saturating_add(grace)))?;
                send(stream, &request)?;
                match receive(stream)? {
                    Some(Reply::Ok(answer)) => Ok(answer),
                    Some(Reply::Error(told)) => Err(told.into()),
                    Some(Reply::Event(_)) | None => Err(OpError::OutcomeUnknown.into()),
                }
            }
        }
    }

    /// Asks for events, and gives each to `tell`.
    ///
    /// # Errors
    ///
    /// As [`Client::ask`]; `shutting_down` when the runtime goes.
    pub(crate) fn tail(&mut self, tail: Tail, mut tell: impl FnMut(Value)) -> anyhow::Result<()> {
        match self {
            Self::Rest(rest) => {
                let mut stream = tail.begin(&rest.runtime)?;
                while let Some(event) = rest.executor.block_on(stream.next())? {
                    tell(event);
                }
                Ok(())
            }
            Self::Runtime(stream) => {
                send(stream, &Request::Tail(tail))?;
                loop {
                    match receive(stream)? {
                        Some(Reply::Event(event)) => tell(event),
                        Some(Reply::Ok(_)) => return Ok(()),
                        Some(Reply::Error(told)) => return Err(told.into()),
                        None => return Err(OpError::ShuttingDown.into()),
                    }
                }
            }
        }
    }

    /// Lets go of the folder.
    ///
    /// # Errors
    ///
    /// `storage_failed` when a store at rest could not be closed; nothing accepted is lost.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Runtime(_) => Ok(()),
            Self::Rest(rest) => Ok(rest.executor.block_on(rest.runtime.shutdown())?),
        }
    }
}

/// A connection with the runtime that holds the folder; `None` when there is none, or nobody listens.
fn connect(data: &Path) -> anyhow::Result<Option<UnixStream>> {
    let path = data.join(NAME);
    let connected = Folder::of(data).and_then(|folder| UnixStream::connect(folder.join(NAME)));
    match connected {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(error).with_context(|| format!("the socket {}", path.display())),
        },
    }
}

fn send(stream: &mut BufReader<UnixStream>, request: &Request) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(request)?;
    OpError::at_most("request bytes", line.len(), LINE_BYTES)?;
    line.push(b'\n');
    // A runtime that refuses the connection says why before it closes: its answer is read first.
    if let Err(error) = stream.get_mut().write_all(&line) {
        out::note(format_args!("the request was not taken: {error}"));
    }
    Ok(())
}

/// The next line of the answer; `None` when the runtime went away.
fn receive(stream: &mut BufReader<UnixStream>) -> anyhow::Result<Option<Reply>> {
    let mut line = Vec::new();
    let read = stream.by_ref().take(ANSWER_BYTES).read_until(b'\n', &mut line);
    match read {
        Ok(_) if line.last() == Some(&b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Ok(_) => Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            let limit_ms = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
            let message =
                format!("no answer within {limit_ms} ms; what was asked may still be done");
            Err(Told::new(&OpError::OutcomeUnknown.code(), message).into())
        }
        Err(_) => Ok(None),
    }
}
