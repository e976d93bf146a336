//! Scenarios of the runtime, on a paused clock with a scripted host.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::print_stderr)] // seeds are printed

mod cancel;
mod damage;
mod delivery;
mod events;
mod failures;
mod liveness;
mod people;
mod questions;
mod recovery;
mod rest;
mod runs;
mod windows;
