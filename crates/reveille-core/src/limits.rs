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

/// Messages of one injection (W6).
pub const INJECTION_MESSAGES: usize = 100;
/// Rendered bytes of one injection (W6).
pub const INJECTION_BYTES: usize = 64 * 1024;
/// Rendered bytes of one message without its body (W6).
pub const ENVELOPE_BYTES: usize = 4 * 1024;
/// Rendered bytes that an injection takes apart from its messages.
pub const INJECTION_HEAD_BYTES: usize = 1024;

/// Messages waiting in one mailbox, offered ones included (section 3).
pub const UNREAD_MESSAGES: usize = 1000;
/// Bytes of body, subject and summary waiting in one mailbox (section 3).
pub const UNREAD_BYTES: u64 = 256 * 1024;
/// Messages waiting in the whole store (section 3).
pub const STORE_MESSAGES: u64 = 2_000_000;
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
/// The first delay of a back-off (section 4).
pub const BACKOFF_MIN: Duration = Duration::from_millis(500);
/// The longest delay of a back-off (section 4).
pub const BACKOFF_MAX: Duration = Duration::from_secs(30);

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
