//! From JSON back to a session. What was read is checked, and all that is wrong with it is told at once.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::call::{CallState, Outcome, Wait};
use super::check;
use super::form::{RunStateForm, SessionForm, TurnForm};
use super::hash::{RunningHash, started_hash};
use super::hashed::Hashed;
use super::journal::unsupported_machine;
use super::run_state::RunState;
use super::state::{Notes, Session};
use super::turn::{OpenTurn, TurnCall};
use crate::data::{Message, Role, Thread};
use crate::error::{Fault, FaultCode, SessionError, ValidationError, ValidationReason};
use crate::json;
use crate::path::Path;
use crate::run::Run;

impl Session {
    /// Writes the session, as [`json::to_vec`] does.
    ///
    /// # Errors
    ///
    /// `invalid` when something in it cannot be written as JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, SessionError> {
        Ok(json::to_vec(self)?)
    }

    /// Reads a session and checks it.
    ///
    /// # Errors
    ///
    /// `invalid`, with a [`JsonError`](crate::JsonError) for what is not of the format, or with a
    /// [`ValidationError`] that has every fault of what is; `unsupported_version` for one of a newer library;
    /// `unsupported_machine` for an unfinished run of rules that are no more.
    pub fn from_json(bytes: &[u8]) -> Result<Self, SessionError> {
        let form: SessionForm<'static> = json::from_slice(bytes)?;
        Self::restore(form)
    }

    fn restore(form: SessionForm<'_>) -> Result<Self, SessionError> {
        if form.run.is_some() && form.machine != Run::MACHINE {
            return Err(unsupported_machine(form.version, form.machine));
        }
        let faults = check::faults_of(&form);
        if !faults.is_empty() {
            return Err(ValidationError::new(ValidationReason::InvalidSession, faults).into());
        }
        let open_turn = match &form.open_turn {
            None => None,
            Some(turn) => Some(restore_turn(turn, &form.thread)?),
        };
        let mut thread = form.thread;
        if let Some(turn) = open_turn.as_ref().filter(|turn| !turn.is_closed()) {
            let whole = thread.clone();
            thread.messages.truncate(turn.position);
            let mut laid_out = thread.clone();
            turn.lay_out(&mut laid_out);
            if laid_out != whole {
                return Err(contradiction(
                    "open_turn",
                    "it does not stand so in the thread",
                ));
            }
        }
        let mut session = Self {
            uid: form.uid,
            version: form.version,
            machine: form.machine,
            created_at: form.created_at,
            updated_at: form.updated_at,
            thread,
            turn: form.turn,
            open_turn: open_turn.map(Arc::new),
            inbox: form.inbox.into_owned(),
            recent_inputs: Hashed::new(form.recent_inputs.into_owned()),
            run: None,
            failure: form.failure.map(|form| Arc::new(form.0.into_owned())),
            last_halt: form.last_halt,
            usage: form.usage,
            notes: Hashed::new(Notes {
                context: form.context.into_owned(),
                metadata: form.metadata.into_owned(),
                tags: form.tags.into_owned(),
            }),
            history: RunningHash::default(),
            ..Self::empty(form.id)
        };
        if let Some(run) = form.run {
            session.restore_run(run)?;
        }
        if session.state_hash()? == form.state_hash {
            Ok(session)
        } else {
            let detail = "it does not belong to this state";
            Err(contradiction("state_hash", detail))
        }
    }

    /// The run has the conversation as it stands; the session that of its beginning.
    fn restore_run(&mut self, form: RunStateForm<'_>) -> Result<(), SessionError> {
        let thread = self.thread.clone();
        self.thread.messages.truncate(form.run.given());
        let history = self.history.advance(&self.thread)?;
        let run = form.run.into_run(thread, history);
        let run = run.map_err(|what| contradiction(Path::from("run").field("loop"), what))?;
        if run.end().is_some() {
            let path = Path::from("run").field("loop").field("phase");
            return Err(contradiction(path, "a run that has ended is put away"));
        }
        let started = started_hash(form.op, form.model.as_ref(), form.hooks, &form.tools)?;
        self.run = Some(Box::new(RunState {
            id: form.id,
            op: form.op,
            model: form.model,
            hooks: form.hooks,
            tools: form.tools.into_owned(),
            started,
            attempt: form.attempt,
            partial: form.partial.map(Cow::into_owned),
            interrupted: form.interrupted,
            recoveries: form.recoveries,
            clock: form.clock,
            run,
        }));
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Session {
    /// A fault beyond the format is told as text; [`Session::from_json`] has them as values.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = SessionForm::deserialize(deserializer)?;
        Self::restore(form).map_err(de::Error::custom)
    }
}

fn contradiction(path: impl Into<Path>, detail: impl Into<String>) -> SessionError {
    let fault = Fault::new(path, FaultCode::Contradiction).detail(detail);
    ValidationError::new(ValidationReason::InvalidSession, vec![fault]).into()
}

/// The open turn with its messages, taken from the conversation.
fn restore_turn(form: &TurnForm<'_>, thread: &Thread) -> Result<OpenTurn, SessionError> {
    let missing = || {
        let path = Path::from("open_turn").field("message");
        contradiction(path, "it is no assistant message")
    };
    let message = thread.messages.get(form.message).ok_or_else(missing)?;
    let mut turn = OpenTurn::new(form.turn, (**message).clone(), form.message);
    for (form, call) in form.calls.iter().zip(turn.calls_mut()) {
        let path = || Path::from("open_turn").field("calls");
        call.state = form
            .to_state()
            .map_err(|what| contradiction(path(), what))?;
        call.attempts = form.attempts;
        call.approval_id = form.approval_id;
        call.decided = form.decided;
        call.edited = form.edited_arguments.as_deref().cloned();
        call.given = form.answer.as_deref().cloned();
        call.evidence = form.evidence.to_vec();
    }
    if !turn.is_closed() {
        let rest: Vec<&Arc<Message>> = thread.messages.iter_from(form.message + 1).collect();
        for call in turn.calls_mut() {
            take_messages(call, &rest);
        }
    }
    Ok(turn)
}

fn take_messages(call: &mut TurnCall, rest: &[&Arc<Message>]) {
    let id = &call.call.id;
    let answers = |message: &&&Arc<Message>| message.tool_call_id.as_ref() == Some(id);
    call.message = rest.iter().find(answers).map(|message| Arc::clone(message));
    match &call.state {
        CallState::Waiting(Wait::Question(question)) => {
            let question = question.clone();
            call.ask(question);
        }
        CallState::Closed(Outcome::Asked) => {
            let asks = |message: &&Arc<Message>| {
                message.role == Role::Assistant
                    && message.metadata.get("ask_user") == Some(&Value::Bool(true))
                    && message.metadata.get("tool_call_id").and_then(Value::as_str)
                        == Some(id.as_str())
            };
            if let Some(place) = rest.iter().position(asks) {
                call.question = rest.get(place).map(|message| Arc::clone(message));
                call.answer = rest.get(place + 1).map(|message| Arc::clone(message));
            }
        }
        _ => {}
    }
}
