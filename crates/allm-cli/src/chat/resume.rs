//! Going on with a conversation that was held before.

use std::time::Duration;

use allm::{DurableSession, Role, SessionFilter, Sessions};

use crate::hold::{self, Holder};
use crate::problem::{Exit, Problem};
use crate::sessions::find;

use super::branch::is_answer;
use super::conversation::{Conversation, TAG};
use super::turn::{Op, Went};

/// How often it is looked whether another process is done.
const LOOK: Duration = Duration::from_millis(500);

/// The conversation with this id; without one the last.
pub(super) async fn find(sessions: &Sessions, id: &str) -> Result<DurableSession, Problem> {
    if !id.is_empty() {
        return find::open(sessions, id).await;
    }
    let filter = SessionFilter::new().tag(TAG.0, TAG.1);
    match find::newest(sessions, &filter, 1).await?.first() {
        Some(last) => find::open(sessions, last.id.as_str()).await,
        None => {
            let what = "there is no conversation to go on with";
            Err(Problem::usage(what).advice("allm chat begins one"))
        }
    }
}

/// The conversation's own model cannot be asked any more.
pub(super) fn without_model(problem: Problem, model: &str) -> Problem {
    let more = format!("the conversation was held with {model}; --model names another one");
    match problem.what_to_do().map(str::to_owned) {
        Some(advice) => problem.advice(format!("{advice}\n  {more}")),
        None => problem.advice(more),
    }
}

impl Conversation {
    /// Shows the end of what was said: the last two things that the person said, and what came of them.
    pub(super) fn show_tail(&mut self) {
        let thread = self.session.thread();
        let said: Vec<usize> = (0..thread.len())
            .filter(|place| {
                let message = thread.messages.get(*place);
                message.is_some_and(|message| message.role == Role::User)
                    && !is_answer(&thread, *place)
            })
            .collect();
        let from = match said.as_slice() {
            [.., before, _] => *before,
            [only] => *only,
            [] => return,
        };
        let is_shown = |role| role != Role::System;
        let before = thread.messages.iter().take(from);
        let before = before.filter(|message| is_shown(message.role)).count();
        if before > 0 {
            self.display
                .note(&format!("… {before} messages before this"));
        }
        for message in thread.messages.iter_from(from) {
            self.display.message(message);
        }
        self.display.gap();
    }

    /// Goes on where the conversation was left: with a run that did not come to its end, or with what is open.
    pub(super) async fn take_up(&mut self) -> Result<Option<Exit>, Problem> {
        let is_left = self.session.run().is_some();
        if is_left {
            self.take_over().await?;
            self.session.reload().await?;
        }
        let went = if self.session.run().is_some() {
            self.display
                .note("(the last answer did not come to its end; it goes on)");
            self.go(Some(Op::Resume)).await?
        } else if !self.session.waits().is_empty() {
            self.go(None).await?
        } else if self.session.failure().is_some() {
            self.tell_failure();
            Went::Done
        } else if self.session.is_runnable() {
            self.go(Some(Op::Resume)).await?
        } else {
            Went::Nowhere
        };
        Ok(self.after(went))
    }

    /// Takes a session over whose holder is gone. One that lives is left alone; of one that nothing is known of it is
    /// waited until its time is over.
    async fn take_over(&mut self) -> Result<(), Problem> {
        let id = self.session.id().clone();
        let mut is_told = false;
        loop {
            match hold::look(&self.sessions, &self.file, &id).await? {
                Holder::Nobody => return Ok(()),
                Holder::Alive => {
                    let what = format!("another allm goes on with the conversation {id} just now");
                    return Err(Problem::failed(what)
                        .advice("wait until it is done, or end it, and try again"));
                }
                Holder::Unknown(_) if is_told => {}
                Holder::Unknown(until) => {
                    is_told = true;
                    self.display.note(&format!(
                        "(another process holds this conversation until {until}; waiting)"
                    ));
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.input.interrupted() => {
                    return Err(Problem::new(Exit::Interrupted, "interrupted"));
                }
            }
        }
    }
}
