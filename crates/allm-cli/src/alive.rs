//! Which processes that write to a database of sessions are alive.
//!
//! Who drives a session holds it for some time, and a process that was killed cannot give it back. On one machine nobody
//! has to wait for that time: every process locks a file of its own beside the database, the system gives the lock back
//! when the process ends in whatever way, and so anyone can see whether the holder is gone.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use allm::WriterId;

/// Says that this process is alive, as long as it is there.
#[derive(Debug)]
pub(crate) struct Alive {
    file: PathBuf,
    /// Holds the lock.
    _lock: File,
}

/// Says that this process is alive. Where that cannot be said, others wait until what it holds is over.
pub(crate) fn announce(store: &Path, writer: &WriterId) -> Option<Alive> {
    let folder = folder(store);
    std::fs::create_dir_all(&folder).ok()?;
    tidy(&folder);
    let file = folder.join(writer.as_str());
    let lock = File::create(&file).ok()?;
    lock.try_lock().ok()?;
    Some(Alive { file, _lock: lock })
}

/// Whether the process is gone that wrote under this name. `None` if that cannot be known.
pub(crate) fn is_gone(store: &Path, writer: &WriterId) -> Option<bool> {
    let file = File::open(folder(store).join(writer.as_str())).ok()?;
    match file.try_lock() {
        Ok(()) => Some(true),
        Err(TryLockError::WouldBlock) => Some(false),
        Err(TryLockError::Error(_)) => None,
    }
}

impl Alive {
    /// The process ends and may still hold something: that it is gone stays to be seen.
    pub(crate) fn leave_behind(self) {
        std::mem::forget(self);
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // What panics has given nothing back.
        if !std::thread::panicking() {
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// Beside the database, as its own files are.
fn folder(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-alive");
    name.into()
}

/// How long the file of a process that is gone is kept: longer than what it held.
const KEPT: std::time::Duration = std::time::Duration::from_secs(3_600);

/// Deletes the files of processes that are gone for long.
fn tidy(folder: &Path) {
    let Ok(files) = std::fs::read_dir(folder) else {
        return;
    };
    for file in files.flatten() {
        let age = file.metadata().and_then(|facts| facts.modified());
        let is_old = age.is_ok_and(|age| age.elapsed().is_ok_and(|age| age > KEPT));
        let is_free = || File::open(file.path()).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_old && is_free() {
            let _ = std::fs::remove_file(file.path());
        }
    }
}
