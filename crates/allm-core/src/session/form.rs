//! The JSON form of a session.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map as JsonMap, Value};

use super::call::{Approved, CallState, Evidence, Intent, Outcome, Wait};
use super::entry::{Hooks, Operation, QueuedMessage, RecordedTool};
use super::hash::RunningHash;
use super::state::{Notes, RunState, Session, SessionFailure, SessionUsage};
use super::turn::{OpenTurn, TurnCall};
use crate::data::{
    ApprovalId, HaltReason, Hash, InputId, Map, Message, ModelRef, Response, Role, RunId,
    SessionId, SessionStatus, SessionUid, Thread, Timestamp, Usage, Version, is_false,
};
use crate::json::Document;
use crate::run::RunForm;

impl Document for Session {
    const TYPE: &'static str = "session";
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionForm<'a> {
    id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<SessionUid>,
    version: Version,
    machine: u32,
    state_hash: Hash,
    status: SessionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_bare")]
    thread: Thread,
    #[serde(default)]
    turn: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_turn: Option<TurnForm<'a>>,
    #[serde(default, skip_serializing_if = "<[QueuedMessage]>::is_empty")]
    inbox: Cow<'a, [QueuedMessage]>,
    #[serde(default, skip_serializing_if = "no_inputs")]
    recent_inputs: Cow<'a, VecDeque<(InputId, Hash)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunStateForm<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureForm<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_halt: Option<HaltReason>,
    #[serde(default)]
    usage: SessionUsage,
    #[serde(default, skip_serializing_if = "no_facts")]
    context: Cow<'a, Map>,
    #[serde(default, skip_serializing_if = "no_facts")]
    metadata: Cow<'a, Map>,
    #[serde(default, skip_serializing_if = "no_tags")]
    tags: Cow<'a, BTreeMap<String, String>>,
}

fn is_bare(thread: &Thread) -> bool {
    thread.is_empty() && thread.metadata.is_empty()
}

fn no_facts(facts: &Cow<'_, Map>) -> bool {
    facts.is_empty()
}

fn no_tags(tags: &Cow<'_, BTreeMap<String, String>>) -> bool {
    tags.is_empty()
}

fn no_inputs(inputs: &Cow<'_, VecDeque<(InputId, Hash)>>) -> bool {
    inputs.is_empty()
}

/// The open turn; its messages stand in the conversation.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnForm<'a> {
    turn: u32,
    /// The place of the assistant message.
    message: usize,
    calls: Vec<CallForm<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateName {
    Ready,
    Intended,
    Waiting,
    Closed,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallForm<'a> {
    index: u32,
    state: StateName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Option<Cow<'a, Approved>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intent: Option<Cow<'a, Intent>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<Cow<'a, Wait>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval_id: Option<ApprovalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_arguments: Option<Cow<'a, Map>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    evidence: Cow<'a, [Evidence]>,
}

fn is_empty(evidence: &[Evidence]) -> bool {
    evidence.is_empty()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl<'a> CallForm<'a> {
    pub(super) fn of(index: u32, call: &'a TurnCall) -> Self {
        let mut form = Self {
            index,
            state: StateName::Ready,
            approval: None,
            intent: None,
            wait: None,
            outcome: None,
            attempts: call.attempts,
            approval_id: call.approval_id,
            decided: call.decided,
            edited_arguments: call.edited.as_ref().map(Cow::Borrowed),
            evidence: Cow::Borrowed(&call.evidence),
        };
        match &call.state {
            CallState::Ready { approval } => form.approval = approval.as_ref().map(Cow::Borrowed),
            CallState::Intended(intent) => {
                form.state = StateName::Intended;
                form.intent = Some(Cow::Borrowed(intent));
            }
            CallState::Waiting(wait) => {
                form.state = StateName::Waiting;
                form.wait = Some(Cow::Borrowed(wait));
            }
            CallState::Closed(outcome) => {
                form.state = StateName::Closed;
                form.outcome = Some(*outcome);
            }
        }
        form
    }

    fn into_call(self, call: &mut TurnCall) -> Result<(), &'static str> {
        call.attempts = self.attempts;
        call.approval_id = self.approval_id;
        call.decided = self.decided;
        call.edited = self.edited_arguments.map(Cow::into_owned);
        call.evidence = self.evidence.into_owned();
        let own = |cow: Cow<'_, Approved>| cow.into_owned();
        call.state = match (
            self.state,
            self.approval,
            self.intent,
            self.wait,
            self.outcome,
        ) {
            (StateName::Ready, approval, None, None, None) => CallState::Ready {
                approval: approval.map(own),
            },
            (StateName::Intended, None, Some(intent), None, None) => {
                CallState::Intended(intent.into_owned())
            }
            (StateName::Waiting, None, None, Some(wait), None) => {
                CallState::Waiting(wait.into_owned())
            }
            (StateName::Closed, None, None, None, Some(outcome)) => CallState::Closed(outcome),
            _ => return Err("a call has the fields of its state and no others"),
        };
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct FailureForm<'a>(Cow<'a, SessionFailure>);

impl<'a> FailureForm<'a> {
    pub(super) const fn of(failure: &'a SessionFailure) -> Self {
        Self(Cow::Borrowed(failure))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunStateForm<'a> {
    id: RunId,
    op: Operation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<ModelRef>,
    #[serde(default)]
    hooks: Hooks,
    #[serde(default, skip_serializing_if = "<[RecordedTool]>::is_empty")]
    tools: Cow<'a, [RecordedTool]>,
    attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partial: Option<Cow<'a, Response>>,
    #[serde(default, skip_serializing_if = "is_false")]
    interrupted: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    recoveries: u32,
    #[serde(rename = "loop")]
    run: RunForm<'a>,
}

impl Serialize for SessionUsage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = serde_json::to_value(&self.models).map_err(ser::Error::custom)?;
        let Value::Object(mut fields) = fields else {
            return Err(ser::Error::custom("usage is an object"));
        };
        fields.insert("lost_calls".to_owned(), self.lost_calls.into());
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SessionUsage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = JsonMap::<String, Value>::deserialize(deserializer)?;
        let lost_calls = match fields.remove("lost_calls") {
            None => 0,
            Some(number) => number
                .as_u64()
                .ok_or_else(|| de::Error::custom("`lost_calls` is a whole number"))?,
        };
        let models: Usage =
            serde_json::from_value(Value::Object(fields)).map_err(de::Error::custom)?;
        Ok(Self { models, lost_calls })
    }
}

impl Serialize for Session {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let turn = self.open_turn.as_deref().map(|turn| TurnForm {
            turn: turn.turn,
            message: turn.position,
            calls: turn
                .keyed()
                .map(|(key, call)| CallForm::of(key.index, call))
                .collect(),
        });
        let run = self.run.as_deref().map(|state| RunStateForm {
            id: state.id,
            op: state.op,
            model: state.model.clone(),
            hooks: state.hooks,
            tools: Cow::Borrowed(&state.tools),
            attempt: state.attempt,
            partial: state.partial.as_ref().map(Cow::Borrowed),
            interrupted: state.interrupted,
            recoveries: state.recoveries,
            run: state.run.to_part(),
        });
        let form = SessionForm {
            id: self.id.clone(),
            uid: self.uid,
            version: self.version,
            machine: self.machine,
            state_hash: self.current_hash().map_err(ser::Error::custom)?,
            status: self.status(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            thread: self.thread(),
            turn: self.turn,
            open_turn: turn,
            inbox: Cow::Borrowed(&self.inbox),
            recent_inputs: Cow::Borrowed(&self.recent_inputs),
            run,
            failure: self.failure.as_deref().map(FailureForm::of),
            last_halt: self.last_halt.clone(),
            usage: self.usage.clone(),
            context: Cow::Borrowed(&self.notes.context),
            metadata: Cow::Borrowed(&self.notes.metadata),
            tags: Cow::Borrowed(&self.notes.tags),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Session {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = SessionForm::deserialize(deserializer)?;
        Self::restore(form).map_err(de::Error::custom)
    }
}

impl Session {
    fn restore(form: SessionForm<'_>) -> Result<Self, String> {
        let open_turn = match form.open_turn {
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
                return Err("the open turn does not stand in the thread as it should".to_owned());
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
            recent_inputs: Arc::new(form.recent_inputs.into_owned()),
            run: None,
            failure: form.failure.map(|form| Arc::new(form.0.into_owned())),
            last_halt: form.last_halt,
            usage: form.usage,
            notes: Arc::new(Notes {
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
        if session.status() != form.status {
            let message = format!(
                "`status` is {}, but the data says {}",
                form.status,
                session.status()
            );
            return Err(message);
        }
        let found = session.state_hash().map_err(|error| error.to_string())?;
        if found != form.state_hash {
            return Err("`state_hash` does not belong to this state".to_owned());
        }
        Ok(session)
    }

    /// The run has the conversation as it stands; the session that of its beginning.
    fn restore_run(&mut self, form: RunStateForm<'_>) -> Result<(), String> {
        let thread = self.thread.clone();
        self.thread.messages.truncate(form.run.given());
        let history = self.history.advance(&self.thread);
        let history = history.map_err(|error| error.to_string())?;
        self.run = Some(Box::new(RunState {
            id: form.id,
            op: form.op,
            model: form.model,
            hooks: form.hooks,
            tools: form.tools.into_owned(),
            attempt: form.attempt,
            partial: form.partial.map(Cow::into_owned),
            interrupted: form.interrupted,
            recoveries: form.recoveries,
            run: form.run.into_run(thread, history)?,
        }));
        Ok(())
    }
}

/// The open turn with its messages, taken from the conversation.
fn restore_turn(form: TurnForm<'_>, thread: &Thread) -> Result<OpenTurn, String> {
    let message = thread.messages.get(form.message);
    let message = message.filter(|message| message.role == Role::Assistant);
    let message = message.ok_or("`open_turn.message` is no assistant message")?;
    let mut turn = OpenTurn::new(form.turn, (**message).clone(), form.message);
    if turn.calls.len() != form.calls.len() {
        return Err("`open_turn.calls` and the message's calls differ in number".to_owned());
    }
    for ((index, form), call) in (0..).zip(form.calls).zip(&mut turn.calls) {
        if form.index != index {
            return Err("the indexes of `open_turn.calls` leave a gap".to_owned());
        }
        form.into_call(call)?;
    }
    if !turn.is_closed() {
        let rest: Vec<&Arc<Message>> = thread.messages.iter_from(form.message + 1).collect();
        for call in &mut turn.calls {
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
        CallState::Waiting(wait @ Wait::Question(_)) => {
            let wait = wait.clone();
            call.ask(wait);
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
