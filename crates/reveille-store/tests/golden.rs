//! The record format: golden bytes of every type and version, read by two implementations.
//!
//! `golden/records-1.txt` is what version 1 wrote; it never changes. A type that changes gets a new
//! version, a new file, and a function that reads the old one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use reveille_core::compose::Pick;
use reveille_core::failure::{Charges, TurnFailure};
use reveille_core::id::Stamp;
use reveille_core::message::{Content, Kind, Rank};
use reveille_core::{
    ActorName, Address, AgentName, Caller, FailureClass, Outcome, Seq, SessionId, Status, Text,
    Timestamp, Trigger,
};
use reveille_store::codec::{self, read_frame};
use reveille_store::record::{
    Claimed, Created, Dead, DeadReason, Offered, Opened, Queued, Rearmed, Record, Released,
    RunEnded, Sent, Settled, Settlement, Stalled, TurnEnded, TurnFailed,
};

const GOLDEN: &str = include_str!("golden/records-1.txt");
const STAMP: Stamp = Stamp { at: Timestamp::from_millis(1_800_000_000_123), salt: 0xbeef };

fn session() -> SessionId {
    SessionId::new(Seq(2), STAMP)
}

fn address() -> Address {
    Address::new(session(), ActorName::new("worker-1").unwrap())
}

fn text() -> Text {
    Text {
        subject: Some("a subject".into()),
        summary: None,
        body: "a body, \u{e9}".into(),
        task_id: Some("T1".into()),
    }
}

/// One record of every type.
fn samples() -> Vec<Record> {
    let actor = 300;
    vec![
        Opened { incarnation: 3 }.into(),
        Created {
            actor,
            session: Some(session()),
            name: ActorName::new("worker-1").unwrap(),
            title: None,
            agent: Some(AgentName::new("worker").unwrap()),
            parent: Some(1),
            key: Some("key".into()),
        }
        .into(),
        Sent {
            from: Caller::Actor(address()),
            to: vec![1, 300],
            kind: Kind::Notice,
            rank: Rank::LivenessNotice,
            urgent: true,
            about: Some((300, Seq(70_000))),
            cost: 1_000,
            cut_cost: 250,
            bytes: 20,
            content: codec::encode(&Content::Text(text())).unwrap(),
        }
        .into(),
        Queued { actor, first: Seq(7), task_id: Some("T1".into()) }.into(),
        Claimed {
            actor,
            run: Some(Seq(8)),
            turn: None,
            trigger: Trigger::Wait,
            picks: vec![Pick { seq: Seq(7), cut: false }, Pick { seq: Seq(1 << 40), cut: true }],
        }
        .into(),
        Offered { actor, injection: Seq(9), attempt: 2 }.into(),
        TurnEnded { actor, turn: Seq(9) }.into(),
        TurnFailed {
            actor,
            turn: Seq(9),
            failure: TurnFailure::Lost { charged: true },
            error: "gone".into(),
            charges: Charges { attempts: 1, deaths: 2 },
            again_at: STAMP.at,
        }
        .into(),
        Settled { actor, messages: vec![Seq(7)], how: Settlement::Failed }.into(),
        Released { actor, messages: vec![Seq(7), Seq(8)] }.into(),
        Dead { actor, messages: vec![Seq(7)], reason: DeadReason::Poison("no".into()) }.into(),
        RunEnded {
            actor,
            run: Seq(8),
            outcome: Outcome::Completed {
                status: Status::Unrecognised("fine".into()),
                summary: Some("in a line".into()),
                result: "the result".into(),
            },
            raises_floor: false,
        }
        .into(),
        Stalled { actor, run: Seq(8) }.into(),
        Rearmed { actor, run: Seq(8) }.into(),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn golden() -> BTreeMap<&'static str, Vec<u8>> {
    let line = |line: &'static str| line.split_once(' ').map(|(name, hex)| (name, unhex(hex)));
    GOLDEN.lines().filter_map(line).collect()
}

#[test]
fn every_type_of_record_is_written_and_read_as_version_1_wrote_it() {
    let golden = golden();
    let mut written = String::new();
    for record in samples() {
        let mut bytes = Vec::new();
        record.write(&mut bytes).unwrap();
        let _ = writeln!(written, "{} {}", record.name(), hex(&bytes));
    }
    assert_eq!(written, GOLDEN, "what is written has changed: a new version is needed");
    for record in samples() {
        let (frame, rest) = read_frame(&golden[record.name()]).unwrap();
        assert!(rest.is_empty());
        assert_eq!(Record::read(frame).unwrap(), record);
    }
    assert_eq!(golden.len(), Record::KINDS.len());
}

/// Reads a golden payload with wincode.
macro_rules! second {
    ($type:ty, $bytes:expr) => {{
        let (frame, _) = read_frame($bytes).unwrap();
        let config = wincode::config::Configuration::default().with_varint_encoding();
        let read: $type = wincode::config::deserialize_exact(frame.payload, config).unwrap();
        read
    }};
}

type Id = [u8; 16];

#[test]
fn a_second_implementation_of_the_format_reads_the_same() {
    let golden = golden();
    let id = session_bytes();
    assert_eq!(second!(u64, &golden["Opened"]), 3);
    type Made =
        (u32, Option<Id>, String, Option<String>, Option<String>, Option<u32>, Option<String>);
    let made = second!(Made, &golden["Created"]);
    let name = "worker-1".to_owned();
    let agent = Some("worker".to_owned());
    assert_eq!(made, (300, Some(id), name.clone(), None, agent, Some(1), Some("key".into())));
    // Caller::Actor is the fifth of its kind, Notice the second, LivenessNotice the third.
    type From = (u32, (Id, String));
    type Head = (From, Vec<u32>, u32, u32, bool, Option<(u32, u64)>, u32, u32, (u32, Vec<u8>));
    let sent = second!(Head, &golden["Sent"]);
    let about = Some((300, 70_000));
    let content = codec::encode(&Content::Text(text())).unwrap();
    assert_eq!(sent.0, (4, (id, name)));
    assert_eq!((sent.1, sent.2, sent.3, sent.4, sent.5), (vec![1, 300], 1, 2, true, about));
    assert_eq!((sent.6, sent.7, sent.8), (1_000, 250, (20, content)));
    let queued = second!((u32, u64, Option<String>), &golden["Queued"]);
    assert_eq!(queued, (300, 7, Some("T1".into())));
    type Taken = (u32, Option<u64>, Option<u64>, u32, Vec<(u64, bool)>);
    let claimed = second!(Taken, &golden["Claimed"]);
    assert_eq!(claimed, (300, Some(8), None, 2, vec![(7, false), (1 << 40, true)]));
    assert_eq!(second!((u32, u64, u32), &golden["Offered"]), (300, 9, 2));
    assert_eq!(second!((u32, u64), &golden["TurnEnded"]), (300, 9));
    let failed = second!((u32, u64, (u32, bool), String, (u32, u32), u64), &golden["TurnFailed"]);
    assert_eq!(failed, (300, 9, (5, true), "gone".into(), (1, 2), STAMP.at.as_millis()));
    assert_eq!(second!((u32, Vec<u64>, u32), &golden["Settled"]), (300, vec![7], 1));
    assert_eq!(second!((u32, Vec<u64>), &golden["Released"]), (300, vec![7, 8]));
    let dead = second!((u32, Vec<u64>, (u32, String)), &golden["Dead"]);
    assert_eq!(dead, (300, vec![7], (0, "no".into())));
    type Ended = (u32, u64, (u32, (u32, String), Option<String>, String), bool);
    let ended = second!(Ended, &golden["RunEnded"]);
    let outcome = (0, (5, "fine".into()), Some("in a line".into()), "the result".into());
    assert_eq!(ended, (300, 8, outcome, false));
    assert_eq!(second!((u32, u64), &golden["Stalled"]), (300, 8));
    assert_eq!(second!((u32, u64), &golden["Rearmed"]), (300, 8));
}

fn session_bytes() -> Id {
    let encoded = codec::encode(&session()).unwrap();
    encoded.try_into().unwrap()
}

proptest! {
    #[test]
    fn any_message_and_any_outcome_come_back_from_their_bytes(
        body in any::<String>(),
        subject in any::<Option<String>>(),
        to in prop::collection::vec(any::<u32>(), 0..10),
        seq in any::<u64>(),
        code in any::<i32>(),
    ) {
        let content = Content::Text(Text { subject, ..Text::new(body.clone()) });
        let encoded = codec::encode(&content).unwrap();
        prop_assert_eq!(codec::decode::<Content>(&encoded).unwrap(), content);
        let sent = Sent {
            from: Caller::Human(body.clone()),
            to,
            kind: Kind::Text,
            rank: Rank::Mail,
            urgent: false,
            about: None,
            cost: 1,
            cut_cost: 1,
            bytes: 1,
            content: encoded,
        };
        let outcome = Outcome::Failed { class: FailureClass::Exit(code), error: body };
        let ended = RunEnded { actor: 1, run: Seq(seq), outcome, raises_floor: true };
        for record in [Record::from(sent), Record::from(ended)] {
            let mut bytes = Vec::new();
            record.write(&mut bytes).unwrap();
            let (frame, rest) = read_frame(&bytes).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!(Record::read(frame).unwrap(), record);
        }
    }
}
