//! Agents that are programs: each turn is one child process.
//!
//! A turn starts the program with the injection's text on its standard input and these variables in
//! its environment: `REVEILLE_ADDRESS`, `REVEILLE_RUN`, `REVEILLE_ATTEMPT`, `REVEILLE_INJECTION`.
//! What it writes to standard output is the result, and every line of it is progress; what it
//! writes to standard error is a log, of which the end is kept. Exit code 0 completes the run,
//! another one fails it with that code, a signal that we did not send fails it with that signal.
//! [`report`] says how a program tells of its own success.
//!
//! A program runs in a process group of its own. Cancelling it sends the group TERM, and KILL when
//! the grace is over; nothing that it leaves behind holds its turn. [`ledger`] finds what a crash of
//! the host left running. Unix only; finding left-over processes needs Linux's `/proc`.

mod command;
mod group;
pub mod ledger;
mod output;
pub mod report;

pub use self::command::Command;
