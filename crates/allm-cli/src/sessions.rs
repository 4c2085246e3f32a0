//! `allm sessions`: stored conversations, and what they wait for.

mod decide;
mod delete;
mod drive;
mod export;
pub(crate) mod fault;
pub(crate) mod find;
pub(crate) mod how;
mod import;
mod journal_file;
mod list;
pub(crate) mod output;
mod resume;
mod show;

use std::path::PathBuf;

use allm::{SessionId, Sessions};

use crate::arguments::{Common, SessionsCommand};
use crate::config::{Ask, Config};
use crate::hold::{self, Holder};
use crate::problem::{Exit, Problem};
use crate::store;

/// The sessions, and what they are used with.
pub(crate) struct Desk {
    pub(crate) sessions: Sessions,
    /// The file that they are in.
    pub(crate) file: PathBuf,
    pub(crate) config: Config,
}

impl Desk {
    /// Opens the sessions that are there. Nothing is made.
    pub(crate) async fn open(common: &Common) -> Result<Self, Problem> {
        let config = Config::load(common, Ask::Person)?;
        let file = store::file(common.store.as_deref(), &config)?;
        match store::existing(&file).await? {
            Some(sessions) => Ok(Self {
                sessions,
                file,
                config,
            }),
            None => {
                let what = format!("there are no sessions: {} is not there", file.display());
                Err(Problem::usage(what)
                    .advice("`allm chat` begins one; --store names another file"))
            }
        }
    }

    /// Who else holds a session; one that is dead does no longer.
    async fn holder(&self, id: &SessionId) -> Result<Holder, Problem> {
        let held = hold::look(&self.sessions, &self.file, id).await;
        held.map_err(|error| fault::told(id.as_str(), &error.into()))
    }
}

pub(crate) async fn perform(common: &Common, asked: SessionsCommand) -> Result<Exit, Problem> {
    match asked {
        SessionsCommand::List {
            status,
            waiting,
            limit,
            json,
        } => {
            let wanted = list::Wanted {
                status,
                waiting,
                limit,
                json,
            };
            list::list(common, wanted).await
        }
        SessionsCommand::Show { id, format } => show::show(common, id, format).await,
        SessionsCommand::Answer {
            id,
            text,
            call,
            resume,
            asking,
        } => {
            let word = decide::Word::Answer(text);
            let then = decide::Then { resume, asking };
            decide::tell(common, &id, call.as_deref(), word, then).await
        }
        SessionsCommand::Submit {
            id,
            call,
            result,
            failed,
            resume,
            asking,
        } => {
            let word = match failed {
                false => decide::Word::Result(result),
                true => decide::Word::Failure(result),
            };
            let then = decide::Then { resume, asking };
            decide::tell(common, &id, Some(&call), word, then).await
        }
        SessionsCommand::Rerun {
            id,
            call,
            resume,
            asking,
        } => {
            let then = decide::Then { resume, asking };
            decide::tell(common, &id, call.as_deref(), decide::Word::RunAgain, then).await
        }
        SessionsCommand::Approve {
            id,
            call,
            arguments,
            resume,
            asking,
        } => {
            let verdict = decide::Verdict::Approve { arguments };
            let then = decide::Then { resume, asking };
            decide::decide(common, &id, call.as_deref(), verdict, then).await
        }
        SessionsCommand::Deny {
            id,
            call,
            reason,
            resume,
            asking,
        } => {
            let verdict = decide::Verdict::Deny { reason };
            let then = decide::Then { resume, asking };
            decide::decide(common, &id, call.as_deref(), verdict, then).await
        }
        SessionsCommand::Resume { id, asking } => resume::resume(common, &id, &asking).await,
        SessionsCommand::Export { id, output } => export::export(common, &id, output).await,
        SessionsCommand::Import { file, id } => import::import(common, &file, id).await,
        SessionsCommand::Delete { ids, force, yes } => {
            delete::delete(common, &ids, force, yes).await
        }
    }
}
