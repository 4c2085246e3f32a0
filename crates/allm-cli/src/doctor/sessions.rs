//! The database of sessions: whether it can be written, and whether it is whole.

use std::path::Path;

use allm::{PageRequest, SessionFilter};

use crate::problem::Problem;
use crate::store;

use super::Line;
use super::machine::existing;

/// How many sessions are read and checked against their hashes, the newest first.
const CHECKED: u32 = 100;

pub(super) async fn look(file: &Path) -> Line {
    let shown = file.display();
    if !file.exists() {
        return match is_writable(existing(file)) {
            Ok(()) => Line::ok("sessions", format!("none yet; they will be in {shown}")),
            Err(error) => {
                let what = format!("{shown} cannot be made: {error}");
                let advice = "mend the rights of the folder, or name another file with --store";
                Line::missing("sessions", &Problem::failed(what).advice(advice))
            }
        };
    }
    match check(file).await {
        Ok(text) => Line::ok("sessions", text),
        Err(problem) => Line::missing("sessions", &problem),
    }
}

async fn check(file: &Path) -> Result<String, Problem> {
    let shown = file.display();
    let about = std::fs::OpenOptions::new().append(true).open(file);
    about.map_err(|error| {
        Problem::failed(format!("{shown} cannot be written: {error}"))
            .advice("mend its rights, or name another file with --store")
    })?;
    let sessions = store::open(file).await?;
    let page = PageRequest::new(CHECKED).map_err(|error| Problem::failed(error.to_string()))?;
    let page = sessions.list(&SessionFilter::default(), page).await?;
    for head in &page.items {
        let id = head.id.as_str();
        if let Err(error) = sessions.open(id).await {
            let what = format!("the session `{id}` in {shown} is damaged: {error}");
            return Err(Problem::failed(what).advice(format!("allm sessions delete {id}")));
        }
    }
    let checked = page.items.len();
    Ok(match page.next {
        None => format!("{checked} in {shown}, all whole"),
        Some(_) => format!("the newest {checked} in {shown} are whole"),
    })
}

/// Whether something can be written in a folder: nothing but trying tells.
fn is_writable(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".allm-doctor-{}", std::process::id()));
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&probe)?;
    std::fs::remove_file(&probe)
}
