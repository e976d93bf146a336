//! Steps of the store in memory, each a commit of its own, beside the floor: the same bytes appended
//! to a vector.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_executor::block_on;
use reveille_core::window::WindowSettings;
use reveille_core::{Address, Caller, Status, Text};
use reveille_store::Store;
use reveille_store::step::actors::CreateSession;
use reveille_store::step::end::{EndTurn, Next, Report};
use reveille_store::step::send::{Prepared, Send, To};
use reveille_store::step::turn::ClaimMail;

fn session(store: &Store) -> Address {
    let create = CreateSession { title: "one".into(), agent: None, first: None };
    block_on(store.run(create)).unwrap().main
}

fn send(store: &Store, to: &Address) {
    let message = Prepared::text(Caller::Host, Text::new("x".repeat(256)));
    block_on(store.run(Send { to: To::Actors(vec![to.clone()]), message, token: None })).unwrap();
}

fn steps(criterion: &mut Criterion) {
    criterion.bench_function("floor: append 316 bytes to a vector", |bench| {
        let mut log: Vec<u8> = Vec::new();
        let bytes = [7; 316];
        bench.iter(|| {
            if log.len() > 1 << 20 {
                log.clear();
            }
            log.extend_from_slice(black_box(&bytes));
        });
    });
    criterion.bench_function("send, claim, settle", |bench| {
        let store = Store::in_memory();
        let main = session(&store);
        let windows =
            WindowSettings { quiet: Duration::ZERO, max: Duration::ZERO, min_gap: Duration::ZERO };
        bench.iter(|| {
            send(&store, &main);
            let claim = block_on(store.run(ClaimMail { actor: 0, windows })).unwrap().unwrap();
            let report = Report {
                status: Status::Success,
                summary: None,
                result: String::new(),
                changed: false,
                next: Next::Auto,
            };
            block_on(store.run(EndTurn { token: claim.token, report })).unwrap();
        });
    });
}

criterion_group!(benches, steps);
criterion_main!(benches);
