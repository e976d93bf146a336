//! Section 12: a store of an older format is migrated after a backup, one of a newer format is refused
//! with both numbers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::fs;
use std::path::Path;

use futures_executor::block_on;
use reveille_store::OpenError;
use reveille_store::migrate::migrate;
use reveille_store::raw::{RawStore, Table};
use reveille_store::step::recover::Recover;
use reveille_store::verify::verify;
use support::small;

/// What a program of format 1 had in its tables when it was killed: a checkpoint, records after it,
/// records that were copied forward, mail that waits and mail in an open injection.
const FIRST: &str = include_str!("golden/store-1.txt");

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn put(folder: &Path) {
    let raw = RawStore::create(folder).unwrap();
    for line in FIRST.lines() {
        let mut words = line.split(' ');
        let table = match words.next().unwrap() {
            "log" => Table::Log,
            "rows" => Table::Rows,
            "segments" => Table::Segments,
            "meta" => Table::Meta,
            other => panic!("{other}"),
        };
        let key = words.next().unwrap().parse().unwrap();
        raw.put(table, key, Some(&unhex(words.next().unwrap()))).unwrap();
    }
    fs::write(folder.join("FORMAT"), "reveille store 1\n").unwrap();
}

#[test]
fn a_store_of_an_older_format_is_refused_until_it_is_migrated_and_loses_nothing_by_that() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path());
    let error = small(1 << 20).open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::OlderFormat { found: 1, known: 2, .. }), "{error}");
    assert!(error.to_string().contains("reveille migrate"), "{error}");

    let done = migrate(folder.path()).unwrap();
    assert_eq!((done.from, done.to), (1, 2));
    assert!(done.backup.unwrap().ends_with("store.redb.format-1"));
    let report = verify(folder.path()).unwrap();
    assert_eq!(report.findings, [], "after the migration");

    let store = small(1 << 20).open(folder.path()).unwrap();
    let unread: Vec<_> = block_on(store.look(|state| {
        state.rows().iter().flat_map(|row| row.unread()).map(|mail| mail.seq()).collect()
    }))
    .unwrap();
    assert!(unread.len() >= 5, "{unread:?}");
    assert!(store.records(&unread).unwrap().iter().all(Option::is_some), "bodies are there");
    let found = block_on(store.run(Recover)).unwrap();
    assert!(!found.again.is_empty() && !found.queued.is_empty(), "{found:?}");
    store.close().unwrap();
    drop(store);
    assert_eq!(verify(folder.path()).unwrap().findings, [], "after going on");
    assert_eq!(migrate(folder.path()).unwrap().backup, None, "once is enough");
}

#[test]
fn a_migration_that_was_cut_off_is_finished_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path());
    migrate(folder.path()).unwrap();
    // The rows are written, the marker is not.
    fs::write(folder.path().join("FORMAT"), "reveille store 1\n").unwrap();
    assert!(small(1 << 20).open(folder.path()).is_err());
    assert_eq!(migrate(folder.path()).unwrap().backup, None, "nothing is written again");
    assert!(small(1 << 20).open(folder.path()).is_ok());
}

#[test]
fn a_store_of_a_newer_format_is_refused_with_both_numbers() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path());
    fs::write(folder.path().join("FORMAT"), "reveille store 3\n").unwrap();
    let before = fs::read(folder.path().join("store.redb")).unwrap();
    for error in [
        migrate(folder.path()).unwrap_err().to_string(),
        small(1 << 20).open(folder.path()).unwrap_err().to_string(),
    ] {
        assert!(error.contains("format 3") && error.contains("formats up to 2"), "{error}");
    }
    assert_eq!(fs::read(folder.path().join("store.redb")).unwrap(), before);
}
