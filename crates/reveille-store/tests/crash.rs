//! P1, P2, section 12: a crash or an error at any operation of the disk loses nothing that was
//! acknowledged, and leaves a store that opens.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use futures_executor::block_on;
use reveille_core::Seq;
use reveille_store::fault::{Contents, Fault, FaultyDisk, Leftover, open};
use reveille_store::raw;
use reveille_store::state::row::Row;
use support::{Runner, small};

/// Small enough that checkpoints and trimming happen several times within the workload.
const HISTORY: u64 = 4_000;

/// The rows at every commit of an undisturbed run, and how many operations it takes.
fn undisturbed() -> (BTreeMap<Seq, Vec<Row>>, u64, u64) {
    let disk = FaultyDisk::default();
    let store = open(disk.clone(), small(HISTORY)).unwrap();
    let opened = disk.operations();
    let mut runner = Runner::new(&store);
    runner.everything().unwrap();
    let rows = runner.rows.into_iter().chain([(Seq(1), Vec::new())]).collect();
    (rows, opened, disk.operations())
}

/// Opens what a crash left and compares: everything acknowledged is there, at most the one commit
/// under way beyond it.
fn check(left: Contents, acknowledged: Seq, expected: &BTreeMap<Seq, Vec<Row>>, case: &str) {
    let disk = FaultyDisk::holding(left);
    let store = open(disk, small(HISTORY)).unwrap_or_else(|error| panic!("{case}: {error}"));
    let (next, rows) = block_on(store.look(|state| (state.next(), raw::rows(state)))).unwrap();
    assert!(next >= acknowledged, "{case}: {next} < {acknowledged}");
    let (_, at) = expected.range(..=next).next_back().unwrap();
    assert_eq!(&rows, at, "{case}: the rows at {next}");
    // It goes on from there.
    let mut runner = Runner::new(&store);
    let session = runner.session("after").unwrap();
    runner.send(&[&session], "and on").unwrap();
    let kept: Vec<Seq> = rows
        .iter()
        .flat_map(|row| row.unread().map(|mail| mail.seq()).collect::<Vec<_>>())
        .collect();
    assert!(
        store.records(&kept).unwrap().iter().all(Option::is_some),
        "{case}: unread mail is gone"
    );
}

#[test]
fn a_crash_at_any_operation_keeps_what_was_acknowledged() {
    let (expected, opened, operations) = undisturbed();
    let mut cases = 0;
    for operation in opened..operations {
        let disk = FaultyDisk::default();
        let store = open(disk.clone(), small(HISTORY)).unwrap();
        disk.at(operation, Fault::Stop);
        let mut runner = Runner::new(&store);
        let ended = runner.everything();
        // Between commits nobody waits for the disk: the next one is refused.
        assert!(ended.is_err() || runner.session("later").is_err(), "{operation}");
        let acknowledged = runner.acknowledged.last().copied().unwrap_or(Seq(1));
        for leftover in [
            Leftover::Kept,
            Leftover::Dropped,
            Leftover::Torn,
            Leftover::Some(operation * 2 + 1),
            Leftover::Some(operation * 7919 + 3),
        ] {
            let case = format!("stopped at operation {operation}, {leftover:?}");
            check(disk.after_crash(leftover), acknowledged, &expected, &case);
            cases += 1;
        }
    }
    assert!(cases > 500, "{cases}");
}

#[test]
fn an_error_at_any_operation_is_told_and_nothing_more_is_taken_until_the_store_is_opened_again() {
    let (expected, opened, operations) = undisturbed();
    let mut unknown = 0;
    for operation in opened..operations {
        for fault in [Fault::Fail, Fault::FailAfter] {
            let disk = FaultyDisk::default();
            let store = open(disk.clone(), small(HISTORY)).unwrap();
            disk.at(operation, fault);
            let mut runner = Runner::new(&store);
            let case = format!("{fault:?} at operation {operation}");
            // A commit that failed is unknown; while the journal is folded nobody waits for one.
            if let Err(error) = runner.everything() {
                let code = error.code().name;
                assert!(["outcome_unknown", "storage_failed"].contains(&code), "{case}: {error}");
                unknown += u32::from(code == "outcome_unknown");
            }
            let later = runner.session("later").unwrap_err();
            assert_eq!(later.code().name, "storage_failed", "{case}");
            let acknowledged = runner.acknowledged.last().copied().unwrap_or(Seq(1));
            assert!(store.close().is_err(), "{case}");
            for leftover in [Leftover::Kept, Leftover::Dropped] {
                check(disk.after_crash(leftover), acknowledged, &expected, &case);
            }
        }
    }
    assert!(unknown > 100, "{unknown}");
}

#[test]
fn a_crash_while_a_store_is_made_leaves_nothing_or_an_empty_store() {
    let disk = FaultyDisk::default();
    drop(open(disk.clone(), small(HISTORY)).unwrap());
    for operation in 0..disk.operations() {
        let disk = FaultyDisk::default();
        disk.at(operation, Fault::Stop);
        if open(disk.clone(), small(HISTORY)).is_ok() {
            continue;
        }
        // In a folder the file has another name until it is whole; here it is enough that what is
        // there never passes for a store with something in it.
        let bytes = disk.after_crash(Leftover::Some(operation));
        if let Ok(store) = open(FaultyDisk::holding(bytes), small(HISTORY)) {
            assert!(block_on(store.look(|state| state.rows().is_empty())).unwrap());
        }
    }
}
