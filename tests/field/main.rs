//! Field cases: failures that people met elsewhere, each reduced to a scenario.
//!
//! One function for each case, named after it; its comment tells the case. Where a case speaks of
//! durations the test asserts counts and order, on a paused clock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::print_stderr)] // seeds are printed

mod cancelled;
mod lost;
mod stuck;
mod trust;
