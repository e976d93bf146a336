//! What the tests share: a scripted host, worlds with a paused clock, the real binary.

// Test support may say what cannot be by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stderr)] // a test that is skipped says so

pub mod binary;
pub mod host;
pub mod skip;
pub mod world;

/// The examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide.md")]
pub struct Guide;

/// The example of the front page.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
