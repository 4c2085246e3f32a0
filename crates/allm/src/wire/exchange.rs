//! One HTTP attempt: the request out, the answer in, as events.

mod clock;
mod fault;

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use allm_core::{
    AdapterError, BoxFuture, CancelToken, Cancelled, Error, Event, Redactor, Timeouts,
};
use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::Full;
use tokio::time::Instant;

use super::answer::Answer;
use super::body::{Body, BodyFault, Piece};
use super::classify::{Failed, with_head};
use super::client::HttpClient;
use super::decode::{End, Fault, Flow, LateDecoder, document_fault, is_cut};
use super::headers;
use super::sse::Frame;
use super::transport::Incoming;
use clock::Clock;

/// How much of the body of a failure is read, and for how long.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_TIME: Duration = Duration::from_secs(10);
/// How long the rest is waited for after the closing event.
const TAIL: Duration = Duration::from_secs(5);
/// After how much that made no event the limits are looked at, and others may run.
const ROUNDS: u32 = 128;

/// What one attempt needs.
pub(crate) struct Attempt {
    pub(crate) client: HttpClient,
    pub(crate) request: Request<Full<Bytes>>,
    pub(crate) answer: Answer,
    pub(crate) decoder: LateDecoder,
    pub(crate) timeouts: Timeouts,
    pub(crate) cancel: CancelToken,
    pub(crate) redactor: Redactor,
    /// How many bytes one event may have.
    pub(crate) max_event_bytes: usize,
}

/// One attempt while it goes on.
pub(crate) struct Exchange {
    phase: Phase,
    answer: Answer,
    decoder: LateDecoder,
    body: Body,
    clock: Clock,
    cancelled: Pin<Box<Cancelled>>,
    redactor: Redactor,
    /// How many frames were read, for faults.
    frames: u64,
}

enum Phase {
    /// Nothing is sent before the first poll.
    New(Option<Box<(HttpClient, Request<Full<Bytes>>)>>),
    Sending(BoxFuture<'static, Result<Response<Incoming>, Error>>),
    Failing(BoxFuture<'static, AdapterError>),
    Reading(Incoming),
    /// The closing event has come.
    Tail(Incoming),
    Ended,
}

impl Exchange {
    pub(crate) fn new(attempt: Attempt) -> Self {
        let Attempt {
            client,
            request,
            answer,
            decoder,
            timeouts,
            cancel,
            redactor,
            max_event_bytes,
        } = attempt;
        Self {
            phase: Phase::New(Some(Box::new((client, request)))),
            answer,
            decoder,
            body: Body::new(max_event_bytes),
            clock: Clock::new(timeouts),
            cancelled: Box::pin(cancel.cancelled()),
            redactor,
            frames: 0,
        }
    }

    fn send(&mut self, client: &HttpClient, request: Request<Full<Bytes>>) {
        self.clock.start();
        let provider = self.answer.about().provider.clone();
        let sent = client.send(request);
        self.phase = Phase::Sending(Box::pin(async move {
            sent.await
                .map_err(|error| fault::carried(provider, error).into())
        }));
    }

    /// The head has come.
    fn head(&mut self, response: Response<Incoming>) {
        let (head, incoming) = response.into_parts();
        let now = SystemTime::now();
        if head.status.is_success() {
            let id = headers::request_id(&head.headers).map(|id| self.redactor.text(id));
            self.answer.provider_request_id(id.as_deref());
            self.answer
                .rate_limit(headers::rate_limit(&head.headers, now));
            self.clock.byte();
            self.phase = Phase::Reading(incoming);
            return;
        }
        let provider = self.answer.about().provider.clone();
        if head.status.is_redirection() {
            let target = headers::text(&head.headers, "location").unwrap_or_default();
            return self.fail(fault::redirected(provider, head.status.as_u16(), target));
        }
        let until = self.clock.no_later_than(Instant::now() + ERROR_TIME);
        self.phase = Phase::Failing(Box::pin(async move {
            let body = failure_body(incoming, until).await;
            let failed = Failed {
                provider: &provider,
                status: Some(head.status.as_u16()),
                body: &body,
            };
            with_head(failed.error(now), &head.headers, now)
        }));
    }

    fn fail(&mut self, error: impl Into<Error>) {
        let mut error = error.into();
        // Half a key is not known for one, so the cut comes last. Far behind it nothing is looked at.
        fault::shorten(&mut error, ERROR_BODY);
        self.redactor.clean_error(&mut error);
        fault::cut(&mut error);
        self.decoder.settle(&mut self.answer);
        self.answer.fail(&error);
        self.phase = Phase::Ended;
    }

    /// A fault of what came.
    fn fault(&mut self, fault: Fault, length: usize) {
        // What the decoder made of it before counts.
        let error = fault::error(fault, &self.answer, self.frames, length);
        self.fail(error);
    }

    fn take_frame(&mut self, frame: &Frame, at_end: bool) {
        self.clock.frame();
        let data = frame.data.trim();
        let flow = if data.is_empty() {
            return;
        } else if data == "[DONE]" {
            self.decoder.done(&mut self.answer)
        } else {
            self.frames += 1;
            self.answer.raw(&frame.data);
            self.decoder.frame(frame, &mut self.answer)
        };
        match flow {
            Ok(Flow::GoOn) => {}
            Ok(Flow::Closed) => self.close(),
            // What follows is not even looked at.
            Ok(Flow::Done) => self.conclude(End::Clean),
            Err(Fault::Malformed) if self.is_closed() => {}
            Err(Fault::Malformed) if at_end && is_cut(data) => self.fault(Fault::Interrupted, 0),
            Err(fault) => self.fault(fault, frame.data.len()),
        }
    }

    /// Whether the closing event has come. Nothing that follows undoes the answer, but for an error of the provider.
    fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Tail(_))
    }

    /// The body cannot be read further.
    fn unreadable(&mut self, fault: BodyFault) {
        if self.is_closed() {
            self.conclude(End::Broken);
        } else {
            self.fault(fault.into(), 0);
        }
    }

    /// The closing event has come: what follows is read for usage only, and not for long.
    fn close(&mut self) {
        if let Phase::Reading(_) = &self.phase
            && let Phase::Reading(incoming) = std::mem::replace(&mut self.phase, Phase::Ended)
        {
            self.clock.tail(TAIL);
            self.phase = Phase::Tail(incoming);
        }
    }

    /// Nothing more comes.
    fn end(&mut self, end: End) {
        if self.answer.is_ended() {
            return;
        }
        if end == End::Clean {
            match self.body.finish() {
                Err(fault) => return self.unreadable(fault),
                Ok(None) => {}
                Ok(Some(Piece::Frame(frame))) => self.take_frame(&frame, true),
                Ok(Some(Piece::Document(text))) => {
                    self.answer.raw(&text);
                    self.answer.body(&text);
                    if let Err(fault) = self.decoder.document(&text, &mut self.answer) {
                        return self.fault(document_fault(fault, &text), text.len());
                    }
                }
            }
        }
        self.conclude(end);
    }

    /// All that counts was read.
    fn conclude(&mut self, end: End) {
        if self.answer.is_ended() {
            return;
        }
        match self.decoder.end(end, &mut self.answer) {
            Ok(()) => {
                self.answer.complete();
                self.phase = Phase::Ended;
            }
            Err(fault) => self.fault(fault, 0),
        }
    }

    /// Reads on; ready when there is something to look at again.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (incoming, closed) = match &mut self.phase {
            Phase::Reading(incoming) => (incoming, false),
            Phase::Tail(incoming) => (incoming, true),
            _ => return Poll::Ready(()),
        };
        match Pin::new(incoming).poll_frame(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => self.end(End::Clean),
            Poll::Ready(Some(Ok(frame))) => {
                self.clock.byte();
                if let Ok(data) = frame.into_data()
                    && let Err(fault) = self.body.push(data)
                {
                    self.unreadable(fault);
                }
            }
            Poll::Ready(Some(Err(_))) if closed => self.end(End::Broken),
            Poll::Ready(Some(Err(error))) => {
                let provider = self.answer.about().provider.clone();
                self.fail(fault::carried(provider, error));
            }
        }
        Poll::Ready(())
    }

    /// Does the next thing; pending when only time or the network can help.
    fn poll_work(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.phase {
            Phase::Ended => {}
            Phase::New(parts) => {
                if let Some(parts) = parts.take() {
                    let (client, request) = *parts;
                    self.send(&client, request);
                }
            }
            Phase::Sending(sending) => match sending.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(response)) => self.head(response),
                Poll::Ready(Err(error)) => self.fail(error),
            },
            Phase::Failing(failing) => {
                let error = ready!(failing.as_mut().poll(cx));
                self.fail(error);
            }
            Phase::Reading(_) | Phase::Tail(_) => match self.body.next() {
                Some(Ok(seen)) => {
                    if !self.answer.about().raw_chunks
                        && self.decoder.glance(&seen, &mut self.answer)
                    {
                        self.clock.frame();
                        self.frames += 1;
                    } else {
                        let frame = seen.frame();
                        self.take_frame(&frame, false);
                    }
                }
                Some(Err(fault)) => self.unreadable(fault),
                None => return self.poll_body(cx),
            },
        }
        Poll::Ready(())
    }

    /// Sees to the limits; what runs without a pause looks at the clock.
    fn poll_clock(&mut self, pauses: bool, cx: &mut Context<'_>) -> Poll<()> {
        let waits = match &self.phase {
            Phase::Sending(_) => clock::Waits::Head,
            Phase::Reading(_) => clock::Waits::Bytes,
            Phase::Tail(_) => clock::Waits::Tail,
            Phase::New(_) | Phase::Failing(_) | Phase::Ended => return Poll::Pending,
        };
        let passed = if pauses {
            self.clock.poll(waits, cx)
        } else {
            self.clock.look(waits, cx)
        };
        match ready!(passed) {
            clock::Passed::Tail => self.end(End::Quiet),
            passed => {
                let error = fault::passed(passed, &self.answer);
                self.fail(error);
            }
        }
        Poll::Ready(())
    }
}

impl Stream for Exchange {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        for _ in 0..ROUNDS {
            if let Some(event) = this.answer.next_event() {
                return Poll::Ready(Some(event));
            }
            if this.answer.is_ended() {
                this.phase = Phase::Ended;
                return Poll::Ready(None);
            }
            // Looked at before each piece of work, and waited for only where there is none.
            if this.cancelled.is_cancelled() {
                this.fail(fault::cancelled(&this.answer));
                continue;
            }
            if this.poll_work(cx).is_pending()
                && this.poll_clock(true, cx).is_pending()
                && this.cancelled.as_mut().poll(cx).is_pending()
            {
                return Poll::Pending;
            }
        }
        // A server that never pauses does not keep the limits from being seen.
        let _ = this.poll_clock(false, cx);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// What there is of the body of a failure, within reason.
async fn failure_body(mut incoming: Incoming, until: Instant) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < ERROR_BODY {
        let next = std::future::poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx));
        let Ok(Some(Ok(frame))) = tokio::time::timeout_at(until, next).await else {
            break;
        };
        if let Ok(data) = frame.into_data() {
            body.extend_from_slice(&data);
        }
    }
    body.truncate(ERROR_BODY);
    body
}

#[cfg(test)]
mod tests;
