//! Standard output and standard error: the one place that writes to them.

use std::fmt::Display;
use std::io::{Write as _, stderr, stdout};

/// Data: one line on standard output. A reader that went away is no error of ours.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(stdout().lock(), "{text}");
}

/// Everything else: one line on standard error.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(stderr().lock(), "{text}");
}
