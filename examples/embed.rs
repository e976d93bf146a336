//! A lead and two workers in one program: `cargo run --package reveille-examples --example embed`.
//!
//! Run it twice: the store in `/tmp/reveille-embed` outlives it.

use std::io::Write as _;
use std::time::Duration;

use reveille::{
    Agent, AgentSpec, Injection, NewAgent, Runtime, SessionSpec, Spawn, Store, Turn, TurnError,
    TurnReport,
};

struct Reviewer;

impl Agent for Reviewer {
    async fn turn(&mut self, turn: &Turn, injection: Injection) -> Result<TurnReport, TurnError> {
        let messages = injection.entries.len();
        let mut out = std::io::stdout();
        writeln!(out, "{} has {messages} messages in {}", turn.address(), injection.id)?;
        Ok(TurnReport::success(format!("{messages} messages read")))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::builder(Store::open(std::env::temp_dir().join("reveille-embed"))?)
        .agent("reviewer", AgentSpec::new(async |_: NewAgent| Ok::<_, std::io::Error>(Reviewer)))
        .start()
        .await?;
    let spec = SessionSpec::new("lead").agent("reviewer").first_message("Gather the reviews.");
    let lead = runtime.create_session(spec).await?;
    for file in ["src/wake.rs", "src/mail.rs"] {
        runtime.spawn(lead.main(), Spawn::agent("reviewer").first_message(file)).await?;
    }
    runtime.wait_idle(lead.id(), Duration::from_secs(60)).await?;
    runtime.shutdown().await?;
    Ok(())
}
