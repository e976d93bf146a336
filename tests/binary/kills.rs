//! KILL at seeded moments, each followed by `verify` and a start; judged by outside journals.
//!
//! `REVEILLE_KILLS` sets the number of rounds, `REVEILLE_SEED` replays one.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use reveille_tests::binary::{Killed, command, run, wall_pause};
use reveille_tests::skip;
use rustix::process::{Pid, Signal, kill_process};

const EACH: usize = 3;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap())
}

/// A crew whose programs write down what happens to them. Each round has some workers more.
fn crew(folder: &Path, rounds: usize) -> String {
    let journal = |name: &str| folder.join(name).display().to_string();
    let mut crew = format!(
        "[limits]\nslots = 4\nchildren = 100000\ntree = 100000\nspawns_per_minute = 100000\n\
         [agents.lead]\ncommand = [\"sh\", \"-c\", '''\n\
         text=$(cat)\n\
         names=$(printf '%s' \"$text\" | sed -n '1s/.* names=\"\\([^\"]*\\)\".*/\\1/p' | tr ' ' ,)\n\
         printf '%s' \"$text\" | grep -o 'run=\"run_[0-9A-Z]*\" state=\"[a-z]*\"' | \
         sed \"s/^/$REVEILLE_INJECTION $REVEILLE_ATTEMPT ${{names:--}} /\" >> {}\n''']\n\
         [agents.worker]\ncommand = [\"sh\", \"-c\", '''\n\
         echo start $REVEILLE_RUN >> {1}\n\
         sleep 0.03\n\
         echo end $REVEILLE_RUN >> {1}\n''']\n\
         [sessions.lead]\nagent = \"lead\"\nfirst = \"go\"\n",
        journal("lead"),
        journal("workers"),
    );
    for _ in 0..rounds * EACH {
        let _ = write!(crew, "[[sessions.lead.workers]]\nagent = \"worker\"\nfirst = \"work\"\n");
    }
    crew
}

#[test]
fn a_kill_at_any_moment_loses_nothing_and_doubles_nothing() {
    if !skip::has("sh") {
        return;
    }
    let rounds = usize::try_from(number("REVEILLE_KILLS").unwrap_or(10)).unwrap();
    let seed = number("REVEILLE_SEED").unwrap_or_else(|| fastrand::u64(..));
    eprintln!("REVEILLE_SEED={seed} REVEILLE_KILLS={rounds}");
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("crew.toml"), folder.path().join("data"));
    let (path, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let up = ["up", path, "--data", data, "--until-idle"];
    for round in 1..=rounds {
        fs::write(&file, crew(folder.path(), round)).unwrap();
        let mut host = Killed(command(&up).stdout(std::process::Stdio::null()).spawn().unwrap());
        // wall clock: the moment of the KILL is the point
        wall_pause(Duration::from_millis(random.u64(0..350)));
        if random.u8(0..4) == 0 {
            // Fails when it has ended already.
            let _ = kill_process(Pid::from_child(&host.0), Signal::TERM);
            // wall clock: into the shutdown
            wall_pause(Duration::from_millis(random.u64(0..40)));
        }
        host.0.kill().unwrap();
        host.0.wait().unwrap();
        let verify = run(&["verify", "--data", data]);
        let said = String::from_utf8_lossy(&verify.stdout).into_owned()
            + &String::from_utf8_lossy(&verify.stderr);
        // Killed before there was a store: then there is nothing to verify.
        let none = verify.status.code() == Some(5) && said.contains("there is no store");
        assert!(verify.status.success() || none, "round {round}, seed {seed}: {said}");
    }
    let last = run(&up);
    assert!(last.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&last.stderr));
    let verify = run(&["verify", "--data", data]);
    assert!(verify.status.success(), "seed {seed}");
    judge(folder.path(), &dead_mail(data), rounds * EACH, seed);
}

/// All dead mail, as text: a notice that lives through three deaths of its process is dead.
fn dead_mail(data: &str) -> String {
    let said = run(&["dead", "list", "--limit", "100000", "--json", "--data", data]);
    assert!(said.status.success(), "{said:?}");
    let list = String::from_utf8(said.stdout).unwrap();
    let show = |dead: &str| {
        let dead: serde_json::Value = serde_json::from_str(dead).unwrap();
        let id = dead["id"].as_str().unwrap();
        String::from_utf8(run(&["dead", "show", id, "--json", "--data", data]).stdout).unwrap()
    };
    list.lines().map(show).collect()
}

fn judge(folder: &Path, dead: &str, workers: usize, seed: u64) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let (journal, lead) = (read("workers"), read("lead"));
    let mut started = HashSet::new();
    for run in journal.lines().filter_map(|line| line.strip_prefix("start ")) {
        assert!(started.insert(run), "{run} was run twice: seed {seed}");
    }
    let mut told: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut moved_from: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut attempts = HashSet::new();
    for line in lead.lines() {
        let [injection, attempt, names, run, state] = line.split(' ').collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        let run = run.trim_start_matches("run=\"").trim_end_matches('"');
        if state.contains("stalled") {
            continue;
        }
        moved_from.insert(injection, names.split(',').collect());
        told.entry(run).or_default().insert(injection);
        assert!(attempts.insert((run, injection, attempt)), "told twice at once: {line}");
    }
    let of_the_dead = dead.split("run=\\\"").skip(1).filter_map(|rest| rest.split('\\').next());
    for run in of_the_dead {
        told.entry(run).or_default();
    }
    assert_eq!(told.len(), workers, "every worker is told of: seed {seed}");
    for run in started {
        assert!(told.contains_key(run), "{run} started and is not told: seed {seed}");
    }
    for (run, injections) in told {
        // What a process died of twice is taken apart: the parts name what they were taken from.
        let taken_apart: HashSet<&str> =
            injections.iter().flat_map(|injection| &moved_from[injection]).copied().collect();
        let last = injections.iter().filter(|&injection| !taken_apart.contains(injection)).count();
        assert!(last <= 1, "{run} is told in {injections:?}: seed {seed}");
    }
}
