//! How a command that failed ends: one line that says why, and the exit code of its kind.

use std::fmt;
use std::process::ExitCode;

use reveille::{Code, ConfigError, OpError, OpenError, StartError};
use reveille_store::care::CareError;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::out;

/// What the user gave cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid(pub(crate) String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

const INVALID: Code = Code { name: "invalid", http: 422, exit: 2 };
/// Anything that has no name of its own.
const FAILED: Code = Code { name: "failed", http: 500, exit: 1 };

/// A refusal as it is told to somebody else, over the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Its stable name.
    pub(crate) code: String,
    /// Why.
    pub(crate) message: String,
    /// The exit code of a command that ends with it.
    pub(crate) exit: u8,
}

impl Told {
    /// A refusal that is no operation's.
    pub(crate) fn new(code: &Code, message: impl Into<String>) -> Self {
        Self { code: code.name.to_owned(), message: message.into(), exit: code.exit }
    }
}

impl From<&OpError> for Told {
    fn from(error: &OpError) -> Self {
        Self::new(&error.code(), error.to_string())
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Told {}

/// Reports an error and gives the exit code.
pub(crate) fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    let (code, exit) = code(error);
    if json {
        out::line(json!({ "error": { "code": code, "message": format!("{error:#}") } }));
    } else {
        out::note(format_args!("error: {error:#} [{code}]"));
    }
    ExitCode::from(exit)
}

/// The stable name of an error, and its exit code.
fn code(error: &anyhow::Error) -> (String, u8) {
    if let Some(told) = error.chain().find_map(|cause| cause.downcast_ref::<Told>()) {
        return (told.code.clone(), told.exit);
    }
    let code = error
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
        .unwrap_or(FAILED);
    (code.name.to_owned(), code.exit)
}
