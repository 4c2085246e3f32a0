//! `allm chat`: a conversation in the terminal.

mod branch;
mod commands;
mod conversation;
mod display;
pub(crate) mod facts;
mod input;
mod markdown;
mod resume;
mod save;
mod servers;
mod signals;
mod turn;
mod usage;
mod waits;

use std::path::Path;

use crate::alive;
use crate::arguments::{self, Common};
use crate::config::{Ask, Config};
use crate::engine;
use crate::mcp::OnFailure;
use crate::patience;
use crate::places;
use crate::problem::{Exit, Problem};
use crate::store;
use crate::terminal::{Terminal, state};

use conversation::{Conversation, Parts};
use display::Display;
use facts::Facts;
use input::{Asked, Input, Said};
use turn::Went;

pub(crate) async fn perform(common: &Common, asked: arguments::Chat) -> Result<Exit, Problem> {
    let terminal = Terminal::here();
    let config = Config::load(common, Ask::Person)?;
    let file = store::file(common.store.as_deref(), &config)?;
    // A conversation has its own model, which is the one that must be there.
    let found = match &asked.resume {
        Some(id) => Some(resume::find(&store::open(&file).await?, id).await?),
        None => None,
    };
    let kept = found
        .as_ref()
        .and_then(|found| Facts::read(found.metadata()).model);
    // Before anything is stored: a model that is not there leaves no trace.
    let ready = engine::build(&asked.asking, kept.as_deref(), &config, OnFailure::GoOn);
    let ready = ready.await.map_err(|problem| match &kept {
        Some(kept) if asked.asking.model.is_none() => resume::without_model(problem, kept),
        _ => problem,
    })?;
    for problem in &ready.connected.failures {
        problem.tell();
    }
    let sessions = match &found {
        Some(found) => found.sessions().clone(),
        None => store::open(&file).await?,
    };
    let alive = alive::announce(&file, sessions.writer());
    let kept = terminal.is_interactive().then(state::keep).flatten();
    signals::end_cleanly(sessions.clone())?;
    let input = Input::open(terminal, history()?)?;
    let parts = Parts {
        ready,
        display: Display::new(terminal),
        input,
        sessions,
        file,
        config,
        patience: patience::listen(),
    };
    let is_system_asked = asked.asking.system.is_some();
    let system = asked.asking.system.or_else(|| parts.config.system.clone());
    let mut conversation = match found {
        Some(session) => {
            let mut conversation = Conversation::go_on(parts, session)?;
            if is_system_asked {
                let note = "(--system is for new conversations; /system TEXT changes it here)";
                conversation.display.note(note);
            }
            conversation
        }
        None => Conversation::begin(parts, system.as_deref()).await?,
    };
    let ended = conversation
        .hold(asked.resume.is_some(), asked.prompt)
        .await;
    let ended = conversation.leave(ended).await;
    drop(kept);
    match (&ended, alive) {
        (Ok(Exit::Done), _) | (_, None) => {}
        // It may not have been possible to give everything back.
        (_, Some(alive)) => alive.leave_behind(),
    }
    ended
}

/// Where what was said is remembered.
fn history() -> Result<std::path::PathBuf, Problem> {
    let folder = places::data()?;
    let failed = |error| {
        let folder = folder.display();
        Problem::failed(format!("the folder {folder} cannot be made: {error}"))
    };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let file = folder.join("history");
    make_private(&file);
    Ok(file)
}

/// What was said is nobody else's to read.
fn make_private(file: &Path) {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let mut options = std::fs::OpenOptions::new();
    let made = options.append(true).create(true).mode(0o600).open(file);
    if let Ok(made) = made {
        // It may have been there with other rights.
        let _ = made.set_permissions(std::fs::Permissions::from_mode(0o600));
    }
}

impl Conversation {
    /// Asks for messages and says them, until the person leaves.
    async fn hold(&mut self, is_resumed: bool, first: Option<String>) -> Result<Exit, Problem> {
        self.header();
        if is_resumed {
            self.show_tail();
            if let Some(exit) = self.take_up().await? {
                return Ok(exit);
            }
        }
        let mut next = first;
        let mut was_interrupted = false;
        loop {
            let said = match next.take() {
                Some(text) => {
                    self.show_first(&text);
                    Said::Text(text)
                }
                None => {
                    let asked =
                        Asked::message(self.prompt(), self.offered.take().unwrap_or_default());
                    self.input.ask(asked).await
                }
            };
            let text = match said {
                Said::End => return Ok(Exit::Done),
                Said::Interrupted if was_interrupted => return Ok(Exit::Interrupted),
                Said::Interrupted => {
                    self.display.note("(Ctrl-C again leaves; so does Ctrl-D)");
                    was_interrupted = true;
                    continue;
                }
                Said::Text(text) => text,
            };
            was_interrupted = false;
            let went = self.hear(&text).await?;
            let ended = self.after(went);
            self.tell_changes();
            if let Some(exit) = ended {
                return Ok(exit);
            }
        }
    }

    /// What a line means: a command, or something for the model.
    async fn hear(&mut self, text: &str) -> Result<Went, Problem> {
        if text.trim().is_empty() {
            return Ok(Went::Nowhere);
        }
        match text.strip_prefix('/') {
            Some(command) => self.command(command).await,
            None => self.say(text.trim()).await,
        }
    }

    /// Whether the program ends by what came of a line.
    fn after(&mut self, went: Went) -> Option<Exit> {
        let is_interactive = self.display.terminal().is_interactive();
        match went {
            Went::Leave(exit) => Some(exit),
            // There is nobody who could be asked, or who would see that something is wrong.
            Went::Waiting if !is_interactive => Some(self.tell_waiting()),
            Went::Failed if !is_interactive => Some(Exit::Failed),
            Went::Done | Went::Failed | Went::Waiting => {
                self.display.gap();
                None
            }
            Went::Nowhere => None,
        }
    }
}
