//! Tests that need a program which may be absent.

use std::process::{Command, Stdio};

/// Whether a program is there. If not, says so; with `REVEILLE_REQUIRE_ALL=1` that fails the test.
pub fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_ok() {
        return true;
    }
    assert!(std::env::var_os("REVEILLE_REQUIRE_ALL").is_none(), "skipped: no {program}");
    eprintln!("skipped: no {program}");
    false
}
