//! Writing the three styles that are made of elements.

use super::Style;
use super::escape::{Place, escape};
use super::fields::{Field, Fields, of_entry, of_injection};
use crate::injection::Injection;

/// The text of an injection in a style that is made of elements.
pub(super) fn write(injection: &Injection, style: Style) -> String {
    let mut out = String::new();
    out.push_str("<injection");
    attributes(&mut out, &of_injection(injection), |name| name);
    out.push_str(if style == Style::Xml { ">\n" } else { "/>\n" });
    for entry in &injection.entries {
        let fields = of_entry(entry, injection, style == Style::Inbox);
        match style {
            Style::Inbox => inbox(&mut out, &fields),
            Style::PeerMessage => element(&mut out, "peer_message", &fields, peer_name, "\n"),
            Style::Xml | Style::Json => {
                let name = if fields.is_notice { "notice" } else { "message" };
                element(&mut out, name, &fields, |name| name, "");
            }
        }
    }
    if style == Style::Xml {
        out.push_str("</injection>\n");
    }
    out
}

/// What the fields are called in a `peer_message`.
pub(super) fn peer_name(name: &str) -> &str {
    match name {
        "sent" => "timestamp",
        "id" => "messageId",
        "correlation" => "correlationId",
        other => other,
    }
}

/// What the fields are called in an `inbox`.
pub(super) fn inbox_name(name: &str) -> &str {
    if name == "sent" { "sent_at" } else { name }
}

/// An `inbox`; a notice is an `actor-notification` without attributes, as harnesses expect it, and its
/// fields stand in an element before it.
fn inbox(out: &mut String, fields: &Fields) {
    if !fields.is_notice {
        return element(out, "inbox", fields, inbox_name, "\n");
    }
    out.push_str("<notice");
    attributes(out, &fields.fields, inbox_name);
    out.push_str("/>\n<actor-notification>\n");
    escape(out, &fields.body, Place::Body);
    out.push_str("\n</actor-notification>\n");
}

fn element(out: &mut String, name: &str, fields: &Fields, called: fn(&str) -> &str, around: &str) {
    out.push('<');
    out.push_str(name);
    attributes(out, &fields.fields, called);
    out.push('>');
    out.push_str(around);
    escape(out, &fields.body, Place::Body);
    out.push_str(around);
    out.push_str("</");
    out.push_str(name);
    out.push_str(">\n");
}

fn attributes(out: &mut String, fields: &[Field], called: fn(&str) -> &str) {
    for (name, value) in fields {
        out.push(' ');
        out.push_str(called(name));
        out.push_str("=\"");
        escape(out, value, Place::Attribute);
        out.push('"');
    }
}
