//! The real binary, as a child process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::print_stderr)] // seeds are printed

mod bench;
mod care;
mod demo;
mod kills;
mod ownership;
mod up;
mod verbs;
