//! The async driver of the run machine, for `step` and `chat`.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use allm_core::run::{
    Command, DeadlineScope, HaltAnswer, Input as RunInput, InputError, PlannedCall, Run, RunEnd,
    RunKind, Stop, ToolOutcome,
};
use allm_core::{
    CancelToken, Cancelled, ChatResult, Error, Event, Failure, Passes, Response, StepResult,
    ToolCall,
};
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep};

use super::model::{ModelStep, ModelTurn};
use crate::engine::plan::Plan;
use crate::engine::settings::{HaltWhenFn, Toggle};
use crate::telemetry::run::RunSpans;
use crate::tools::{Attempts, BatchItem, BatchRun, Planned, Planner};

/// Does what the machine says: calls the model, runs the tools, asks the closures, watches the clock.
pub(crate) struct RunDriver {
    plan: Arc<Plan>,
    run: Run,
    phase: Phase,
    queue: VecDeque<Event>,
    /// Made when the first tool is called: most runs of many have none.
    planner: Option<Box<Planner>>,
    halt_when: Option<HaltWhenFn>,
    shows: Shows,
    cancel: Option<CancelToken>,
    cancelled: Option<Pin<Box<Cancelled>>>,
    /// Fired when this driver goes away, so that whatever it started knows.
    own: CancelToken,
    turn_deadline: Option<Pin<Box<Sleep>>>,
    run_deadline: Option<Pin<Box<Sleep>>>,
    /// The typed error of a run that was refused.
    refusal: Option<Error>,
    spans: RunSpans,
}

enum Phase {
    /// Look at what the machine wants.
    Next,
    Model(Box<ModelTurn>),
    Tools(BatchRun),
    Ended,
}

/// Which events are passed on.
#[derive(Clone, Copy)]
pub(crate) struct Shows {
    text: bool,
    tools: bool,
    raw: bool,
}

impl Shows {
    pub(crate) fn of(plan: &Plan) -> Self {
        let settings = &plan.settings;
        Self {
            text: settings.text_deltas.is_on(Toggle::On),
            tools: settings.tool_deltas.is_on(Toggle::On),
            raw: settings.raw_chunks.is_on(Toggle::Off),
        }
    }

    pub(crate) fn passes(self, event: &Event) -> bool {
        match event {
            Event::TextDelta(_) | Event::ReasoningDelta(_) => self.text,
            Event::ToolCallDelta(_) => self.tools,
            Event::RawChunk(_) => self.raw,
            _ => true,
        }
    }
}

impl RunDriver {
    /// Starts a run: every check that needs no provider is made here.
    pub(crate) fn start(
        mut plan: Plan,
        kind: RunKind,
        cancel: Option<CancelToken>,
    ) -> Result<Self, Error> {
        let started = Run::start(plan.run_setup(kind))?;
        plan.forget_request();
        if let Command::CallModel(call) = started.run.command() {
            let passes = match kind {
                RunKind::Chat => Passes::Two,
                RunKind::Step => Passes::One,
            };
            plan.check_request(call.request, passes)?;
        }
        let spans = RunSpans::open(&plan.request_id, plan.settings.session_id.get().as_ref());
        let own = CancelToken::new();
        let run_deadline = started.run.options().deadlines.run;
        Ok(Self {
            planner: None,
            halt_when: plan.settings.halt_when.get(),
            shows: Shows::of(&plan),
            queue: started.events.into(),
            run: started.run,
            phase: Phase::Next,
            cancelled: cancel.as_ref().map(|cancel| Box::pin(cancel.cancelled())),
            cancel,
            own,
            turn_deadline: None,
            run_deadline: run_deadline.map(|limit| Box::pin(sleep(limit))),
            refusal: None,
            spans,
            plan: Arc::new(plan),
        })
    }

    fn planner(&mut self) -> &mut Planner {
        self.planner.get_or_insert_with(|| {
            let mut runner = self.plan.runner_settings();
            // Handlers hear of the token also while nobody polls.
            if let Some(cancel) = &self.cancel {
                runner.cancel = cancel.child();
            }
            Box::new(self.plan.planner(Arc::new(runner)))
        })
    }

    fn apply(&mut self, input: RunInput) {
        let applied: Result<Vec<Event>, InputError> = self.run.apply(input);
        match applied {
            Ok(events) => {
                let ends_turn = |event: &Event| matches!(event, Event::StepCompleted(_));
                if events.iter().any(ends_turn) {
                    self.turn_deadline = None;
                }
                self.queue.extend(events);
            }
            // The driver answers only what the machine asked, so this cannot be; it must not be silent either.
            Err(error) => {
                tracing::error!(%error, "the run machine refused an input of its own driver")
            }
        }
    }

    /// Looks at what the machine wants and begins it.
    fn begin(&mut self) {
        match self.run.command() {
            Command::CallModel(call) => {
                let limit = self.run.options().deadlines.turn;
                self.turn_deadline = limit.map(|limit| Box::pin(sleep(limit)));
                let call = *call;
                self.spans.begin_step(call.turn);
                let turn = self.spans.step().in_scope(|| {
                    let plan = Arc::clone(&self.plan);
                    ModelTurn::new(plan, call.request, call.turn, self.own.child())
                });
                self.phase = Phase::Model(Box::new(turn));
            }
            Command::StopModel => self.apply(RunInput::stopped(None)),
            Command::PlanCalls(calls) => {
                let plans = calls.iter().map(|call| self.planned(&call.call)).collect();
                self.apply(RunInput::Planned(plans));
            }
            Command::RunTools(calls) => {
                let turn = self.run.turn();
                let planner = self.planner();
                let settings = Arc::clone(&planner.runner);
                let tools = planner.tools.clone();
                let step = self.spans.step();
                let mut batch = step.in_scope(|| {
                    BatchRun::start(calls, tools, settings, turn, Attempts::default())
                });
                if let Some(cancel) = &self.cancel {
                    batch.stop_when(cancel.clone(), None);
                }
                self.phase = Phase::Tools(batch);
            }
            Command::AskHaltWhen(step) => {
                let halt = self.halt_when.as_ref().is_some_and(|halt_when| {
                    let _entered = self.spans.run().enter();
                    halt_when(&step)
                });
                let answer = if halt {
                    HaltAnswer::Halt
                } else {
                    HaltAnswer::GoOn
                };
                self.apply(RunInput::HaltWhen(answer));
            }
            // What runs is stopped where it runs. These were to begin.
            Command::StopTools(calls) => {
                for call in calls {
                    self.apply(RunInput::tool_done(call.index, ToolOutcome::NotStarted));
                }
            }
            // The machine knows no other command.
            Command::Finish | _ => {
                self.spans.end(self.run.end());
                self.phase = Phase::Ended;
            }
        }
    }

    /// What becomes of a call. Without a session nobody is asked for approval: the call is left to the caller.
    fn planned(&mut self, call: &ToolCall) -> PlannedCall {
        let span = self.spans.run().clone();
        let _entered = span.enter();
        match self.planner().plan(call) {
            Planned::Run { counted } => PlannedCall::Run { counted },
            Planned::Manual | Planned::Approve { .. } => PlannedCall::Wait,
            Planned::Refuse(failure) => PlannedCall::Refuse(failure),
            Planned::Unknown => PlannedCall::Unknown,
        }
    }

    /// Tells the machine that something outside stops the run, and stops what is going on.
    fn stop(&mut self, input: RunInput) {
        self.apply(input);
        let Some(stop) = self.run.stop() else { return };
        match &mut self.phase {
            // The machine judges a whole answer by what is in it.
            Phase::Model(turn) if turn.is_whole() => turn.end_reading(),
            Phase::Model(turn) => {
                let partial: Option<Response> = turn.stop(stop);
                self.phase = Phase::Next;
                self.apply(RunInput::stopped(partial));
            }
            Phase::Tools(batch) => batch.stop(stop),
            Phase::Next | Phase::Ended => {}
        }
    }

    /// Whether the token has fired or a deadline has passed, so that nothing more is to be begun or read.
    fn is_due(&self) -> bool {
        let cancelled = self.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
        // What has run and waits to be told keeps its result, whatever the time is.
        let deadlines = match self.phase {
            Phase::Next | Phase::Model(_) => [&self.turn_deadline, &self.run_deadline],
            Phase::Tools(_) | Phase::Ended => [&None, &None],
        };
        let mut set = deadlines.into_iter().flatten();
        cancelled || set.any(|deadline| deadline.deadline() <= Instant::now())
    }

    /// Whether something stops the run now; asked with a waker, it is woken when that changes.
    fn poll_stops(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if matches!(self.phase, Phase::Ended) || self.run.stop() == Some(Stop::Cancelled) {
            return Poll::Pending;
        }
        if let Some(cancelled) = &mut self.cancelled
            && cancelled.as_mut().poll(cx).is_ready()
        {
            self.cancelled = None;
            self.stop(RunInput::Cancel);
            return Poll::Ready(());
        }
        if self.run.stop().is_some() {
            return Poll::Pending;
        }
        let passed = |timer: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>| {
            let fired = timer
                .as_mut()
                .is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready());
            if fired {
                *timer = None;
            }
            fired
        };
        let scope = if passed(&mut self.turn_deadline, cx) {
            DeadlineScope::Turn
        } else if passed(&mut self.run_deadline, cx) {
            DeadlineScope::Run
        } else {
            return Poll::Pending;
        };
        self.stop(RunInput::DeadlinePassed(scope));
        Poll::Ready(())
    }

    /// Lets the telemetry of the tools know the keys that the model was asked with.
    fn share_secrets(&mut self) {
        if let Phase::Model(turn) = &self.phase
            && self.plan.settings.captures()
        {
            let known = turn.redactor();
            Arc::make_mut(&mut self.planner().runner).captures = Some(known);
        }
    }

    fn take_model(&mut self, step: ModelStep) -> Option<Event> {
        match step {
            ModelStep::Event(event) => return self.shows.passes(&event).then_some(event),
            ModelStep::Responded(response) => {
                self.share_secrets();
                self.phase = Phase::Next;
                self.apply(RunInput::Responded(response));
            }
            ModelStep::Refused(error) => {
                self.phase = Phase::Next;
                self.apply(RunInput::refused(Failure::from(&error)));
                self.refusal = Some(error);
            }
        }
        None
    }

    /// The result of a run that was polled to its end.
    pub(crate) fn into_chat(self) -> Result<ChatResult, Error> {
        match self.run.end() {
            Some(RunEnd::Result(result)) => Ok((**result).clone()),
            _ => Err(self.into_error()),
        }
    }

    /// The step of a run that was polled to its end.
    pub(crate) fn into_step(self) -> Result<StepResult, Error> {
        match self.run.end() {
            Some(RunEnd::Step(step)) => Ok((**step).clone()),
            _ => Err(self.into_error()),
        }
    }

    fn into_error(mut self) -> Error {
        match (self.refusal.take(), self.run.end()) {
            (Some(error), _) => error,
            (None, Some(RunEnd::Refused(failure))) => Error::from((**failure).clone()),
            (None, _) => allm_core::StreamError::interrupted().into(),
        }
    }
}

impl Stream for RunDriver {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.queue.pop_front() {
                return Poll::Ready(Some(event));
            }
            // Looked at before anything is begun, so that a token that has fired costs no call; nor do events that
            // are there already put it off.
            if this.is_due() && this.poll_stops(cx).is_ready() {
                continue;
            }
            let pending = match &mut this.phase {
                Phase::Ended => return Poll::Ready(None),
                Phase::Next => {
                    this.begin();
                    false
                }
                Phase::Model(turn) => match turn.poll_step(cx) {
                    Poll::Ready(ModelStep::Event(event)) if this.shows.passes(&event) => {
                        return Poll::Ready(Some(event));
                    }
                    Poll::Ready(step) => {
                        if let Some(event) = this.take_model(step) {
                            return Poll::Ready(Some(event));
                        }
                        false
                    }
                    Poll::Pending => true,
                },
                Phase::Tools(batch) => match Pin::new(batch).poll_next(cx) {
                    Poll::Ready(Some(BatchItem::Event(event))) => return Poll::Ready(Some(event)),
                    Poll::Ready(Some(BatchItem::Done {
                        index,
                        outcome,
                        events,
                    })) => {
                        this.queue.extend(events);
                        this.apply(RunInput::tool_done(index, outcome));
                        false
                    }
                    Poll::Ready(None) => {
                        this.phase = Phase::Next;
                        false
                    }
                    Poll::Pending => true,
                },
            };
            if pending && this.poll_stops(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for RunDriver {
    fn drop(&mut self) {
        self.own.cancel();
    }
}
