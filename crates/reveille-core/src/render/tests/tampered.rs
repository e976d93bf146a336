//! A text that was tampered with is refused with its place, or is plainly another text.

use super::*;

#[test]
fn no_beginning_of_a_text_is_a_text_and_nothing_may_follow_it() {
    for style in Style::ALL {
        let good = text(&everything(style, "v", "b\nc"));
        for end in 0..good.len() {
            assert!(parse(style, &good[..end]).is_err(), "{style}: {}", &good[..end]);
        }
        for more in ["x", "\n", " ", "<", "}"] {
            let error = parse(style, &format!("{good}{more}")).unwrap_err();
            assert_eq!(error.at, good.len(), "{style}: {error}");
        }
    }
}

#[test]
fn a_text_of_one_style_is_none_of_another() {
    for style in Style::ALL {
        let written = text(&everything(style, "v", "b"));
        for other in Style::ALL.into_iter().filter(|other| *other != style) {
            assert!(parse(other, &written).is_err(), "{style} as {other}");
        }
    }
}

/// Replaces the first `from` by `to`, and checks what is said of it and where.
fn refused(style: Style, from: &str, to: &str, expected: &str) {
    let good = text(&everything(style, "v", "b<c"));
    let start = good.find(from).unwrap_or_else(|| panic!("no {from} in {good}"));
    let error = parse(style, &good.replacen(from, to, 1)).unwrap_err();
    assert_eq!(error.expected, expected, "{style}: {from} -> {to}");
    assert!((start..=start + to.len() + 1).contains(&error.at), "{error}, not at {start}");
}

#[test]
fn what_was_changed_is_named_with_its_place() {
    let xml = |from, to, expected| refused(Style::Xml, from, to, expected);
    xml("b&lt;c", "b<c", "an escaped text");
    xml("b&lt;c", "b&#60;c", "an escaped text");
    xml("b&lt;c", "&lt;b\rc", "an escaped text");
    xml(" origin=\"runtime\"", " origin=\"human\"", "origin");
    xml(" subject=\"v\"", " subject=\"v\" subject=\"v\"", "a field that belongs here");
    xml(" subject=\"v\"", " x=\"v\"", "a field that belongs here");
    xml(" origin=\"human\"", "", "origin");
    xml("origin=\"human\"", "origin=\"lord\"", "origin");
    xml("kind=\"request\"", "kind=\"order\"", "kind");
    xml("references=\"[{&quot;path", "references=\"[{&quot;way", "references");
    xml("state=\"completed\"", "state=\"done\"", "state");
    refused(Style::PeerMessage, " correlationId=\"cv\"", "", "correlation");
    refused(Style::PeerMessage, "timestamp=\"2026", "timestamp=\"now", "sent");
    let json = |from, to, expected| refused(Style::Json, from, to, expected);
    json("\"b\\u003cc\"", "\"b<c\"", "a string as it is written");
    json("\"b\\u003cc\"", "\"b\\u003Cc\"", "a string as it is written");
    json("{\"path\":\"v\"", "{\"way\":\"v\"", "a reference");
    json(",\"kind\"", ", \"kind\"", "the next field");
    json("\"subject\":\"v\"", "\"subject\":7", "a string");
}

#[test]
fn an_entry_that_was_taken_away_is_missed() {
    for style in Style::ALL {
        let good = text(&everything(style, "v", "b"));
        let (from, to) = match style {
            Style::Xml => ("<message", "</message>\n"),
            Style::Json => ("{\"from\"", "\"b\"},"),
            Style::Inbox => ("<inbox", "</inbox>\n"),
            Style::PeerMessage => ("<peer_message", "</peer_message>\n"),
        };
        let (start, end) = (good.find(from).unwrap(), good.find(to).unwrap() + to.len());
        let error = parse(style, &(good[..start].to_owned() + &good[end..])).unwrap_err();
        assert_eq!(error.expected, "as many messages as it says", "{style}: {error}");
    }
}

proptest! {
    /// What is accepted is never what stood there before: no change goes unnoticed.
    #[test]
    fn a_change_is_refused_or_seen(
        at in any::<prop::sample::Index>(), cut in 0usize..40,
        put in prop_oneof![
            prop::sample::select(&HOSTILE[..]).prop_map(str::to_owned),
            "[<>&\"'{}\\[\\],:;/= \\n\\r\\t#a0x\\\\]{0,4}",
            any::<String>(),
        ],
    ) {
        for style in Style::ALL {
            let good = text(&everything(style, "v\n", "b"));
            let start = good.floor_char_boundary(at.index(good.len()));
            let end = good.ceil_char_boundary((start + cut).min(good.len()));
            let bad = format!("{}{put}{}", &good[..start], &good[end..]);
            if bad == good {
                continue;
            }
            match parse(style, &bad) {
                Ok(parsed) => prop_assert_ne!(parsed, parse(style, &good).unwrap(), "{}", bad),
                Err(error) => prop_assert!(error.at <= bad.len(), "{}: {}", error, bad),
            }
        }
    }
}
