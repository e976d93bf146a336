//! How a command that failed ends: one line that says why, and the exit code of its kind.

use std::process::ExitCode;

use reveille::{Code, ConfigError, OpError, OpenError, StartError};
use reveille_store::care::CareError;
use serde_json::json;

use crate::out;

/// What the user gave cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid(pub(crate) String);

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

const INVALID: Code = Code { name: "invalid", http: 422, exit: 2 };
/// Anything that has no name of its own.
const FAILED: Code = Code { name: "failed", http: 500, exit: 1 };

/// Reports an error and gives the exit code.
pub(crate) fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    let code = code(error);
    if json {
        out::line(json!({ "error": { "code": code.name, "message": format!("{error:#}") } }));
    } else {
        out::note(format_args!("error: {error:#} [{}]", code.name));
    }
    ExitCode::from(code.exit)
}

fn code(error: &anyhow::Error) -> Code {
    error
        .chain()
        .find_map(|cause| {
            let op = cause.downcast_ref::<OpError>().map(OpError::code);
            let open = || cause.downcast_ref::<OpenError>().map(OpenError::code);
            let care = || cause.downcast_ref::<CareError>().map(CareError::code);
            let start = || match cause.downcast_ref::<StartError>()? {
                StartError::Store(error) => Some(error.code()),
                StartError::Config(_) => Some(INVALID),
                _ => None,
            };
            let invalid = || {
                let given = cause.downcast_ref::<Invalid>().is_some();
                let config = cause.downcast_ref::<ConfigError>().is_some();
                (given || config).then_some(INVALID)
            };
            op.or_else(open).or_else(care).or_else(start).or_else(invalid)
        })
        .unwrap_or(FAILED)
}
