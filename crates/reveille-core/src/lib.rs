//! The rules of Reveille, and nothing but the rules.
//!
//! Everything that *decides* lives here as pure functions and small state machines: what a window
//! does, what an injection holds, which transition of a run is legal, whether a turn is stalled,
//! how text is rendered. Nothing in this crate reads a clock, starts a task, or touches a file: the
//! moment is an argument and the answer is a value. The store keeps the state these rules speak of,
//! the runtime performs what they ask for.
//!
//! The numbers in the documentation (`P4`, `W1`, ...) are the promises of `docs/contract.md`.

pub mod address;
pub mod budget;
pub mod compose;
pub mod dead;
pub mod error;
pub mod failure;
pub mod id;
pub mod injection;
pub mod limits;
pub mod liveness;
pub mod message;
pub mod need;
pub mod notice;
pub mod outcome;
pub mod render;
pub mod time;
pub mod window;

pub use address::{ActorName, Address, AgentName};
pub use dead::DeadReason;
pub use error::{Code, OpError};
pub use id::{InjectionId, MessageId, QuestionId, RunId, Seq, SessionId, TeamId};
pub use injection::{Entry, Injection, Trigger};
pub use message::{ArtifactRef, Caller, Content, Delivery, Kind, Rank, Reference, Text};
pub use notice::{Notice, NoticeState};
pub use outcome::{Cause, FailureClass, Outcome, Status};
pub use render::Style;
pub use time::Timestamp;
