//! What can be checked of the tree itself: that documents name tests that exist, that every sentence of
//! the contract is accounted for, that crates keep to their arrows, that files can be read in one
//! sitting.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod contract;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All files below a folder of the tree whose name ends so.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<(String, String)> {
    ["crates", "tests", "examples", "benches"].iter().flat_map(|part| files(part, ".rs")).collect()
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The `file.rs::function`s that a text names.
fn cited(text: &str) -> BTreeSet<(String, String)> {
    let quoted = text.split('`').skip(1).step_by(2);
    let test = |quoted: &str| {
        let (file, function) = quoted.split_once(".rs::")?;
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        function.chars().all(word).then(|| (format!("{file}.rs"), function.to_owned()))
    };
    quoted.filter_map(test).collect()
}

/// Whether a source has this function, and it is a test.
fn has_test(source: &str, function: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {function}(")) else {
        return false;
    };
    // Its attributes are on the few lines above it.
    let above: Vec<&str> = before.lines().rev().take(4).collect();
    above.iter().any(|line| line.contains("#[test]") || line.contains("#[tokio::test"))
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let sources = sources();
    let mut missing = Vec::new();
    let mut count = 0;
    for name in ["docs/verification.md", "ARCHITECTURE.md", "docs/decisions/0001-record-format.md"]
    {
        for (file, function) in cited(&document(name)) {
            count += 1;
            let here = |(path, text): &(String, String)| {
                path.ends_with(&format!("/{file}")) && has_test(text, &function)
            };
            if !sources.iter().any(here) {
                missing.push(format!("{name}: {file}::{function}"));
            }
        }
    }
    assert!(count > 100, "{count} tests are named");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn files_can_be_read_in_one_sitting() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        let is_test = name.starts_with("tests/") || name.contains("/tests/");
        let limit = if is_test { 800 } else { 600 };
        assert!(lines <= limit, "{name} has {lines} lines, at most {limit}");
    }
}

/// The crates of this workspace that a crate is built on, its tests aside.
fn uses(manifest: &str) -> BTreeSet<String> {
    let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap_or(("", ""));
    let dependencies = rest.split("\n[").next().unwrap_or("");
    let names = dependencies.lines().filter_map(|line| line.split(['.', ' ']).next());
    names.filter(|name| name.starts_with("reveille")).map(str::to_owned).collect()
}

#[test]
fn crates_use_only_those_below_them() {
    let below: [(&str, &[&str]); 5] = [
        ("reveille-core", &[]),
        ("reveille-store", &["reveille-core"]),
        ("reveille", &["reveille-core", "reveille-store"]),
        ("reveille-agents", &["reveille"]),
        ("reveille-cli", &["reveille", "reveille-agents", "reveille-store"]),
    ];
    for (name, allowed) in below {
        let path = format!("crates/{name}/Cargo.toml");
        let manifest = fs::read_to_string(root().join(path)).unwrap();
        for used in uses(&manifest) {
            assert!(allowed.contains(&used.as_str()), "{name} uses {used}");
        }
    }
}

#[test]
fn what_belongs_to_one_module_is_in_no_other() {
    for (what, place) in [
        ("bincode::", "crates/reveille-store/src/codec.rs"),
        ("io::stdout()", "crates/reveille-cli/src/out.rs"),
        ("SystemTime::now", "crates/reveille/src/clock.rs"),
    ] {
        let elsewhere: Vec<String> = files("crates", ".rs")
            .into_iter()
            .filter(|(name, text)| {
                let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                name != place && code.into_iter().any(|line| line.contains(what))
            })
            .map(|(name, _)| name)
            .collect();
        // The clock of the demo's journals, and the default of a store without a runtime.
        let known = ["crates/reveille-cli/src/demo.rs", "crates/reveille-store/src/options.rs"];
        for name in elsewhere {
            assert!(
                what == "SystemTime::now" && known.contains(&name.as_str()),
                "{what} in {name}"
            );
        }
    }
}

#[test]
fn every_wait_on_the_wall_clock_says_why() {
    for (name, text) in sources().into_iter().filter(|(name, _)| name.contains("tests/")) {
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            let waits = ["thread::sleep(", "wall_pause(", "SystemTime::now("];
            let is_wait = waits.iter().any(|wait| line.contains(wait));
            let defines = line.contains("fn wall_pause") || line.contains("let waits");
            if is_wait && !defines {
                let above = lines[n.saturating_sub(3)..=n].join("\n");
                assert!(above.contains("wall clock:"), "{name}:{}: {line}", n + 1);
            }
        }
    }
}
