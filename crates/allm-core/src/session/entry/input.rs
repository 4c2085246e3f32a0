//! What anyone may append.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use crate::data::{ApprovalId, Hash, Map, Message, Part, SessionUid, Thread, Timestamp};
use crate::json::tagged::tagged;
use crate::session::call::Outcome;
use crate::session::key::CallKey;

/// The session begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// Tells it from any other with its id.
    pub uid: SessionUid,
    /// What was said before.
    #[serde(default, skip_serializing_if = "Thread::is_empty")]
    pub thread: Thread,
    /// For handlers.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub context: Map,
    /// The caller's.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
    /// What listings can be filtered by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// When a message reaches the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// After the open turn, before the next answer.
    #[default]
    NextTurn,
    /// When the next run starts.
    NextRun,
    /// At once: the answer that is being given is broken off.
    Interrupt,
}

/// A message for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserMessage {
    /// The message.
    pub message: Message,
    /// When it is delivered.
    #[serde(default)]
    pub delivery: Delivery,
}

/// A question was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// The call that asked.
    pub call: CallKey,
    /// The answer.
    pub content: Vec<Part>,
    /// Who; recorded, not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A result came from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultSubmitted {
    /// The call.
    pub call: CallKey,
    /// `Ok` or `Failed`.
    pub outcome: Outcome,
    /// What the model is told.
    pub content: Vec<Part>,
    /// Who; recorded, not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A person decided about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalDecided {
    /// The request that was answered.
    pub approval_id: ApprovalId,
    /// The call.
    pub call: CallKey,
    /// What was decided.
    pub decision: Decision,
    /// The hash of the arguments that the person saw.
    pub arguments_hash: Hash,
    /// Who; recorded, not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Run it as it is.
    Approved,
    /// Run it with these arguments instead.
    Edited(Edited),
    /// Do not run it.
    Denied(Denied),
}

tagged!(Decision {
    "approved" => Approved,
    "edited" => Edited(Edited),
    "denied" => Denied(Denied),
});

/// Arguments in place of the model's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edited {
    /// The arguments.
    #[serde(serialize_with = "crate::json::sorted")]
    pub arguments: Map,
}

/// Why a person did not agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Denied {
    /// What the model is told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A call of unknown outcome may be run again: it did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RerunAllowed {
    /// The call.
    pub call: CallKey,
    /// Who says so; recorded, not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Somebody wants the run to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopRequested {
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who; recorded, not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The caller's own facts changed; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Annotated {
    /// For handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub context: Option<Map>,
    /// The caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Option<Map>,
    /// What listings can be filtered by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// A result that came after the outcome was recorded; it changes no call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateOutcome {
    /// The call.
    pub call: CallKey,
    /// Its attempt.
    pub attempt: u32,
    /// What it says.
    pub outcome: Outcome,
    /// What the model would have been told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
}

/// A wait was not answered in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expired {
    /// The call.
    pub call: CallKey,
    /// The time that has passed.
    pub deadline: Timestamp,
}

/// A user message that is not delivered yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedMessage {
    /// The message.
    pub message: Arc<Message>,
    /// When it is delivered.
    #[serde(default)]
    pub delivery: Delivery,
}
