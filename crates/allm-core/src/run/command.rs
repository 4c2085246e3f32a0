//! What the machine wants done.

use std::sync::Arc;

use crate::data::{Request, StepResult, ToolCall};

/// What the machine wants done next. It is a function of the state: asked again, also after a restart, it says the same.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Call the model; answer with [`Input::Responded`](super::Input::Responded) or
    /// [`Input::Refused`](super::Input::Refused).
    CallModel(Box<ModelCommand>),
    /// Stop the model call, if it was opened; answer with [`Input::Stopped`](super::Input::Stopped), or with
    /// `Responded` if the answer had come whole.
    StopModel,
    /// Say what becomes of these calls; answer with [`Input::Planned`](super::Input::Planned).
    PlanCalls(Vec<CallToRun>),
    /// Run these calls, in parallel; answer each with [`Input::ToolDone`](super::Input::ToolDone), in any order.
    RunTools(Vec<CallToRun>),
    /// Stop these calls; answer each with `ToolDone`: what it came to, or
    /// [`ToolOutcome::NotStarted`](super::ToolOutcome::NotStarted).
    StopTools(Vec<CallToRun>),
    /// Ask `halt_when` about this step; answer with [`Input::HaltWhen`](super::Input::HaltWhen).
    AskHaltWhen(Arc<StepResult>),
    /// Nothing: the run has ended.
    Finish,
}

/// A model call to make.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCommand {
    /// The turn, from 0.
    pub turn: u32,
    /// What to send.
    pub request: Request,
    /// Whether it is the second pass, for the structured answer: without tools.
    pub finalizing: bool,
}

/// A call to run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallToRun {
    /// Its place in the response.
    pub index: u32,
    /// The call. Shared: a command is asked for after each outcome, and lists the calls that still run.
    pub call: Arc<ToolCall>,
}
