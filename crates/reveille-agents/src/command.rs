//! Running a turn as a child process.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use reveille::limits::{ERROR_BYTES, LINE_CHARS};
use reveille::{Agent, AgentSpec, FailureClass, Injection, NewAgent, Turn, TurnError, TurnReport};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Child;

use crate::group::Group;
use crate::ledger::{Entry, Ledger};
use crate::output::{Head, Tail};
use crate::report;

/// How long what a program wrote is still read after its end, when somebody else holds its pipe.
const DRAIN: Duration = Duration::from_millis(200);

/// A program that runs turns.
///
/// ```
/// use reveille_agents::Command;
///
/// let spec = Command::new(["sh", "-c", "cat"]).env("LEVEL", "2").spec();
/// # let _ = spec;
/// ```
#[derive(Debug, Clone)]
pub struct Command {
    argv: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    ledger: Option<Ledger>,
}

impl Command {
    /// A program and its arguments. A name without a slash is looked for in `PATH`.
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { argv, cwd: None, env: Vec::new(), ledger: None }
    }

    /// Where it runs; by default where the host does.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// A variable added to its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Where its processes are noted, so that they are found after a crash of the host.
    #[must_use]
    pub fn ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// The agent to register.
    #[must_use]
    pub fn spec(self) -> AgentSpec {
        AgentSpec::new(move |_: NewAgent| {
            let agent = CommandAgent(self.clone());
            async { Ok::<_, Infallible>(agent) }
        })
    }

    fn start(&self, turn: &Turn) -> Result<(Child, Option<Entry>, Group), TurnError> {
        let did_not_start = |what: String| {
            let program = self.argv.first().map_or_else(Default::default, |p| p.to_string_lossy());
            TurnError::permanent(format!("{program}: {what}")).class(FailureClass::DidNotStart)
        };
        let (program, arguments) =
            self.argv.split_first().ok_or_else(|| did_not_start("no program is named".into()))?;
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("REVEILLE_ADDRESS", turn.address().to_string())
            .env("REVEILLE_RUN", turn.run().to_string())
            .env("REVEILLE_ATTEMPT", turn.attempt().to_string())
            .env("REVEILLE_INJECTION", turn.injection().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let child = command.spawn().map_err(|error| did_not_start(error.to_string()))?;
        let pid = child.id().ok_or_else(|| did_not_start("it has no process id".into()))?;
        let group =
            Group::of(pid).ok_or_else(|| did_not_start("its process id is impossible".into()))?;
        let note = |ledger: &Ledger| ledger.note(pid, &turn.run().to_string());
        let entry = self.ledger.as_ref().map(note).transpose();
        let entry = entry.map_err(|error| did_not_start(format!("cannot be noted: {error}")))?;
        Ok((child, entry, group))
    }
}

/// The agent: nothing but the program.
#[derive(Debug)]
struct CommandAgent(Command);

impl Agent for CommandAgent {
    async fn turn(&mut self, turn: &Turn, injection: Injection) -> Result<TurnReport, TurnError> {
        // The injection is written only after the process is noted: one that a crash left between
        // the two reads an empty input and has nothing to work on.
        // Dropped from the last to the first: the group is killed before its note goes.
        let (mut child, entry, group) = self.0.start(turn)?;
        let text = injection.text();
        let (mut head, mut tail) = (Head::default(), Tail::default());
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A program need not read what it is given.
                let _ = stdin.write_all(text.as_bytes()).await;
            }
        };
        let out = async {
            if let Some(stdout) = stdout {
                head.read(stdout, || turn.progress()).await;
            }
        };
        let log = async {
            if let Some(stderr) = stderr {
                tail.read(stderr).await;
            }
        };
        let status = {
            let mut pipes = std::pin::pin!(async { tokio::join!(feed, out, log) });
            let mut closed = false;
            let status = {
                let mut exit = std::pin::pin!(end(&mut child, &group, turn));
                loop {
                    tokio::select! {
                        biased;
                        status = &mut exit => break status,
                        _ = &mut pipes, if !closed => closed = true,
                    }
                }
            };
            // Whatever is left in the group must not write into a result that is told already.
            drop(group);
            if !closed {
                // Somebody who left the group may hold a pipe for ever.
                let _ = tokio::time::timeout(DRAIN, pipes).await;
            }
            status
        };
        drop(entry);
        answer(turn, status?, head, &tail)
    }
}

/// Waits for the program's end; asked to end, it is sent TERM. Its KILL is the drop of the group,
/// by whoever drops the turn when the grace is over.
async fn end(child: &mut Child, group: &Group, turn: &Turn) -> std::io::Result<ExitStatus> {
    tokio::select! {
        biased;
        status = child.wait() => return status,
        () = turn.cancelled() => group.terminate(),
    }
    child.wait().await
}

fn answer(
    turn: &Turn,
    status: ExitStatus,
    head: Head,
    tail: &Tail,
) -> Result<TurnReport, TurnError> {
    use std::os::unix::process::ExitStatusExt as _;
    if turn.is_cancelled() {
        return Err(TurnError::permanent("the program was asked to end"));
    }
    if status.success() {
        let output = head.into_text();
        let reported = report::read(&output);
        let mut report = TurnReport::new(reported.result).status(reported.status);
        if let Some(summary) = reported.summary {
            report = report.summary(summary.chars().take(LINE_CHARS).collect::<String>());
        }
        return Ok(report);
    }
    let class = match (status.code(), status.signal()) {
        (Some(code), _) => FailureClass::Exit(code),
        (None, Some(signal)) => FailureClass::Signal(signal),
        (None, None) => FailureClass::Permanent,
    };
    let log = tail.text(ERROR_BYTES - 64);
    let error = if log.is_empty() { status.to_string() } else { format!("{status}\n{log}") };
    Err(TurnError::permanent(error).class(class))
}
