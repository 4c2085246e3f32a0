//! Where things are kept.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// Names the folder of everything that is kept; for tests and for people with several.
pub(crate) const DATA_DIR: &str = "ALLM_DATA_DIR";

/// Where sessions, history and models are: `$ALLM_DATA_DIR`, `$XDG_DATA_HOME/allm` or `~/.local/share/allm`.
pub(crate) fn data() -> Result<PathBuf, Problem> {
    folder(DATA_DIR, "XDG_DATA_HOME", ".local/share")
}

/// Where the user's own configuration is: `$ALLM_CONFIG_DIR`, `$XDG_CONFIG_HOME/allm` or `~/.config/allm`.
pub(crate) fn config() -> Result<PathBuf, Problem> {
    folder("ALLM_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")
}

fn folder(own: &str, base: &str, in_home: &str) -> Result<PathBuf, Problem> {
    if let Some(folder) = variable(own) {
        return Ok(folder.into());
    }
    // The rules of XDG: a relative path is none.
    let base = variable(base)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(in_home));
    let base = base.or_else(home).ok_or_else(|| {
        Problem::usage("there is no home directory to keep anything in")
            .advice(format!("set HOME or {own}"))
    })?;
    Ok(base.join("allm"))
}

/// Writes a file that is nobody else's to read, whole or not at all, also when two programs do it at once.
pub(crate) fn write_private(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let written = file.with_extension(std::process::id().to_string());
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let done = options
        .open(&written)
        .and_then(|mut opened| opened.write_all(bytes))
        .and_then(|()| std::fs::rename(&written, file));
    if done.is_err() {
        let _ = std::fs::remove_file(&written);
    }
    done
}

/// A variable of the environment that says something.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
