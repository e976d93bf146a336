//! The record format: golden bytes of every type and version, read by two implementations.
//!
//! `golden/records-1.txt` is what format 1 wrote; it never changes, and is read as what it is called
//! today. `golden/records-2.txt` is what is written. A type that changes gets a new version, a new
//! file, and a function that reads the old one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use reveille_core::compose::Pick;
use reveille_core::failure::{Charges, TurnFailure};
use reveille_core::id::Stamp;
use reveille_core::{
    ActorName, Address, AgentName, Caller, Content, DeadReason, Delivery, FailureClass, Kind,
    Outcome, Rank, Reference, Seq, SessionId, Status, Text, Timestamp, Trigger,
};
use reveille_store::codec::{self, read_frame};
use reveille_store::record::*;

const FIRST: &str = include_str!("golden/records-1.txt");
const GOLDEN: &str = include_str!("golden/records-2.txt");
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
        task_id: Some("T1".into()),
        ..Text::new("a body, \u{e9}")
    }
}

/// A text with every field.
fn full_text() -> Text {
    Text {
        kind: Kind::Request,
        summary: Some("in short".into()),
        references: vec![Reference { uri: "file:a".into(), description: "a file".into() }],
        labels: vec![("colour".into(), "red".into())],
        correlation_id: Some("c".into()),
        mission_id: Some("m".into()),
        related: vec!["r".into()],
        trace: Some("00-1".into()),
        ..text()
    }
}

/// The message of format 1 as it is read today.
fn first_sent() -> Sent {
    Sent {
        from: Caller::Actor(address()),
        sender: Sender::Runtime,
        to: vec![1, 300],
        kind: Kind::Notice,
        rank: Rank::LivenessNotice,
        urgent: true,
        delivery: Delivery::Auto,
        hops: 0,
        not_before: None,
        expires_at: None,
        merge: 0,
        since: None,
        key: None,
        tells: Some(Tells { actor: 300, run: Seq(70_000), outcome: None }),
        task_id: None,
        cost: 1_000,
        cut_cost: 250,
        bytes: 20,
        content: codec::encode(&Content::Text(text())).unwrap(),
    }
}

/// One record of every type that format 1 had, as it is read today.
fn first() -> Vec<Record> {
    let old = |record: Record| match record {
        Record::Sent(_) => first_sent().into(),
        Record::Claimed(claimed) => Claimed { names: Vec::new(), ..claimed }.into(),
        Record::Offered(offered) => Offered { turn: None, ..offered }.into(),
        Record::TurnEnded(ended) => {
            TurnEnded { changed: true, settled: Vec::new(), ..ended }.into()
        }
        Record::TurnFailed(failed) => {
            let charged = failed.charged.into_iter().map(|(_, charges)| (Seq::ZERO, charges));
            TurnFailed { charged: charged.collect(), ..failed }.into()
        }
        other => other,
    };
    samples().into_iter().take(14).map(old).collect()
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
            sender: Sender::Person(7),
            delivery: Delivery::Steer,
            hops: 3,
            not_before: Some(STAMP.at),
            expires_at: Some(STAMP.at),
            merge: 9,
            since: Some(STAMP.at),
            key: Some(CallKey { key: (1, 2), call: 3 }),
            tells: Some(Tells { actor: 300, run: Seq(70_000), outcome: Some(Seq(70_001)) }),
            task_id: Some("T1".into()),
            content: codec::encode(&Content::Text(full_text())).unwrap(),
            ..first_sent()
        }
        .into(),
        Queued { actor, first: Seq(7), task_id: Some("T1".into()) }.into(),
        Claimed {
            actor,
            run: Some(Seq(8)),
            turn: None,
            trigger: Trigger::Wait,
            picks: vec![Pick { seq: Seq(7), cut: false }, Pick { seq: Seq(1 << 40), cut: true }],
            names: vec![Seq(5)],
        }
        .into(),
        Offered { actor, injection: Seq(9), attempt: 2, turn: Some(Seq(4)) }.into(),
        TurnEnded {
            actor,
            turn: Seq(9),
            changed: false,
            settled: vec![Batch { injection: Seq(9), collected: true, messages: vec![Seq(7)] }],
        }
        .into(),
        TurnFailed {
            actor,
            turn: Seq(9),
            failure: TurnFailure::Lost { charged: true },
            error: "gone".into(),
            charged: vec![(Seq(9), Charges { attempts: 1, deaths: 2 })],
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
    .into_iter()
    .chain(later())
    .collect()
}

/// One record of every type that format 2 brought.
fn later() -> Vec<Record> {
    let (actor, by) = (300, Caller::Host);
    let (message, hold, how) = (Seq(7), Seq(8), Settlement::Accepted);
    let question =
        Question { tool: Some("shell".into()), text: "may I?".into(), options: vec!["yes".into()] };
    let text = Text::new("tick");
    vec![
        Split { actor, injection: Seq(9), messages: vec![Seq(7)], charges: Charges::default() }
            .into(),
        Taken { actor, injection: Seq(9), messages: vec![Seq(7)], how }.into(),
        Marked { actor, message, mark: Mark::Archived, settles: true, by: by.clone() }.into(),
        Dropped { actor, message, by: by.clone() }.into(),
        Held {
            actor,
            reason: HoldReason::Alert(Seq(7)),
            note: "why".into(),
            by: Caller::Human("anna".into()),
        }
        .into(),
        Unheld { actor, hold, by: by.clone() }.into(),
        Stopped { actor, by: by.clone() }.into(),
        Resumed { actor, by: by.clone() }.into(),
        Asked {
            actor,
            turn: Seq(9),
            asked: Some(1),
            question,
            request: Some(Seq(7)),
            until: Some(STAMP.at),
        }
        .into(),
        Answered { actor, question: Seq(9), answer: Answer::Option("yes".into()), by: by.clone() }
            .into(),
        Grouped { actor, policy: GroupPolicy::Quorum(2), members: vec![(301, Seq(5))] }.into(),
        TeamCreated { lead: actor, name: "build".into() }.into(),
        MemberJoined { team: Seq(5), lead: actor, member: 301, role: "tests".into() }.into(),
        MemberLeft { team: Seq(5), lead: actor, member: 301 }.into(),
        Scheduled { actor, key: "k".into(), due: STAMP.at, every: Some(1_000), by, text }.into(),
        Ticked { actor, key: "k".into(), next: Some(STAMP.at), sent: true }.into(),
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

fn golden(text: &'static str) -> BTreeMap<&'static str, Vec<u8>> {
    let line = |line: &'static str| line.split_once(' ').map(|(name, hex)| (name, unhex(hex)));
    text.lines().filter_map(line).collect()
}

#[test]
fn what_format_1_wrote_is_read_as_what_it_is_called_today() {
    let golden = golden(FIRST);
    for record in first() {
        let (frame, rest) = read_frame(&golden[record.name()]).unwrap();
        assert!(rest.is_empty());
        assert_eq!(Record::read(frame).unwrap(), record);
    }
    assert_eq!(golden.len(), first().len());
}

#[test]
fn every_type_of_record_is_written_and_read_as_it_was_when_it_was_new() {
    let golden = golden(GOLDEN);
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
    let golden = golden(GOLDEN);
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
    // Sender::Person is the third of its kind, Delivery::Steer too.
    type Told = Option<(u32, u64, Option<u64>)>;
    type Times = (Option<u64>, Option<u64>, u64, Option<u64>);
    type Key = Option<((u64, u64), u64)>;
    type Sizes = (u32, u32, u32, Vec<u8>);
    type Task = Option<String>;
    type Kinds = (u32, u32, bool, u32, u8);
    type Head = (From, (u32, u64), Vec<u32>, Kinds, Times, Key, Told, Task, Sizes);
    let sent = second!(Head, &golden["Sent"]);
    let content = codec::encode(&Content::Text(full_text())).unwrap();
    let at = Some(STAMP.at.as_millis());
    assert_eq!(sent.0, (4, (id, name)));
    assert_eq!((sent.1, sent.2, sent.3), ((2, 7), vec![1, 300], (1, 2, true, 2, 3)));
    assert_eq!((sent.4, sent.5), ((at, at, 9, at), Some(((1, 2), 3))));
    assert_eq!(sent.6, Some((300, 70_000, Some(70_001))));
    assert_eq!((sent.7, sent.8), (Some("T1".into()), (1_000, 250, 20, content)));
    let queued = second!((u32, u64, Option<String>), &golden["Queued"]);
    assert_eq!(queued, (300, 7, Some("T1".into())));
    type Took = (u32, Option<u64>, Option<u64>, u32, Vec<(u64, bool)>, Vec<u64>);
    let claimed = second!(Took, &golden["Claimed"]);
    assert_eq!(claimed, (300, Some(8), None, 2, vec![(7, false), (1 << 40, true)], vec![5]));
    assert_eq!(second!((u32, u64, u32, Option<u64>), &golden["Offered"]), (300, 9, 2, Some(4)));
    type Settles = Vec<(u64, bool, Vec<u64>)>;
    let over = second!((u32, u64, bool, Settles), &golden["TurnEnded"]);
    assert_eq!(over, (300, 9, false, vec![(9, true, vec![7])]));
    type Charged = Vec<(u64, (u32, u32))>;
    let failed = second!((u32, u64, (u32, bool), String, Charged, u64), &golden["TurnFailed"]);
    let charged = vec![(9, (1, 2))];
    assert_eq!(failed, (300, 9, (5, true), "gone".into(), charged, STAMP.at.as_millis()));
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

#[test]
fn a_second_implementation_reads_what_people_and_teams_do() {
    let golden = golden(GOLDEN);
    let split = second!((u32, u64, Vec<u64>, (u32, u32)), &golden["Split"]);
    assert_eq!(split, (300, 9, vec![7], (0, 0)));
    assert_eq!(second!((u32, u64, Vec<u64>, u32), &golden["Taken"]), (300, 9, vec![7], 6));
    assert_eq!(second!((u32, u64, u32, bool, u32), &golden["Marked"]), (300, 7, 1, true, 1));
    assert_eq!(second!((u32, u64, u32), &golden["Dropped"]), (300, 7, 1));
    type Hold = (u32, (u32, u64), String, (u32, String));
    let held = second!(Hold, &golden["Held"]);
    assert_eq!(held, (300, (2, 7), "why".into(), (2, "anna".into())));
    assert_eq!(second!((u32, u64, u32), &golden["Unheld"]), (300, 8, 1));
    assert_eq!(second!((u32, u32), &golden["Stopped"]), (300, 1));
    assert_eq!(second!((u32, u32), &golden["Resumed"]), (300, 1));
    type Asks = (Option<String>, String, Vec<String>);
    let asked = second!((u32, u64, Option<u32>, Asks, Option<u64>, Option<u64>), &golden["Asked"]);
    let question = (Some("shell".into()), "may I?".into(), vec!["yes".to_owned()]);
    let at = Some(STAMP.at.as_millis());
    assert_eq!(asked, (300, 9, Some(1), question, Some(7), at));
    let answered = second!((u32, u64, (u32, String), u32), &golden["Answered"]);
    assert_eq!(answered, (300, 9, (3, "yes".into()), 1));
    let grouped = second!((u32, (u32, u32), Vec<(u32, u64)>), &golden["Grouped"]);
    assert_eq!(grouped, (300, (3, 2), vec![(301, 5)]));
    assert_eq!(second!((u32, String), &golden["TeamCreated"]), (300, "build".into()));
    let joined = second!((u64, u32, u32, String), &golden["MemberJoined"]);
    assert_eq!(joined, (5, 300, 301, "tests".into()));
    assert_eq!(second!((u64, u32, u32), &golden["MemberLeft"]), (5, 300, 301));
    assert_eq!(
        second!((u32, String, Option<u64>, bool), &golden["Ticked"]),
        (300, "k".into(), at, true)
    );
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
            content: encoded,
            ..first_sent()
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
