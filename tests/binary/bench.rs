//! `bench`: its keys, and that it counts. Figures are not looked at: counts and orders are.

use reveille_tests::binary::run;
use serde_json::Value;

fn bench(args: &[&str]) -> Value {
    let out = run(&[&["bench"], args, &["--json"]].concat());
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_str(&text).unwrap()
}

fn has(found: &Value, keys: &[&str]) {
    for key in keys {
        assert!(found.get(key).is_some(), "{key} in {found}");
    }
}

#[test]
fn bench_mailbox_loses_and_doubles_nothing_and_prints_its_keys() {
    let found = bench(&["mailbox", "--senders", "8", "--mailboxes", "20", "--seconds", "1"]);
    has(
        &found,
        &[
            "senders",
            "mailboxes",
            "rate",
            "floor_rate",
            "ratio",
            "p50_us",
            "p99_us",
            "floor_p50_us",
            "floor_p99_us",
            "bytes_per_body_byte",
            "lost",
            "duplicated",
            "busy",
        ],
    );
    assert_eq!((&found["senders"], &found["mailboxes"]), (&8.into(), &20.into()));
    assert_eq!((&found["lost"], &found["duplicated"]), (&0.into(), &0.into()));
    assert!(found["rate"].as_f64().unwrap() > 0.0);
}

#[test]
fn bench_wake_makes_the_injections_that_the_log_calls_for() {
    let found = bench(&["wake", "--sessions", "20", "--messages", "30"]);
    has(
        &found,
        &[
            "sessions",
            "reasons",
            "windows",
            "injections",
            "expected_injections",
            "lateness_p99_us",
            "rate",
            "lost",
            "duplicated",
            "busy",
        ],
    );
    assert_eq!(found["reasons"], 600);
    assert_eq!(found["injections"], found["expected_injections"]);
    assert!(found["injections"].as_u64().unwrap() >= 20);
    assert_eq!((&found["lost"], &found["duplicated"]), (&0.into(), &0.into()));
}
