//! Whether there is room on a disk.

use std::path::Path;

use crate::error::{ModelError, ModelErrorKind};

/// An error if the disk of a file has less room than needed. Where that cannot be told, writing will.
pub(super) fn check(file: &Path, needed: u64) -> Result<(), ModelError> {
    let folder = file.parent().unwrap_or(file);
    match free(folder) {
        Some(free) if free < needed => {
            let message = format!(
                "{} has {free} bytes free, and {needed} are needed; make room or set ALLM_DATA_DIR to another disk",
                folder.display()
            );
            Err(ModelError::new(ModelErrorKind::NoSpace, message))
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn free(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}
