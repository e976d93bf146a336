//! `demo` on many kinds of folders, judged by a script in another language.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use reveille_tests::binary::{command, run};
use reveille_tests::skip;
use serde_json::Value;

fn demo(path: &Path, keep: &Path) -> (Value, Output) {
    let (path, keep) = (path.to_str().unwrap(), keep.to_str().unwrap());
    let output = run(&["demo", path, "--keep", keep, "--json"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "one object and nothing else: {text}");
    (serde_json::from_str(&text).unwrap(), output)
}

fn figure(summary: &Value, key: &str) -> u64 {
    summary[key].as_u64().unwrap_or_else(|| panic!("{key} in {summary}"))
}

fn assert_good(summary: &Value, output: &Output, workers: u64) {
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{summary}\n{log}");
    assert_eq!(figure(summary, "workers"), workers, "{summary}\n{log}");
    for (key, value) in [("lost", 0), ("duplicated", 0), ("cancelled", 1), ("stalled", 1)] {
        assert_eq!(figure(summary, key), value, "{key}: {summary}\n{log}");
    }
    assert!(figure(summary, "recovered") >= 1, "{summary}");
    let saved = figure(summary, "reasons") - figure(summary, "injections");
    assert_eq!(figure(summary, "turns_saved"), saved);
}

fn files(folder: &Path, count: usize) {
    for n in 0..count {
        fs::write(folder.join(format!("file-{n}")), "one\ntwo\n".repeat(n)).unwrap();
    }
}

/// The checker agrees, or says what is wrong.
fn check(keep: &Path, summary: &Value) -> Result<(), String> {
    let file = keep.join("summary.json");
    fs::write(&file, summary.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/journals.py");
    let output = Command::new("python3").arg(script).arg(keep).arg(file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

#[test]
fn sixty_workers_are_gathered_into_few_injections_and_a_script_agrees_with_every_figure() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    files(folder.path(), 60);
    let keep = kept.path().join("kept");
    let (summary, output) = demo(folder.path(), &keep);
    assert_good(&summary, &output, 62);
    assert!(figure(&summary, "injections") * 4 <= figure(&summary, "reasons"), "{summary}");

    let lines = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(keep.join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (workers, lead) = (lines("workers.jsonl"), lines("lead.jsonl"));
    let last_end = workers.iter().rfind(|line| line["event"] == "end").unwrap();
    let told = lead.iter().find(|line| line["kind"] == "notice").unwrap();
    assert!(told["at"].as_u64() < last_end["at"].as_u64(), "the lead hears while workers run");

    if !skip::has("python3") {
        return;
    }
    check(&keep, &summary).unwrap();
    // One line less, and one line twice, in either journal: each is found.
    let completed = lead.iter().position(|line| line["state"] == "completed").unwrap();
    let ended = workers.iter().position(|line| line["event"] == "end").unwrap();
    let started = workers.iter().position(|line| line["run"] == workers[ended]["run"]).unwrap();
    for (name, at) in
        [("lead.jsonl", completed), ("workers.jsonl", ended), ("workers.jsonl", started)]
    {
        let whole = fs::read_to_string(keep.join(name)).unwrap();
        let all: Vec<&str> = whole.lines().collect();
        let (mut removed, mut doubled) = (all.clone(), all.clone());
        removed.remove(at);
        doubled.insert(at, all[at]);
        for (what, lines) in [("removed", removed), ("doubled", doubled)] {
            fs::write(keep.join(name), lines.join("\n") + "\n").unwrap();
            let found = check(&keep, &summary);
            assert!(found.is_err(), "line {at} of {name} {what}: not found");
        }
        fs::write(keep.join(name), whole).unwrap();
    }
    check(&keep, &summary).unwrap();
}

#[test]
fn a_folder_without_files_has_the_two_extra_workers() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (summary, output) = demo(folder.path(), &kept.path().join("kept"));
    assert_good(&summary, &output, 2);
}

#[test]
fn odd_names_links_pipes_and_hidden_files_are_taken_for_what_they_are() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path();
    let names: [&[u8]; 7] = [
        b"with spaces",
        b"with 'quotes' and \"quotes\"",
        b"line\nbreak",
        b"not \xff\xfe UTF-8",
        b"<message>&amp;",
        b"-rf",
        b"%41",
    ];
    for name in names {
        fs::write(path.join(std::ffi::OsStr::from_bytes(name)), "x\n").unwrap();
    }
    fs::create_dir(path.join("sub")).unwrap();
    fs::write(path.join("sub/one more"), "").unwrap();
    // None of these is a regular file that counts.
    fs::write(path.join(".hidden"), "").unwrap();
    symlink(path, path.join("sub/circle")).unwrap();
    symlink(path.join("nowhere"), path.join("dangling")).unwrap();
    fs::create_dir(path.join("closed")).unwrap();
    fs::set_permissions(path.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    if skip::has("mkfifo") {
        Command::new("mkfifo").arg(path.join("pipe")).status().unwrap();
    }
    let keep = kept.path().join("kept");
    let (summary, output) = demo(path, &keep);
    fs::set_permissions(path.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_good(&summary, &output, names.len() as u64 + 1 + 2);
    let journal = fs::read_to_string(keep.join("lead.jsonl")).unwrap();
    let failed = journal.lines().filter(|line| line.contains("\"failed\"")).count();
    assert_eq!(failed, 0, "every one of them was found and read");
}

#[test]
fn what_git_ignores_is_left_out() {
    if !skip::has("git") {
        return;
    }
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let git = |args: &[&str]| {
        let status = Command::new("git").args(args).current_dir(folder.path()).status().unwrap();
        assert!(status.success());
    };
    git(&["init", "--quiet"]);
    files(folder.path(), 3);
    fs::write(folder.path().join(".gitignore"), "file-0\n").unwrap();
    let (summary, output) = demo(folder.path(), &kept.path().join("kept"));
    assert_good(&summary, &output, 2 + 2);
}

#[test]
fn a_path_that_is_not_there_and_a_folder_that_is_taken_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let output = command(&["demo", "--json"]).arg(&nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["error"]["code"], "invalid");
    assert!(said["error"]["message"].as_str().unwrap().contains("nowhere"));

    fs::write(folder.path().join("mine"), "precious").unwrap();
    let output = command(&["demo", "."]).arg("--keep").arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.path().join("mine")).unwrap(), "precious");
}
