//! The pure rules: composing an injection of a full mailbox, rendering it, reading it back.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use reveille_core::compose::{InjectionLimits, Item, compose};
use reveille_core::id::Stamp;
use reveille_core::message::{Content, Kind, Rank};
use reveille_core::render::{Style, parse, text};
use reveille_core::{
    ActorName, Address, Caller, Entry, Injection, InjectionId, MessageId, RunId, Seq, SessionId,
    Text, Timestamp, Trigger,
};

const STAMP: Stamp = Stamp { at: Timestamp::from_millis(1_800_000_000_000), salt: 1 };

fn injection(messages: u64) -> Injection {
    let actor = Address::new(SessionId::new(Seq(1), STAMP), ActorName::main());
    let entry = |seq| Entry {
        id: MessageId::new(Seq(seq), STAMP),
        from: Caller::Host,
        sent: STAMP.at,
        content: Content::Text(Text::new("a line of some length, <escaped> & all\n".repeat(8))),
        cut: false,
    };
    Injection {
        id: InjectionId::new(Seq(2), STAMP),
        actor,
        run: RunId::new(Seq(2), STAMP),
        trigger: Trigger::Window,
        attempt: 1,
        names: Vec::new(),
        style: reveille_core::Style::Xml,
        at: STAMP.at,
        entries: (3..3 + messages).map(entry).collect(),
    }
}

fn rules(criterion: &mut Criterion) {
    let item = |seq| Item {
        seq: Seq(seq),
        rank: if seq % 3 == 0 { Rank::RunNotice } else { Rank::Mail },
        kind: if seq % 3 == 0 { Kind::Notice } else { Kind::Text },
        cost: 600,
        cut_cost: 300,
    };
    let mailbox: Vec<Item> = (1..=1_000).map(item).collect();
    criterion.bench_function("compose from 1000 waiting messages", |bench| {
        bench.iter(|| compose(black_box(&mailbox).iter().copied(), InjectionLimits::default()));
    });
    let full = injection(100);
    criterion.bench_function("render 100 messages", |bench| {
        bench.iter(|| text(black_box(&full)));
    });
    let written = text(&full);
    criterion.bench_function("read 100 messages back", |bench| {
        bench.iter(|| parse(Style::Xml, black_box(&written)).unwrap());
    });
}

criterion_group!(benches, rules);
criterion_main!(benches);
