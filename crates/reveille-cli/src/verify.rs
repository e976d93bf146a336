//! `verify`: checks a store at rest. Exit code 1 means that a promise is violated.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::VerifyArgs;
use crate::out;

/// Checks the store.
pub(crate) fn run(args: &VerifyArgs, json: bool) -> anyhow::Result<ExitCode> {
    let data = args.data.folder()?;
    let report = reveille_store::verify::verify(&data)?;
    let rows = report.state.as_ref().map_or(&[][..], |state| state.rows());
    let unread: usize = rows.iter().map(|row| row.unread().count()).sum();
    let open = rows.iter().filter(|row| row.run.is_some()).count();
    if json {
        let findings: Vec<_> = report
            .findings
            .iter()
            .map(|found| json!({ "promise": found.promise, "what": found.what }))
            .collect();
        out::line(json!({
            "violations": findings,
            "records": report.records,
            "actors": rows.len(),
            "open_runs": open,
            "unread": unread,
        }));
    } else {
        for found in &report.findings {
            out::line(format_args!("{}: {}", found.promise, found.what));
        }
        out::line(format_args!(
            "{} records, {} actors, {open} open runs, {unread} unread messages: {} violations",
            report.records,
            rows.len(),
            report.findings.len(),
        ));
    }
    Ok(ExitCode::from(u8::from(!report.findings.is_empty())))
}
