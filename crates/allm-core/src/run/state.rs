//! The machine itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::after::AfterTurn;
use super::batch::Batch;
use super::command::{CallToRun, Command, ModelCommand};
use super::counters::Counters;
use super::finalize::Pass;
use super::hash::History;
use super::input::{DeadlineScope, HaltAnswer, Input, InputError, InputReason, Stop};
use super::options::{HaltWhen, RunKind, RunOptions, RunSetup};
use super::setup::Setup;
use crate::data::{
    ChatResult, Event, HaltReason, Map, Messages, RequestId, Response, StepResult, Thread,
    ToolCallId,
};
use crate::error::{EngineError, EngineReason, Error, Failure, ValidationError};
use crate::validate::SettingFaults;

/// The tool loop as a value: takes [`Input`]s, gives [`Command`]s and events.
///
/// It can be stored between any two inputs with [`json::to_vec`](crate::json::to_vec) and behaves the same from there
/// on, here or elsewhere. A turn costs the same however long the conversation is.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) setup: Arc<Setup>,
    pub(super) thread: Thread,
    /// Shared, so that a copy of a run does not cost a list of its turns.
    pub(super) steps: Arc<Vec<Arc<StepResult>>>,
    pub(super) counters: Counters,
    pub(super) pass: Pass,
    pub(super) stop: Option<Stop>,
    pub(super) phase: Phase,
    /// Messages for the model that are not delivered yet.
    pub(super) queued: Messages,
    pub(super) history: History,
}

impl PartialEq for Run {
    /// How far the history has been hashed is no part of the state.
    fn eq(&self, other: &Self) -> bool {
        let Self {
            setup,
            thread,
            steps,
            counters,
            pass,
            stop,
            phase,
            queued,
            history: _,
        } = self;
        *setup == other.setup
            && *thread == other.thread
            && *steps == other.steps
            && *counters == other.counters
            && *pass == other.pass
            && *stop == other.stop
            && *phase == other.phase
            && *queued == other.queued
    }
}

/// What the machine waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    Model,
    Plan(Box<Response>),
    Tools(Box<Batch>),
    HaltWhen,
    Done(RunEnd),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunEnd {
    /// With the result of a chat.
    Result(Arc<ChatResult>),
    /// With the one step that it was.
    Step(Arc<StepResult>),
    /// It was refused before the provider gave its first event: there is no result, only the failure.
    Refused(Box<Failure>),
}

/// A run that was started, and what happened at once.
#[derive(Clone, Debug)]
pub struct Started {
    /// The run.
    pub run: Run,
    /// Empty, unless a budget left nothing to start with.
    pub events: Vec<Event>,
}

/// A call without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Its place in the response.
    pub index: u32,
    /// Its id.
    pub id: ToolCallId,
    /// Whether it is left for the caller.
    pub manual: bool,
}

impl Run {
    /// The number of the machine's rules. A run ends under the number that it began with.
    pub const MACHINE: u32 = 1;

    /// Starts a run.
    ///
    /// The thread, the tools and the request are validated by the driver before the first model call; here only the
    /// settings of the loop are.
    ///
    /// # Errors
    ///
    /// Every fault of the settings.
    pub fn start(setup: RunSetup) -> Result<Started, ValidationError> {
        let mut faults = SettingFaults::default();
        let format = setup.request.response_format.as_ref();
        setup.options.find_faults(format, &mut faults);
        faults.finish()?;
        let fixed = Setup::new(&setup);
        let history = History::after(setup.history, fixed.given);
        let mut run = Self {
            setup: Arc::new(fixed),
            thread: setup.thread,
            steps: Arc::default(),
            counters: Counters::default(),
            pass: Pass::One,
            stop: None,
            phase: Phase::Model,
            queued: Messages::new(),
            history,
        };
        let mut events = Vec::new();
        if let Some(open) = setup.open {
            let batch = Batch::resumed(open);
            run.run_batch(batch, &mut events);
        } else if let Some(metadata) = run.counters.used_up(&run.setup.options.budgets) {
            run.start_without_budget(metadata, &mut events);
        }
        Ok(Started { run, events })
    }

    /// A chat ends with a result; a step, which is nothing but its one turn, has none to show.
    fn start_without_budget(&mut self, metadata: Map, events: &mut Vec<Event>) {
        if !self.is_step() {
            let after = AfterTurn::halt(HaltReason::BudgetExhausted, metadata);
            return self.end_pass(after, events);
        }
        let message = "the budget leaves nothing for a model call";
        let mut error = EngineError::new(EngineReason::InvalidConfig, message);
        error.metadata = metadata;
        let failure = Failure::from(Error::from(error));
        events.push(Event::error(failure.clone()));
        self.phase = Phase::Done(RunEnd::Refused(Box::new(failure)));
    }

    /// What to do next.
    #[must_use]
    pub fn command(&self) -> Command {
        match &self.phase {
            Phase::Model if self.stop.is_some() => Command::StopModel,
            Phase::Model => Command::CallModel(Box::new(ModelCommand {
                turn: self.turn(),
                request: self.request(),
                finalizing: self.pass != Pass::One,
            })),
            Phase::Plan(response) => Command::PlanCalls(Batch::to_plan(response)),
            Phase::Tools(batch) => {
                let calls: Vec<CallToRun> = batch.running().collect();
                if self.stop.is_some() {
                    Command::StopTools(calls)
                } else {
                    Command::RunTools(calls)
                }
            }
            Phase::HaltWhen => match self.steps.last() {
                Some(step) => Command::AskHaltWhen(Arc::clone(step)),
                None => Command::Finish,
            },
            Phase::Done(_) => Command::Finish,
        }
    }

    /// Takes an input in and gives the events that it caused.
    ///
    /// # Errors
    ///
    /// When the machine waits for something else; its state is as it was.
    pub fn apply(&mut self, input: Input) -> Result<Vec<Event>, InputError> {
        let mut events = Vec::new();
        match input {
            Input::Cancel => {
                if !matches!(self.phase, Phase::Done(_)) {
                    self.stop = Some(Stop::Cancelled);
                }
                self.stop_planning(&mut events);
            }
            Input::DeadlinePassed(scope) => {
                self.deadline_passed(scope)?;
                self.stop_planning(&mut events);
            }
            Input::Planned(plans) => self.take_plans(plans, &mut events)?,
            Input::CallReady { index } => {
                let counts = u64::from(self.open_batch()?.make_ready(index)?);
                self.counters.tool_calls = self.counters.tool_calls.saturating_add(counts);
                self.history.call_ended(index);
            }
            Input::CallWaits { index } => {
                self.open_batch()?.make_wait(index)?;
                self.call_moved(index, &mut events);
            }
            Input::CallClosed {
                index,
                message,
                tail,
            } => {
                self.open_batch()?.answer(index, message, tail)?;
                self.call_moved(index, &mut events);
            }
            Input::Message(message) => {
                if matches!(self.phase, Phase::Done(_)) {
                    return Err(InputReason::NotExpected.into());
                }
                self.queued.push(message);
            }
            Input::Interrupted(partial) => {
                self.expect_model()?;
                if self.takes_messages() {
                    if let Some(partial) = partial {
                        self.keep_partial(*partial);
                    }
                    self.deliver();
                }
            }
            Input::Responded(response) => {
                self.expect_model()?;
                self.take_answer(*response, &mut events);
            }
            Input::Refused(failure) => {
                self.expect_model()?;
                self.take_refusal(*failure, &mut events);
            }
            Input::Stopped(partial) => {
                self.expect_model()?;
                let stop = self.stop.ok_or(InputReason::NotStopping)?;
                match partial {
                    Some(partial) => self.take_partial(*partial, stop, &mut events),
                    None => self.stop_without_answer(stop, &mut events),
                }
            }
            Input::ToolDone {
                index,
                outcome,
                note,
            } => self.take_outcome(index, &outcome, note, &mut events)?,
            Input::HaltWhen(answer) => {
                if self.phase != Phase::HaltWhen {
                    return Err(InputReason::NotExpected.into());
                }
                self.after_halt_when(answer == HaltAnswer::Halt, &mut events);
            }
        }
        Ok(events)
    }

    fn expect_model(&self) -> Result<(), InputError> {
        match self.phase {
            Phase::Model => Ok(()),
            _ => Err(InputReason::NotExpected.into()),
        }
    }

    fn deadline_passed(&mut self, scope: DeadlineScope) -> Result<(), InputError> {
        self.limit_of(scope).ok_or(InputReason::NoSuchDeadline)?;
        let over = match self.phase {
            Phase::Done(_) => true,
            // The turn is over; only the run's deadline still counts.
            Phase::HaltWhen => scope == DeadlineScope::Turn,
            Phase::Model | Phase::Plan(_) | Phase::Tools(_) => false,
        };
        // The run's deadline outranks the turn's, which a turn that ends on its own leaves behind.
        let outranked = match self.stop {
            None => true,
            Some(Stop::Deadline(DeadlineScope::Turn)) => scope == DeadlineScope::Run,
            Some(_) => false,
        };
        if !over && outranked {
            self.stop = Some(Stop::Deadline(scope));
        }
        Ok(())
    }

    pub(super) fn limit_of(&self, scope: DeadlineScope) -> Option<std::time::Duration> {
        let deadlines = &self.setup.options.deadlines;
        match scope {
            DeadlineScope::Turn => deadlines.turn,
            DeadlineScope::Run => deadlines.run,
        }
    }

    /// The number of the present turn, from 0.
    #[must_use]
    pub fn turn(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// The conversation as it stands; without the calls of a turn that is still open.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// The conversation without a turn that is still open and without the nudge of a second pass.
    #[must_use]
    pub fn settled_thread(&self) -> Thread {
        let mut thread = self.thread.clone();
        if let Pass::Two(first) = &self.pass {
            thread.messages.truncate(first.messages);
        }
        thread
    }

    /// Whether a message may go in before the next model call. A second pass is one answer to its nudge: a message waits
    /// until after it.
    #[must_use]
    pub fn takes_messages(&self) -> bool {
        self.pass == Pass::One
    }

    /// Whether `halt_when` is to be asked now.
    #[must_use]
    pub fn asks_now(&self) -> bool {
        self.phase == Phase::HaltWhen
    }

    /// The finished turns.
    #[must_use]
    pub fn steps(&self) -> &[Arc<StepResult>] {
        &self.steps
    }

    /// Our id of the run.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        self.setup.request_id.as_ref()
    }

    /// The messages for the model that are not delivered yet.
    #[must_use]
    pub fn queued(&self) -> &Messages {
        &self.queued
    }

    /// The settings that the run was started with.
    #[must_use]
    pub fn options(&self) -> &RunOptions {
        &self.setup.options
    }

    /// What stops the run from outside, once something does.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// How the run ended; `None` while it goes on.
    #[must_use]
    pub fn end(&self) -> Option<&RunEnd> {
        match &self.phase {
            Phase::Done(end) => Some(end),
            _ => None,
        }
    }

    /// The result; `None` while the run goes on, and for a run that was refused.
    #[must_use]
    pub fn result(&self) -> Option<&Arc<ChatResult>> {
        match self.end() {
            Some(RunEnd::Result(result)) => Some(result),
            _ => None,
        }
    }

    /// The answer whose calls are being planned or run.
    #[must_use]
    pub fn open_response(&self) -> Option<&Response> {
        match &self.phase {
            Phase::Plan(response) => Some(response),
            Phase::Tools(batch) => Some(&batch.response),
            _ => None,
        }
    }

    /// The calls without an answer, in call order: those of the open turn, or those that the result leaves pending.
    #[must_use]
    pub fn open_calls(&self) -> Vec<OpenCall> {
        match &self.phase {
            Phase::Plan(response) => Batch::to_plan(response)
                .into_iter()
                .map(|CallToRun { index, call }| OpenCall {
                    index,
                    id: call.id.clone(),
                    manual: false,
                })
                .collect(),
            Phase::Tools(batch) => batch.open_calls(),
            Phase::Done(_) => self
                .steps
                .last()
                .map(|step| pending_calls(step))
                .unwrap_or_default(),
            Phase::Model | Phase::HaltWhen => Vec::new(),
        }
    }

    /// Whether `halt_when` has to be asked about a turn that may go on.
    pub(super) fn asks_halt_when(&self) -> bool {
        self.setup.options.halt_when == HaltWhen::Set && self.pass == Pass::One
    }

    pub(super) fn is_step(&self) -> bool {
        self.setup.options.kind == RunKind::Step
    }
}

/// The calls that a finished step leaves for the caller.
fn pending_calls(step: &StepResult) -> Vec<OpenCall> {
    let calls = step.response.tool_calls().iter().zip(0..);
    let results = step.tool_results.iter();
    let answered: BTreeSet<&ToolCallId> = results
        .filter_map(|message| message.tool_call_id.as_ref())
        .collect();
    // A cut-off or failed turn has no open calls, only closed ones and nameless ones that never were.
    let open = calls.filter(|(call, _)| !call.name.is_empty() && !answered.contains(&call.id));
    open.map(|(call, index)| OpenCall {
        index,
        id: call.id.clone(),
        manual: true,
    })
    .collect()
}
