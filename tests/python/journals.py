#!/usr/bin/env python3
"""Recomputes the summary of `reveille demo --keep DIR --json` from the journals alone.

Usage: journals.py DIR SUMMARY.json

Reads what the processes themselves wrote (workers.jsonl, lead.jsonl) and what was going on at the
KILL (kill.json), and knows nothing else of Reveille. Exits 1 and says what is wrong when a figure
differs from the summary, or when the journals contradict each other.
"""

import json
import pathlib
import sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def is_end(line):
    return line["state"] is not None and line["state"] != "stalled"


def summary(workers, lead, kill):
    ends = [line for line in lead if is_end(line)]
    told = {}
    for line in ends:
        told.setdefault(line["run"], []).append(line)
    started = {line["run"] for line in workers if line["event"] == "start"}
    addresses = {line["address"] for line in workers if line["event"] == "start"}
    addresses |= {line["about"] for line in lead if line["about"] is not None}
    reasons = len({line["message"] for line in lead})
    injections = len({line["injection"] for line in lead})

    def duplicated(of_run):
        attempts = [(line["injection"], line["attempt"]) for line in of_run]
        return len({i for i, _ in attempts}) > 1 or len(set(attempts)) < len(attempts)

    def in_state(state):
        return len({line["run"] for line in lead if line["state"] == state})

    return {
        "workers": len(addresses),
        "reasons": reasons,
        "injections": injections,
        "turns_saved": reasons - injections,
        "lost": sum(run not in told for run in started),
        "duplicated": sum(duplicated(of_run) for of_run in told.values()),
        "recovered": sum(one["run"] in told for one in kill["running"]),
        "cancelled": in_state("cancelled"),
        "stalled": in_state("stalled"),
    }


def contradictions(workers, lead):
    """What cannot be true of the journals of an undamaged run."""
    events = {}
    for line in workers:
        events.setdefault(line["run"], []).append(line["event"])
    for run, seen in events.items():
        if seen not in (["start"], ["start", "end"]):
            yield f"{run} has the events {seen}"
    states = {line["run"]: line["state"] for line in lead if is_end(line)}
    for run, state in states.items():
        if state == "completed" and events.get(run) != ["start", "end"]:
            yield f"{run} is told as completed and has the events {events.get(run)}"
    by_attempt = {}
    for line in lead:
        by_attempt.setdefault((line["injection"], line["attempt"]), []).append(line["message"])
    for (injection, attempt), messages in by_attempt.items():
        if len(set(messages)) < len(messages):
            yield f"{injection} has a message twice in attempt {attempt}"
        later = by_attempt.get((injection, attempt + 1))
        if later is not None and not set(messages) <= set(later):
            yield f"{injection} holds more in attempt {attempt} than in the next, which settled it"


def main():
    folder, expected = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    workers, lead = lines(folder / "workers.jsonl"), lines(folder / "lead.jsonl")
    kill = json.loads((folder / "kill.json").read_text())
    wrong = list(contradictions(workers, lead))
    for key, value in summary(workers, lead, kill).items():
        if expected.get(key) != value:
            wrong.append(f"{key} is {expected.get(key)} in the summary and {value} in the journals")
    for what in wrong:
        print(what)
    sys.exit(1 if wrong else 0)


main()
