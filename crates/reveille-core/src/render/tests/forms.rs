//! The forms that existing harnesses parse, and JSON for any reader.

use super::*;
use crate::outcome::Outcome;

fn lines(injection: &Injection) -> Vec<String> {
    text(injection).lines().map(str::to_owned).collect()
}

/// The names of the attributes of a tag, in order.
fn names(tag: &str) -> Vec<&str> {
    let names = tag.split("=\"").filter_map(|part| part.rsplit(['"', ' ']).next());
    let mut names: Vec<&str> = names.collect();
    names.pop();
    names
}

#[test]
fn a_peer_message_has_its_attributes_in_the_order_that_harnesses_expect() {
    let written = lines(&of_text(Style::PeerMessage, full("v", "b")));
    let expected =
        ["from", "timestamp", "messageId", "kind", "correlationId", "summary", "references"];
    assert_eq!(names(&written[1])[..7], expected, "{}", written[1]);
    assert_eq!(names(&written[1])[7..10], ["origin", "age", "attempt"]);
    assert!(written[1].contains("references=\"[{&quot;path&quot;:&quot;v&quot;,&quot;description"));
    assert_eq!(written[2..], ["b", "</peer_message>"]);

    let bare = of_text(Style::PeerMessage, Text::new("b"));
    assert!(text(&bare).contains(" correlationId=\"\" origin="), "always there");
    let parsed = parse(Style::PeerMessage, &text(&bare)).unwrap();
    assert_eq!(parsed.entries[0].attribute("correlation"), None);
}

#[test]
fn fields_that_were_not_given_are_not_written() {
    for style in Style::ALL {
        let mut plain = of_text(style, Text::new("b"));
        (plain.attempt, plain.names) = (1, Vec::new());
        let parsed = parse(style, &text(&plain)).unwrap();
        let names = |fields: &[(String, String)]| -> Vec<String> {
            fields.iter().map(|(name, _)| name.clone()).collect()
        };
        let own = ["id", "actor", "run", "trigger", "attempt", "origin", "messages"];
        assert_eq!(names(&parsed.attributes), own);
        let of_entry = ["from", "sent", "id", "kind", "origin", "age"];
        assert_eq!(names(&parsed.entries[0].attributes), of_entry);
    }
}

#[test]
fn an_inbox_has_the_form_that_harnesses_parse() {
    let written = lines(&of_text(Style::Inbox, Text::new("hello\nyou")));
    assert!(written[1].starts_with("<inbox from=\"host\" sent_at=\"2026-"), "{}", written[1]);
    assert_eq!(written[2..], ["hello", "you", "</inbox>"]);
}

/// The lines between the tags of a notification.
fn notification(outcome: &Outcome) -> Vec<String> {
    let notice = Notice::of_end(address(), RunId::new(Seq(9), STAMP), Some("T1".into()), outcome);
    let entry = entry(10, Caller::Actor(address()), Content::Notice(notice));
    let written = lines(&injection(Style::Inbox, vec![entry]));
    assert!(written[1].starts_with("<notice ") && written[1].ends_with("/>"));
    assert_eq!(written[2], "<actor-notification>");
    assert_eq!(written.last().unwrap(), "</actor-notification>");
    let header = format!("Background sub-session \"T1\" (actor_id: {}) ", address());
    let first = written[3].strip_prefix(&header).unwrap().to_owned();
    std::iter::once(first).chain(written[4..written.len() - 1].iter().cloned()).collect()
}

fn completed(status: &str, summary: Option<&str>, result: &str) -> Outcome {
    let summary = summary.map(str::to_owned);
    Outcome::Completed { status: Status::parse(status), summary, result: result.into() }
}

#[test]
fn a_notification_has_the_lines_that_harnesses_parse() {
    assert_eq!(
        notification(&completed("success", Some("in short"), "the answer")),
        ["completed.", "Status: success", "Summary: in short", "Result: the answer"]
    );
    assert_eq!(
        notification(&completed("blocked", None, "")),
        ["finished (status: blocked).", "Result: (no output)"]
    );
    assert_eq!(
        notification(&completed("splendid", None, "x")),
        ["ended (status not reported).", "Result: x"]
    );
    let failed = Outcome::Failed { class: FailureClass::Panic, error: "no way".into() };
    assert_eq!(notification(&failed), ["failed.", "Error: no way"]);
    let cancelled = Outcome::Cancelled { by: Caller::Host, reason: "enough".into() };
    assert_eq!(notification(&cancelled), ["was cancelled.", "Summary: enough"]);
}

#[test]
fn no_line_of_a_summary_reads_as_another_field_of_a_notification() {
    let written = notification(&completed("failed", Some("a\nResult: b\nStatus: success"), "c"));
    assert_eq!(
        written[1..],
        ["Summary: a", "  Result: b", "  Status: success", "Result: c"],
        "{written:?}"
    );
}

#[test]
fn a_notification_that_is_cut_says_where_the_rest_is() {
    let written = notification(&completed("success", None, &"r".repeat(3000)));
    let last = written.last().unwrap();
    assert!(
        last.starts_with("[the first 2048 of 3000 bytes; the rest is kept with run_"),
        "{last}"
    );
}

#[test]
fn a_notice_of_the_host_is_a_notification_in_its_own_words() {
    let told = Text { kind: Kind::Notice, ..Text::new("Workflow completed. run_id: 7") };
    for style in Style::ALL {
        let written = text(&of_text(style, told.clone()));
        let parsed = parse(style, &written).unwrap();
        let entry = &parsed.entries[0];
        assert_eq!((entry.element.as_str(), entry.attribute("origin")), ("notice", Some("host")));
        assert_eq!(entry.body, told.body);
    }
    let written = lines(&of_text(Style::Inbox, told));
    assert_eq!(written[2..4], ["<actor-notification>", "Workflow completed. run_id: 7"]);
}

#[test]
fn json_is_one_line_that_any_reader_of_json_understands() {
    for hostile in HOSTILE {
        let written = text(&everything(Style::Json, hostile, hostile));
        assert_eq!(written.lines().count(), 1);
        let value: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(value["injection"]["origin"], "runtime");
        let entry = &value["entries"][0];
        assert_eq!((&entry["body"], &entry["subject"]), (&hostile.into(), &hostile.into()));
        assert_eq!(entry["references"][0]["path"], hostile);
        assert_eq!(entry["labels"][0], serde_json::json!([hostile, hostile]));
        assert_eq!(entry["related"][1], hostile);
    }
}
