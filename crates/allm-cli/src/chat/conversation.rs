//! A conversation: a stored session, who is asked, and where it is shown.

use std::path::PathBuf;

use allm::session::Annotated;
use allm::{
    Beginning, DurableSession, Engine, Message, OnUnknownOutcome, SessionError, Sessions, Thread,
    Tool,
};

use crate::config::Config;
use crate::engine::Ready;
use crate::mcp::{Changed, Connected};
use crate::model::{Chosen, Why};
use crate::patience::Waits;
use crate::problem::{Exit, Problem};
use crate::session_id::create;

use super::display::{Display, error_line};
use super::facts::Facts;
use super::input::Input;
use super::signals;

/// The tag of sessions that are conversations in a terminal.
pub(crate) const TAG: (&str, &str) = ("command", "chat");

/// What a conversation needs besides its session.
pub(crate) struct Parts {
    pub(crate) ready: Ready,
    pub(crate) display: Display,
    pub(crate) input: Input,
    pub(crate) sessions: Sessions,
    /// The database.
    pub(crate) file: PathBuf,
    pub(crate) config: Config,
    /// How long the model is waited for.
    pub(crate) patience: Waits,
}

/// A conversation.
pub(crate) struct Conversation {
    /// The engine as it is configured.
    configured: Engine,
    /// The same with the model and the tools of this conversation.
    pub(super) engine: Engine,
    /// All tools; some may be switched off.
    pub(super) tools: Vec<Tool>,
    /// The servers that some of them belong to.
    pub(super) connected: Connected,
    /// What the person was told of tools that are not what they were.
    pub(super) told: Vec<Changed>,
    pub(super) model: String,
    /// Why it is this model, in words.
    pub(super) why: String,
    pub(super) display: Display,
    pub(super) input: Input,
    pub(super) sessions: Sessions,
    pub(super) file: PathBuf,
    pub(super) config: Config,
    pub(super) patience: Waits,
    pub(super) session: DurableSession,
    pub(super) facts: Facts,
    /// What stands in the line at the next prompt: something that could not be said.
    pub(super) offered: Option<String>,
}

impl Conversation {
    /// A new conversation.
    pub(crate) async fn begin(parts: Parts, system: Option<&str>) -> Result<Self, Problem> {
        let facts = Facts {
            model: Some(parts.ready.chosen.model.clone()),
            ..Facts::default()
        };
        let thread = match system {
            Some(text) => Thread::new().with(Message::system(text)),
            None => Thread::new(),
        };
        let beginning = Beginning::new()
            .thread(thread)
            .metadata(facts.write(&allm::Map::new()))
            .tag(TAG.0, TAG.1);
        let session = create(&parts.sessions, beginning).await?;
        let Chosen { model, why } = parts.ready.chosen.clone();
        Self::new(parts, session, facts, model, in_words(&why))
    }

    /// A conversation that was held before.
    pub(crate) fn go_on(parts: Parts, session: DurableSession) -> Result<Self, Problem> {
        let facts = Facts::read(session.metadata());
        let Chosen { model, why } = parts.ready.chosen.clone();
        Self::new(parts, session, facts, model, in_words(&why))
    }

    fn new(
        parts: Parts,
        session: DurableSession,
        facts: Facts,
        model: String,
        why: String,
    ) -> Result<Self, Problem> {
        let mut conversation = Self {
            engine: parts.ready.engine.clone(),
            configured: parts.ready.engine,
            tools: parts.ready.tools,
            // What was so at the beginning was told before it.
            told: parts.ready.connected.changes(),
            connected: parts.ready.connected,
            model,
            why,
            display: parts.display,
            input: parts.input,
            sessions: parts.sessions,
            file: parts.file,
            config: parts.config,
            patience: parts.patience,
            session,
            facts,
            offered: None,
        };
        conversation.engine = conversation.engine_for(&conversation.model, &conversation.facts)?;
        Ok(conversation)
    }

    /// The engine with this model, and the tools that are switched on.
    pub(super) fn engine_for(&self, model: &str, facts: &Facts) -> Result<Engine, Problem> {
        let is_on = |tool: &&Tool| !facts.off.contains(tool.name.as_str());
        let tools: Vec<Tool> = self.tools.iter().filter(is_on).cloned().collect();
        let unknown = match self.display.terminal().is_interactive() {
            true => OnUnknownOutcome::AskPerson,
            false => OnUnknownOutcome::TellModel,
        };
        let engine = self.configured.with(|builder| {
            builder
                .model(model)
                .only_tools(tools)
                .on_unknown_outcome(unknown)
        });
        Ok(engine?)
    }

    /// Changes what the conversation remembers.
    pub(super) async fn remember(&mut self, facts: Facts) -> Result<(), SessionError> {
        let metadata = facts.write(self.session.metadata());
        let changed = Annotated {
            metadata: Some(metadata),
            ..Annotated::default()
        };
        self.session.annotate(changed).await?;
        self.facts = facts;
        Ok(())
    }

    /// Says what this is.
    pub(super) fn header(&mut self) {
        let id = self.session.id().as_str().to_owned();
        self.display.ask(&format!("{} ({})", self.model, self.why));
        self.display.note(&format!("session {id}"));
        let on = self.tools.iter().map(|tool| tool.name.as_str());
        let on: Vec<&str> = on.filter(|name| !self.facts.off.contains(*name)).collect();
        let tools = match on.as_slice() {
            [] => "no tools".to_owned(),
            names => format!("tools: {}", names.join(", ")),
        };
        self.display.note(&tools);
        if !self.facts.always.is_empty() {
            let names: Vec<&str> = self.facts.always.keys().map(String::as_str).collect();
            let names = names.join(", ");
            self.display.tell(&format!(
                "always approved here: {names} (/tools ask NAME asks again)"
            ));
        }
        self.display.note("/help tells more, Ctrl-D leaves");
        self.display.gap();
    }

    /// What stands before the line: what is open, if something is.
    pub(super) fn prompt(&self) -> String {
        match self.waiting_for() {
            Some(what) => format!("({what} open, /resume) > "),
            None => "> ".to_owned(),
        }
    }

    /// What the session waits for, in a word.
    pub(super) fn waiting_for(&self) -> Option<&'static str> {
        use allm::session::WaitKind;
        let waits = self.session.waits();
        Some(match waits.first()?.wait.kind() {
            WaitKind::Question => "question",
            WaitKind::Approval => "approval",
            _ => "result",
        })
    }

    /// The first message comes from the command line and is shown as if it were typed.
    pub(super) fn show_first(&mut self, text: &str) {
        if self.display.terminal().is_interactive() {
            self.display.message(&Message::user(text));
        }
    }

    /// Says that somebody must decide, where nobody can be asked.
    pub(super) fn tell_waiting(&mut self) -> Exit {
        self.display.end();
        let id = self.session.id();
        let what = self.waiting_for().unwrap_or("decision");
        error_line(&format!(
            "allm: the conversation {id} waits for a person ({what})\n  allm chat --resume {id} in a terminal, or allm sessions show {id}"
        ));
        Exit::Waiting
    }

    /// Ends it: what was never begun is not kept, and else it is said how to go on.
    pub(super) async fn leave(&mut self, ended: Result<Exit, Problem>) -> Result<Exit, Problem> {
        use allm::{DeleteIf, Role};
        // What still goes on is left so that anyone can go on with it at once.
        signals::leave(&self.sessions).await;
        // Of a run that was left, more may be stored than was heard of.
        let _ = self.session.reload().await;
        let thread = self.session.thread();
        let is_begun = thread
            .messages
            .iter()
            .any(|message| message.role != Role::System)
            || !self.session.inbox().is_empty();
        let id = self.session.id().clone();
        if is_begun {
            self.display
                .note(&format!("allm chat --resume {id} goes on with it"));
        } else {
            let condition = DeleteIf::Version(self.session.version());
            // It does no harm if it stays.
            let _ = self.sessions.delete(&id, condition).await;
        }
        ended
    }
}

/// Why a model is asked.
fn in_words(why: &Why) -> String {
    match why {
        Why::Asked => "as asked".to_owned(),
        Why::Kept => "of this conversation".to_owned(),
        Why::Configured => "by the configuration".to_owned(),
        Why::Variable => "by ALLM_MODEL".to_owned(),
        Why::Key(name) => format!("because {name} is set"),
        Why::Embedded => "embedded: no key and no configuration was found".to_owned(),
    }
}
