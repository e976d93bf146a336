//! A backup of the store, whoever holds it.

use std::path::PathBuf;

use clap::Args;
use reveille::Runtime;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Answer;

/// Write a backup.
#[derive(Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backup {
    /// The folder that the backup is written to; it must not be there yet.
    #[arg(value_name = "DIR")]
    pub(crate) to: PathBuf,
}

impl Backup {
    pub(crate) async fn perform(self, runtime: &Runtime) -> Answer {
        let to = self.to.display().to_string();
        runtime.backup(self.to).await?;
        Ok(json!({ "backup": to }))
    }
}
