//! P2 to P9 at rest: a log whose every CRC and chain is good, but which says what cannot have
//! happened, is found by what it says; promise and record are named.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::path::Path;

use reveille_core::Seq;
use reveille_store::raw::{RawStore, Table, close_blob, open_blob};
use reveille_store::record::Record;
use reveille_store::verify::verify;
use support::{Runner, small};

type Edit = fn(&mut Record);

/// Writes the log anew with every record edited, and forgets all checkpoints.
fn forge(folder: &Path, edit: impl Fn(Seq, &mut Record)) {
    let raw = RawStore::open(folder).unwrap();
    let mut chain = 0;
    for (key, bytes) in raw.entries(Table::Log).unwrap() {
        let (mut header, records) = open_blob(&bytes).unwrap();
        let edited: Vec<Record> = records
            .into_iter()
            .map(|(seq, mut record)| {
                edit(seq, &mut record);
                record
            })
            .collect();
        header.chain = chain;
        let forged = close_blob(&header, &edited).unwrap();
        chain = open_blob(&forged).unwrap().0.crc;
        raw.put(Table::Log, key, Some(&forged)).unwrap();
    }
    for (key, _) in raw.entries(Table::Rows).unwrap() {
        raw.put(Table::Rows, key, None).unwrap();
    }
    raw.put(Table::Meta, 1, None).unwrap();
}

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = small(1 << 20).open(folder.path()).unwrap();
    Runner::new(&store).everything().unwrap();
    store.close().unwrap();
    folder
}

/// The first record of a type is changed so; this promise is violated.
const FORGERIES: [(&str, &str, Edit); 13] = [
    ("P9", "Opened", |record| {
        if let Record::Opened(opened) = record {
            opened.incarnation = 0;
        }
    }),
    ("P2", "Created", |record| {
        if let Record::Created(created) = record {
            created.actor += 7;
        }
    }),
    ("P2", "Sent", |record| {
        if let Record::Sent(sent) = record {
            sent.to = vec![99];
        }
    }),
    ("P2", "Queued", |record| {
        if let Record::Queued(queued) = record {
            queued.first = Seq(1);
        }
    }),
    ("P3", "Claimed", |record| {
        if let Record::Claimed(claimed) = record {
            claimed.picks.clear();
        }
    }),
    ("P4", "Offered", |record| {
        if let Record::Offered(offered) = record {
            offered.attempt += 1;
        }
    }),
    ("P9", "TurnEnded", |record| {
        if let Record::TurnEnded(ended) = record {
            ended.turn = Seq(1);
        }
    }),
    ("P9", "TurnFailed", |record| {
        if let Record::TurnFailed(failed) = record {
            failed.turn = Seq(1);
        }
    }),
    ("P2", "Settled", |record| {
        if let Record::Settled(settled) = record {
            settled.messages.push(Seq(1));
        }
    }),
    ("P2", "Released", |record| {
        if let Record::Released(released) = record {
            released.messages.push(Seq(1));
        }
    }),
    ("P2", "Dead", |record| {
        if let Record::Dead(dead) = record {
            dead.messages.push(Seq(1));
        }
    }),
    ("P6", "RunEnded", |record| {
        if let Record::RunEnded(ended) = record {
            ended.run = Seq(1);
        }
    }),
    ("P6", "Stalled", |record| {
        if let Record::Stalled(stalled) = record {
            stalled.run = Seq(1);
        }
    }),
];

#[test]
fn a_log_written_anew_without_a_change_is_good() {
    let folder = made();
    forge(folder.path(), |_, _| {});
    assert_eq!(verify(folder.path()).unwrap().findings, []);
}

#[test]
fn a_record_that_cannot_have_happened_is_named_with_its_promise() {
    for (promise, kind, edit) in FORGERIES {
        let folder = made();
        let done = std::cell::Cell::new(None);
        forge(folder.path(), |seq, record| {
            if record.name() == kind && done.get().is_none() {
                done.set(Some(seq));
                edit(record);
            }
        });
        let seq = done.get().unwrap();
        let findings = verify(folder.path()).unwrap().findings;
        let named = findings.iter().any(|found| {
            found.promise == promise && found.what.contains(&format!("record {seq}:"))
        });
        assert!(named, "{kind} {seq}: {promise} expected, found {findings:?}");
    }
}

#[test]
fn an_outcome_that_was_not_told_in_its_own_commit_is_found() {
    let folder = made();
    let untold = std::cell::Cell::new(0);
    forge(folder.path(), |_, record| {
        if let Record::Sent(sent) = record
            && sent.rank == reveille_core::Rank::RunNotice
        {
            sent.tells = None;
            untold.set(untold.get() + 1);
        }
    });
    let findings = verify(folder.path()).unwrap().findings;
    let found = findings.iter().filter(|found| found.what.contains("is not told")).count();
    assert!(found > 0 && found <= untold.get(), "{findings:?}");
    assert!(findings.iter().all(|found| found.promise == "P6"), "{findings:?}");
}
