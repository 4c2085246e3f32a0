//! What a halting call leaves in the metadata of its step and its run.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::outcome::{PolicyDecision, ToolOutcome};
use crate::data::{AnswerTo, CustomHalt, HaltReason, Map, ToolCall, ToolCallId, ToolHalt};

/// Why a batch halted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum HaltFacts {
    /// A call asked a person.
    Asked {
        /// The question.
        question: String,
        /// The call.
        tool_call_id: ToolCallId,
        /// For the user interface.
        #[serde(serialize_with = "crate::json::sorted")]
        opts: Map,
        /// Who gets the answer.
        #[serde(default, skip_serializing_if = "AnswerTo::is_model")]
        answer_to: AnswerTo,
    },
    /// A handler ended the run.
    Halted {
        /// Why.
        reason: HaltReason,
        /// The call.
        tool_call_id: ToolCallId,
        /// With what.
        #[serde(serialize_with = "crate::json::sorted")]
        result: Value,
    },
    /// A call failed under a halting policy.
    Failed {
        /// The call.
        tool_call_id: ToolCallId,
        /// What went wrong in the policy closure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exception: Option<String>,
    },
}

impl HaltFacts {
    pub(crate) fn asked(
        question: &str,
        tool_call_id: &ToolCallId,
        opts: &Map,
        answer_to: AnswerTo,
    ) -> Self {
        Self::Asked {
            question: question.to_owned(),
            tool_call_id: tool_call_id.clone(),
            opts: opts.clone(),
            answer_to,
        }
    }

    fn halted(reason: &CustomHalt, tool_call_id: &ToolCallId, result: &Value) -> Self {
        Self::Halted {
            reason: HaltReason::Custom(reason.clone()),
            tool_call_id: tool_call_id.clone(),
            result: result.clone(),
        }
    }

    /// Of a `tool_halt` event. What a policy closure threw is not part of the event.
    pub(crate) fn of_event(event: &ToolHalt) -> Self {
        match CustomHalt::new(&event.reason) {
            Some(reason) => Self::halted(&reason, &event.tool_call_id, &event.result),
            None => Self::Failed {
                tool_call_id: event.tool_call_id.clone(),
                exception: None,
            },
        }
    }

    /// Of what a call came to; `None` if it does not halt.
    #[must_use]
    pub fn of_outcome(call: &ToolCall, outcome: &ToolOutcome) -> Option<Self> {
        match outcome {
            ToolOutcome::Asked { question, opts } => {
                Some(Self::asked(question, &call.id, opts, AnswerTo::Model))
            }
            ToolOutcome::AskedToGoOn { question, opts, .. } => {
                Some(Self::asked(question, &call.id, opts, AnswerTo::Tool))
            }
            ToolOutcome::Halted { reason, value, .. } => {
                Some(Self::halted(reason, &call.id, value))
            }
            ToolOutcome::Failed {
                decision: PolicyDecision::Halt { exception },
                ..
            } => Some(Self::Failed {
                tool_call_id: call.id.clone(),
                exception: exception.clone(),
            }),
            ToolOutcome::Failed { .. } | ToolOutcome::Replied { .. } | ToolOutcome::NotStarted => {
                None
            }
        }
    }

    /// The run's reason.
    #[must_use]
    pub fn reason(&self) -> HaltReason {
        match self {
            Self::Asked { .. } => HaltReason::AskUser,
            Self::Halted { reason, .. } => reason.clone(),
            Self::Failed { .. } => HaltReason::ToolError,
        }
    }

    /// The keys that belong to the reason, without the reason itself.
    #[must_use]
    pub fn facts(&self) -> Map {
        let facts = match self {
            Self::Asked {
                question,
                tool_call_id,
                opts,
                ..
            } => json!({
                "pending_question": question,
                "pending_tool_call_id": tool_call_id,
                "ask_user_opts": opts,
            }),
            Self::Halted {
                tool_call_id,
                result,
                ..
            } => json!({"halt_tool_call_id": tool_call_id, "halt_result": result}),
            Self::Failed {
                tool_call_id,
                exception: None,
            } => json!({"halt_tool_call_id": tool_call_id}),
            Self::Failed {
                tool_call_id,
                exception: Some(exception),
            } => json!({
                "halt_tool_call_id": tool_call_id,
                "on_tool_error_exception": exception,
            }),
        };
        match facts {
            Value::Object(facts) => facts,
            _ => Map::new(),
        }
    }

    /// The keys of a step's metadata.
    #[must_use]
    pub fn into_metadata(self) -> Map {
        let mut metadata = self.facts();
        metadata.insert("halted_reason".to_owned(), self.reason().as_str().into());
        metadata
    }
}
