//! Reveille: a runtime for programs that host agent sessions.
//!
//! Every session is a supervised actor whose mailbox is durable. Workers run in the background and
//! tell how they ended; any number of reasons to wake an actor become one injection per window; a
//! restart forgets nothing. What is promised is numbered in `docs/contract.md`.
//!
//! ```
//! use std::time::Duration;
//!
//! use reveille::{
//!     Agent, AgentSpec, Injection, Message, NewAgent, Runtime, SessionSpec, Spawn, Store, Turn,
//!     TurnError, TurnReport,
//! };
//!
//! struct Reviewer;
//!
//! impl Agent for Reviewer {
//!     async fn turn(&mut self, _: &Turn, injection: Injection) -> Result<TurnReport, TurnError> {
//!         Ok(TurnReport::success(format!("{} messages read", injection.entries.len())))
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::builder(Store::in_memory())
//!     .agent("reviewer", AgentSpec::new(async |_: NewAgent| Ok::<_, std::io::Error>(Reviewer)))
//!     .start()
//!     .await?;
//! let lead = runtime.create_session(SessionSpec::new("lead").agent("reviewer")).await?;
//! runtime.send(Message::text(lead.main(), "look at the failing build")).await?;
//! let worker = runtime
//!     .spawn(lead.main(), Spawn::agent("reviewer").first_message("check src/wake.rs"))
//!     .await?;
//! let outcome = runtime.wait(worker.address(), Duration::from_secs(600)).await?;
//! assert_eq!(outcome.state(), "completed");
//! runtime.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod agent;
mod builder;
mod clock;
mod config;
mod execution;
mod hub;
mod letter;
mod ops;
mod overview;
mod pulse;
mod resident;
mod root;
mod runtime;
mod slots;
mod spec;
mod turn;
mod watchdog;

pub use reveille_core::*;
pub use reveille_store::record::{Answer, GroupPolicy, Mark, Question, Settlement};
pub use reveille_store::step::Reach;
pub use reveille_store::step::end::Next;
pub use reveille_store::step::mark::MarkedMail;
pub use reveille_store::step::recover::Recovered;
pub use reveille_store::step::send::Accepted;
pub use reveille_store::step::team::TeamMember;
pub use reveille_store::whereabouts::MailState;
pub use reveille_store::why::Why;
pub use reveille_store::{Committed, Observer, OpenError, Options, Store};

pub use self::agent::{Agent, AgentSpec, Busy, NewAgent, Presence, TurnError, TurnReport};
pub use self::builder::{Builder, StartError};
pub use self::clock::Clock;
pub use self::config::{Config, ConfigError};
pub use self::letter::Message;
pub use self::overview::{ActorState, ActorView};
pub use self::runtime::Runtime;
pub use self::runtime::events::{Event, Events, Happened};
pub use self::runtime::look::{Audit, InboxEntry};
pub use self::runtime::mail::{DeadView, DueView, MessageView, Place};
pub use self::runtime::people::{QuestionView, ScheduleView, TeamView};
pub use self::runtime::tree::TreeEntry;
pub use self::spec::{Admission, Cancel, Cancelled, Session, SessionSpec, Spawn, Worker};
pub use self::turn::{ToolGuard, Turn};
