//! Decision 4: checkpoints that take several commits, blobs that leave the log, records that are
//! copied forward; replay gives the same state each time.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use futures_executor::block_on;
use reveille_core::Seq;
use reveille_store::fault::{FaultyDisk, Leftover, open};
use reveille_store::raw::{self, RawStore, Table};
use reveille_store::step::end::Next;
use support::{Runner, small};

#[test]
fn any_history_gives_the_same_state_after_a_crash_and_after_a_clean_close() {
    for history in [0, 1_000, 4_000, 20_000, 1 << 20] {
        for crash in [true, false] {
            let disk = FaultyDisk::default();
            let store = open(disk.clone(), small(history)).unwrap();
            let mut runner = Runner::new(&store);
            runner.everything().unwrap();
            let (_, before) = runner.rows.pop().unwrap();
            if !crash {
                store.close().unwrap();
            }
            let bytes = disk.after_crash(Leftover::Dropped);
            let store = open(FaultyDisk::holding(bytes), small(history)).unwrap();
            let after = block_on(store.look(raw::rows)).unwrap();
            assert_eq!(before, after, "history {history}, crash {crash}");
        }
    }
}

#[test]
fn a_log_that_is_trimmed_keeps_what_is_unread_and_what_is_the_latest_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let store = small(2_000).open(folder.path()).unwrap();
    let mut runner = Runner::new(&store);
    let waiting = runner.session("waits").unwrap();
    for n in 0..20 {
        runner.send(&[&waiting], &format!("unread {n}")).unwrap();
    }
    let busy = runner.session("busy").unwrap();
    let worker = runner.spawn(&busy).unwrap();
    let task = runner.claim(&worker).unwrap();
    runner.end(&task, Next::Auto).unwrap();
    for round in 0..200 {
        runner.send(&[&busy], &format!("round {round}")).unwrap();
        let turn = runner.claim(&busy).unwrap();
        runner.end(&turn, Next::Auto).unwrap();
    }
    let (_, before) = runner.rows.pop().unwrap();
    let kept = kept(&before);
    assert!(store.records(&kept).unwrap().iter().all(Option::is_some));
    store.close().unwrap();
    drop(store);

    let raw = RawStore::open(folder.path()).unwrap();
    let (log, cold) = (raw.entries(Table::Log).unwrap(), raw.entries(Table::Segments).unwrap());
    assert!(log[0].0 > 100, "the log was trimmed: it begins with record {}", log[0].0);
    let bytes: usize = log.iter().map(|(_, blob)| blob.len()).sum();
    assert!(bytes < 8_000, "{bytes} bytes of log");
    assert!(!cold.is_empty() && cold.len() < 10, "{} segments", cold.len());
    drop(raw);

    let report = reveille_store::verify::verify(folder.path()).unwrap();
    assert_eq!(report.findings, []);
    let store = small(2_000).open(folder.path()).unwrap();
    assert_eq!(block_on(store.look(raw::rows)).unwrap(), before);
    assert!(store.records(&kept).unwrap().iter().all(Option::is_some));

    // Settled at last, they go.
    let mut runner = Runner::new(&store);
    let turn = runner.claim(&waiting).unwrap();
    runner.end(&turn, Next::Auto).unwrap();
    for round in 0..200 {
        runner.send(&[&busy], &format!("round {round}")).unwrap();
        let turn = runner.claim(&busy).unwrap();
        runner.end(&turn, Next::Auto).unwrap();
    }
    store.close().unwrap();
    drop(store);
    let cold = RawStore::open(folder.path()).unwrap().entries(Table::Segments).unwrap();
    assert!(cold.len() <= 3, "{} segments", cold.len());
}

fn kept(rows: &[reveille_store::state::row::Row]) -> Vec<Seq> {
    let unread =
        rows.iter().flat_map(|row| row.unread().map(|mail| mail.seq()).collect::<Vec<_>>());
    let ended = rows.iter().filter_map(|row| row.ended.as_ref().map(|ended| ended.outcome));
    unread.chain(ended).collect()
}
