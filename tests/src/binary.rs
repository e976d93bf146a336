//! The real binary, as a child process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The path of the `reveille` binary, built if it is not up to date.
pub fn reveille() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let tests = std::env::current_exe().unwrap();
        let profile = tests.ancestors().nth(2).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "reveille-cli", "--bin", "reveille"]);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let built = build.arg("--manifest-path").arg(manifest).status().unwrap();
        assert!(built.success(), "the binary does not build");
        profile.join("reveille")
    })
}

/// A command of the binary, with nothing on standard input.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(reveille());
    command.args(args).stdin(Stdio::null()).env_remove("REVEILLE_DATA");
    command
}

/// Runs a command of the binary to its end.
pub fn run(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// A child that is killed when dropped.
#[derive(Debug)]
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits on the wall clock. Each call says why, in a comment `wall clock:`.
#[allow(clippy::disallowed_methods)] // wall clock: other processes go by it
pub fn wall_pause(span: Duration) {
    std::thread::sleep(span);
}

/// Waits until something is so, looking every few milliseconds, at most 60 s.
pub fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if so() {
            return;
        }
        // wall clock: another process does it, and tells nobody
        wall_pause(Duration::from_millis(5));
    }
    panic!("not within 60 s: {what}");
}
