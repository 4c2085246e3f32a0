//! The steps of a script.

use serde::{Deserialize, Serialize};

use allm_core::json::{self, RawJson};
use allm_core::{
    AdapterError, AdapterReason, FinishReason, Map, Part, ResponseId, StreamReason, ToolCall,
    ToolCallId, Usage,
};

use super::fault::ScriptFaultReason;

/// One step of a script. Its JSON is an object with one key, the step's name; `cut` and `hang` are their names alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Step {
    Text(String),
    Chunks(Vec<String>),
    Typed(String),
    Reasoning(String),
    ReasoningOpaque {
        text: String,
        opaque: RawJson,
    },
    Call {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<ToolCallId>,
        name: String,
        #[serde(serialize_with = "allm_core::json::sorted")]
        arguments: Map,
    },
    CallRaw {
        name: String,
        raw_arguments: String,
    },
    CallChunked {
        name: String,
        fragments: Vec<String>,
    },
    CallCutOff {
        name: String,
        fragments: Vec<String>,
    },
    Part(Box<Part>),
    Raw(RawJson),
    Usage(Box<Usage>),
    Id(ResponseId),
    Model(String),
    Finish {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<FinishReason>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
    /// In milliseconds, the resolution of tokio's clock.
    Delay(u64),
    Fail(AdapterReason),
    FailWith(Box<AdapterError>),
    FailAndContinue(AdapterReason),
    StreamFail(StreamReason),
    Cut,
    Hang,
}

impl Step {
    /// The name in JSON, which is that of the builder's method.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Chunks(_) => "chunks",
            Self::Typed(_) => "typed",
            Self::Reasoning(_) => "reasoning",
            Self::ReasoningOpaque { .. } => "reasoning_opaque",
            Self::Call { .. } => "call",
            Self::CallRaw { .. } => "call_raw",
            Self::CallChunked { .. } => "call_chunked",
            Self::CallCutOff { .. } => "call_cut_off",
            Self::Part(_) => "part",
            Self::Raw(_) => "raw",
            Self::Usage(_) => "usage",
            Self::Id(_) => "id",
            Self::Model(_) => "model",
            Self::Finish { .. } => "finish",
            Self::Delay(_) => "delay",
            Self::Fail(_) => "fail",
            Self::FailWith(_) => "fail_with",
            Self::FailAndContinue(_) => "fail_and_continue",
            Self::StreamFail(_) => "stream_fail",
            Self::Cut => "cut",
            Self::Hang => "hang",
        }
    }

    /// Whether nothing can follow.
    pub(super) const fn is_end(&self) -> bool {
        matches!(
            self,
            Self::Finish { .. }
                | Self::Fail(_)
                | Self::FailWith(_)
                | Self::StreamFail(_)
                | Self::Cut
                | Self::Hang
        )
    }

    /// Whether the step is a call whose id the fake makes.
    pub(super) const fn takes_id(&self) -> bool {
        matches!(
            self,
            Self::Call { id: None, .. }
                | Self::CallRaw { .. }
                | Self::CallChunked { .. }
                | Self::CallCutOff { .. }
        )
    }

    /// What is wrong with this step after `last`, if anything.
    pub(super) fn fault_after(&self, last: Option<&Self>) -> Option<ScriptFaultReason> {
        let both_finish =
            |last: &Self| matches!((last, self), (Self::Finish { .. }, Self::Finish { .. }));
        match last.filter(|last| last.is_end()) {
            Some(last) if both_finish(last) => Some(ScriptFaultReason::SecondFinish),
            Some(last) => Some(ScriptFaultReason::AfterEnd(last.name())),
            None => self.fault(),
        }
    }

    fn fault(&self) -> Option<ScriptFaultReason> {
        match self {
            Self::Fail(reason) | Self::FailAndContinue(reason) => illegal(*reason),
            Self::FailWith(error) => illegal(error.reason),
            Self::StreamFail(reason @ StreamReason::Cancelled) => {
                Some(ScriptFaultReason::IllegalReason(reason.as_str()))
            }
            Self::Call { arguments, .. } if whole_call("", "", arguments).is_none() => {
                Some(ScriptFaultReason::NotAnObject)
            }
            _ => None,
        }
    }
}

fn illegal(reason: AdapterReason) -> Option<ScriptFaultReason> {
    let is_own = reason == AdapterReason::NoScriptedResponse;
    is_own.then(|| ScriptFaultReason::IllegalReason(reason.as_str()))
}

/// The call as its provider would send it; `None` for arguments that no call can have.
pub(super) fn whole_call<T: Serialize + ?Sized>(
    id: impl Into<ToolCallId>,
    name: &str,
    arguments: &T,
) -> Option<ToolCall> {
    let text = json::value_to_string(arguments).ok()?;
    Some(ToolCall::new(id, name, text)).filter(|call| call.arguments.is_some())
}
