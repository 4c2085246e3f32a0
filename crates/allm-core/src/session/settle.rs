//! What settles a session that nobody drives, or that has nothing to run.

use serde_json::json;

use super::call::Wait;
use super::entry::{
    EntryBody, Expired, ModelEnd, ModelFailed, OutcomeSource, Recovered, ToolOutcomeEntry,
};
use super::ops::Input;
use super::state::Session;
use crate::data::{ChatResult, FailureReason, HaltReason, Response, Timestamp, Usage, WriterId};
use crate::encode;
use crate::error::{Error, Failure, StreamError, StreamReason};
use crate::run::{Command, ToolOutcome};

impl Session {
    /// What settles a session that nobody drives: the wish to stop, and an end for everything that is open. Empty when
    /// there is nothing to stop.
    #[must_use]
    pub fn cancel_entries(&self, reason: impl Into<String>, by: Option<String>) -> Vec<EntryBody> {
        let stop = Self::stop_entry(reason, by);
        let already = self.run.is_some() && self.check_stop() == Input::Known;
        let mut entries = Vec::new();
        if !already {
            if self.check_stop() == Input::Known {
                return entries;
            }
            entries.push(stop.clone());
        }
        let Some(state) = &self.run else {
            return entries;
        };
        match state.run.command() {
            Command::CallModel(_) | Command::StopModel => {
                let error = StreamError::new(StreamReason::Cancelled, "the run was cancelled");
                entries.push(EntryBody::ModelFailed(Box::new(ModelFailed {
                    turn: self.turn.saturating_add(1),
                    attempt: state.attempt,
                    end: ModelEnd::Stopped,
                    error: Failure::from(Error::from(error)),
                    partial: state.partial.clone(),
                    usage: Usage::default(),
                })));
            }
            Command::RunTools(calls) | Command::StopTools(calls) => {
                let keys = calls.iter().filter_map(|call| {
                    let turn = self.open_turn.as_ref()?;
                    let key = turn.key(call.index);
                    Some((key, turn.get(key)?))
                });
                let ends = keys.map(|(key, call)| {
                    let outcome = match call.intent() {
                        Some(_) => ToolOutcome::failed(encode::closed(
                            FailureReason::UnknownOutcome,
                            call.call.original_name(),
                        )),
                        None => ToolOutcome::NotStarted,
                    };
                    let source = OutcomeSource::Recovery;
                    let entry = ToolOutcomeEntry::new(key, call.attempts, outcome, source);
                    EntryBody::ToolOutcome(Box::new(entry))
                });
                entries.extend(ends);
            }
            _ => {}
        }
        entries
    }

    /// That somebody takes the unfinished run over; `None` when there is none.
    #[must_use]
    pub fn recovery_entry(&self, previous: Option<WriterId>, limit: u32) -> Option<EntryBody> {
        let state = self.run.as_ref()?;
        let calls = self.open_turn.iter().flat_map(|turn| turn.keyed());
        let intents = calls.filter(|(_, call)| call.intent().is_some());
        let asks_model = matches!(state.run.command(), Command::CallModel(_));
        Some(EntryBody::Recovered(Recovered {
            run: state.id,
            previous_writer: previous,
            open_intents: intents.map(|(key, _)| key).collect(),
            lost_model_call: asks_model && !state.interrupted,
            limit,
        }))
    }

    /// Keeps what had come of an answer whose stream was dropped, for a session that nobody stores.
    pub fn leave_partial(&mut self, partial: Response) {
        if let Some(state) = &mut self.run {
            state.partial = Some(partial);
        }
    }

    /// What closes the waits that have expired by this time, in call order.
    #[must_use]
    pub fn expired_entries(&self, now: Timestamp) -> Vec<EntryBody> {
        let due = self.open_waits().filter_map(|(call, _, wait)| {
            let deadline = wait.expires_at().filter(|limit| *limit <= now)?;
            Some(EntryBody::Expired(Expired { call, deadline }))
        });
        due.collect()
    }

    /// The result of an operation that had nothing to run: how the session stands.
    pub fn standing_result(&self) -> ChatResult {
        let question = self.question();
        let halted_reason = match &question {
            Some(_) => HaltReason::AskUser,
            None if self.open_waits().next().is_some() => HaltReason::ManualToolCalls,
            None => self.last_halt.clone().unwrap_or(HaltReason::Completed),
        };
        let error = self
            .failure
            .as_ref()
            .and_then(|failure| failure.error.as_ref());
        let error = error.map(|error| ("error".to_owned(), json!(error)));
        let (pending_question, pending_tool_call_id) = match question {
            Some(open) => match open.wait {
                Wait::Question(question) => (Some(question.question), Some(open.tool_call_id)),
                _ => (None, None),
            },
            None => (None, None),
        };
        ChatResult {
            thread: self.thread(),
            final_response: None,
            steps: Vec::new(),
            halted_reason,
            pending_question,
            pending_tool_call_id,
            metadata: error.into_iter().collect(),
        }
    }
}
