//! What a call came to.

use serde_json::Value;

use crate::data::{
    AnswerTo, AskUserRequested, CallFailure, CustomHalt, Event, ExecutionResult, HaltReason, Map,
    Message, Part, ToolCall, ToolExecutionCompleted, ToolHalt, ToolResultEncoded,
};
use crate::limits::AWAITING_USER;

/// What a call came to, after encoding and policy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolOutcome {
    /// The handler gave a value.
    Replied {
        /// The value, not cut.
        value: Value,
        /// What the model is told.
        content: String,
        /// The pictures and files that it gets with it.
        media: Vec<Part>,
    },
    /// The call failed, and the policy decided.
    Failed {
        /// How.
        failure: CallFailure,
        /// What the model is told: the failure, or the policy's replacement.
        content: String,
        /// What the policy said.
        decision: PolicyDecision,
    },
    /// The handler asks a person, who answers the model.
    Asked {
        /// The question.
        question: String,
        /// For the user interface.
        opts: Map,
    },
    /// The handler asks a person, and is to be called again with the answer: the call stays open.
    AskedToGoOn {
        /// The question.
        question: String,
        /// For the user interface.
        opts: Map,
        /// What the handler gets back with the answer.
        state: Option<Value>,
    },
    /// The handler ends the run.
    Halted {
        /// Why.
        reason: CustomHalt,
        /// With what.
        value: Value,
        /// What the model is told.
        content: String,
    },
    /// The call was stopped before it started; legal only while the run is being stopped.
    NotStarted,
}

/// What the error policy said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyDecision {
    /// Go on. Also for calls that a stop ended: the policy is not asked about those.
    Continue,
    /// Halt the run.
    Halt {
        /// Its panic text, or a text saying that it hung.
        exception: Option<String>,
    },
}

impl ToolOutcome {
    /// A value with its content.
    pub fn replied(value: impl Into<Value>, content: impl Into<String>) -> Self {
        Self::Replied {
            value: value.into(),
            content: content.into(),
            media: Vec::new(),
        }
    }

    /// A failure after which the run goes on, told to the model as it is.
    #[must_use]
    pub fn failed(failure: CallFailure) -> Self {
        Self::Failed {
            content: failure.to_content(),
            failure,
            decision: PolicyDecision::Continue,
        }
    }

    /// The two events that end the attempt, adjacent and in this order; none for a call that did not start.
    #[must_use]
    pub fn events(&self, index: u32, call: &ToolCall) -> Vec<Event> {
        let (result, closing) = match self {
            Self::NotStarted => return Vec::new(),
            Self::Replied {
                value,
                content,
                media,
            } => (
                ExecutionResult::Ok(value.clone()),
                Event::ToolResultEncoded(ToolResultEncoded {
                    index,
                    id: call.id.clone(),
                    content: content.clone(),
                    media: media.clone(),
                    is_error: false,
                }),
            ),
            Self::Failed {
                failure,
                content,
                decision: PolicyDecision::Continue,
            } => (
                ExecutionResult::Error(failure.clone()),
                encoded(index, call, content, true),
            ),
            Self::Failed {
                failure,
                content,
                decision: PolicyDecision::Halt { .. },
            } => (
                ExecutionResult::Error(failure.clone()),
                halting(
                    index,
                    call,
                    HaltReason::ToolError.as_str(),
                    failure.to_value(),
                    content,
                    true,
                ),
            ),
            Self::Asked { question, opts } => asking(index, call, question, opts, AnswerTo::Model),
            Self::AskedToGoOn { question, opts, .. } => {
                asking(index, call, question, opts, AnswerTo::Tool)
            }
            Self::Halted {
                reason,
                value,
                content,
            } => (
                ExecutionResult::Halt {
                    reason: reason.as_str().to_owned(),
                    value: value.clone(),
                },
                halting(index, call, reason.as_str(), value.clone(), content, false),
            ),
        };
        let completed = Event::ToolExecutionCompleted(Box::new(ToolExecutionCompleted {
            index,
            id: call.id.clone(),
            name: call.name.clone(),
            result,
        }));
        vec![completed, closing]
    }

    /// The tool message; `None` for a call that did not start, and for one that stays open.
    #[must_use]
    pub fn message(&self, call: &ToolCall) -> Option<Message> {
        match self {
            Self::NotStarted | Self::AskedToGoOn { .. } => None,
            Self::Replied { content, media, .. } => {
                Some(Message::tool_result_with(call.id.clone(), content, media))
            }
            Self::Halted { content, .. } => Some(Message::tool_result(call.id.clone(), &**content)),
            Self::Failed { content, .. } => Some(Message::tool_error(call.id.clone(), &**content)),
            Self::Asked { .. } => Some(Message::tool_result(call.id.clone(), AWAITING_USER)),
        }
    }
}

pub(super) fn encoded(index: u32, call: &ToolCall, content: &str, is_error: bool) -> Event {
    Event::ToolResultEncoded(ToolResultEncoded {
        index,
        id: call.id.clone(),
        content: content.to_owned(),
        media: Vec::new(),
        is_error,
    })
}

/// What the handler gets back with the answer stays out of the events: it is nobody else's.
fn asking(
    index: u32,
    call: &ToolCall,
    question: &str,
    opts: &Map,
    answer_to: AnswerTo,
) -> (ExecutionResult, Event) {
    let result = ExecutionResult::AskUser {
        question: question.to_owned(),
        opts: opts.clone(),
        answer_to,
    };
    let event = Event::AskUserRequested(Box::new(AskUserRequested {
        index,
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        question: question.to_owned(),
        opts: opts.clone(),
        answer_to,
    }));
    (result, event)
}

fn halting(
    index: u32,
    call: &ToolCall,
    reason: &str,
    result: Value,
    content: &str,
    is_error: bool,
) -> Event {
    Event::ToolHalt(Box::new(ToolHalt {
        index,
        tool_call_id: call.id.clone(),
        reason: reason.to_owned(),
        result,
        content: content.to_owned(),
        is_error,
    }))
}
