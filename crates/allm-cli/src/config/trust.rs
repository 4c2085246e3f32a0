//! Whether the configuration of a folder is used.
//!
//! A folder may come from anybody, and its `allm.toml` could send a key elsewhere or run commands. So a person is asked
//! once, and again when it says something else. What was agreed to is kept by its path and the hash of its content.

use std::io::{IsTerminal as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::source::Source;
use crate::places;
use crate::problem::Problem;
use crate::terminal;
use crate::transcript::plain::harmless;

/// Whether somebody may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A person at the terminal, if there is one.
    Person,
    /// Nobody: it is only looked.
    Nobody,
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It is as it was when somebody agreed to it.
    Trusted,
    /// It says something else now.
    Changed,
    /// Nobody has agreed to it.
    New,
}

/// Whether the file is used, which says these things. `agreed` is what `--trust` says.
pub(super) fn check(
    source: &Source,
    says: &[String],
    agreed: bool,
    ask: Ask,
) -> Result<(), Problem> {
    let shown = source.file();
    let path = std::path::absolute(shown).unwrap_or_else(|_| shown.to_owned());
    let path = path.canonicalize().unwrap_or(path);
    let hash = hex(source.text().as_bytes());
    let known = known(&path, &hash);
    if known == Known::Trusted {
        return Ok(());
    }
    let what = match known {
        Known::Changed => "has changed since it was trusted",
        _ => "is not trusted yet",
    };
    let what = format!("{} {what}; it says", path.display());
    let what = [what].into_iter().chain(says.iter().cloned());
    let what = what.collect::<Vec<_>>().join("\n    ");
    if !agreed {
        let is_person =
            ask == Ask::Person && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if !is_person {
            let look = format!("look at it: cat {}", quoted(&path));
            return Err(Problem::usage(what).advice(format!(
                "{look}\n  then --trust uses it from now on, and --config {} this time",
                quoted(shown)
            )));
        }
        if !terminal::agreed(&format!("allm: {what}\nTrust it from now on?"))? {
            let what = format!("{} is not trusted, so nothing was done", path.display());
            return Err(Problem::usage(what)
                .advice("--config FILE names another one; elsewhere this one does not count"));
        }
    }
    if let Err(error) = remember(&path, &hash) {
        let note = format!("allm: that it is trusted cannot be remembered: {error}");
        // There is nowhere else to say that it could not be said.
        let _ = writeln!(std::io::stderr(), "{}", harmless(&note));
    }
    Ok(())
}

/// Where it is kept that a file is trusted.
fn record(path: &Path) -> Result<PathBuf, Problem> {
    let folder = places::data()?.join("trusted");
    Ok(folder.join(hex(path.as_os_str().as_bytes())))
}

fn known(path: &Path, hash: &str) -> Known {
    let kept = record(path).map(std::fs::read_to_string);
    match kept {
        Ok(Ok(kept)) if kept.split(' ').next() == Some(hash) => Known::Trusted,
        Ok(Ok(_)) => Known::Changed,
        _ => Known::New,
    }
}

/// The hash and the path, as `sha256sum` writes and checks them.
fn remember(path: &Path, hash: &str) -> std::io::Result<()> {
    let record =
        record(path).map_err(|problem| std::io::Error::other(problem.what().to_owned()))?;
    let line = format!("{hash}  {}\n", path.display());
    places::write_private(&record, line.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path as it is typed in a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
