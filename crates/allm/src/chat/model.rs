//! One model call: opened with retries, then read to its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use allm_core::run::Repair;
use allm_core::{
    BoxFuture, BoxStream, CancelToken, Error, Event, Fold, KeyRequest, Request, Response,
    StreamError, StreamReason,
};
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout_at};

use crate::engine::plan::Plan;
use crate::engine::settings::Toggle;
use crate::random;

/// One model call while it goes on.
pub(crate) struct ModelTurn {
    plan: Arc<Plan>,
    phase: Phase,
    repair: Repair,
    fold: Fold,
    /// Whether an event of the provider has come.
    begun: bool,
    limits: Limits,
}

enum Phase {
    Opening(BoxFuture<'static, Opened>),
    Reading(BoxStream<'static, Event>),
    Ended,
}

type Opened = Result<(Event, BoxStream<'static, Event>), Error>;

/// What happens in a model call.
pub(crate) enum ModelStep {
    /// An event of the provider, repaired and observed.
    Event(Event),
    /// The answer has ended, well or not.
    Responded(Box<Response>),
    /// No event came.
    Refused(Error),
}

/// The limits of a stream that has begun.
struct Limits {
    stall: Option<Duration>,
    deadline: Option<Instant>,
    last_event: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl ModelTurn {
    /// Begins a call; nothing is sent before the first poll.
    pub(crate) fn new(plan: Arc<Plan>, request: Request, turn: u32, cancel: CancelToken) -> Self {
        let now = Instant::now();
        let deadline = plan
            .timeouts
            .deadline
            .and_then(|limit| now.checked_add(limit));
        let opening = open(Arc::clone(&plan), Arc::new(request), deadline, cancel);
        Self {
            phase: Phase::Opening(Box::pin(opening)),
            repair: Repair::with_limits(turn, plan.argument_limits()),
            fold: Fold::new(),
            begun: false,
            limits: Limits {
                stall: plan.timeouts.stall,
                deadline,
                last_event: now,
                timer: None,
            },
            plan,
        }
    }

    /// What has come of the answer; `None` if nothing has.
    pub(crate) fn partial(&self) -> Option<Response> {
        self.begun.then(|| self.fold.response())
    }

    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<ModelStep> {
        loop {
            match &mut self.phase {
                Phase::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok((first, stream)) => {
                        self.phase = Phase::Reading(stream);
                        self.begun = true;
                        return Poll::Ready(self.take(first));
                    }
                    Err(error) => {
                        self.phase = Phase::Ended;
                        return Poll::Ready(ModelStep::Refused(error));
                    }
                },
                Phase::Reading(stream) => match stream.as_mut().poll_next(cx) {
                    Poll::Ready(Some(event)) => {
                        let after_end = self.fold.is_terminated();
                        // After the closing event only raw chunks still count.
                        if after_end && !matches!(event, Event::RawChunk(_)) {
                            self.phase = Phase::Ended;
                            continue;
                        }
                        return Poll::Ready(self.take(event));
                    }
                    Poll::Ready(None) => {
                        self.phase = Phase::Ended;
                        if let Some(end) = self.fold.missing_end() {
                            return Poll::Ready(self.take(end));
                        }
                    }
                    Poll::Pending => {
                        let error = ready!(self.limits.poll(cx));
                        self.phase = Phase::Ended;
                        return Poll::Ready(self.take(Event::error(Error::from(error))));
                    }
                },
                Phase::Ended => {
                    let response = Box::new(self.fold.response());
                    return Poll::Ready(ModelStep::Responded(response));
                }
            }
        }
    }

    /// Repairs, prices, folds and shows an event.
    fn take(&mut self, event: Event) -> ModelStep {
        let mut event = self.repair.event(event);
        self.price(&mut event);
        self.fold.push(&event);
        self.limits.last_event = Instant::now();
        let ended = match &event {
            Event::Error(_) => true,
            Event::MessageCompleted(_) => !self.wants_raw(),
            _ => false,
        };
        if ended {
            self.phase = Phase::Ended;
        }
        if let Some(on_event) = self.plan.settings.on_event.get() {
            on_event(&event);
        }
        ModelStep::Event(event)
    }

    fn wants_raw(&self) -> bool {
        self.plan.settings.raw_chunks.is_on(Toggle::Off)
    }

    /// Puts the cost into the usage, where prices are known and the provider stated none.
    fn price(&self, event: &mut Event) {
        let Some(prices) = &self.plan.engine.0.prices else {
            return;
        };
        let usage = match event {
            Event::MessageCompleted(event) => event.usage.as_mut(),
            Event::RawChunk(event) => event.usage.as_mut(),
            _ => None,
        };
        if let Some(usage) = usage {
            usage.cost = prices.cost(&self.plan.model, usage);
        }
    }
}

impl Limits {
    /// Ready when a limit has passed. The timer is set for the nearest one and set again when it fires too early.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<StreamError> {
        loop {
            let stall = self
                .stall
                .and_then(|stall| self.last_event.checked_add(stall));
            let Some(next) = [stall, self.deadline].into_iter().flatten().min() else {
                return Poll::Pending;
            };
            let now = Instant::now();
            if now >= next {
                let reason = if self.deadline.is_some_and(|deadline| now >= deadline) {
                    StreamError::new(StreamReason::Timeout, "the call's deadline passed")
                } else {
                    StreamError::new(StreamReason::Stalled, "no event came in time")
                };
                return Poll::Ready(reason);
            }
            let timer = self
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(next)));
            ready!(timer.as_mut().poll(cx));
            self.timer = None;
        }
    }
}

/// Opens a call: key, attempt, wait, again; until the first event has come or nothing more is to be tried.
async fn open(
    plan: Arc<Plan>,
    request: Arc<Request>,
    deadline: Option<Instant>,
    cancel: CancelToken,
) -> Opened {
    let mut attempt = 1;
    loop {
        let once = once(&plan, &request, attempt, deadline, &cancel);
        let opened = match deadline {
            None => once.await,
            Some(deadline) => match timeout_at(deadline, once).await {
                Ok(opened) => opened,
                Err(_) => Err(out_of_time(&plan)),
            },
        };
        let mut error = match opened {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        if let Error::Adapter(error) = &mut error {
            error.attempts = Some(attempt);
            error
                .request_id
                .get_or_insert_with(|| plan.request_id.clone());
        }
        let Some(delay) = plan.retry.delay(attempt, &error, random::fraction()) else {
            return Err(error);
        };
        let fits = |deadline: Instant| {
            Instant::now()
                .checked_add(delay)
                .is_some_and(|end| end < deadline)
        };
        if !deadline.is_none_or(fits) {
            return Err(error);
        }
        tracing::info!(
            name: "allm.retry",
            attempt,
            delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            reason = error.reason(),
        );
        sleep(delay).await;
        attempt += 1;
    }
}

/// One attempt, up to its first event.
async fn once(
    plan: &Plan,
    request: &Arc<Request>,
    attempt: u32,
    deadline: Option<Instant>,
    cancel: &CancelToken,
) -> Opened {
    let mut ask = KeyRequest::new(
        plan.model.provider.clone(),
        plan.model.model.clone(),
        plan.request_id.clone(),
    );
    ask.tenant = plan.settings.tenant.get();
    ask.attempt = attempt;
    let keys = &plan.engine.0.keys;
    let own = &plan.settings.api_key;
    let key = keys
        .find(own, &*plan.adapter, &ask, plan.timeouts.key)
        .await?;
    let mut call = plan.model_call(Arc::clone(request), attempt);
    call.key = key;
    call.timeouts.deadline =
        deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    call.cancel = cancel.clone();
    let mut stream = plan.adapter.stream(call);
    match std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        Some(Event::Error(error)) => Err(Error::from(error.error)),
        Some(event) => Ok((event, stream)),
        None => Err(StreamError::interrupted().into()),
    }
}

fn out_of_time(plan: &Plan) -> Error {
    use allm_core::{AdapterError, AdapterReason};
    let provider = plan.model.provider.clone();
    AdapterError::new(
        provider,
        AdapterReason::Timeout,
        "the call's deadline passed",
    )
    .into()
}
