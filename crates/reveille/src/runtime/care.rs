//! Care of the store while it is in use (section 12).

use std::path::PathBuf;

use reveille_core::OpError;
use reveille_store::care::CareError;

use crate::runtime::Runtime;

impl Runtime {
    /// Writes a backup of the store into a new folder while everything goes on: the store as of one
    /// commit, with everything that was acknowledged before this was called.
    ///
    /// # Errors
    ///
    /// `invalid` when the folder is there already, `storage_failed` when it cannot be written; nothing
    /// is left behind then.
    pub async fn backup(&self, to: PathBuf) -> Result<(), OpError> {
        let store = self.hub.store.clone();
        let copied = tokio::task::spawn_blocking(move || store.backup(to, |_, _| {})).await;
        let failed = |reason: String| OpError::StorageFailed { reason };
        match copied {
            Ok(Ok(())) => Ok(()),
            Ok(Err(CareError::Exists { path })) => Err(OpError::invalid(
                "backup",
                &path.to_string_lossy(),
                "a folder that is not there",
            )),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}
