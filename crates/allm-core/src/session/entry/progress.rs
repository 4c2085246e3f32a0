//! What only the driver of a session may append.

use serde::{Deserialize, Serialize};

use crate::data::{
    ApprovalId, CallFailure, Effect, HaltReason, Hash, ModelRef, Part, Request, RequestId,
    Response, RunId, Timestamp, ToolName, Usage, is_false,
};
use crate::error::Failure;
use crate::error::reason::reasons;
use crate::json::tagged::tagged;
use crate::run::{DeadlineScope, PolicyDecision, RunOptions, ToolOutcome};
use crate::session::call::{GoOn, Outcome, Question};
use crate::session::key::CallKey;

reasons! {
    /// The operation that began a run.
    Operation, retryable [] {
        /// A message, and the answer to it.
        Reply => "reply",
        /// Go on.
        Resume => "resume",
        /// Go on for one turn.
        Step => "step",
        /// Try again after a failure.
        Retry => "retry",
    }
}

/// A run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {
    /// Its id.
    pub run: RunId,
    /// What began it.
    pub op: Operation,
    /// The settings of the loop.
    pub options: RunOptions,
    /// What is sent besides messages and tools.
    #[serde(default)]
    pub request: Request,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Our id of the run in telemetry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Which closures were set.
    #[serde(default, skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
    /// The tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RecordedTool>,
}

/// Which closures a run was started with. A resume that lacks one is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    /// `halt_when`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub halt_when: bool,
    /// A policy about tool errors.
    #[serde(default, skip_serializing_if = "is_false")]
    pub on_tool_error: bool,
    /// A policy about approvals.
    #[serde(default, skip_serializing_if = "is_false")]
    pub approval_policy: bool,
}

impl Hooks {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The first closure of these that `present` lacks.
    #[must_use]
    pub const fn missing_from(&self, present: &Self) -> Option<&'static str> {
        if self.halt_when && !present.halt_when {
            Some("halt_when")
        } else if self.on_tool_error && !present.on_tool_error {
            Some("on_tool_error")
        } else if self.approval_policy && !present.approval_policy {
            Some("approval_policy")
        } else {
            None
        }
    }
}

/// A tool as a run was started with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedTool {
    /// Its name.
    pub name: ToolName,
    /// SHA-256 over name, description, schema and effect.
    pub fingerprint: Hash,
    /// What running it again would do.
    pub effect: Effect,
}

/// The model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelResponded {
    /// The turn.
    pub turn: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// SHA-256 of the canonical JSON of what was sent.
    pub request_hash: Hash,
    /// The answer, whole.
    pub response: Response,
}

reasons! {
    /// How a model call ended without an answer.
    ModelEnd, retryable [] {
        /// It failed.
        Failed => "failed",
        /// The run is being stopped.
        Stopped => "stopped",
        /// It was broken off; the run stays unfinished.
        Interrupted => "interrupted",
    }
}

/// A model call ended without an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFailed {
    /// The turn that it would have been.
    pub turn: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// How it ended.
    pub end: ModelEnd,
    /// Why.
    pub error: Failure,
    /// What had come of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Response>,
    /// What it used, as far as that is known.
    #[serde(default)]
    pub usage: Usage,
}

/// What becomes of the calls of an answer; a second one for a call voids its approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsPlanned {
    /// The turn.
    pub turn: u32,
    /// The calls, in call order.
    pub calls: Vec<PlanOfCall>,
}

/// What becomes of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanOfCall {
    /// Its place in the answer.
    pub index: u32,
    /// What becomes of it.
    pub plan: CallPlan,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallPlan {
    /// It is run.
    Run(RunPlan),
    /// It is left to the caller.
    Manual(ManualPlan),
    /// A person must agree first.
    Approve(ApprovePlan),
    /// It is closed with a failure, and the run goes on.
    Refuse(RefusePlan),
    /// No tool has its name; the run fails.
    Unknown,
}

tagged!(CallPlan {
    "run" => Run(RunPlan),
    "manual" => Manual(ManualPlan),
    "approve" => Approve(ApprovePlan),
    "refuse" => Refuse(RefusePlan),
    "unknown" => Unknown,
});

/// A call is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// Whether it is none of the calls that a budget counts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub free: bool,
}

/// A call is left to the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManualPlan {
    /// When it is too late to give the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A person must agree to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovePlan {
    /// The id of the request.
    pub approval_id: ApprovalId,
    /// The tool as it is now.
    pub tool_fingerprint: Hash,
    /// When it is too late to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Why it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A call is closed with a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusePlan {
    /// What the model is told.
    pub failure: CallFailure,
}

/// A call is about to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolIntent {
    /// The call.
    pub call: CallKey,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The tool.
    pub tool: ToolName,
    /// What running it again would do.
    pub effect: Effect,
    /// The key by which the far side recognises a repetition.
    pub key: String,
    /// The hash of what it is run with.
    pub arguments_hash: Hash,
    /// When the attempt has ended for sure, by the store's clock.
    pub deadline: Timestamp,
    /// The request that was answered, for a gated call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
}

reasons! {
    /// Who tells what a call came to.
    OutcomeSource, retryable [] {
        /// The handler.
        Handler => "handler",
        /// The tool's probe.
        Probe => "probe",
        /// Whoever took the run over.
        Recovery => "recovery",
    }
}

reasons! {
    /// What follows from an outcome.
    OutcomePolicy, retryable [] {
        /// The run goes on.
        Continue => "continue",
        /// The run halts.
        Halt => "halt",
        /// The run goes on with what the policy said in place of the failure.
        Replaced => "replaced",
        /// A person is asked what happened.
        AskPerson => "ask_person",
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOutcomeEntry {
    /// The call.
    pub call: CallKey,
    /// The attempt, from 1; 0 for a call that did not begin.
    pub attempt: u32,
    /// What it came to.
    pub outcome: Outcome,
    /// What the model is told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The pictures and files that it gets with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Part>,
    /// The handler's value.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::data::present"
    )]
    #[serde(serialize_with = "crate::json::sorted")]
    pub value: Option<serde_json::Value>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CallFailure>,
    /// What it asks a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Why the handler ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<HaltReason>,
    /// Who tells.
    pub source: OutcomeSource,
    /// What follows.
    pub policy: OutcomePolicy,
    /// What went wrong in the policy's closure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
}

impl ToolOutcomeEntry {
    /// The entry of what a run made of a call.
    #[must_use]
    pub fn new(call: CallKey, attempt: u32, outcome: ToolOutcome, source: OutcomeSource) -> Self {
        let mut entry = Self {
            call,
            attempt,
            outcome: Outcome::of(&outcome),
            content: String::new(),
            media: Vec::new(),
            value: None,
            failure: None,
            question: None,
            halt: None,
            source,
            policy: OutcomePolicy::Continue,
            exception: None,
        };
        match outcome {
            ToolOutcome::Replied {
                value,
                content,
                media,
            } => {
                entry.value = Some(value);
                entry.content = content;
                entry.media = media;
            }
            ToolOutcome::Failed {
                failure,
                content,
                decision,
            } => {
                entry.policy = match decision {
                    PolicyDecision::Halt { exception } => {
                        entry.exception = exception;
                        OutcomePolicy::Halt
                    }
                    PolicyDecision::Continue if content == failure.to_content() => {
                        OutcomePolicy::Continue
                    }
                    PolicyDecision::Continue => OutcomePolicy::Replaced,
                };
                entry.content = content;
                entry.failure = Some(failure);
            }
            ToolOutcome::Asked { question, opts } => {
                entry.question = Some(Question {
                    question,
                    options: opts,
                    expires_at: None,
                    go_on: None,
                });
            }
            ToolOutcome::AskedToGoOn {
                question,
                opts,
                state,
            } => {
                entry.question = Some(Question {
                    question,
                    options: opts,
                    expires_at: None,
                    go_on: Some(GoOn {
                        state,
                        approval: None,
                    }),
                });
            }
            ToolOutcome::Halted {
                reason,
                value,
                content,
            } => {
                entry.halt = Some(HaltReason::Custom(reason));
                entry.value = Some(value);
                entry.content = content;
            }
            ToolOutcome::NotStarted => {}
        }
        entry
    }

    /// What the run is told.
    #[must_use]
    pub fn to_outcome(&self) -> ToolOutcome {
        let content = self.content.clone();
        let value = || self.value.clone().unwrap_or_default();
        if let Some(asked) = &self.question {
            let (question, opts) = (asked.question.clone(), asked.options.clone());
            match &asked.go_on {
                None => ToolOutcome::Asked { question, opts },
                Some(go_on) => ToolOutcome::AskedToGoOn {
                    question,
                    opts,
                    state: go_on.state.clone(),
                },
            }
        } else if let Some(HaltReason::Custom(reason)) = &self.halt {
            ToolOutcome::Halted {
                reason: reason.clone(),
                value: value(),
                content,
            }
        } else if let Some(failure) = &self.failure {
            ToolOutcome::Failed {
                failure: failure.clone(),
                content,
                decision: match self.policy {
                    OutcomePolicy::Halt => PolicyDecision::Halt {
                        exception: self.exception.clone(),
                    },
                    _ => PolicyDecision::Continue,
                },
            }
        } else if self.outcome == Outcome::Ok {
            ToolOutcome::Replied {
                value: value(),
                content,
                media: self.media.clone(),
            }
        } else {
            ToolOutcome::NotStarted
        }
    }
}

/// Something outside the machine ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Halted {
    /// The turn.
    pub turn: u32,
    /// Why: `halt_when` or `deadline_exceeded`.
    pub reason: HaltReason,
    /// Which deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<DeadlineScope>,
}

/// `halt_when` lets the run go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WentOn {
    /// The turn.
    pub turn: u32,
}

/// The driver found that the run cannot go on: an approval does not fit what it was given for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFailed {
    /// The snake_case code.
    pub kind: String,
    /// In one line.
    pub message: String,
}
