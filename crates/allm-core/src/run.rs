//! The run machine: the tool loop as a value.
//!
//! A [`Run`] takes [`Input`]s and gives [`Command`]s. It calls no closure, reads no clock and does no I/O: whoever drives
//! it does what the command says and tells the machine what came of it. That is why the in-process driver, the durable
//! one and a replay behave alike, and why a run can be stored between any two inputs and go on elsewhere.
//!
//! ```
//! use allm_core::run::{Command, Input, Run, RunSetup};
//! use allm_core::{FinishReason, HaltReason, Message, Response, Thread};
//!
//! let mut run = Run::start(RunSetup::new(Thread::from("Hi")))?.run;
//! let Command::CallModel(call) = run.command() else { unreachable!() };
//! assert_eq!(call.request.messages.len(), 1);
//!
//! let mut answer = Response::new(Message::assistant("Hello!"));
//! answer.finish_reason = Some(FinishReason::Stop);
//! let events = run.apply(Input::responded(answer))?;
//! assert_eq!(events.len(), 2); // step_completed, chat_completed
//! let result = run.result().map(|result| result.halted_reason.clone());
//! assert_eq!(result, Some(HaltReason::Completed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod after;
mod batch;
mod calls;
mod command;
mod counters;
mod finalize;
mod form;
mod halt;
mod hash;
mod input;
mod options;
mod outcome;
mod plan;
mod repair;
mod setup;
mod state;
mod tree;
mod turn;

pub(crate) use after::question_message;
pub(crate) use batch::noted;
pub use command::{CallToRun, Command, ModelCommand};
pub(crate) use form::RunForm;
pub use halt::HaltFacts;
pub use input::{DeadlineScope, HaltAnswer, Input, InputError, InputReason, PlannedCall, Stop};
pub use options::{
    Budgets, Deadlines, Finalize, HaltWhen, OpenBatch, OpenSlot, Planning, RunKind, RunOptions,
    RunSetup, UnknownTools,
};
pub use outcome::{PolicyDecision, ToolOutcome};
pub use repair::Repair;
pub use state::{OpenCall, Run, RunEnd, Started};
pub(crate) use turn::{PARTIAL, assistant_message};
