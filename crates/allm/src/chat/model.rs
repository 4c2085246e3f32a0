//! One model call: opened with retries, then read to its end.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use allm_core::run::{Repair, Stop};
use allm_core::{
    ApiKey, BoxFuture, BoxStream, CancelToken, EngineError, Error, Event, Fold, KeyRequest,
    Redactor, Request, Response, StreamError, StreamReason,
};
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout, timeout_at};

use crate::engine::plan::Plan;
use crate::engine::settings::Toggle;
use crate::panics::caught;
use crate::random;
use crate::telemetry::model_call::ModelCallSpan;
use crate::telemetry::names;

/// One model call while it goes on.
pub(crate) struct ModelTurn {
    plan: Arc<Plan>,
    phase: Phase,
    repair: Repair,
    /// Of what has come, from the first event of the provider on.
    fold: Option<Box<Fold>>,
    limits: Limits,
    secrets: Secrets,
    telemetry: ModelCallSpan,
}

enum Phase {
    Opening(BoxFuture<'static, Opened>),
    Reading(BoxStream<'static, Event>),
    Ended,
}

type Opened = Result<Answer, Refusal>;

/// An attempt that gave an event.
struct Answer {
    first: Event,
    rest: BoxStream<'static, Event>,
    attempt: u32,
    began: Instant,
}

/// Knows every key that the model was asked with so far.
type Secrets = Arc<Mutex<Redactor>>;

/// Why no attempt did.
struct Refusal {
    error: Error,
    attempts: u32,
}

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
    /// When the wait for the next event began; `None` while nobody waits for it.
    waiting: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whom the timer wakes. As long as it has not fired, no limit has passed.
    armed: Option<Waker>,
}

impl ModelTurn {
    /// Begins a call; nothing is sent before the first poll.
    pub(crate) fn new(plan: Arc<Plan>, request: Request, turn: u32, cancel: CancelToken) -> Self {
        let now = Instant::now();
        let deadline = plan
            .timeouts
            .deadline
            .and_then(|limit| now.checked_add(limit));
        let request = Arc::new(request);
        let telemetry = ModelCallSpan::open(&plan, &request);
        let secrets = Secrets::default();
        let opening = open(
            Arc::clone(&plan),
            request,
            deadline,
            cancel,
            Arc::clone(&secrets),
        );
        Self {
            phase: Phase::Opening(Box::pin(opening)),
            repair: Repair::with_limits(turn, plan.argument_limits()),
            fold: None,
            limits: Limits {
                stall: plan.timeouts.stall,
                deadline,
                waiting: None,
                timer: None,
                armed: None,
            },
            secrets,
            telemetry,
            plan,
        }
    }

    /// What has come of the answer; `None` if nothing has.
    pub(crate) fn partial(&self) -> Option<Response> {
        self.fold.as_ref().map(|fold| fold.response())
    }

    /// What takes the keys out that the model was asked with.
    pub(crate) fn redactor(&self) -> Redactor {
        known(&self.secrets).clone()
    }

    /// Whether the answer has had its end. Only raw chunks may still come.
    pub(crate) fn is_whole(&self) -> bool {
        self.fold.as_ref().is_some_and(|fold| fold.is_terminated())
    }

    fn fold(&mut self) -> &mut Fold {
        self.fold.get_or_insert_default()
    }

    /// Waits for no more raw chunks.
    pub(crate) fn end_reading(&mut self) {
        self.phase = Phase::Ended;
    }

    /// Ends the call before its time; gives what has come of the answer.
    pub(crate) fn stop(&mut self, stop: Stop) -> Option<Response> {
        self.phase = Phase::Ended;
        let partial = self.partial();
        let reason = match stop {
            Stop::Cancelled => "cancelled",
            Stop::Deadline(_) => "timeout",
        };
        match &partial {
            Some(response) => {
                let redactor = self.redactor();
                self.telemetry.end(response, Some(reason), &redactor);
            }
            None => {
                let redactor = self.redactor();
                self.telemetry.stopped(reason, &redactor);
            }
        }
        partial
    }

    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<ModelStep> {
        if self.telemetry.span().is_disabled() {
            return self.poll_inside(cx);
        }
        let span = self.telemetry.span().clone();
        let _entered = span.enter();
        self.poll_inside(cx)
    }

    fn poll_inside(&mut self, cx: &mut Context<'_>) -> Poll<ModelStep> {
        loop {
            match &mut self.phase {
                Phase::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(answer) => {
                        self.phase = Phase::Reading(answer.rest);
                        self.telemetry.opened(answer.attempt, answer.began);
                        return Poll::Ready(self.take(answer.first));
                    }
                    Err(refusal) => {
                        self.phase = Phase::Ended;
                        let Refusal { error, attempts } = refusal;
                        let redactor = self.redactor();
                        self.telemetry.refused(&error, attempts, &redactor);
                        return Poll::Ready(ModelStep::Refused(error));
                    }
                },
                Phase::Reading(stream) => {
                    // Events that are there already do not put the deadline off.
                    let polled = if self.limits.is_late() {
                        Poll::Pending
                    } else {
                        stream.as_mut().poll_next(cx)
                    };
                    match polled {
                        Poll::Ready(Some(event)) => {
                            // After the closing event only raw chunks still count.
                            if self.is_whole() && !matches!(event, Event::RawChunk(_)) {
                                self.phase = Phase::Ended;
                                continue;
                            }
                            return Poll::Ready(self.take(event));
                        }
                        Poll::Ready(None) => {
                            self.phase = Phase::Ended;
                            if let Some(end) = self.fold().missing_end() {
                                return Poll::Ready(self.take(end));
                            }
                        }
                        Poll::Pending => {
                            let error = ready!(self.limits.poll(cx));
                            self.phase = Phase::Ended;
                            if !self.is_whole() {
                                return Poll::Ready(self.take(Event::error(Error::from(error))));
                            }
                        }
                    }
                }
                Phase::Ended => {
                    // Whoever asks again has had the answer.
                    let fold = *self.fold.take().unwrap_or_default();
                    return Poll::Ready(ModelStep::Responded(Box::new(fold.into_response())));
                }
            }
        }
    }

    /// Repairs, prices, folds and shows an event.
    fn take(&mut self, mut event: Event) -> ModelStep {
        // Most events are pieces of text, in which there is nothing to repair, and with which nothing ends.
        let is_text = matches!(event, Event::TextDelta(_) | Event::ReasoningDelta(_));
        if !is_text {
            self.repair.mend(&mut event);
            self.redact(&mut event);
            self.price(&mut event);
        }
        self.fold().push(&event);
        self.limits.waiting = None;
        self.telemetry.event(&event);
        if !is_text {
            self.look_for_end(&event);
        }
        if let Some(on_event) = self.plan.settings.on_event.get() {
            on_event(&event);
        }
        ModelStep::Event(event)
    }

    fn look_for_end(&mut self, event: &Event) {
        if self.telemetry.listens() && self.is_whole() {
            let response = self.fold().response();
            let redactor = self.redactor();
            self.telemetry.end(&response, None, &redactor);
        }
        let ended = match event {
            Event::Error(_) => true,
            Event::MessageCompleted(_) => !self.wants_raw(),
            _ => false,
        };
        if ended {
            self.phase = Phase::Ended;
        }
    }

    /// Takes secrets out of what the provider wrote about a failure or a doubt.
    fn redact(&self, event: &mut Event) {
        match event {
            Event::Error(event) => known(&self.secrets).clean_failure(&mut event.error),
            Event::MessageCompleted(event) => {
                let redactor = known(&self.secrets);
                let event = Arc::make_mut(event);
                let details = event.warnings.iter_mut().filter_map(|w| w.detail.as_mut());
                details.for_each(|detail| redactor.clean(detail));
            }
            _ => {}
        }
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
            Event::MessageCompleted(event) => Arc::make_mut(event).usage.as_mut(),
            Event::RawChunk(event) => event.usage.as_mut(),
            _ => None,
        };
        if let Some(usage) = usage {
            usage.cost = prices.cost(&self.plan.model, usage);
        }
    }
}

impl Drop for ModelTurn {
    fn drop(&mut self) {
        if self.telemetry.listens() {
            // The listener is the caller's. A panic in it, on the way of another one, would end the process.
            let _ = caught(|| drop(self.stop(Stop::Cancelled)));
        }
    }
}

impl Limits {
    fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Ready when a limit has passed. The timer is set for the nearest one and set again when it fires too early.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<StreamError> {
        let waiting = *self.waiting.get_or_insert_with(Instant::now);
        if let (Some(waker), Some(timer)) = (&self.armed, &self.timer)
            && !timer.is_elapsed()
            && waker.will_wake(cx.waker())
        {
            return Poll::Pending;
        }
        loop {
            let now = Instant::now();
            let stall = self.stall.and_then(|stall| waiting.checked_add(stall));
            let Some(next) = [stall, self.deadline].into_iter().flatten().min() else {
                return Poll::Pending;
            };
            if now >= next {
                let reason = if self.deadline.is_some_and(|deadline| now >= deadline) {
                    StreamError::new(StreamReason::Timeout, "the call's deadline passed")
                } else {
                    stalled()
                };
                return Poll::Ready(reason);
            }
            let timer = self
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(next)));
            self.armed = Some(cx.waker().clone());
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
    secrets: Secrets,
) -> Opened {
    let mut attempt = 1;
    loop {
        let began = Instant::now();
        // Pinned where it is: a future that is awaited in two ways lies in three places of this one.
        let once = pin!(once(&plan, &request, attempt, deadline, &cancel, &secrets));
        let opened = match deadline {
            None => once.await,
            Some(deadline) => match timeout_at(deadline, once).await {
                Ok(opened) => opened,
                Err(_) => Err(out_of_time(&plan)),
            },
        };
        let mut error = match opened {
            Ok((first, rest)) => {
                return Ok(Answer {
                    first,
                    rest,
                    attempt,
                    began,
                });
            }
            Err(error) => error,
        };
        let refused = |error| Refusal {
            error,
            attempts: attempt,
        };
        if let Error::Adapter(error) = &mut error {
            error.attempts = Some(attempt);
            error
                .request_id
                .get_or_insert_with(|| plan.request_id.clone());
        }
        let Some(delay) = plan.retry.delay(attempt, &error, random::fraction()) else {
            return Err(refused(error));
        };
        let fits = |deadline: Instant| {
            Instant::now()
                .checked_add(delay)
                .is_some_and(|end| end < deadline)
        };
        if !deadline.is_none_or(fits) {
            return Err(refused(error));
        }
        tracing::info!(
            name: names::RETRY,
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
    secrets: &Secrets,
) -> Result<(Event, BoxStream<'static, Event>), Error> {
    // What is asked is gone before anything is sent, and so is its room.
    let key = Box::pin(find_key(plan, attempt)).await?;
    if let Some(key) = &key {
        let mut known = known(secrets);
        *known = known.clone().with_key(key);
    }
    let mut stream = {
        let mut call = plan.model_call(Arc::clone(request), attempt);
        call.key = key;
        call.timeouts.deadline =
            deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        call.cancel = cancel.clone();
        plan.adapter.stream(call)
    };
    let first = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx));
    let first = match plan.timeouts.stall {
        None => first.await,
        // Whatever the adapter does about its own limits.
        Some(stall) => timeout(stall, first).await.map_err(|_| stalled())?,
    };
    match first {
        Some(Event::Error(mut event)) => {
            known(secrets).clean_failure(&mut event.error);
            Err(Error::from(event.error))
        }
        Some(event) => Ok((event, stream)),
        None => Err(StreamError::interrupted().into()),
    }
}

/// The key of an attempt.
async fn find_key(plan: &Plan, attempt: u32) -> Result<Option<ApiKey>, EngineError> {
    let mut ask = KeyRequest::new(
        plan.model.provider.clone(),
        plan.model.model.clone(),
        plan.request_id.clone(),
    );
    ask.tenant = plan.settings.tenant.get();
    ask.attempt = attempt;
    let keys = &plan.engine.0.keys;
    let own = &plan.settings.api_key;
    keys.find(own, &*plan.adapter, &ask, plan.timeouts.key)
        .await
}

/// No code of the caller's runs while it is locked.
fn known(secrets: &Secrets) -> MutexGuard<'_, Redactor> {
    secrets.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A redactor that knows the key in use.
pub(crate) fn redactor_of(key: Option<&ApiKey>) -> Redactor {
    let redactor = Redactor::new();
    match key {
        Some(key) => redactor.with_key(key),
        None => redactor,
    }
}

fn stalled() -> StreamError {
    StreamError::new(StreamReason::Stalled, "no event came in time")
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
