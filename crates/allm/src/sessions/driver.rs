//! Drives a session: does what its machine says and writes down what came of it.

mod calls;
mod drive;
mod model;
mod planning;
mod prepare;
mod recover;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use allm_core::run::{Command, DeadlineScope, RunEnd, Stop};
use allm_core::session::{Applied, Delivery, EntryBody, Halted, ModelEnd, Session as Data, WentOn};
use allm_core::{
    BoxFuture, CancelToken, Cancelled, ChatResult, Error, Event, HaltReason, Hash, SessionError,
    SessionReason,
};
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::emit::Sink;
use super::journal::{Appended, Journal, misfit};
use super::lease::Tenure;
use crate::chat::driver::Shows;
use crate::chat::model::{ModelStep, ModelTurn};
use crate::engine::plan::Plan;
use crate::telemetry::run::RunSpans;
use crate::tools::{BatchItem, BatchRun, OnLate, Planner};

pub(crate) use calls::APPROVAL_MISMATCH;
pub(crate) use drive::{Drive, Limits, Outcome};
pub(crate) use prepare::{Orders, Prepared, Preparing, checked_arguments, preview};

/// What reaches a driver from outside.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    /// The caller's token: cancels the run.
    pub(crate) cancel: Option<CancelToken>,
    /// Nothing new is to be begun.
    pub(crate) closing: CancelToken,
    /// What is going on is to be left where it is.
    pub(crate) leave: CancelToken,
    /// The right to drive the session, where it can be lost.
    pub(crate) tenure: Option<Tenure>,
    /// Who keeps what handlers come to too late.
    pub(crate) on_late: Option<OnLate>,
}

impl Signals {
    fn may_drive(&self) -> bool {
        self.tenure.as_ref().is_none_or(Tenure::is_held)
    }
}

/// How a driver came to its end.
pub(crate) enum Driven {
    /// The run has ended.
    Ended(RunEnd),
    /// It was left unfinished, as it was asked to.
    Left,
}

/// A driver of one run.
pub(crate) struct Driver<'j, J: Journal, S: Sink> {
    journal: &'j mut J,
    sink: &'j mut S,
    plan: Arc<Plan>,
    planner: Planner,
    shows: Shows,
    spans: RunSpans,
    model: Option<ModelTurn>,
    batches: Vec<BatchRun>,
    probes: Vec<recover::Probing>,
    /// The calls that are being run or looked after, and the attempt of each.
    begun: BTreeMap<u32, u32>,
    /// The turn that `begun` is about.
    begun_turn: u32,
    /// Whether the calls that run were told to stop.
    stopping: bool,
    turn_deadline: Option<Pin<Box<Sleep>>>,
    run_deadline: Option<Pin<Box<Sleep>>>,
    signals: Signals,
    cancelled: Option<Pin<Box<Cancelled>>>,
    left: Pin<Box<Cancelled>>,
    lost: Option<BoxFuture<'static, ()>>,
    /// Whether the last thing done was to look what others did.
    looked: bool,
    /// Fired when this driver goes away, so that whatever it started knows.
    own: CancelToken,
    end: Option<RunEnd>,
    /// The hash of the tools, once it was asked for.
    tools_hash: Option<Hash>,
    /// How long after its time limit a call has ended for sure.
    call_slack: Duration,
    /// The typed error of a run that was refused.
    pub(crate) refusal: Option<Error>,
}

/// What a driver waits for.
enum Wake {
    Model(ModelStep),
    Tool(BatchItem),
    Probed(recover::Probed),
    Cancelled,
    Deadline(DeadlineScope),
    Poked,
    /// Nothing goes on any more.
    Idle,
    Leave,
    Lost,
}

impl<'j, J: Journal, S: Sink> Driver<'j, J, S> {
    pub(crate) fn new(
        journal: &'j mut J,
        sink: &'j mut S,
        plan: Plan,
        signals: Signals,
        call_slack: Duration,
    ) -> Self {
        let spans = RunSpans::open(&plan.request_id, plan.settings.session_id.get().as_ref());
        let own = CancelToken::new();
        let mut runner = plan.runner_settings();
        runner.cancel = own.child();
        runner.on_late = signals.on_late.clone();
        if let Some(uid) = journal.session().uid() {
            runner.key_owner = uid.as_bytes().to_vec();
        }
        let planner = plan.planner(Arc::new(runner));
        sink.begin(journal.session().turn(), 1);
        let limit = journal.session().run().and_then(|state| {
            let limit = state.run().options().deadlines.run?;
            // What the drivers before have used is used.
            Some(limit.saturating_sub(state.clock.used()))
        });
        Self {
            planner,
            shows: Shows::of(&plan),
            spans,
            plan: Arc::new(plan),
            model: None,
            batches: Vec::new(),
            probes: Vec::new(),
            begun: BTreeMap::new(),
            begun_turn: 0,
            stopping: false,
            turn_deadline: None,
            run_deadline: limit.map(|limit| Box::pin(sleep(limit))),
            cancelled: signals
                .cancel
                .as_ref()
                .map(|token| Box::pin(token.cancelled())),
            left: Box::pin(signals.leave.cancelled()),
            lost: signals.tenure.clone().map(over),
            looked: false,
            signals,
            own,
            end: None,
            tools_hash: None,
            call_slack,
            refusal: None,
            journal,
            sink,
        }
    }

    fn session(&self) -> &Data {
        self.journal.session()
    }

    /// Drives the run to its end.
    pub(crate) async fn drive(&mut self) -> Result<Driven, SessionError> {
        let mut driven = self.drive_on().await;
        if let Err(error) = &mut driven
            && matches!(
                error.reason,
                SessionReason::LostOwnership | SessionReason::Store
            )
        {
            error.unsaved.extend(self.late_outcomes().await);
        }
        driven
    }

    async fn drive_on(&mut self) -> Result<Driven, SessionError> {
        loop {
            if self.session().run().is_none() {
                let end = self.end.take();
                self.spans.end(end.as_ref());
                return end
                    .map(Driven::Ended)
                    .ok_or_else(SessionError::lost_ownership);
            }
            if !self.signals.may_drive() {
                return Err(SessionError::lost_ownership());
            }
            if self.signals.closing.is_cancelled() && !self.is_busy() {
                return Ok(Driven::Left);
            }
            if self.is_cancelled_now() {
                self.cancel().await?;
                continue;
            }
            let before = self.session().version();
            // Who is about to leave begins nothing, but ends what is to be ended.
            let closing = self.signals.closing.is_cancelled();
            if !closing || self.stop().is_some() {
                self.begin().await?;
            }
            if self.session().version() != before {
                // Something was written, so the machine may want something else now.
                continue;
            }
            if !self.is_busy() {
                if closing {
                    continue;
                }
                // It must not spin, whatever went wrong.
                return Err(misfit("the machine asks for what is not going on"));
            }
            match poll_fn(|cx| self.poll_wake(cx)).await {
                Wake::Leave => {
                    self.leave().await?;
                    return Ok(Driven::Left);
                }
                Wake::Lost => return Err(SessionError::lost_ownership()),
                wake => self.handle(wake).await?,
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.model.is_some() || !self.batches.is_empty() || !self.probes.is_empty()
    }

    /// Whether the caller's token has fired and the machine does not know.
    fn is_cancelled_now(&self) -> bool {
        let fired = self
            .signals
            .cancel
            .as_ref()
            .is_some_and(CancelToken::is_cancelled);
        fired && self.stop() != Some(Stop::Cancelled)
    }

    fn stop(&self) -> Option<Stop> {
        self.session().run().and_then(|state| state.run().stop())
    }

    /// Appends and tells what came of it. False when others came first and nothing was appended.
    async fn append(&mut self, bodies: Vec<EntryBody>) -> Result<bool, SessionError> {
        let appended = self.write(bodies).await?;
        self.tell(appended.applied).await;
        Ok(!appended.superseded)
    }

    /// Appends these and what was staged. Nobody is told yet.
    async fn write(&mut self, bodies: Vec<EntryBody>) -> Result<Appended, SessionError> {
        if bodies.is_empty() && !self.journal.is_staged() {
            return Ok(Appended::default());
        }
        self.journal.append(bodies, None).await
    }

    async fn tell(&mut self, applied: Applied) {
        if let Some(end) = applied.ended {
            self.end = Some(end);
        }
        for event in applied.events {
            if matches!(event, Event::StepCompleted(_)) {
                self.turn_deadline = None;
            }
            self.sink.emit(event).await;
        }
    }

    /// Begins what the machine wants and is not going on yet.
    async fn begin(&mut self) -> Result<(), SessionError> {
        let Some(state) = self.session().run() else {
            return Ok(());
        };
        if self.model.is_some() && state.run().stop().is_none() {
            // Asked for each delta: what the machine wants is going on.
            return Ok(());
        }
        match state.run().command() {
            Command::CallModel(call) => self.call_model(*call).await?,
            Command::StopModel => self.end_model(ModelEnd::Stopped).await?,
            Command::PlanCalls(calls) => self.plan_calls(&calls).await?,
            Command::RunTools(calls) => self.begin_calls(&calls).await?,
            Command::StopTools(calls) => self.stop_calls(&calls).await?,
            Command::AskHaltWhen(step) => {
                let halt_when = self.plan.settings.halt_when.get();
                let halt = halt_when.is_some_and(|halt_when| {
                    let _entered = self.spans.run().enter();
                    halt_when(&step)
                });
                let turn = self.session().turn();
                let body = if halt {
                    EntryBody::Halted(Halted {
                        turn,
                        reason: HaltReason::HaltWhen,
                        scope: None,
                    })
                } else {
                    EntryBody::WentOn(WentOn { turn })
                };
                self.append(vec![body]).await?;
            }
            // A run that has ended is not there; the machine knows no other command.
            _ => {}
        }
        Ok(())
    }

    fn poll_wake(&mut self, cx: &mut Context<'_>) -> Poll<Wake> {
        if let Some(lost) = &mut self.lost
            && lost.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Wake::Lost);
        }
        if self.left.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Wake::Leave);
        }
        if self.stop() != Some(Stop::Cancelled)
            && let Some(cancelled) = &mut self.cancelled
            && cancelled.as_mut().poll(cx).is_ready()
        {
            self.cancelled = None;
            return Poll::Ready(Wake::Cancelled);
        }
        if self.stop().is_none() {
            let due = |timer: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>| {
                let fired = timer
                    .as_mut()
                    .is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
                if fired {
                    *timer = None;
                }
                fired
            };
            if due(&mut self.turn_deadline, cx) {
                return Poll::Ready(Wake::Deadline(DeadlineScope::Turn));
            }
            if due(&mut self.run_deadline, cx) {
                return Poll::Ready(Wake::Deadline(DeadlineScope::Run));
            }
        }
        // A store that is slow to tell what others did must not keep the run from going on.
        let looked = std::mem::replace(&mut self.looked, false);
        if !looked && self.journal.poll_poked(cx).is_ready() {
            self.looked = true;
            return Poll::Ready(Wake::Poked);
        }
        if let Some(model) = &mut self.model
            && let Poll::Ready(step) = model.poll_step(cx)
        {
            return Poll::Ready(Wake::Model(step));
        }
        let mut place = 0;
        while let Some(batch) = self.batches.get_mut(place) {
            match Pin::new(batch).poll_next(cx) {
                Poll::Ready(Some(item)) => return Poll::Ready(Wake::Tool(item)),
                Poll::Ready(None) => drop(self.batches.swap_remove(place)),
                Poll::Pending => place += 1,
            }
        }
        if let Some(probed) = recover::poll(&mut self.probes, cx) {
            return Poll::Ready(Wake::Probed(probed));
        }
        if !self.is_busy() {
            return Poll::Ready(Wake::Idle);
        }
        if looked && self.journal.poll_poked(cx).is_ready() {
            self.looked = true;
            return Poll::Ready(Wake::Poked);
        }
        Poll::Pending
    }

    async fn handle(&mut self, wake: Wake) -> Result<(), SessionError> {
        match wake {
            Wake::Model(step) => self.take_model(step).await,
            Wake::Tool(item) => self.take_item(item).await,
            Wake::Probed(probed) => self.take_probe(probed).await,
            Wake::Cancelled => self.cancel().await,
            Wake::Deadline(scope) => self.pass_deadline(scope).await,
            Wake::Poked => {
                let applied = self.journal.refresh().await?;
                self.tell(applied).await;
                self.after_inputs().await
            }
            Wake::Idle | Wake::Leave | Wake::Lost => Ok(()),
        }
    }

    async fn cancel(&mut self) -> Result<(), SessionError> {
        self.append(vec![Data::stop_entry("the caller's token fired", None)])
            .await?;
        Ok(())
    }

    async fn pass_deadline(&mut self, scope: DeadlineScope) -> Result<(), SessionError> {
        let body = EntryBody::Halted(Halted {
            turn: self.session().turn(),
            reason: HaltReason::DeadlineExceeded,
            scope: Some(scope),
        });
        self.append(vec![body]).await?;
        Ok(())
    }

    /// Breaks a model call off for a message that cannot wait.
    async fn after_inputs(&mut self) -> Result<(), SessionError> {
        if self.is_interrupted() && self.model.is_some() && self.stop().is_none() {
            self.end_model(ModelEnd::Interrupted).await?;
        }
        Ok(())
    }

    /// Whether a message is there that the model call in flight must not make wait.
    fn is_interrupted(&self) -> bool {
        let session = self.session();
        let mut inbox = session.inbox().iter();
        session.run().is_some_and(|run| run.run().takes_messages())
            && inbox.any(|queued| queued.delivery == Delivery::Interrupt)
    }

    /// Leaves the run where it is: what a model has said is written down, calls stay open.
    async fn leave(&mut self) -> Result<(), SessionError> {
        if self.model.is_some() {
            self.end_model(ModelEnd::Interrupted).await?;
        }
        Ok(())
    }
}

impl<J: Journal, S: Sink> Drop for Driver<'_, J, S> {
    fn drop(&mut self) {
        if let Some(model) = &mut self.model
            && let Some(partial) = model.partial()
        {
            self.journal.leave_partial(partial);
        }
        self.own.cancel();
    }
}

/// Ready when the session must be left.
fn over(tenure: Tenure) -> BoxFuture<'static, ()> {
    Box::pin(tenure.over())
}

/// The result of a run.
pub(crate) fn result_of(end: RunEnd, refusal: Option<Error>) -> Result<ChatResult, SessionError> {
    match end {
        RunEnd::Result(result) => Ok(Arc::unwrap_or_clone(result)),
        RunEnd::Refused(failure) => Err(refusal.unwrap_or_else(|| Error::from(*failure)).into()),
        // A session makes no such run, and the machine knows no other end.
        _ => Err(misfit("the run ended as a step")),
    }
}
