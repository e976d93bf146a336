//! Answers as lines for people.

use std::collections::HashMap;

use serde_json::Value;

use crate::out;

/// A value as one text: nothing for none, lists separated by commas.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}={}", text(value));
            let said = fields.iter().filter(|(_, value)| !value.is_null() && *value != "");
            said.map(field).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// A text that does to a terminal nothing but show: line ends stay, other control characters are
/// written out.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

fn field(value: &Value, name: &str) -> String {
    value.get(name).map(text).unwrap_or_default()
}

fn all(answer: &Value) -> &[Value] {
    answer.as_array().map_or(&[], Vec::as_slice)
}

/// Rows in columns as wide as their widest text, under their names; nothing for no rows.
fn table(answer: &Value, columns: &[&str]) {
    let line = |row: &Value| -> Vec<String> {
        columns.iter().map(|name| field(row, name).replace(['\n', '\t'], " ")).collect()
    };
    let mut rows: Vec<Vec<String>> = all(answer).iter().map(line).collect();
    if rows.is_empty() {
        return;
    }
    rows.insert(0, columns.iter().map(|name| name.to_uppercase().replace('_', " ")).collect());
    let width = |index: usize| {
        let texts = rows.iter().filter_map(|row| row.get(index));
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(text, &width)| format!("{text:width$}"));
        out::line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

pub(super) fn inbox(answer: &Value) {
    table(answer, &["id", "kind", "from", "since", "offered", "subject"]);
}

pub(super) fn dead(answer: &Value) {
    table(answer, &["id", "address", "since", "reason", "from", "detail"]);
}

pub(super) fn questions(answer: &Value) {
    table(answer, &["id", "asker", "asked", "tool", "options", "until", "text"]);
}

pub(super) fn schedules(answer: &Value) {
    table(answer, &["address", "key", "due", "every", "by"]);
}

pub(super) fn teams(answer: &Value) {
    table(answer, &["id", "name", "lead", "members"]);
}

pub(super) fn members(answer: &Value) {
    table(answer, &["address", "agent", "role", "joined_at"]);
}

/// What was made: its id alone, for scripts; the rest beside it.
pub(super) fn sent(answer: &Value) {
    out::line(field(answer, "id"));
    if answer.get("duplicate").and_then(Value::as_bool) == Some(true) {
        out::note("this call was made before; nothing was sent");
    }
}

/// One thing, a field on each line, what it says last.
pub(super) fn fields(answer: &Value) {
    let Some(fields) = answer.as_object() else {
        return out::line(text(answer));
    };
    let is_body = |name: &str| matches!(name, "body" | "message" | "outcome");
    let nothing = |value: &Value| {
        value.is_null() || value.as_array().is_some_and(Vec::is_empty) || value == ""
    };
    for (name, value) in fields.iter().filter(|(_, value)| !nothing(value)) {
        match value {
            Value::Array(rows) if rows.iter().any(Value::is_object) => {
                rows.iter().for_each(|row| out::line(format_args!("{name}: {}", text(row))));
            }
            value if !is_body(name) || value.is_boolean() => {
                out::line(format_args!("{name}: {}", text(value)));
            }
            _ => {}
        }
    }
    for (name, value) in fields.iter().filter(|(name, value)| is_body(name) && !nothing(value)) {
        match value {
            Value::Object(_) => {
                out::line(format_args!("{name}:"));
                self::fields(value);
            }
            body => out::line(format_args!("\n{}", text(body))),
        }
    }
}

pub(super) fn why(answer: &Value) {
    for why in all(answer) {
        out::line(format_args!("{}: {}", field(why, "subject"), field(why, "state")));
        let waits = field(why, "waiting_for");
        if !waits.is_empty() {
            out::line(format_args!("  waits for {waits}"));
        }
        let facts = why.get("facts").map_or(&[][..], all);
        facts.iter().for_each(|fact| out::line(format_args!("  {}", text(fact))));
    }
}

/// An event in a line: position, time, type, whom it concerns, what it made, what is written of it.
pub(super) fn event(event: &Value) {
    let words = ["position", "at", "type", "actors", "id"].map(|name| field(event, name));
    let mut line: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    if let Some(fields) = event.get("fields") {
        line.push(fields.to_string());
    }
    if let Some(until) = event.get("until") {
        line.push(format!("until {until}: these have left the history"));
    }
    out::line(line.join(" "));
}

/// Actors below those whose workers they are.
pub(super) fn tree(answer: &Value) {
    let mut below: HashMap<String, Vec<&Value>> = HashMap::new();
    for entry in all(answer) {
        below.entry(field(entry, "parent")).or_default().push(entry);
    }
    let roots = below.get("").into_iter().flatten().rev();
    let mut next: Vec<(usize, &Value)> = roots.map(|entry| (0, *entry)).collect();
    while let Some((depth, entry)) = next.pop() {
        out::line(format_args!("{:indent$}{}", "", actor(entry), indent = 2 * depth));
        let children = below.get(&field(entry, "address")).into_iter().flatten().rev();
        next.extend(children.map(|child| (depth + 1, *child)));
    }
}

fn actor(entry: &Value) -> String {
    let [address, parent, agent, state, waits, since] =
        ["address", "parent", "agent", "state", "waiting_for", "since"]
            .map(|name| field(entry, name));
    let of_session = |address: &str| address.split_once('/').map(|(session, _)| session.to_owned());
    let name = match address.split_once('/') {
        Some((session, name)) if of_session(&parent).as_deref() == Some(session) => name,
        _ => &address,
    };
    let agent = if agent.is_empty() { "no agent".to_owned() } else { agent };
    let mut line = format!("{name} ({agent}) {state} since {since}");
    if !waits.is_empty() {
        line.push_str(&format!(", waits for {waits}"));
    }
    match entry.get("pending").and_then(Value::as_u64) {
        None | Some(0) => {}
        Some(pending) => line.push_str(&format!(", {pending} pending")),
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_somebody_else_wrote_cannot_steer_a_terminal() {
        assert_eq!(text(&json!("a\u{1b}[2Jb\nc")), "a\\u{1b}[2Jb\nc");
        assert_eq!(text(&json!(["x", 1, null])), "x, 1, ");
    }
}
