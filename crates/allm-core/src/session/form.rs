//! The JSON form of a session.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map as JsonMap, Value};

use super::call::{Approved, CallState, Evidence, Intent, Outcome, Wait};
use super::entry::{Hooks, Operation, QueuedMessage, RecordedTool};
use super::run_state::RunClock;
use super::state::{Session, SessionFailure, SessionUsage};
use super::turn::TurnCall;
use crate::data::{
    Answer, ApprovalId, Cost, HaltReason, Hash, InputId, Map, ModelRef, Response, RunId, SessionId,
    SessionStatus, SessionUid, Thread, Timestamp, Usage, Version, is_false,
};
use crate::json::{self, Document};
use crate::run::RunForm;

impl Document for Session {
    const TYPE: &'static str = "session";
}

impl Document for SessionForm<'static> {
    const TYPE: &'static str = <Session as Document>::TYPE;
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionForm<'a> {
    pub(super) id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) uid: Option<SessionUid>,
    pub(super) version: Version,
    pub(super) machine: u32,
    pub(super) state_hash: Hash,
    pub(super) status: SessionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) updated_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "is_bare")]
    pub(super) thread: Thread,
    #[serde(default)]
    pub(super) turn: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) open_turn: Option<TurnForm<'a>>,
    #[serde(default, skip_serializing_if = "<[QueuedMessage]>::is_empty")]
    pub(super) inbox: Cow<'a, [QueuedMessage]>,
    #[serde(default, skip_serializing_if = "no_inputs")]
    pub(super) recent_inputs: Cow<'a, VecDeque<(InputId, Hash)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<RunStateForm<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<FailureForm<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_halt: Option<HaltReason>,
    #[serde(default)]
    pub(super) usage: SessionUsage,
    #[serde(default, skip_serializing_if = "no_facts")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub(super) context: Cow<'a, Map>,
    #[serde(default, skip_serializing_if = "no_facts")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub(super) metadata: Cow<'a, Map>,
    #[serde(default, skip_serializing_if = "no_tags")]
    pub(super) tags: Cow<'a, BTreeMap<String, String>>,
}

fn is_bare(thread: &Thread) -> bool {
    thread.is_empty() && thread.metadata.is_empty()
}

fn no_facts(facts: &Map) -> bool {
    facts.is_empty()
}

fn no_tags(tags: &BTreeMap<String, String>) -> bool {
    tags.is_empty()
}

fn no_inputs(inputs: &VecDeque<(InputId, Hash)>) -> bool {
    inputs.is_empty()
}

/// The open turn; its messages stand in the conversation.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnForm<'a> {
    pub(super) turn: u32,
    /// The place of the assistant message.
    pub(super) message: usize,
    pub(super) calls: Vec<CallForm<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StateName {
    Ready,
    Intended,
    Waiting,
    Closed,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallForm<'a> {
    pub(super) index: u32,
    pub(super) state: StateName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval: Option<Cow<'a, Approved>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<Cow<'a, Intent>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wait: Option<Cow<'a, Wait>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval_id: Option<ApprovalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decided: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub(super) edited_arguments: Option<Cow<'a, Map>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Cow<'a, Answer>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) evidence: Cow<'a, [Evidence]>,
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
            answer: call.given.as_ref().map(Cow::Borrowed),
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

    /// Where the call stands.
    pub(super) fn to_state(&self) -> Result<CallState, &'static str> {
        let Self {
            state,
            approval,
            intent,
            wait,
            outcome,
            answer,
            ..
        } = self;
        let asks = matches!(wait.as_deref(), Some(Wait::Question(_)));
        if answer.is_some() && (asks || *state == StateName::Closed) {
            return Err("only a call that may be run has an answer to be run with");
        }
        Ok(match (state, approval, intent, wait, outcome) {
            (StateName::Ready, approval, None, None, None) => CallState::Ready {
                approval: approval.as_deref().cloned(),
            },
            (StateName::Intended, None, Some(intent), None, None) => {
                CallState::Intended((**intent).clone())
            }
            (StateName::Waiting, None, None, Some(wait), None) => {
                CallState::Waiting((**wait).clone())
            }
            (StateName::Closed, None, None, None, Some(outcome)) => CallState::Closed(*outcome),
            _ => return Err("a call has the fields of its state and no others"),
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct FailureForm<'a>(pub(super) Cow<'a, SessionFailure>);

impl<'a> FailureForm<'a> {
    pub(super) const fn of(failure: &'a SessionFailure) -> Self {
        Self(Cow::Borrowed(failure))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunStateForm<'a> {
    pub(super) id: RunId,
    pub(super) op: Operation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<ModelRef>,
    #[serde(default)]
    pub(super) hooks: Hooks,
    #[serde(default, skip_serializing_if = "<[RecordedTool]>::is_empty")]
    pub(super) tools: Cow<'a, [RecordedTool]>,
    pub(super) attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) partial: Option<Cow<'a, Response>>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) interrupted: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) recoveries: u32,
    pub(super) clock: RunClock,
    #[serde(rename = "loop")]
    pub(super) run: RunForm<'a>,
}

impl Serialize for SessionUsage {
    /// In alphabetical order, whatever order a build gives to JSON objects.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let models = &self.models;
        let form = UsageForm {
            cache_write_input_tokens: models.cache_write_input_tokens,
            cached_input_tokens: models.cached_input_tokens,
            cost: models.cost,
            extra: &models.extra,
            input_tokens: models.input_tokens,
            lost_calls: self.lost_calls,
            output_tokens: models.output_tokens,
            reasoning_tokens: models.reasoning_tokens,
            total_tokens: models.total_tokens,
        };
        form.serialize(serializer)
    }
}

#[derive(Serialize)]
struct UsageForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    #[serde(skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "json::sorted")]
    extra: &'a Map,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    lost_calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tokens: Option<u64>,
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
        let models: Usage = json::from_value(&Value::Object(fields))
            .map_err(|error| de::Error::custom(error.message))?;
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
            clock: state.clock,
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
