//! P2, section 12: a store that was damaged is never taken for a good one, and what is broken is
//! named.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::print_stderr)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use reveille_store::raw::{RawStore, Table, close_blob, open_blob};
use reveille_store::record::Record;
use reveille_store::verify::verify;
use support::{Runner, small};

/// A store in which everything has happened; `history` decides whether its log was trimmed.
fn make(folder: &Path, history: u64) {
    let store = small(history).open(folder).unwrap();
    Runner::new(&store).everything().unwrap();
    store.close().unwrap();
}

fn copy(from: &Path, to: &Path) {
    for name in ["store.redb", "FORMAT"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

type Damage = Box<dyn Fn(&RawStore)>;

fn damage(what: &str, needle: &str, how: impl Fn(&RawStore) + 'static) -> (String, String, Damage) {
    (what.to_owned(), needle.to_owned(), Box::new(how))
}

fn flip(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x40;
    bytes
}

/// The blob that holds a record of this type, and where in it.
fn holding(raw: &RawStore, kind: &str) -> (u64, Vec<u8>, usize) {
    for (key, bytes) in raw.entries(Table::Log).unwrap() {
        let (_, records) = open_blob(&bytes).unwrap();
        if let Some(at) = records.iter().position(|(_, record)| record.name() == kind) {
            return (key, bytes, at);
        }
    }
    panic!("no {kind} in the log")
}

fn change_records(raw: &RawStore, kind: &str, change: impl Fn(&mut Vec<Record>, usize)) {
    let (key, bytes, at) = holding(raw, kind);
    let (header, records) = open_blob(&bytes).unwrap();
    let mut records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
    change(&mut records, at);
    let value =
        if records.is_empty() { None } else { Some(close_blob(&header, &records).unwrap()) };
    raw.put(Table::Log, key, value.as_deref()).unwrap();
}

/// Ways to damage the log, with good CRCs where a careful forger would make them.
fn log_damages() -> Vec<(String, String, Damage)> {
    let entry = |raw: &RawStore, n: usize| raw.entries(Table::Log).unwrap()[n].clone();
    let mut all = vec![
        damage("a bit of a blob's header flipped", "log blob", move |raw| {
            let (key, bytes) = entry(raw, 3);
            raw.put(Table::Log, key, Some(&flip(&bytes, 10))).unwrap();
        }),
        damage("a bit of a blob's last record flipped", "log blob", move |raw| {
            let (key, bytes) = entry(raw, 3);
            raw.put(Table::Log, key, Some(&flip(&bytes, bytes.len() - 1))).unwrap();
        }),
        damage("a blob removed", "is missing or out of place", move |raw| {
            raw.put(Table::Log, entry(raw, 3).0, None).unwrap();
        }),
        damage("the first blob removed", "was expected", move |raw| {
            raw.put(Table::Log, entry(raw, 0).0, None).unwrap();
        }),
        damage("the last blob removed", "was expected", move |raw| {
            let last = raw.entries(Table::Log).unwrap().len() - 1;
            raw.put(Table::Log, entry(raw, last).0, None).unwrap();
        }),
        damage("two blobs swapped", "says that it begins with record", move |raw| {
            let ((a, first), (b, second)) = (entry(raw, 3), entry(raw, 4));
            raw.put(Table::Log, a, Some(&second)).unwrap();
            raw.put(Table::Log, b, Some(&first)).unwrap();
        }),
        damage("a blob doubled", "says that it begins with record", move |raw| {
            let ((_, first), (next, _)) = (entry(raw, 3), entry(raw, 4));
            raw.put(Table::Log, next, Some(&first)).unwrap();
        }),
        damage("a blob truncated", "log blob", move |raw| {
            let (key, bytes) = entry(raw, 3);
            raw.put(Table::Log, key, Some(&bytes[..bytes.len() - 5])).unwrap();
        }),
        damage("a blob emptied", "log blob", move |raw| {
            raw.put(Table::Log, entry(raw, 3).0, Some(&[])).unwrap();
        }),
    ];
    for (_, _, kind) in Record::KINDS {
        let removed = format!("a {kind} record dropped, with good CRCs");
        all.push(damage(&removed, "", move |raw| {
            change_records(raw, kind, |records, at| drop(records.remove(at)));
        }));
        let doubled = format!("a {kind} record doubled, with good CRCs");
        all.push(damage(&doubled, "", move |raw| {
            change_records(raw, kind, |records, at| {
                records.insert(at, records[at].clone());
            });
        }));
        let flipped = format!("a bit of a {kind} record flipped");
        all.push(damage(&flipped, "log blob", move |raw| {
            let (key, bytes, _) = holding(raw, kind);
            raw.put(Table::Log, key, Some(&flip(&bytes, 52))).unwrap();
        }));
    }
    all
}

/// Ways to damage what stands behind the log.
fn checkpoint_damages() -> Vec<(String, String, Damage)> {
    let entry = |raw: &RawStore, table: Table, n: usize| raw.entries(table).unwrap()[n].clone();
    vec![
        damage("a bit of a row flipped", "row 1", move |raw| {
            let (key, bytes) = entry(raw, Table::Rows, 1);
            raw.put(Table::Rows, key, Some(&flip(&bytes, 30))).unwrap();
        }),
        damage("a row removed", "row 1: it is missing", move |raw| {
            raw.put(Table::Rows, 1, None).unwrap();
        }),
        damage("two rows swapped", "row", move |raw| {
            let ((_, first), (_, second)) =
                (entry(raw, Table::Rows, 0), entry(raw, Table::Rows, 1));
            raw.put(Table::Rows, 0, Some(&second)).unwrap();
            raw.put(Table::Rows, 1, Some(&first)).unwrap();
        }),
        damage("a row in another one's place", "two actors have one address", move |raw| {
            let (_, first) = entry(raw, Table::Rows, 0);
            raw.put(Table::Rows, 1, Some(&first)).unwrap();
        }),
        damage("a row truncated", "row 1", move |raw| {
            let (key, bytes) = entry(raw, Table::Rows, 1);
            raw.put(Table::Rows, key, Some(&bytes[..bytes.len() - 1])).unwrap();
        }),
        damage("a bit of the checkpoint flipped", "meta checkpoint", move |raw| {
            let (key, bytes) = entry(raw, Table::Meta, 1);
            raw.put(Table::Meta, key, Some(&flip(&bytes, 12))).unwrap();
        }),
        damage("the store's own description removed", "meta store", |raw| {
            raw.put(Table::Meta, 0, None).unwrap();
        }),
    ]
}

fn segment_damages() -> Vec<(String, String, Damage)> {
    vec![
        damage("a bit of a segment flipped", "segment", |raw| {
            let (key, bytes) = raw.entries(Table::Segments).unwrap()[0].clone();
            raw.put(Table::Segments, key, Some(&flip(&bytes, 20))).unwrap();
        }),
        damage("the first blob of a trimmed log removed", "expected to be its first", |raw| {
            let (key, _) = raw.entries(Table::Log).unwrap()[0].clone();
            raw.put(Table::Log, key, None).unwrap();
        }),
        damage("a segment removed", "it is gone", |raw| {
            let (key, _) = raw.entries(Table::Segments).unwrap()[0].clone();
            raw.put(Table::Segments, key, None).unwrap();
        }),
    ]
}

fn assert_found(good: &Path, damages: Vec<(String, String, Damage)>) {
    assert_eq!(verify(good).unwrap().findings, [], "undamaged");
    for (what, needle, apply) in damages {
        let folder = tempfile::tempdir().unwrap();
        copy(good, folder.path());
        let raw = RawStore::open(folder.path()).unwrap();
        apply(&raw);
        drop(raw);
        let findings = verify(folder.path()).unwrap().findings;
        assert!(!findings.is_empty(), "{what}: not found");
        let named = findings.iter().any(|found| found.what.contains(&needle));
        assert!(named, "{what}: {needle:?} is not named in {findings:?}");
        let opened = small(1 << 20).open(folder.path());
        let caught_at_open = opened.is_err();
        eprintln!(
            "{what}: {} [{}]",
            findings[0].what,
            if caught_at_open { "open" } else { "verify" }
        );
    }
}

#[test]
fn every_way_to_damage_the_log_is_found_and_named() {
    let good = tempfile::tempdir().unwrap();
    make(good.path(), 1 << 20);
    let raw = RawStore::open(good.path()).unwrap();
    let kinds: BTreeSet<&str> = raw
        .entries(Table::Log)
        .unwrap()
        .iter()
        .flat_map(|(_, bytes)| open_blob(bytes).unwrap().1)
        .map(|(_, record)| record.name())
        .collect();
    assert_eq!(kinds.len(), Record::KINDS.len(), "the workload writes every type: {kinds:?}");
    drop(raw);
    assert_found(good.path(), log_damages());
}

#[test]
fn every_way_to_damage_checkpoints_is_found_and_named() {
    let good = tempfile::tempdir().unwrap();
    make(good.path(), 1 << 20);
    assert_found(good.path(), checkpoint_damages());
}

#[test]
fn damage_to_what_was_copied_forward_is_found_and_named() {
    let good = tempfile::tempdir().unwrap();
    make(good.path(), 500);
    assert_found(good.path(), segment_damages());
}

#[test]
fn a_store_of_a_newer_format_is_refused_with_both_numbers_and_left_untouched() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), 1 << 20);
    fs::write(folder.path().join("FORMAT"), "reveille store 9\n").unwrap();
    let before = fs::read(folder.path().join("store.redb")).unwrap();
    let error = small(1 << 20).open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("format 9") && error.contains("formats up to 2"), "{error}");
    assert_eq!(fs::read(folder.path().join("store.redb")).unwrap(), before);
}
