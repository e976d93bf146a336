//! Scenarios of the runtime, on a paused clock with a scripted host.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod cancel;
mod failures;
mod liveness;
mod recovery;
mod runs;
mod windows;
