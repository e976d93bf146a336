//! The verbs that look and act, against a runtime that holds the folder and on a folder at rest.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use reveille_tests::binary::{Killed, command, eventually};
use reveille_tests::skip;
use serde_json::Value;

/// One session whose agent does nothing, with a worker.
const CREW: &str = "[agents.a]\ncommand = [\"true\"]\n\
                    [sessions.lead]\nagent = \"a\"\n\
                    [[sessions.lead.workers]]\nagent = \"a\"\nfirst = \"x\"\n";

struct World {
    folder: tempfile::TempDir,
    data: PathBuf,
}

impl World {
    fn new() -> Self {
        Self::at("data")
    }

    fn at(data: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("crew.toml"), CREW).unwrap();
        let data = folder.path().join(data);
        Self { folder, data }
    }

    fn socket(&self) -> PathBuf {
        self.data.join("reveille.sock")
    }

    /// Starts a runtime and waits until it answers.
    fn up(&self) -> Killed {
        let crew = self.folder.path().join("crew.toml");
        let mut up = command(&["up", crew.to_str().unwrap(), "--data", self.path()]);
        let host = Killed(up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        eventually("the runtime answers", || self.run(&["questions", "--json"]).0 == Some(0));
        eventually("it has a socket", || self.connect().is_some());
        host
    }

    fn path(&self) -> &str {
        self.data.to_str().unwrap()
    }

    fn connect(&self) -> Option<UnixStream> {
        UnixStream::connect(self.socket()).ok()
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let output = command(args).args(["--data", self.path()]).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// The answers of a verb, a line each.
    fn all(&self, args: &[&str]) -> Vec<Value> {
        let (code, out, err) = self.run(&[args, &["--json"]].concat());
        assert_eq!(code, Some(0), "{args:?}: {out}{err}");
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn one(&self, args: &[&str]) -> Value {
        let mut all = self.all(args);
        assert_eq!(all.len(), 1, "{args:?}: {all:?}");
        all.remove(0)
    }

    fn send(&self, args: &[&str]) -> String {
        text(&self.one(&[&["send"], args].concat())["id"])
    }

    /// The code of a refusal, and its exit code.
    fn refused(&self, args: &[&str]) -> (String, i32) {
        let (code, out, err) = self.run(&[args, &["--json"]].concat());
        let error: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        (text(&error["error"]["code"]), code.unwrap())
    }

    fn lead(&self) -> String {
        text(&self.all(&["ps"])[0]["address"])
    }

    /// What stands in the log, without the starts of the store.
    fn log(&self) -> Vec<Value> {
        self.all(&["tail"])
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn end(mut host: Killed) {
    let pid = rustix::process::Pid::from_child(&host.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(host.0.wait().unwrap().success());
}

/// Sends, marks, holds, schedules, teams: all that is the same with a runtime and without.
fn act(world: &World) {
    let lead = world.lead();
    world.one(&["hold", "lead", "while the test looks"]);
    let entry = world.all(&["ps"]).remove(0);
    let keys: Vec<&String> = entry.as_object().unwrap().keys().collect();
    let named = ["address", "agent", "parent", "pending", "since", "state", "waiting_for"];
    assert_eq!(keys, named);
    assert!(text(&entry["state"]).ends_with(", held"), "{entry}");
    assert!(text(&entry["waiting_for"]).contains("while the test looks"), "{entry}");

    let flags = ["--kind", "request", "--subject", "S", "--summary", "M", "--label", "k=v"];
    let more = ["--reference", "file:a=what", "--task-id", "T1", "--correlation-id", "c"];
    let id = world.send(&[&["lead", "a secret body"][..], &flags, &more].concat());
    let inbox = world.all(&["inbox", "lead/main"]);
    let header = inbox.iter().find(|entry| entry["id"] == id.as_str()).unwrap();
    assert_eq!((&header["kind"], &header["subject"]), (&"request".into(), &"S".into()));
    assert_eq!(header["from"], "local", "from identity, whoever asks");
    let shown = world.one(&["show", &id]);
    assert_eq!(shown["body"], "a secret body");
    assert_eq!(shown["references"][0]["description"], "what");
    assert_eq!(shown["labels"][0][1], "v");
    assert_eq!(
        (&shown["to"][0]["address"], &shown["to"][0]["state"]),
        (&lead.as_str().into(), &"pending".into())
    );
    let why = world.one(&["why", &id]);
    assert!(text(&why["waiting_for"]).contains("held"), "{why}");
    assert_eq!(world.one(&["why", &lead])["subject"], lead.as_str());
    assert_eq!(world.one(&["show", "lead"])["address"], lead.as_str());

    assert_eq!(world.one(&["ack", &id])["state"], "acknowledged");
    assert_eq!(world.one(&["ack", &id])["news"], false, "twice is once");
    assert!(world.one(&["archive", &id, "--for", "lead"])["archived"].is_string());
    let taken = world.send(&["lead", "never mind"]);
    assert_eq!(world.one(&["retract", &taken])["states"][&lead], "retracted");
    let first = world.send(&["lead", "old", "--merge-key", "m"]);
    world.send(&["lead", "new", "--merge-key", "m"]);
    assert_eq!(world.one(&["show", &first])["to"][0]["state"], "displaced");
    let later = world.send(&["lead", "later", "--not-before", "10h"]);
    assert_eq!(world.one(&["show", &later])["to"][0]["state"], "delayed");

    act_on_people(world, &lead);
    assert_eq!(world.one(&["release", "lead"])["released"], 1);
    let events = world.log();
    assert!(events.iter().any(|event| event["type"] == "sent" && event["id"] == id.as_str()));
    assert!(!format!("{events:?}").contains("a secret body"));
    let last = events.last().unwrap()["position"].to_string();
    world.one(&["hold", "lead"]);
    let more = world.all(&["tail", "--after", &last]);
    assert!(more.iter().any(|event| event["type"] == "held"), "{more:?}");
    world.one(&["release", "lead"]);
}

fn act_on_people(world: &World, lead: &str) {
    let team = text(&world.one(&["team", "create", "lead", "crew"])["id"]);
    world.one(&["team", "add", "crew", "lead/a-1", "--role", "tests"]);
    let members = world.all(&["team", "members", &team]);
    assert_eq!(members.len(), 2);
    assert_eq!(members[1]["role"], "tests");
    assert_eq!(world.all(&["team", "list"])[0]["name"], "crew");
    let to_all = world.one(&["send", &team, "all of you", "--delivery", "passive"]);
    assert_eq!(to_all["states"].as_object().unwrap().len(), 2);
    assert_eq!(world.one(&["team", "remove", "crew", "lead/a-1"])["removed"], true);

    world.one(&["schedule", "add", "lead", "tick", "tock", "--every", "10h"]);
    assert_eq!(world.all(&["schedule", "list", "lead"])[0]["by"], "local");
    assert_eq!(world.one(&["schedule", "cancel", "lead", "tick"])["cancelled"], true);
    assert!(world.all(&["schedule", "list"]).is_empty());

    eventually("the worker is done", || world.all(&["ps"])[1]["state"] == "idle");
    assert_eq!(world.one(&["stop", "lead/a-1", "--reason", "enough"])["did"], "already_ended");
    let stopped = |world: &World| text(&world.all(&["ps"])[1]["state"]) == "stopped";
    assert!(stopped(world));
    assert_eq!(world.one(&["resume", "lead/a-1"])["was_stopped"], true);
    assert!(!stopped(world));

    assert_eq!(world.one(&["audit"])["overdue"], 0);
    assert!(world.all(&["questions"]).is_empty());
    assert!(world.all(&["dead", "list", lead]).is_empty());
}

/// What is refused says why, with the code and the exit code of the contract.
fn refuse(world: &World) {
    let refused = |args: &[&str], code: &str, exit: i32| {
        assert_eq!(world.refused(args), (code.to_owned(), exit), "{args:?}");
    };
    let missing = "msg_00000000000000000000000000";
    let nobody = "ses_00000000000000000000000000/main";
    refused(&["send", "nobody", "x"], "unknown_id", 3);
    refused(&["send", nobody, "x"], "unknown_recipient", 3);
    refused(&["send", "lead", "x", "--kind", "gossip"], "invalid", 2);
    refused(&["send", "lead", "x", "--kind", "notice"], "forbidden", 4);
    refused(&["send", "lead", "x", "--not-before", "soon"], "invalid", 2);
    refused(&["send", "lead", "x", "--label", "no pair"], "invalid", 2);
    refused(&["send", "lead", &"x".repeat(32_769)], "too_large", 4);
    refused(&["inbox", nobody], "unknown_actor", 3);
    refused(&["show", missing], "unknown_id", 3);
    refused(&["show", "msg_nonsense"], "invalid", 2);
    refused(&["answer", "que_00000000000000000000000000", "approve"], "unknown_id", 3);
    refused(&["answer", "nonsense", "approve"], "invalid", 2);
    refused(&["dead", "drop", missing], "unknown_id", 3);
    refused(&["team", "members", "nobody"], "unknown_id", 3);
    refused(&["schedule", "add", "lead", "k", "--every", "1ms"], "invalid", 2);
}

#[test]
fn every_verb_works_with_a_runtime_and_on_a_folder_at_rest() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    let host = world.up();
    act(&world);
    refuse(&world);
    end(host);
    assert!(!world.socket().exists(), "a runtime that shuts down removes its socket");
    act(&world);
    refuse(&world);
    assert_eq!(world.refused(&["tail", "--follow"]), ("invalid".to_owned(), 2));
    let before = world.log();
    for look in [&["ps"][..], &["audit"], &["why", "lead"], &["show", "lead"], &["dead", "list"]] {
        world.all(look);
    }
    assert_eq!(world.log(), before, "looking changes nothing");
    let (code, verified, _) = world.run(&["verify"]);
    assert_eq!(code, Some(0), "{verified}");
}

#[test]
fn mail_that_was_left_at_rest_wakes_its_receiver_at_the_next_start() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    end(world.up());
    let id = world.send(&["lead", "for later"]);
    let why = world.one(&["why", &id]);
    assert_eq!(why["waiting_for"], "a runtime: nobody runs this store");
    let _host = world.up();
    eventually("it was injected", || world.one(&["show", &id])["to"][0]["state"] == "injected");
}

#[test]
fn a_call_under_one_key_is_done_once_with_a_runtime_and_without() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    let host = world.up();
    let call = ["lead", "once", "--key", "k"];
    let first = world.send(&call);
    let again = world.one(&[&["send"], &call[..]].concat());
    assert_eq!((&again["id"], &again["duplicate"]), (&first.as_str().into(), &true.into()));
    end(host);
    assert_eq!(world.send(&call), first);
    let other = ["send", "lead", "twice", "--key", "k"];
    assert_eq!(world.refused(&other), ("idempotency_conflict".to_owned(), 4));
}

#[test]
fn dead_mail_is_shown_redriven_and_dropped() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    let host = world.up();
    world.one(&["hold", "lead"]);
    let id = world.send(&["lead", "perishable", "--expires-at", "50ms"]);
    eventually("it is dead", || !world.all(&["dead", "list"]).is_empty());
    let dead = |world: &World| {
        let shown = world.one(&["dead", "show", &id]);
        assert_eq!(
            (&shown["reason"], &shown["message"]["body"]),
            (&"expired".into(), &"perishable".into())
        );
    };
    dead(&world);
    let anew = world.one(&["dead", "redrive", &id]);
    assert_eq!(world.one(&["show", &text(&anew["id"])])["redrives"], id.as_str());
    end(host);
    dead(&world);
    world.one(&["dead", "drop", &id]);
    assert!(world.all(&["dead", "list"]).is_empty());
    assert_eq!(world.refused(&["dead", "drop", &id]).1, 3);
}

#[test]
fn a_socket_that_a_killed_runtime_left_is_in_nobodys_way() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    drop(world.up());
    assert!(world.socket().exists(), "KILL removes nothing");
    let id = world.send(&["lead", "after the KILL"]);
    let host = world.up();
    let mode = fs::metadata(world.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    eventually("it was injected", || world.one(&["show", &id])["to"][0]["state"] == "injected");
    end(host);
}

#[test]
fn a_data_folder_with_a_path_that_no_socket_may_have_works_all_the_same() {
    if !skip::has("true") || !Path::new("/proc/self/fd").exists() {
        return;
    }
    let world = World::at(&["x".repeat(100), "y".repeat(100)].join("/"));
    let crew = world.folder.path().join("crew.toml");
    let mut up = command(&["up", crew.to_str().unwrap(), "--data", world.path()]);
    let host = Killed(up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    eventually("it has a socket", || world.socket().exists());
    // A follow is refused at rest, so this asks the runtime.
    let mut follow = command(&["tail", "--follow", "--data", world.path()]);
    let mut follow = Killed(follow.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(follow.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("1 "), "{line}");
    end(host);
    assert!(!world.socket().exists());
}

#[test]
fn a_tail_follows_what_happens_until_the_runtime_ends() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    let host = world.up();
    world.one(&["hold", "lead"]);
    let last = world.log().last().unwrap()["position"].to_string();
    let mut tail =
        command(&["tail", "--follow", "--after", &last, "--json", "--data", world.path()]);
    let mut tail = Killed(tail.stdout(Stdio::piped()).spawn().unwrap());
    let id = world.send(&["lead", "now"]);
    let mut lines = BufReader::new(tail.0.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let event = next();
    assert_eq!((&event["type"], &event["id"]), (&"sent".into(), &id.as_str().into()));
    end(host);
    assert_eq!(next()["error"]["code"], "shutting_down");
    assert_eq!(tail.0.wait().unwrap().code(), Some(5));
}

#[test]
fn a_body_may_come_from_standard_input_up_to_its_limit() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    end(world.up());
    let piped = |body: &[u8]| {
        let mut send = command(&["send", "lead", "-", "--json", "--data", world.path()]);
        let mut send = send.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // One that reads no further than the limit may close before it has all.
        let _ = send.stdin.take().unwrap().write_all(body);
        let output = send.wait_with_output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let sent = piped(&[b'x'; 32_768]);
    assert_eq!(text(&world.one(&["show", &text(&sent["id"])])["body"]).len(), 32_768);
    assert_eq!(piped(&vec![b'x'; 1 << 20])["error"]["code"], "too_large");
    assert_eq!(piped(b"\xff")["error"]["code"], "invalid");
}

/// Sends bytes and reads all that is answered until the runtime closes, or the client has shut its
/// side.
fn say(world: &World, bytes: &[u8]) -> Vec<Value> {
    let mut stream = world.connect().unwrap();
    // The runtime may refuse the line before it has all of it; what it did not read is then told to
    // the client as a connection that was reset, after the answer.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

#[test]
fn garbage_huge_and_cut_off_lines_change_nothing_and_are_told_so() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    let host = world.up();
    world.one(&["hold", "lead"]);
    let before = world.log();
    let codes = |bytes: &[u8]| -> Vec<String> {
        say(&world, bytes).iter().map(|answer| text(&answer["error"]["code"])).collect()
    };
    for garbage in [
        "garbage",
        "",
        "\u{0}",
        "[]",
        "{}",
        "{\"do\":\"fly\"}",
        "{\"do\":\"send\"}",
        "{\"do\":\"send\",\"to\":\"lead\",\"body\":\"x\",\"from\":\"human:anna\"}",
        "{\"do\":\"questions\",\"more\":1}",
        "{\"do\":\"send\",\"to\":\"lead\",\"body\":7}",
    ] {
        assert_eq!(codes(format!("{garbage}\n").as_bytes()), ["malformed"], "{garbage}");
    }
    assert_eq!(codes(b"\xff\xfe\n"), ["malformed"]);
    assert_eq!(codes(b"{\"do\":\"send\",\"to\":\"lead\",\"body\":\"cut o"), ["malformed"]);
    assert_eq!(codes(b"{\"do\":\"send\",\"to\":\"lead\",\"body\":\"no end\"}"), ["malformed"]);
    let huge =
        format!("{{\"do\":\"send\",\"to\":\"lead\",\"body\":\"{}\"}}\n", "x".repeat(1 << 20));
    assert_eq!(codes(huge.as_bytes()), ["too_large"]);
    let body = "\\u0001".repeat(32_769);
    let large = format!("{{\"do\":\"send\",\"to\":\"lead\",\"body\":\"{body}\"}}\n");
    assert_eq!(codes(large.as_bytes()), ["too_large"], "one byte too many");
    assert_eq!(world.log(), before);

    // Clients that go away in the middle are in nobody's way.
    for part in ["", "{\"do\":", "{\"do\":\"tail\",\"follow\":true}\n"] {
        for _ in 0..100 {
            // Those that come while too many are open are turned away.
            let _ = world.connect().unwrap().write_all(part.as_bytes());
        }
    }
    eventually("others are served", || world.run(&["tail"]).0 == Some(0));
    assert_eq!(world.log(), before);
    // One connection may ask several things, and a bad line ends nothing.
    let answers = say(&world, b"?\n{\"do\":\"questions\"}\n{\"do\":\"ps\",\"after\":null}\n");
    assert!(answers[0]["error"].is_object() && answers[1]["ok"].is_array());
    assert_eq!(answers[2]["ok"].as_array().unwrap().len(), 2);
    end(host);
}

#[test]
fn more_connections_than_are_served_are_told_so() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    let host = world.up();
    let mut idle: Vec<UnixStream> = Vec::new();
    eventually("one more is refused, and a command says so", || {
        // Those that say nothing are let go of after a while: a slow machine needs new ones.
        idle.extend((0..64).filter_map(|_| world.connect()));
        let (code, out, _) = world.run(&["ps", "--json"]);
        code == Some(4) && out.contains("rate_limited")
    });
    drop(idle);
    eventually("there is room again", || world.run(&["ps"]).0 == Some(0));
    end(host);
}

#[test]
fn a_folder_that_somebody_holds_without_a_socket_is_in_use() {
    let world = World::new();
    let store = reveille::Store::open(&world.data).unwrap();
    assert_eq!(world.refused(&["ps"]), ("already_in_use".to_owned(), 4));
    store.close().unwrap();
    drop(store);
    assert!(world.all(&["ps"]).is_empty());
    let nowhere = World::new();
    assert_eq!(nowhere.run(&["ps"]).0, Some(5), "there is no store");
    assert!(!nowhere.data.exists(), "and none is made");
}

#[test]
fn verbs_at_the_same_time_on_a_folder_at_rest_wait_for_one_another() {
    if !skip::has("true") {
        return;
    }
    let world = World::new();
    end(world.up());
    let send = |n: usize| {
        let n = n.to_string();
        let mut send = command(&["send", "lead", &n, "--json", "--data", world.path()]);
        send.stdout(Stdio::piped()).spawn().unwrap()
    };
    let all: Vec<_> = (0..8).map(send).collect();
    for one in all {
        let output = one.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    // The notice of the worker's end may wait there as well.
    let inbox = world.all(&["inbox", "lead"]);
    assert_eq!(inbox.iter().filter(|entry| entry["from"] == "local").count(), 8, "{inbox:?}");
}
