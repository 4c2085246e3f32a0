//! A turn: what is said goes to the model, and what comes back is shown.

use std::pin::pin;
use std::time::Duration;

use allm::session::{CallState, Delivery, OpenTurn};
use allm::{
    CancelToken, ChatResult, FinishReason, HaltReason, SessionError, SessionReason, SessionStatus,
};
use tokio::time::Instant;

use crate::failure::explain;
use crate::hold::{self, Holder};
use crate::problem::{Exit, Problem};
use crate::terminal::state;

use super::conversation::Conversation;
use super::waits::Settled;

/// A run that takes longer to stop is told of.
const SLOW: Duration = Duration::from_millis(500);

/// What is done with the session.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// The person says this.
    Say(String),
    /// It goes on.
    Resume,
    /// It is tried again.
    Retry,
}

/// What came of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Went {
    /// Nothing was shown that would need a gap.
    Nowhere,
    /// It is done.
    Done,
    /// It failed, and that was said.
    Failed,
    /// Something is left open.
    Waiting,
    /// The program ends.
    Leave(Exit),
}

impl Conversation {
    /// Says something to the model. What cannot be said now is kept and delivered when it can.
    pub(super) async fn say(&mut self, text: &str) -> Result<Went, Problem> {
        let is_open = !self.session.waits().is_empty();
        let is_held = match self.session.status() {
            SessionStatus::InProgress
            | SessionStatus::AwaitingApproval
            | SessionStatus::AwaitingTools => true,
            SessionStatus::Error => is_open,
            _ => false,
        };
        if !is_held {
            return self.go(Some(Op::Say(text.to_owned()))).await;
        }
        if let Err(error) = self.session.send(text, Delivery::NextTurn).await {
            return Ok(self.refused(&error));
        }
        if is_open {
            self.display
                .note("(it is said as soon as what is open is decided)");
            return self.go(None).await;
        }
        self.go(Some(Op::Resume)).await
    }

    /// Does something, decides what it comes to wait for, and goes on until it is done.
    pub(super) async fn go(&mut self, first: Option<Op>) -> Result<Went, Problem> {
        let mut next = first;
        loop {
            if let Some(op) = next.take() {
                let went = self.drive(op).await?;
                if went != Went::Waiting {
                    return Ok(went);
                }
            }
            match self.settle().await? {
                Settled::All => {}
                Settled::Left => return Ok(Went::Waiting),
                Settled::Leave => return Ok(Went::Leave(Exit::Done)),
            }
            match self.session.is_runnable() {
                true => next = Some(Op::Resume),
                false => return Ok(Went::Done),
            }
        }
    }

    /// Drives the session and shows what happens, until it stops. Ctrl-C stops it.
    async fn drive(&mut self, op: Op) -> Result<Went, Problem> {
        self.display.begin(self.open_calls());
        let unseen = state::unseen();
        let token = CancelToken::new();
        let said = match &op {
            Op::Say(text) => Some(text.clone()),
            _ => None,
        };
        let call = match op {
            Op::Say(text) => self.session.reply(&self.engine, text),
            Op::Resume => self.session.resume(&self.engine),
            Op::Retry => self.session.retry(&self.engine),
        };
        let mut stream = call.cancel(token.clone()).stream();
        let mut slow = pin!(tokio::time::sleep(Duration::MAX));
        let mut is_told = false;
        loop {
            tokio::select! {
                event = stream.next() => match event {
                    Some(event) => self.display.event(&event),
                    None => break,
                },
                wait = self.patience.next(&self.model) => self.display.note(&wait),
                () = &mut slow, if token.is_cancelled() && !is_told => {
                    is_told = true;
                    self.display.note("(stopping; Ctrl-C again leaves at once)");
                }
                () = self.input.interrupted() => {
                    if token.is_cancelled() {
                        self.display.note("(left; it may still go on)");
                        return Ok(Went::Leave(Exit::Interrupted));
                    }
                    token.cancel();
                    slow.as_mut().reset(Instant::now() + SLOW);
                }
            }
        }
        let result = stream.finish().await;
        drop(unseen);
        self.display.end();
        match result {
            Ok(result) => Ok(self.stopped(&result)),
            Err(error)
                if error.reason == SessionReason::Conflict
                    || (error.reason == SessionReason::Busy && self.is_free().await) =>
            {
                self.catch_up().await?;
                self.offered = said;
                Ok(Went::Failed)
            }
            Err(error) => Ok(self.refused(&error)),
        }
    }

    /// The calls of the open turn that have not ended.
    fn open_calls(&self) -> Vec<(u32, String)> {
        let turn = self.session.open_turn();
        let calls = turn.into_iter().flat_map(OpenTurn::calls).zip(0..);
        calls
            .filter(|(call, _)| !matches!(call.state, CallState::Closed(_)))
            .map(|(call, index)| (index, call.call.original_name().to_owned()))
            .collect()
    }

    /// Says why a run stopped, where that is not plain to see.
    fn stopped(&mut self, result: &ChatResult) -> Went {
        let note = match &result.halted_reason {
            HaltReason::Completed => {
                let finish = result.final_response.as_ref();
                match finish.and_then(|response| response.finish_reason.as_ref()) {
                    Some(FinishReason::Length) => "(cut off: the answer has reached its limit)",
                    Some(FinishReason::ContentFilter) => "(cut off by the provider's filter)",
                    _ => return Went::Done,
                }
            }
            HaltReason::AskUser | HaltReason::ManualToolCalls => return Went::Waiting,
            HaltReason::Cancelled => "(interrupted)",
            HaltReason::MaxTurns => "(stopped: no turns are left; /resume goes on)",
            HaltReason::Truncated => {
                "(cut off in the middle of a call, which was not run; /resume goes on)"
            }
            HaltReason::DeadlineExceeded => "(stopped: its time is over; /resume goes on)",
            HaltReason::BudgetExhausted => "(stopped: the budget is used up; /resume goes on)",
            HaltReason::Error | HaltReason::ToolError => {
                self.tell_failure();
                return Went::Failed;
            }
            HaltReason::Custom(reason) => {
                let note = format!("(a tool ended the run: {})", reason.as_str());
                self.display.note(&note);
                return Went::Done;
            }
            _ => return Went::Done,
        };
        self.display.note(note);
        Went::Done
    }

    /// Says why the last turn failed.
    pub(super) fn tell_failure(&mut self) {
        let Some(failure) = self.session.failure() else {
            return;
        };
        let problem = match &failure.error {
            Some(error) => explain(error, &self.model, &self.config),
            None => Problem::failed(format!("{} ({})", failure.message, failure.kind)),
        };
        self.tell_problem(&problem);
        self.display.note("/retry tries again");
    }

    /// Says what went wrong, and what to do about it.
    pub(super) fn tell_problem(&mut self, problem: &Problem) {
        if !self.display.terminal().is_read {
            self.display.end();
            return problem.tell();
        }
        self.display.fault(problem.what());
        if let Some(advice) = problem.what_to_do() {
            self.display.note(advice);
        }
    }

    /// Says why something was not done.
    pub(super) fn refused(&mut self, error: &SessionError) -> Went {
        if self.session.failure().is_some() {
            self.tell_failure();
            return Went::Failed;
        }
        let text = match (error.reason, &error.held) {
            (SessionReason::Busy, Some(held)) => format!(
                "another process goes on with this conversation; it holds it until {}",
                held.expires_at
            ),
            (SessionReason::NothingToResume, _) => "there is nothing to go on with".to_owned(),
            _ => error.message.clone(),
        };
        self.display.fault(&text);
        Went::Failed
    }

    /// Whether whoever held the conversation is gone.
    async fn is_free(&self) -> bool {
        let holder = hold::look(&self.sessions, &self.file, self.session.id()).await;
        holder == Ok(Holder::Nobody)
    }

    /// Somebody else went on with the conversation: shows what was said since.
    async fn catch_up(&mut self) -> Result<(), Problem> {
        let seen = self.session.thread().len();
        self.session.reload().await?;
        self.display
            .tell("This conversation was gone on with elsewhere. This was said since:");
        let thread = self.session.thread();
        for message in thread.messages.iter_from(seen.min(thread.len())) {
            self.display.message(message);
        }
        self.display
            .note("(what you said was not sent; Enter sends it)");
        Ok(())
    }
}
