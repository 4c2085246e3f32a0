//! One at a time: a lock between programs.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::part::writing;
use crate::error::ModelError;

/// Held while a model is obtained. The system gives it back when its program dies.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

/// How long to wait before another look.
const LOOK: Duration = Duration::from_millis(50);

impl Lock {
    /// Waits until nobody else has it.
    pub(super) async fn take(path: &Path, mut waiting: impl FnMut()) -> Result<Self, ModelError> {
        loop {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(path);
            let file = file.map_err(|error| writing(path, error))?;
            match file.try_lock() {
                // Who had it before may have removed the file that we opened.
                Ok(()) if is_at(&file, path) => {
                    let path = path.to_owned();
                    return Ok(Self { path, file });
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    waiting();
                    tokio::time::sleep(LOOK).await;
                }
                Err(TryLockError::Error(error)) => return Err(writing(path, error)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(ours), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

/// A file that is open cannot be removed there.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}
