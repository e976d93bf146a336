//! What the tests share: a scripted host, worlds with a paused clock, the real binary.

// Test support may say what cannot be by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stderr)] // a test that is skipped says so

pub mod binary;
pub mod host;
pub mod skip;
pub mod world;
