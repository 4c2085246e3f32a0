//! The conversation that a question belongs to.
//!
//! With `--session` it is in the store, and stays there. Without it, a run that can have to wait for a person is in the
//! store while it goes on, and stays there only if it waits: it can then go on tomorrow. Any other run is in memory only.

use allm::{
    Beginning, DeleteIf, DurableSession, Engine, Message, Session, SessionCall, SessionReason,
    SessionStatus, StoreReason, Thread, Tool,
};

use crate::alive::{self, Alive};
use crate::arguments::{Common, Run};
use crate::config::Config;
use crate::problem::{Exit, Problem};
use crate::sessions::how;
use crate::{hold, session_id, store, tools};

use super::end::End;

/// The conversation.
pub(super) enum Conversation {
    Value(Box<Session>),
    Stored(Box<Stored>),
}

pub(super) struct Stored {
    session: DurableSession,
    /// Whether it is deleted unless it waits.
    passing: bool,
    /// Says to others that this process is alive while it drives.
    alive: Option<Alive>,
}

impl Conversation {
    pub(super) async fn begin(
        common: &Common,
        asked: &Run,
        config: &Config,
        offered: &[Tool],
    ) -> Result<Self, Problem> {
        let system = asked.asking.system.as_ref().or(config.system.as_ref());
        let system = system.map(|text| Message::system(text.as_str()));
        let thread = Thread::from(Vec::from_iter(system));
        let can_wait = offered.iter().any(tools::can_wait);
        if asked.session.is_none() && !can_wait {
            let session =
                Session::new("run").map_err(|error| Problem::failed(error.to_string()))?;
            return Ok(Self::Value(Box::new(session.with_thread(thread))));
        }
        let file = store::file(common.store.as_deref(), config)?;
        let sessions = store::open(&file).await?;
        let alive = alive::announce(&file, sessions.writer());
        let stored = |session, passing| {
            Self::Stored(Box::new(Stored {
                session,
                passing,
                alive,
            }))
        };
        let beginning = Beginning::new().thread(thread).tag("command", "run");
        let Some(id) = &asked.session else {
            let session = session_id::create(&sessions, beginning).await?;
            return Ok(stored(session, true));
        };
        let session = match sessions.open(id.as_str()).await {
            Ok(session) => {
                check(&session)?;
                // Whoever holds it and lives is told when it is driven.
                hold::look(&sessions, &file, session.id()).await?;
                if asked.asking.system.is_some() {
                    let what = format!("the session `{id}` has begun: --system comes too late");
                    return Err(
                        Problem::usage(what).advice("leave it out, or begin another session")
                    );
                }
                session
            }
            Err(error) if error.store_reason() == Some(StoreReason::NotFound) => {
                sessions.create_with(id.as_str(), beginning).await?
            }
            Err(error) if error.reason == SessionReason::Invalid => {
                let what = format!("`{id}` cannot be the id of a session: {error}");
                return Err(Problem::usage(what));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(stored(session, false))
    }

    pub(super) fn reply<'a>(&'a mut self, engine: &Engine, message: Message) -> SessionCall<'a> {
        match self {
            Self::Value(session) => session.reply(engine, message),
            Self::Stored(stored) => stored.session.reply(engine, message),
        }
    }

    /// Where it stands.
    pub(super) fn session(&self) -> &allm::session::Session {
        match self {
            Self::Value(session) => session,
            Self::Stored(stored) => &stored.session,
        }
    }

    /// Its id, if it stays in the store when the run ends so.
    pub(super) fn kept_id(&self, waits: bool) -> Option<&str> {
        match self {
            Self::Stored(stored) if waits || !stored.passing => Some(stored.session.id().as_str()),
            _ => None,
        }
    }

    /// Leaves it as it is: the process ends at once.
    pub(super) fn leave_behind(self) {
        if let Self::Stored(stored) = self
            && let Some(alive) = stored.alive
        {
            alive.leave_behind();
        }
    }

    /// Deletes what was only there in case that it would have to wait.
    pub(super) async fn end(self, end: &End) -> Result<(), Problem> {
        match self {
            Self::Stored(stored) if stored.passing && !end.waits => {
                let sessions = stored.session.sessions().clone();
                let id = stored.session.id().clone();
                Ok(sessions.delete(&id, DeleteIf::Any).await?)
            }
            _ => Ok(()),
        }
    }
}

/// Whether something can be said in a stored session.
fn check(session: &DurableSession) -> Result<(), Problem> {
    let id = session.id();
    let waits = |what: &str| {
        let what = format!("the session `{id}` waits for {what}");
        Err(Problem::new(Exit::Waiting, what).advice(how::first(id, &session.waits())))
    };
    match session.status() {
        SessionStatus::AwaitingApproval => waits("a decision about a call"),
        SessionStatus::AwaitingTools => waits("the result of a call"),
        SessionStatus::InProgress => {
            let what = format!("the last run of the session `{id}` was left before its end");
            Err(Problem::failed(what).advice(format!("allm sessions resume {id}")))
        }
        _ => Ok(()),
    }
}
