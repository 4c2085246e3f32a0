//! The database of sessions.

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use allm::{Sessions, StoreError, StoreReason};
use allm_store::{Migrate, SqliteStore};

use crate::config::Config;
use crate::places;
use crate::problem::Problem;

/// How long a program that holds the file is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file of the sessions: what the arguments say, the configuration, or a file in the data directory.
pub(crate) fn file(given: Option<&Path>, config: &Config) -> Result<PathBuf, Problem> {
    match given.or(config.store.as_deref()) {
        Some(file) => Ok(file.to_owned()),
        None => Ok(places::data()?.join("sessions.db")),
    }
}

/// Opens the sessions in a file, which is made if it is not there.
pub(crate) async fn open(file: &Path) -> Result<Sessions, Problem> {
    let is_new = prepare(file)?;
    match opened(file, Migrate::Auto).await {
        Ok(sessions) => Ok(sessions),
        Err(problem) => {
            if is_new {
                // Nobody has put anything into it.
                let _ = std::fs::remove_file(file);
            }
            Err(problem)
        }
    }
}

/// Opens the sessions in a file if it is there. Nothing is made and nothing is migrated.
pub(crate) async fn existing(file: &Path) -> Result<Option<Sessions>, Problem> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(no_rights(file, &error)),
        Ok(_) => {}
    }
    usable(file)?;
    opened(file, Migrate::Never).await.map(Some)
}

async fn opened(file: &Path, migrate: Migrate) -> Result<Sessions, Problem> {
    let options = SqliteStore::options()
        .migrate(migrate)
        .busy_timeout(PATIENCE);
    match options.open(file).await {
        Ok(store) => Ok(Sessions::new(store)),
        Err(error) => Err(not_opened(file, &error)),
    }
}

/// Makes the file and its folder, for nobody else to read, if they are not there. Tells whether it made the file.
fn prepare(file: &Path) -> Result<bool, Problem> {
    let folder = file.parent();
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| {
            let folder = folder.display();
            Problem::failed(format!("the folder {folder} cannot be made: {error}"))
                .advice("name another file with --store")
        })?;
    }
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    match made {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            usable(file)?;
            Ok(false)
        }
        Err(error) => Err(no_rights(file, &error)),
    }
}

/// Whether the file can be read and written, asked before the database is, because that says only that it cannot.
fn usable(file: &Path) -> Result<(), Problem> {
    let opened = OpenOptions::new().read(true).write(true).open(file);
    opened.map(drop).map_err(|error| no_rights(file, &error))
}

fn no_rights(file: &Path, error: &std::io::Error) -> Problem {
    let file = file.display();
    let advice = match error.kind() {
        ErrorKind::PermissionDenied => "see who may read and write it (ls -l), or name another",
        _ => "name another",
    };
    Problem::failed(format!("the sessions in {file} cannot be opened: {error}"))
        .advice(format!("{advice} file with --store"))
}

fn not_opened(file: &Path, error: &StoreError) -> Problem {
    let file = file.display();
    let (what, advice) = match error.reason {
        StoreReason::Corrupt => (
            format!("{file} is damaged, or no database of sessions"),
            "bring back a copy of it, or name another file with --store",
        ),
        StoreReason::SchemaTooNew => (
            format!("the sessions in {file} were written by a newer allm"),
            "use that one, or name another file with --store",
        ),
        StoreReason::SchemaTooOld => (
            format!("{file} is no database of sessions of this allm"),
            "name another file with --store; `allm chat` makes one, and brings an older one up to date",
        ),
        StoreReason::Full => (
            format!("there is no room left on the disk of {file}"),
            "make room, or name another file with --store",
        ),
        _ => (
            format!(
                "the sessions in {file} are held by another program, for more than {} s",
                PATIENCE.as_secs()
            ),
            "close the program that holds the file, or name another one with --store",
        ),
    };
    Problem::failed(what).advice(advice)
}
