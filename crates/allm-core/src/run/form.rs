//! The JSON form of a run.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Map as JsonMap;

use super::batch::{Batch, Slot};
use super::counters::Counters;
use super::finalize::{FirstPass, Pass};
use super::halt::HaltFacts;
use super::hash::History;
use super::input::Stop;
use super::options::{RunOptions, RunSetup};
use super::setup::Setup;
use super::state::{Phase, Run, RunEnd};
use crate::data::step_form::StepForm;
use crate::data::{
    CallFailure, ChatResult, HaltReason, Hash, Map, Message, Messages, Request, RequestId,
    Response, StepResult, Thread, Tool, ToolCallId, is_false,
};
use crate::error::Failure;
use crate::json::Document;
use crate::json::tagged::tagged;

impl Document for Run {
    const TYPE: &'static str = "run";
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunForm<'a> {
    machine: u32,
    /// Absent inside a session, which has a hash of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state_hash: Option<Hash>,
    setup: SetupForm<'a>,
    given: usize,
    /// Absent inside a session, which has the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<Thread>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepForm>,
    counters: Counters,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second_pass: Option<PassForm<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<Stop>,
    #[serde(default, skip_serializing_if = "Messages::is_empty")]
    queued: Messages,
    phase: PhaseForm,
}

/// What does not change during a run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetupForm<'a> {
    options: Cow<'a, RunOptions>,
    request: Cow<'a, Request>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<RequestId>,
    #[serde(default, skip_serializing_if = "<[Tool]>::is_empty")]
    tools: Cow<'a, [Tool]>,
    #[serde(default, skip_serializing_if = "is_zero")]
    first_turn: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl<'a> SetupForm<'a> {
    pub(super) fn of(setup: &'a Setup) -> Self {
        Self {
            options: Cow::Borrowed(&setup.options),
            request: Cow::Borrowed(&setup.request),
            request_id: setup.request_id.clone(),
            tools: Cow::Borrowed(&setup.tools),
            first_turn: setup.first_turn,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PassForm<'a>(Cow<'a, FirstPass>);

impl<'a> PassForm<'a> {
    /// `None` for the first pass.
    pub(super) fn of(pass: &'a Pass) -> Option<Self> {
        match pass {
            Pass::One => None,
            Pass::Two(first) => Some(Self(Cow::Borrowed(first))),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum PhaseForm {
    Model,
    Plan(Box<PlanForm>),
    Tools(Box<BatchForm>),
    HaltWhen,
    Ended(ResultForm),
    Stepped,
    Refused(RefusedForm),
}

tagged!(PhaseForm {
    "model" => Model,
    "plan" => Plan(Box<PlanForm>),
    "tools" => Tools(Box<BatchForm>),
    "halt_when" => HaltWhen,
    "ended" => Ended(ResultForm),
    "stepped" => Stepped,
    "refused" => Refused(RefusedForm),
});

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanForm {
    response: Response,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchForm {
    response: Response,
    calls: Vec<SlotForm>,
    #[serde(default, skip_serializing_if = "is_false")]
    resumed: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum SlotForm {
    Running,
    Done(DoneForm),
    Closing(ClosingForm),
    NotStarted,
    Manual,
    Asking(AskingForm),
}

tagged!(SlotForm {
    "running" => Running,
    "done" => Done(DoneForm),
    "closing" => Closing(ClosingForm),
    "not_started" => NotStarted,
    "manual" => Manual,
    "asking" => Asking(AskingForm),
});

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskingForm {
    halt: HaltFacts,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DoneForm {
    message: Arc<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    halt: Option<HaltFacts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tail: Vec<Arc<Message>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClosingForm {
    failure: CallFailure,
}

/// What a result adds to the run that it is the result of.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultForm {
    halted_reason: HaltReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending_question: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending_tool_call_id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    metadata: Map,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RefusedForm {
    error: Failure,
}

impl PhaseForm {
    pub(super) fn of(phase: &Phase) -> Self {
        match phase {
            Phase::Model => Self::Model,
            Phase::HaltWhen => Self::HaltWhen,
            Phase::Plan(response) => Self::Plan(Box::new(PlanForm {
                response: (**response).clone(),
            })),
            Phase::Tools(batch) => Self::Tools(Box::new(BatchForm {
                resumed: batch.resumed,
                response: batch.response.clone(),
                calls: batch.slots.iter().cloned().map(SlotForm::from).collect(),
            })),
            Phase::Done(RunEnd::Step(_)) => Self::Stepped,
            Phase::Done(RunEnd::Refused(failure)) => Self::Refused(RefusedForm {
                error: (**failure).clone(),
            }),
            Phase::Done(RunEnd::Result(result)) => Self::Ended(ResultForm {
                halted_reason: result.halted_reason.clone(),
                pending_question: result.pending_question.clone(),
                pending_tool_call_id: result.pending_tool_call_id.clone(),
                metadata: result.metadata.clone(),
            }),
        }
    }

    fn into_phase(self, thread: &Thread, steps: &[Arc<StepResult>]) -> Result<Phase, &'static str> {
        Ok(match self {
            Self::Model => Phase::Model,
            Self::HaltWhen if steps.is_empty() => return Err("`halt_when` without a step"),
            Self::HaltWhen => Phase::HaltWhen,
            Self::Plan(form) => Phase::Plan(Box::new(form.response)),
            Self::Tools(form) => {
                if form.calls.len() != form.response.tool_calls().len() {
                    return Err("`calls` and the response's calls differ in number");
                }
                let slots = form.calls.into_iter().map(Slot::from).collect();
                let mut batch = Batch::new(form.response, slots);
                batch.resumed = form.resumed;
                if batch.is_drained() {
                    return Err("no call of the open turn is running");
                }
                Phase::Tools(Box::new(batch))
            }
            Self::Stepped => match steps.last() {
                Some(step) => Phase::Done(RunEnd::Step(Arc::clone(step))),
                None => return Err("a step that is not there"),
            },
            Self::Refused(form) => Phase::Done(RunEnd::Refused(Box::new(form.error))),
            Self::Ended(form) => Phase::Done(RunEnd::Result(Arc::new(ChatResult {
                thread: thread.clone(),
                final_response: steps.last().map(|step| step.response.clone()),
                steps: steps.to_vec(),
                halted_reason: form.halted_reason,
                pending_question: form.pending_question,
                pending_tool_call_id: form.pending_tool_call_id,
                metadata: form.metadata,
            }))),
        })
    }
}

impl From<Slot> for SlotForm {
    fn from(slot: Slot) -> Self {
        match slot {
            Slot::Running => Self::Running,
            Slot::Done {
                message,
                halt,
                tail,
            } => Self::Done(DoneForm {
                message,
                halt,
                tail,
            }),
            Slot::Closing(failure) => Self::Closing(ClosingForm { failure }),
            Slot::NotStarted => Self::NotStarted,
            Slot::Manual => Self::Manual,
            Slot::Asking(halt) => Self::Asking(AskingForm { halt }),
        }
    }
}

impl From<SlotForm> for Slot {
    fn from(form: SlotForm) -> Self {
        match form {
            SlotForm::Running => Self::Running,
            SlotForm::Done(DoneForm {
                message,
                halt,
                tail,
            }) => Self::Done {
                message,
                halt,
                tail,
            },
            SlotForm::Closing(ClosingForm { failure }) => Self::Closing(failure),
            SlotForm::NotStarted => Self::NotStarted,
            SlotForm::Manual => Self::Manual,
            SlotForm::Asking(AskingForm { halt }) => Self::Asking(halt),
        }
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = RunForm {
            state_hash: Some(self.current_hash().map_err(ser::Error::custom)?),
            thread: Some(self.thread.clone()),
            ..self.to_part()
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut form = RunForm::deserialize(deserializer)?;
        let missing = || de::Error::missing_field("thread");
        let thread = form.thread.take().ok_or_else(missing)?;
        let missing = || de::Error::missing_field("state_hash");
        let expected = form.state_hash.take().ok_or_else(missing)?;
        let mut run = form.restore(thread, None).map_err(de::Error::custom)?;
        let found = run.state_hash().map_err(de::Error::custom)?;
        if found == expected {
            Ok(run)
        } else {
            let message = "`state_hash` does not belong to this state";
            Err(de::Error::custom(message))
        }
    }
}

impl Run {
    /// The form of a run inside a session.
    pub(crate) fn to_part(&self) -> RunForm<'_> {
        RunForm {
            machine: Self::MACHINE,
            state_hash: None,
            setup: SetupForm::of(&self.setup),
            given: self.setup.given,
            thread: None,
            steps: StepForm::of_all(&self.steps, &self.thread),
            counters: self.counters.clone(),
            second_pass: PassForm::of(&self.pass),
            stop: self.stop,
            queued: self.queued.clone(),
            phase: PhaseForm::of(&self.phase),
        }
    }
}

impl RunForm<'_> {
    /// How many messages the run was given.
    pub(crate) const fn given(&self) -> usize {
        self.given
    }

    /// The run over this conversation; `history` is the hash of what it was given.
    pub(crate) fn into_run(self, thread: Thread, history: Hash) -> Result<Run, String> {
        if self.thread.is_some() || self.state_hash.is_some() {
            return Err("a run inside a session has no thread and no hash of its own".to_owned());
        }
        self.restore(thread, Some(history))
    }

    fn restore(self, thread: Thread, history: Option<Hash>) -> Result<Run, String> {
        if self.machine != Run::MACHINE {
            let message = format!(
                "machine {} is not supported, only {}",
                self.machine,
                Run::MACHINE
            );
            return Err(message);
        }
        let steps = StepForm::into_steps(self.steps, &thread)?;
        let phase = self.phase.into_phase(&thread, &steps)?;
        let pass = match self.second_pass {
            None => Pass::One,
            Some(PassForm(first)) => Pass::Two(Box::new(first.into_owned())),
        };
        if let Pass::Two(first) = &pass
            && (first.messages > thread.len() || first.steps > steps.len())
        {
            return Err("`second_pass` reaches beyond the thread".to_owned());
        }
        if self.given > thread.len() {
            return Err("`given` is larger than the thread".to_owned());
        }
        let mut setup = Setup::new(&RunSetup {
            request: self.setup.request.into_owned(),
            tools: self.setup.tools.into_owned(),
            options: self.setup.options.into_owned(),
            request_id: self.setup.request_id,
            first_turn: self.setup.first_turn,
            ..RunSetup::new(thread.clone())
        });
        setup.given = self.given;
        Ok(Run {
            history: History::after(history, setup.given),
            setup: Arc::new(setup),
            thread,
            steps: Arc::new(steps),
            counters: self.counters,
            pass,
            stop: self.stop,
            queued: self.queued,
            phase,
        })
    }
}
