//! Every limit, in one place (P10).
//!
//! A limit that people may change is a field of a settings type elsewhere and begins with the value
//! given here; the rest are fixed by the contract. The `const` assertions say which limits lean on
//! one another.

use std::time::Duration;

/// Bytes of an actor's name.
pub const ACTOR_NAME_BYTES: usize = 64;
/// Bytes of an agent's name: leaves room for `-<n>`.
pub const AGENT_NAME_BYTES: usize = 56;
/// Bytes of a message's body (section 3); equality is allowed.
pub const BODY_BYTES: usize = 32_768;
/// Characters of a subject or a summary (section 3).
pub const LINE_CHARS: usize = 200;
/// Bytes of a session's name, a key, a task id or a person's name.
pub const LABEL_BYTES: usize = 256;
/// Bytes of a result that a notice carries (section 3).
pub const NOTICE_RESULT_BYTES: usize = 2 * 1024;
/// Bytes of a result that is left when a notice is cut (W6).
pub const NOTICE_CUT_BYTES: usize = 256;
/// Bytes of a result that is kept with its run (section 7).
pub const RESULT_BYTES: usize = 1024 * 1024;
/// Bytes of an error text that is kept.
pub const ERROR_BYTES: usize = 4 * 1024;

/// References of a message (section 3).
pub const REFERENCES: usize = 32;
/// Bytes of a reference's URI.
pub const URI_BYTES: usize = 1024;
/// Labels of a message (section 3).
pub const LABELS: usize = 16;
/// Bytes of a label's name, and of its value.
pub const LABEL_PAIR_BYTES: usize = 64;
/// Related ids of a message.
pub const RELATED: usize = 16;
/// Bytes of a trace context.
pub const TRACE_BYTES: usize = 128;
/// Bytes of an artifact (section 3).
pub const ARTIFACT_BYTES: usize = 16 * 1024 * 1024;
/// How often a message may be passed on in answer to another (section 3).
pub const HOPS: u8 = 16;
/// How long an idempotency key is remembered (section 3).
pub const KEY_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many idempotency keys are remembered (section 3).
pub const KEYS: usize = 1_000_000;
/// Schedules of one actor.
pub const SCHEDULES: usize = 64;
/// Holds of one actor.
pub const HOLDS: usize = 16;
/// Questions of one actor that wait for an answer.
pub const QUESTIONS: usize = 16;
/// Messages of one mailbox that were read and still await acknowledgement.
pub const UNACKNOWLEDGED: usize = 1000;
/// Members of a team, its lead included (section 11).
pub const TEAM_MEMBERS: usize = 8;
/// Teams that one actor leads.
pub const TEAMS: usize = 16;
/// Workers of one group (W8).
pub const GROUP_MEMBERS: usize = 64;
/// How long an agent has to answer a question (section 10).
pub const QUESTION_LIMIT: Duration = Duration::from_secs(5 * 60);
/// How many turns in a row only continuations may cause (W9).
pub const CONTINUATIONS: u32 = 8;

/// Messages of one injection (W6).
pub const INJECTION_MESSAGES: usize = 100;
/// Rendered bytes of one injection (W6).
pub const INJECTION_BYTES: usize = 64 * 1024;
/// Rendered bytes of one message without its body (W6).
pub const ENVELOPE_BYTES: usize = 4 * 1024;
/// Rendered bytes of the lists of one message: references, labels, related ids.
pub const LISTS_BYTES: usize = 16 * 1024;
/// Rendered bytes that an injection takes apart from its messages.
pub const INJECTION_HEAD_BYTES: usize = 1024;

/// Rendered bytes of each injection that another one takes the place of.
pub const INJECTION_NAME_BYTES: usize = 31;

/// Messages waiting in one mailbox, offered ones included (section 3).
pub const UNREAD_MESSAGES: usize = 1000;
/// Bytes of body, subject and summary waiting in one mailbox (section 3).
pub const UNREAD_BYTES: u64 = 256 * 1024;
/// Messages waiting in the whole store (section 3).
pub const STORE_MESSAGES: u64 = 2_000_000;
/// Bytes waiting in the whole store (section 3).
pub const STORE_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Free disk space that sends leave alone, at most (section 3).
pub const DISK_RESERVE_BYTES: u64 = 256 * 1024 * 1024;
/// Free disk space that sends leave alone, in hundredths of the disk.
pub const DISK_RESERVE_PERCENT: u64 = 5;
/// Recipients of one message.
pub const RECIPIENTS: usize = 64;

/// How long after the latest mail a window closes (W1).
pub const QUIET: Duration = Duration::from_millis(200);
/// How long after the first mail a window closes at the latest (W1).
pub const WINDOW_MAX: Duration = Duration::from_secs(1);

/// Charged attempts before a message is dead (section 4).
pub const ATTEMPTS: u32 = 5;
/// Deaths of the process before a message is dead (section 4).
pub const DEATHS: u32 = 3;
/// A process that died younger than this lays its death at the door of its latest turn (section 4).
pub const SHORT_LIFE: Duration = Duration::from_secs(60);
/// The first delay of a back-off (section 4).
pub const BACKOFF_MIN: Duration = Duration::from_millis(500);
/// The longest delay of a back-off (section 4).
pub const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// How long beyond its closing time mail may wait before the audit counts it (section 1).
pub const OVERDUE: Duration = Duration::from_secs(1);
/// How often the audit looks by itself (P5).
pub const AUDIT_EVERY: Duration = Duration::from_secs(30);
/// How long dead and archived mail is kept (section 13).
pub const DEAD_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many turns of each core may be starting (W11).
pub const STARTING_PER_CORE: usize = 8;
/// How long a turn may be starting (W11).
pub const START_LIMIT: Duration = Duration::from_secs(60);

/// Turns that compute at the same time under one slot key (S4).
pub const SLOTS: usize = 5;
/// How deep workers may have workers (S5).
pub const DEPTH: u32 = 4;
/// Open runs among one actor's children (S5).
pub const CHILDREN: u32 = 16;
/// Children ever of one actor that is not the root (S5).
pub const CHILDREN_EVER: u32 = 64;
/// Open runs in one tree (S5).
pub const TREE: u32 = 512;
/// Spawns per minute in one tree (S5).
pub const SPAWNS_PER_MINUTE: u32 = 60;

/// No progress for this long and no declared wait is a stall (L1).
pub const STALL_AFTER: Duration = Duration::from_secs(6 * 60);
/// How long a cancelled turn has before it is cut (section 9).
pub const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// How long running turns have when the runtime shuts down (section 12).
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(25);
/// How long an aborted turn may take to return before it counts as abandoned (S8).
pub const ABORT_GRACE: Duration = Duration::from_secs(1);

const _: () = {
    assert!(AGENT_NAME_BYTES + 8 <= ACTOR_NAME_BYTES);
    assert!(INJECTION_HEAD_BYTES + ENVELOPE_BYTES + 2 * NOTICE_CUT_BYTES * 9 < INJECTION_BYTES);
    assert!(NOTICE_CUT_BYTES < NOTICE_RESULT_BYTES && NOTICE_RESULT_BYTES < RESULT_BYTES);
    assert!(QUIET.as_nanos() < WINDOW_MAX.as_nanos());
    assert!(BACKOFF_MIN.as_nanos() < BACKOFF_MAX.as_nanos());
};
