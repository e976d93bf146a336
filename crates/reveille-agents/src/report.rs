//! What a program says of its own success: the first lines of its output.
//!
//! `**Status**: success|partial|failed|blocked` and `**Summary**: one line`, in either order, before
//! anything else but blank lines. They are taken off the result. Of a summary the first 200 characters
//! count.

use reveille::Status;

/// A program's output, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported<'a> {
    /// What it says of its success.
    pub status: Status,
    /// What it did, in a line.
    pub summary: Option<&'a str>,
    /// The rest of the output.
    pub result: &'a str,
}

/// Reads the report at the head of an output.
///
/// ```
/// use reveille::Status;
/// use reveille_agents::report::read;
///
/// let reported = read("**Status**: partial\n**Summary**: half of it\n\nThe rest.\n");
/// assert_eq!(reported.status, Status::Partial);
/// assert_eq!(reported.summary, Some("half of it"));
/// assert_eq!(reported.result, "The rest.\n");
/// ```
#[must_use]
pub fn read(output: &str) -> Reported<'_> {
    let mut reported = Reported { status: Status::Unreported, summary: None, result: output };
    let mut rest = output;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        if let Some(word) = line.strip_prefix("**Status**:") {
            reported.status = Status::parse(word);
        } else if let Some(summary) = line.strip_prefix("**Summary**:") {
            reported.summary = Some(summary.trim());
        } else if !line.is_empty() {
            break;
        }
        rest = after;
    }
    if reported.status != Status::Unreported || reported.summary.is_some() {
        reported.result = rest;
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_without_a_report_is_the_result_whole() {
        for output in ["", "\n\nhello\n", "hello\n**Status**: success\n"] {
            let reported = read(output);
            assert_eq!((reported.status, reported.result), (Status::Unreported, output));
        }
    }

    #[test]
    fn a_status_nobody_knows_is_kept_as_it_was_said() {
        let reported = read("**Status**: splendid\r\nx");
        assert_eq!(reported.status, Status::Unrecognised("splendid".into()));
        assert_eq!(reported.result, "x");
    }
}
