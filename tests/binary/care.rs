//! Care of a store from the command line: a backup while a runtime holds it, and back again.

use std::path::Path;

use reveille_tests::binary::{Killed, command, eventually, run};
use reveille_tests::skip;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn answer(args: &[&str]) -> (Option<i32>, String) {
    let out = run(args);
    let all = [out.stdout, out.stderr].concat();
    (out.status.code(), String::from_utf8(all).unwrap())
}

#[test]
fn a_store_in_use_is_backed_up_and_restored_and_a_backup_writes_over_nothing() {
    if !skip::has("true") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (data, crew) = (folder.path().join("data"), folder.path().join("crew.toml"));
    let (backup, back) = (folder.path().join("backup"), folder.path().join("back"));
    let agent =
        "[agents.a]\ncommand = [\"true\"]\n[sessions.lead]\nagent = \"a\"\nfirst = \"go\"\n";
    std::fs::write(&crew, agent).unwrap();
    let up = command(&["up", text(&crew), "--data", text(&data)]).spawn().unwrap();
    let up = Killed(up);
    eventually("it is up", || {
        run(&["send", "lead", "hello", "--data", text(&data)]).status.success()
    });
    assert_eq!(answer(&["backup", text(&backup), "--data", text(&data)]).0, Some(0));
    let (code, said) = answer(&["backup", text(&backup), "--data", text(&data)]);
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(answer(&["compact", "--data", text(&data)]).0, Some(4), "somebody holds it");
    drop(up);
    assert_eq!(answer(&["restore", text(&backup), "--data", text(&data)]).0, Some(2), "not over");
    assert_eq!(answer(&["restore", text(&backup), "--data", text(&back)]).0, Some(0));
    assert_eq!(answer(&["verify", "--data", text(&back)]).0, Some(0));
    assert_eq!(answer(&["compact", "--data", text(&back)]).0, Some(0));
    let (code, said) = answer(&["doctor", "--data", text(&back)]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("format 2"), "{said}");
    let (code, said) = answer(&["migrate", "--data", text(&back)]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("already"), "{said}");
    let nowhere = folder.path().join("nowhere");
    assert_ne!(answer(&["doctor", "--data", text(&nowhere)]).0, Some(0), "there is no store");
}
