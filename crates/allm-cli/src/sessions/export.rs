//! `allm sessions export`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use allm::{LoadFrom, StoreReason, Version};

use super::{Desk, fault, find, journal_file, output};
use crate::arguments::Common;
use crate::problem::{Exit, Problem};

pub(super) async fn export(
    common: &Common,
    id: &str,
    file: Option<PathBuf>,
) -> Result<Exit, Problem> {
    let desk = Desk::open(common).await?;
    let id = find::typed(id)?;
    let whole = LoadFrom::After(Version(0));
    let loaded = match desk.sessions.store().load(&id, whole).await {
        Ok(loaded) => loaded,
        Err(error) if error.reason == StoreReason::NotFound => {
            return Err(find::missing(&desk.sessions, &id).await);
        }
        Err(error) => return Err(fault::told(id.as_str(), &error.into())),
    };
    let text = journal_file::write(&loaded).map_err(|error| fault::told(id.as_str(), &error))?;
    match file {
        None => drop(output::print(&text)?),
        Some(file) => write(&file, &text)?,
    }
    Ok(Exit::Done)
}

/// Writes a file for nobody else to read: the whole of it, or nothing.
fn write(file: &Path, text: &str) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        Problem::failed(format!("{} cannot be written: {error}", file.display()))
            .advice("name another file with --output")
    };
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut out| {
            out.write_all(text.as_bytes())?;
            out.sync_all()
        })
        .and_then(|()| std::fs::rename(&beside, file));
    written.map_err(|error| {
        // What is not whole is nothing.
        let _ = std::fs::remove_file(&beside);
        failed(error)
    })
}
