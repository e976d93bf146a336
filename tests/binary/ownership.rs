//! One owner at a time (section 12).

use std::fs;
use std::time::Duration;

use reveille_tests::binary::{Killed, command, eventually, run};
use serde_json::Value;

const CREW: &str = "[agents.a]\ncommand = [\"sleep\", \"60\"]\n\
                    [sessions.s]\nagent = \"a\"\nfirst = \"x\"\n";

#[test]
fn a_second_runtime_on_the_same_folder_is_refused_by_name_and_path() {
    let folder = tempfile::tempdir().unwrap();
    let (crew, data) = (folder.path().join("crew.toml"), folder.path().join("data"));
    fs::write(&crew, CREW).unwrap();
    let (crew, path) = (crew.to_str().unwrap(), data.to_str().unwrap());
    let first = Killed(command(&["up", crew, "--data", path]).spawn().unwrap());
    eventually("the first one is up", || data.join("FORMAT").exists());
    for second in [vec!["up", crew, "--data", path], vec!["verify", "--data", path]] {
        let second: Vec<&str> = second.into_iter().chain(["--json"]).collect();
        let begun = std::time::Duration::from_micros(wall_micros());
        let output = run(&second);
        let spent = std::time::Duration::from_micros(wall_micros()) - begun;
        assert_eq!(output.status.code(), Some(4));
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["error"]["code"], "already_in_use");
        let message = said["error"]["message"].as_str().unwrap();
        assert!(message.contains(path), "{message}");
        assert!(message.contains(&format!("process {} (reveille)", first.0.id())), "{message}");
        // Ten times what is promised: the machine may be busy.
        assert!(spent < Duration::from_secs(10), "{spent:?}");
    }
    drop(first);
    let output = run(&["verify", "--data", path]);
    assert!(output.status.success(), "a KILL leaves a store that is whole, and free");
}

#[allow(clippy::disallowed_methods)] // wall clock: how long another process takes
fn wall_micros() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_micros()).unwrap()
}

#[test]
fn a_store_that_is_missing_emptied_or_shortened_is_refused_and_left_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let (crew, data) = (folder.path().join("crew.toml"), folder.path().join("data"));
    let quick = "[agents.a]\ncommand = [\"true\"]\n[sessions.s]\nagent = \"a\"\nfirst = \"x\"\n";
    fs::write(&crew, quick).unwrap();
    let (crew, path) = (crew.to_str().unwrap(), data.to_str().unwrap());
    let up = ["up", crew, "--data", path, "--until-idle"];
    assert!(run(&up).status.success());
    let store = data.join("store.redb");
    let whole = fs::read(&store).unwrap();
    let half = whole.len() / 2;
    for (what, bytes) in [
        ("missing", None),
        ("emptied", Some(&whole[..0])),
        ("shortened to a byte", Some(&whole[..1])),
        ("shortened to half", Some(&whole[..half])),
    ] {
        match bytes {
            Some(bytes) => fs::write(&store, bytes).unwrap(),
            None => fs::remove_file(&store).unwrap(),
        }
        let output = run(&up);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{what}: {said}");
        assert!(said.contains("store_damaged") && said.contains(path), "{what}: {said}");
        assert_eq!(fs::read(&store).ok().as_deref(), bytes, "{what}");
        let verify = run(&["verify", "--data", path]);
        assert_eq!(verify.status.code(), Some(1), "{what}");
        fs::write(&store, &whole).unwrap();
    }
    assert!(run(&up).status.success(), "put back, it is good again");
}

#[test]
fn verify_without_a_store_says_so_and_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let output = run(&["verify", "--data", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no store"));
    assert!(!data.exists());
}

/// The pages of the file, which are redb's: it finds most damage, and panics over some.
#[test]
fn no_damaged_page_makes_a_command_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (crew, data) = (folder.path().join("crew.toml"), folder.path().join("data"));
    let quick = "[agents.a]\ncommand = [\"true\"]\n[sessions.s]\nagent = \"a\"\nfirst = \"x\"\n";
    fs::write(&crew, quick).unwrap();
    let (crew, path) = (crew.to_str().unwrap(), data.to_str().unwrap());
    assert!(run(&["up", crew, "--data", path, "--until-idle"]).status.success());
    let store = data.join("store.redb");
    let whole = fs::read(&store).unwrap();
    for at in (0..whole.len()).step_by(2048) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        fs::write(&store, &damaged).unwrap();
        let output = run(&["verify", "--data", path, "--json"]);
        let code = output.status.code();
        // Zero where nothing of the store is.
        assert!(code == Some(0) || code == Some(1), "byte {at}: {code:?}");
        assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok(), "byte {at}");
    }
}
