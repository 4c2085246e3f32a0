//! Where a call of a session stands.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::key::CallKey;
use crate::data::{AnswerTo, ApprovalId, Effect, FailureReason, Hash, Map, Timestamp, ToolName};
use crate::error::reason::reasons;
use crate::error::{JsonError, JsonReason};
use crate::json::Document;
use crate::json::tagged::tagged;
use crate::path::Path;
use crate::run::ToolOutcome;

reasons! {
    /// What a call came to. Every call gets exactly one, and exactly one tool message.
    Outcome, retryable [] {
        /// The handler gave a value, or somebody outside did.
        Ok => "ok",
        /// The handler reported an error.
        Failed => "failed",
        /// The handler gave no reply.
        Crashed => "crashed",
        /// It passed its time limit.
        TimedOut => "timed_out",
        /// The run was stopped.
        Cancelled => "cancelled",
        /// A person did not agree.
        Denied => "denied",
        /// Nobody answered in time.
        Expired => "expired",
        /// It began, and a crash took the news of how it ended.
        UnknownOutcome => "unknown_outcome",
        /// The arguments were refused.
        InvalidArguments => "invalid_arguments",
        /// It was closed without being run.
        NotRun => "not_run",
        /// It asked a person, who answered.
        Asked => "asked",
        /// The handler ended the run.
        Halted => "halted",
    }
}

impl Outcome {
    /// What a run makes of a call.
    #[must_use]
    pub fn of(outcome: &ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Replied { .. } => Self::Ok,
            ToolOutcome::Failed { failure, .. } => Self::of_reason(failure.reason),
            ToolOutcome::Asked { .. } | ToolOutcome::AskedToGoOn { .. } => Self::Asked,
            ToolOutcome::Halted { .. } => Self::Halted,
            ToolOutcome::NotStarted => Self::Cancelled,
        }
    }

    /// What a failure makes of a call.
    #[must_use]
    pub const fn of_reason(reason: FailureReason) -> Self {
        match reason {
            FailureReason::Reported => Self::Failed,
            FailureReason::HandlerRaised
            | FailureReason::HandlerExit
            | FailureReason::InvalidReturn
            | FailureReason::EncodingFailed
            | FailureReason::NotFound => Self::Crashed,
            FailureReason::Timeout => Self::TimedOut,
            FailureReason::InvalidArguments => Self::InvalidArguments,
            FailureReason::Cancelled | FailureReason::DeadlineExceeded => Self::Cancelled,
            FailureReason::Denied => Self::Denied,
            FailureReason::Expired => Self::Expired,
            FailureReason::UnknownOutcome => Self::UnknownOutcome,
            FailureReason::UnknownTool
            | FailureReason::Truncated
            | FailureReason::BudgetExhausted
            | FailureReason::NotExecuted => Self::NotRun,
        }
    }
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// To be run at the next occasion.
    Ready {
        /// What a person agreed to, for a gated call.
        approval: Option<Approved>,
    },
    /// Its intent is written: it may have begun.
    Intended(Intent),
    /// It waits for somebody outside.
    Waiting(Wait),
    /// It has its outcome.
    Closed(Outcome),
}

/// That a call is about to be run, written before it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// The key by which the far side recognises a repetition.
    pub key: String,
    /// What running it again would do, as the tool declared it then.
    pub effect: Effect,
    /// When the attempt has ended for sure, by the store's clock.
    pub deadline: Timestamp,
    /// What a person agreed to, for a gated call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approved>,
}

/// What a person agreed to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// The request that was answered.
    pub id: ApprovalId,
    /// The hash of the arguments that may be run.
    pub arguments_hash: Hash,
    /// The tool as it was then.
    pub tool_fingerprint: Hash,
    /// The arguments in place of the model's, when the person changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub edited: Option<Map>,
}

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Wait {
    /// A person's answer.
    Question(Question),
    /// A person's agreement.
    Approval(Box<Approval>),
    /// A result from outside.
    Result(AwaitedResult),
}

tagged!(Wait {
    "question" => Question(Question),
    "approval" => Approval(Box<Approval>),
    "result" => Result(AwaitedResult),
});

/// A question that a tool asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub question: String,
    /// For the user interface.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub options: Map,
    /// When it is too late to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Set when the answer goes to the tool: its handler is called again with it, and the call is open until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_on: Option<GoOn>,
}

/// What a call that asked a person goes on with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoOn {
    /// What the handler gave along with its question, and gets back with the answer.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::data::present"
    )]
    #[serde(serialize_with = "crate::json::sorted")]
    pub state: Option<Value>,
    /// What a person had agreed to, for a gated call; it holds when the call is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approved>,
}

impl Question {
    /// Who gets the answer.
    #[must_use]
    pub const fn answer_to(&self) -> AnswerTo {
        match self.go_on {
            Some(_) => AnswerTo::Tool,
            None => AnswerTo::Model,
        }
    }
}

/// A result that somebody outside gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwaitedResult {
    /// Why it does not come from the handler.
    pub reason: WaitReason,
    /// Results that came too late to count, for whoever decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// When it is too late to give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// What a person had agreed to, for a gated call of unknown outcome; should it be run again, it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approved>,
}

/// Why a result comes from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The tool is left to the caller.
    Manual,
    /// A crash took the news of how the call ended.
    UnknownOutcome,
}

/// A result that came after the outcome was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The attempt that it belongs to.
    pub attempt: u32,
    /// What it says.
    pub outcome: Outcome,
    /// What the model would have been told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
}

/// A request for a person's agreement to one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Its id.
    pub approval_id: ApprovalId,
    /// The call.
    pub call: CallKey,
    /// The tool.
    pub tool: ToolName,
    /// What it would be run with.
    #[serde(serialize_with = "crate::json::sorted")]
    pub arguments: Map,
    /// SHA-256 of the canonical JSON of the arguments.
    pub arguments_hash: Hash,
    /// SHA-256 over the tool's name, description, schema and effect.
    pub tool_fingerprint: Hash,
    /// Since when.
    pub requested_at: Timestamp,
    /// When it is too late to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Why it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Document for Approval {
    const TYPE: &'static str = "approval";

    fn verify(&self) -> Result<(), JsonError> {
        if self.arguments_hash == arguments_hash(&self.arguments) {
            return Ok(());
        }
        let message = "it is not the hash of the arguments";
        let path = Path::from("arguments_hash");
        Err(JsonError::new(JsonReason::InvalidValue, path, message))
    }
}

impl CallState {
    /// What a person agreed to, for a gated call that is to be run or may have begun.
    #[must_use]
    pub const fn approved(&self) -> Option<&Approved> {
        match self {
            Self::Ready { approval } => approval.as_ref(),
            Self::Intended(intent) => intent.approval.as_ref(),
            Self::Waiting(_) | Self::Closed(_) => None,
        }
    }
}

impl Wait {
    /// What kind it is, in one word.
    #[must_use]
    pub const fn kind(&self) -> WaitKind {
        match self {
            Self::Question(_) => WaitKind::Question,
            Self::Approval(_) => WaitKind::Approval,
            Self::Result(_) => WaitKind::Result,
        }
    }

    /// When it is too late.
    #[must_use]
    pub const fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::Question(wait) => wait.expires_at,
            Self::Approval(wait) => wait.expires_at,
            Self::Result(wait) => wait.expires_at,
        }
    }
}

reasons! {
    /// What kind of wait it is.
    WaitKind, retryable [] {
        /// A person's answer.
        Question => "question",
        /// A person's agreement.
        Approval => "approval",
        /// A result from outside.
        Result => "result",
    }
}

/// The hash of arguments: SHA-256 of their canonical JSON.
#[must_use]
pub fn arguments_hash(arguments: &Map) -> Hash {
    Hash::of_bytes(&crate::json::canonical_value(&Value::Object(
        arguments.clone(),
    )))
}
