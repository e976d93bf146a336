//! No rendering takes more than it was counted for (W6).

use super::*;
use crate::limits::{
    BODY_BYTES, ENVELOPE_BYTES, INJECTION_BYTES, INJECTION_HEAD_BYTES, LABEL_BYTES,
    LABEL_PAIR_BYTES, LABELS, LINE_CHARS, LISTS_BYTES, NOTICE_RESULT_BYTES, RELATED,
};
use crate::render::fields::CUT_BODY_BYTES;

/// How many bytes an entry takes in a style.
fn size(style: Style, from: &Caller, content: &Content, cut: bool) -> usize {
    let one = Entry { cut, ..entry(10, from.clone(), content.clone()) };
    // The second entry, so that what stands between two is counted too.
    let two = vec![one.clone(), one.clone()];
    text(&injection(style, two)).len() - text(&injection(style, vec![one])).len()
}

/// Checks the costs of a message, and gives the most that it takes whole.
fn within(from: &Caller, content: &Content) -> usize {
    let costs = costs(from, content);
    assert!(costs.cut <= costs.whole && costs.envelope + costs.lists <= costs.whole);
    let most = |cut| Style::ALL.map(|style| size(style, from, content, cut)).into_iter().max();
    let (whole, cut) = (most(false).unwrap(), most(true).unwrap());
    assert!(whole <= costs.whole as usize, "{whole} > {costs:?}: {content:.300?}");
    assert!(cut <= costs.cut as usize, "{cut} > {costs:?} when cut: {content:.300?}");
    whole
}

fn lines(line: &str, body: &str) -> Text {
    Text { subject: Some(line.into()), summary: Some(line.into()), ..Text::new(body) }
}

/// The most that senders can do: every cost stays within its bound, in every style.
#[test]
fn no_rendering_takes_more_than_its_cost_and_no_envelope_more_than_its_limit() {
    let agent = Caller::Actor(address());
    let human = Caller::human(&"\u{e0041}".repeat(LABEL_BYTES / 4)).unwrap();
    let bodies = ["&", "<", "\"", "\r", "\n", "\u{e0041}", "é", "\u{fffe}", "\\"];
    let mut contents: Vec<Content> = bodies
        .iter()
        .map(|one| Content::Text(Text::new(one.repeat(BODY_BYTES / one.len()))))
        .collect();
    contents.extend([
        Content::Text(lines(&"&".repeat(LINE_CHARS), "x")),
        Content::Text(lines("", " \n")),
        Content::Text(full("\u{e0041}\"\\\n\u{1}&<", "\u{7f}\n\\")),
    ]);
    let worst = ["&".repeat(NOTICE_RESULT_BYTES), "\u{e0041}".repeat(LINE_CHARS)];
    contents.extend(worst.iter().flat_map(|value| notices(value)).map(Content::Notice));
    for content in &contents {
        for from in [&agent, &human] {
            within(from, content);
            let room = INJECTION_BYTES - INJECTION_HEAD_BYTES;
            assert!(costs(from, content).cut as usize <= room, "what is cut fits");
        }
    }
    let long = Content::Text(lines(&"&".repeat(LINE_CHARS), "x"));
    assert!(costs(&agent, &long).envelope as usize <= ENVELOPE_BYTES);
}

#[test]
fn the_injection_itself_takes_no_more_than_is_left_for_it() {
    for style in Style::ALL {
        assert!(text(&injection(style, vec![])).len() <= INJECTION_HEAD_BYTES);
    }
}

/// What is counted is what is taken, but for numbers that may grow and the words of other styles.
#[test]
fn a_plain_message_costs_little_more_than_it_takes() {
    for text in [Text::new("hello"), full("plain", "hello")] {
        let content = Content::Text(text);
        let most = within(&Caller::Host, &content);
        let cost = costs(&Caller::Host, &content).whole as usize;
        assert!(cost - most <= 128, "{most} of {cost}");
    }
}

#[test]
fn full_lists_of_plain_words_stay_within_their_limit() {
    let label = |n: usize| (format!("{n:064}"), "v".repeat(LABEL_PAIR_BYTES));
    let content = Content::Text(Text {
        references: (0..32)
            .map(|n| Reference { uri: format!("{n:0200}"), description: "d".repeat(100) })
            .collect(),
        labels: (0..LABELS).map(label).collect(),
        related: vec!["r".repeat(64); RELATED],
        ..Text::new("b")
    });
    let costs = costs(&Caller::Host, &content);
    assert!(costs.lists as usize <= LISTS_BYTES, "{costs:?}");
    assert!(costs.envelope < 400, "lists are no part of it: {costs:?}");
}

#[test]
fn a_message_that_is_alone_too_large_is_cut_and_says_how_to_read_the_rest() {
    let body = "<".repeat(BODY_BYTES);
    let content = Content::Text(Text::new(body.clone()));
    for style in Style::ALL {
        let one = Entry { cut: true, ..entry(10, Caller::Host, content.clone()) };
        let written = text(&injection(style, vec![one.clone()]));
        assert!(written.len() <= INJECTION_BYTES);
        let parsed = parse(style, &written).unwrap();
        let (head, note) = parsed.entries[0].body.rsplit_once('\n').unwrap();
        assert!(body.starts_with(head) && head.len() > 5000);
        assert_eq!(note, format!("[cut here; the whole text is kept as {}]", one.id));
        let cut = format!("{} of {BODY_BYTES} bytes", head.len());
        assert_eq!(parsed.entries[0].attribute("cut"), Some(cut.as_str()));
        assert_eq!(head.len(), CUT_BODY_BYTES / r"\u003c".len(), "the same in every style");
    }
}

#[test]
fn a_notice_that_is_cut_keeps_its_state_line_and_the_head() {
    for notice in notices(&"r".repeat(1000)) {
        let content = Content::Notice(notice.clone());
        for style in Style::ALL {
            let one = Entry { cut: true, ..entry(10, Caller::Host, content.clone()) };
            let parsed = parse(style, &text(&injection(style, vec![one]))).unwrap();
            let body = &parsed.entries[0].body;
            let whole = notice.text(false);
            let ending = whole.lines().next().unwrap().split_once(' ').unwrap().1;
            assert!(body.lines().next().unwrap().ends_with(ending), "{body}");
            assert!(body.contains(&"r".repeat(256)) && body.contains("[the first 256 of "));
            assert_eq!(parsed.entries[0].attribute("cut"), None);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_takes_more_than_its_cost(value in any::<String>(), body in any::<String>()) {
        within(&Caller::Human(value.clone()), &Content::Text(full(&value, &body)));
        for notice in notices(&value) {
            within(&Caller::Host, &Content::Notice(notice));
        }
    }
}
