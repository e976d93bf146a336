//! `up`: the example crew, and its second start.

use std::fs;
use std::path::Path;

use reveille_tests::binary::{Killed, command, eventually, run};
use reveille_tests::skip;

fn example() -> String {
    let crew = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/crew.toml");
    crew.to_str().unwrap().to_owned()
}

fn up(crew: &str, data: &Path) -> String {
    let output = run(&["up", crew, "--data", data.to_str().unwrap(), "--until-idle"]);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_crew_runs_and_a_second_start_has_nothing_to_do() {
    if !skip::has("sh") {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let first = up(&example(), data.path());
    let ended = |name: &str| {
        first.lines().any(|line| line.contains(&format!("/{name} completed: success, ")))
    };
    for name in ["counter-1", "counter-2", "main"] {
        assert!(ended(name), "{name}: {first}");
    }
    assert_eq!(up(&example(), data.path()), "", "each end is told once");
    let output = run(&["verify", "--data", data.path().to_str().unwrap()]);
    assert!(output.status.success());
}

#[test]
fn a_history_has_every_record_once_over_all_starts() {
    if !skip::has("sh") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (data, history) = (folder.path().join("data"), folder.path().join("history"));
    for _ in 0..2 {
        let mut up = command(&["up", &example(), "--data", data.to_str().unwrap(), "--until-idle"]);
        assert!(up.arg("--history").arg(&history).output().unwrap().status.success());
    }
    let text = fs::read_to_string(&history).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    let of = |kind: &str| lines.iter().filter(|line| line["record"] == kind).collect::<Vec<_>>();
    assert_eq!(of("Opened").len(), 2);
    let first = &of("Sent")[0]["fields"]["content"]["Text"]["body"];
    assert_eq!(first, "Gather what your workers report.");
}

#[test]
fn an_interrupt_lets_the_turn_end_and_what_waits_goes_on_at_the_next_start() {
    if !skip::has("sh") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (crew, journal) = (folder.path().join("crew.toml"), folder.path().join("journal"));
    let go = folder.path().join("go");
    // The worker runs until the file `go` is there.
    let text = format!(
        "[limits]\nslots = 1\n\
         [agents.a]\ncommand = [\"sh\", \"-c\", '''\n\
         echo start $REVEILLE_ADDRESS >> {0}\n\
         until [ -e {1} ]; do sleep 0.01; done\n\
         echo end $REVEILLE_ADDRESS >> {0}\n''']\n\
         [sessions.s]\nagent = \"a\"\n\
         [[sessions.s.workers]]\nagent = \"a\"\nfirst = \"one\"\n\
         [[sessions.s.workers]]\nagent = \"a\"\nfirst = \"two\"\n",
        journal.display(),
        go.display()
    );
    fs::write(&crew, text).unwrap();
    let read = || fs::read_to_string(&journal).unwrap_or_default();
    let count = |what: &str| read().lines().filter(|line| line.starts_with(what)).count();
    let (crew, data) = (crew.to_str().unwrap(), folder.path().join("data"));
    let mut up_once = command(&["up", crew, "--data", data.to_str().unwrap()]);
    let mut host = Killed(up_once.spawn().unwrap());
    eventually("the first worker runs", || count("start") == 1);
    let pid = rustix::process::Pid::from_child(&host.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    fs::write(&go, "").unwrap();
    assert!(host.0.wait().unwrap().success());
    assert_eq!((count("start"), count("end")), (1, 1), "it ended, and the other did not start");

    up(crew, &data);
    let workers = read().lines().filter(|line| line.contains("/a-")).count();
    assert_eq!(workers, 4, "each ran once: {}", read());
}

#[test]
fn a_mistake_in_a_crew_file_is_named_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let crew = folder.path().join("crew.toml");
    fs::write(&crew, "[sessions.lead]\nagent = \"nobody\"\n").unwrap();
    let data = folder.path().join("data");
    let output = run(&["up", crew.to_str().unwrap(), "--data", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("sessions.lead uses agent \"nobody\""), "{said}");
    assert!(!data.exists());
}

#[test]
fn a_run_that_fails_says_why() {
    if !skip::has("sh") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let crew = folder.path().join("crew.toml");
    let text = "[agents.a]\ncommand = [\"sh\", \"-c\", \"echo my reason >&2; exit 3\"]\n\
                [agents.b]\ncommand = [\"./nowhere\"]\n\
                [sessions.s]\nagent = \"a\"\nfirst = \"x\"\n\
                [[sessions.s.workers]]\nagent = \"b\"\nfirst = \"x\"\n";
    fs::write(&crew, text).unwrap();
    let said = up(crew.to_str().unwrap(), &folder.path().join("data"));
    assert!(said.contains("main failed: exit:3, exit status: 3, my reason"), "{said}");
    assert!(said.contains("b-1 failed: did_not_start, "), "{said}");
}
