//! The side of the runtime: takes connections, performs requests, ends with the runtime.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener as Listener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use reveille::{OpError, Runtime};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::wire::{FORBIDDEN, Lines, MALFORMED, RATE_LIMITED, Reply};
use super::{Folder, NAME};
use crate::failure::Told;
use crate::request::Request;
use crate::request::tail::Tail;

/// Connections at a time; one more is told so.
const CONNECTIONS: usize = 64;
/// How long a line may take to arrive, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long requests that are being performed have when the socket closes.
const LAST: Duration = Duration::from_secs(2);
/// How long nobody is taken after the system refused to hand over a connection.
const BREATH: Duration = Duration::from_millis(100);

/// The socket of a runtime, open until it is closed.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Socket {
    /// Opens the socket in a data folder that the runtime holds. Whatever stands there belongs to a
    /// process that is gone, because there is one holder at a time.
    ///
    /// # Errors
    ///
    /// When the system refuses, naming the path.
    pub(crate) fn open(data: &Path, runtime: Runtime) -> anyhow::Result<Self> {
        let path = data.join(NAME);
        let listener = bind(data).with_context(|| format!("the socket {}", path.display()))?;
        let closing = watch::Sender::new(false);
        let task = tokio::spawn(listen(listener, runtime, closing.subscribe()));
        Ok(Self { path, closing, task })
    }

    /// Takes no more requests, finishes those that are being performed, and removes the socket.
    pub(crate) async fn close(self) {
        // Removed first: nobody is to find one that does not answer. One that stays is stale.
        let _ = fs::remove_file(&self.path);
        self.closing.send_replace(true);
        // It ends in bounded time, and has no answer.
        let _ = self.task.await;
    }
}

/// Makes the socket under another name, and moves it into place when only its owner can use it.
fn bind(data: &Path) -> io::Result<UnixListener> {
    let folder = Folder::of(data)?;
    let (new, path) = (folder.join("reveille.sock.new"), folder.join(NAME));
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = Listener::bind(&new)?;
    fs::set_permissions(&new, Permissions::from_mode(0o600))?;
    fs::rename(&new, &path)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

async fn listen(listener: UnixListener, runtime: Runtime, closing: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut closes = closing.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closes.wait_for(|closes| *closes) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let refusal = refusal(&stream, connections.len());
                let connection = Connection::new(stream, runtime.clone(), closing.clone());
                connections.spawn(connection.serve(refusal));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST, all).await.is_err() {
        connections.shutdown().await;
    }
}

/// Why a connection is not served, if it is not.
fn refusal(stream: &UnixStream, others: usize) -> Option<Told> {
    if others >= CONNECTIONS {
        let message = format!("{others} connections are open, at most {CONNECTIONS} are served");
        return Some(Told::new(&RATE_LIMITED, message));
    }
    // The mode of the file says the same; this holds while it is being made, too.
    let me = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == me || peer.uid() == 0 => None,
        _ => Some(Told::new(&FORBIDDEN, "this socket serves the user who runs the runtime")),
    }
}

struct Connection {
    lines: Lines,
    write: OwnedWriteHalf,
    runtime: Runtime,
    closing: watch::Receiver<bool>,
}

impl Connection {
    fn new(stream: UnixStream, runtime: Runtime, closing: watch::Receiver<bool>) -> Self {
        let (read, write) = stream.into_split();
        Self { lines: Lines::new(read), write, runtime, closing }
    }

    /// Answers request after request until the client is done, or the runtime is.
    async fn serve(mut self, refusal: Option<Told>) {
        if let Some(refusal) = refusal {
            self.reply(Reply::Error(refusal)).await;
            return;
        }
        loop {
            let line = tokio::select! {
                biased;
                _ = self.closing.wait_for(|closes| *closes) => return,
                line = tokio::time::timeout(PATIENCE, self.lines.next()) => line,
            };
            let goes_on = match line {
                Ok(Ok(Some(line))) => self.answer(&line).await,
                Ok(Ok(None)) => false,
                Ok(Err(refusal)) => {
                    self.reply(Reply::Error(refusal)).await;
                    false
                }
                Err(_) => {
                    let limit_ms = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
                    let late = OpError::TimedOut { limit_ms };
                    self.reply(Reply::Error(Told::from(&late))).await;
                    false
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Performs a request; says whether the client is still there.
    async fn answer(&mut self, line: &[u8]) -> bool {
        let reply = match serde_json::from_slice(line) {
            Ok(Request::Tail(tail)) => match self.tail(&tail).await {
                Ok(()) => Reply::Ok(Value::Null),
                Err(error) => Reply::Error(Told::from(&error)),
            },
            Ok(request) => match Box::pin(request.perform(&self.runtime)).await {
                Ok(answer) => Reply::Ok(answer),
                Err(error) => Reply::Error(Told::from(&error)),
            },
            Err(error) => Reply::Error(Told::new(&MALFORMED, error.to_string())),
        };
        self.reply(reply).await
    }

    /// Streams events until all are told, or the client sends more or goes.
    async fn tail(&mut self, tail: &Tail) -> Result<(), OpError> {
        let mut stream = tail.begin(&self.runtime)?;
        let Self { lines, write, closing, .. } = self;
        let told = async {
            while let Some(event) = stream.next().await? {
                if write.write_all(&Reply::Event(event).line()).await.is_err() {
                    break;
                }
            }
            Ok(())
        };
        tokio::select! {
            biased;
            _ = closing.wait_for(|closes| *closes) => Err(OpError::ShuttingDown),
            () = lines.stirs(), if tail.follow => Ok(()),
            told = told => told,
        }
    }

    async fn reply(&mut self, reply: Reply) -> bool {
        let line = reply.line();
        let written = tokio::time::timeout(PATIENCE, self.write.write_all(&line)).await;
        matches!(written, Ok(Ok(())))
    }
}
