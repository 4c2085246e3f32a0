//! A call as a stream of events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use allm_core::{
    AdapterError, AdapterReason, Cancelled, Error, Event, ModelCall, StreamError, StreamReason,
};
use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Local;
use super::answer::Answer;
use super::check;
use super::clock::{Clock, Over};
use crate::worker::{Job, Update};

/// One attempt. It begins with the first poll.
pub(super) struct Answering {
    local: Local,
    call: ModelCall,
    stage: Stage,
}

enum Stage {
    Before,
    Running(Box<Running>),
    Over,
}

struct Running {
    updates: UnboundedReceiver<Update>,
    cancelled: Cancelled,
    clock: Clock,
    answer: Answer,
    events: u64,
    is_done: bool,
}

impl Answering {
    pub(super) fn new(local: Local, call: ModelCall) -> Self {
        Self {
            local,
            call,
            stage: Stage::Before,
        }
    }

    fn begin(&mut self) -> Result<Running, Error> {
        if self.call.cancel.is_cancelled() {
            return Err(self.stream_error(StreamReason::Cancelled, 0));
        }
        check::check(&self.call.request)?;
        let refuse = |reason, message| Error::from(self.adapter_error(reason, message));
        let worker = self
            .local
            .worker(&self.call.model.model)
            .map_err(|error| refuse(AdapterReason::ModelNotFound, error.to_string()))?;
        let (sender, updates) = unbounded_channel();
        let is_asked = worker.ask(Job {
            request: Arc::clone(&self.call.request),
            cancel: self.call.cancel.clone(),
            updates: sender,
        });
        if !is_asked {
            return Err(refuse(
                AdapterReason::Unknown,
                "the model's thread is gone".to_owned(),
            ));
        }
        Ok(Running {
            updates,
            cancelled: self.call.cancel.cancelled(),
            clock: Clock::start(self.call.timeouts),
            answer: Answer::new(self.local.name.clone(), &self.call),
            events: 0,
            is_done: false,
        })
    }

    fn adapter_error(&self, reason: AdapterReason, message: String) -> AdapterError {
        let error = AdapterError::new(self.local.name.clone(), reason, message);
        AdapterError {
            request_id: Some(self.call.request_id.clone()),
            ..error
        }
    }

    fn stream_error(&self, reason: StreamReason, events: u64) -> Error {
        let message = match reason {
            StreamReason::Cancelled => "the caller cancelled",
            StreamReason::Stalled => "the model wrote nothing that could be shown within the limit",
            _ => "the model wrote nothing within the limit",
        };
        Error::from(StreamError {
            provider: Some(self.local.name.clone()),
            event_index: Some(events),
            request_id: Some(self.call.request_id.clone()),
            ..StreamError::new(reason, message)
        })
    }

    /// The failure of a limit. Before any content it is the provider's, later the stream's.
    fn over(&self, over: Over, running: &Running) -> Error {
        match over {
            Over::Stalled => self.stream_error(StreamReason::Stalled, running.events),
            Over::Timeout if running.answer.is_started() => {
                self.stream_error(StreamReason::Timeout, running.events)
            }
            Over::Timeout => {
                let message = "the model wrote nothing within the limit".to_owned();
                Error::from(self.adapter_error(AdapterReason::Timeout, message))
            }
        }
    }

    fn poll_running(&self, running: &mut Running, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            if Pin::new(&mut running.cancelled).poll(cx).is_ready() {
                return Poll::Ready(Step::Fail(
                    self.stream_error(StreamReason::Cancelled, running.events),
                ));
            }
            if let Some(event) = running.answer.next_event() {
                running.events += 1;
                return Poll::Ready(Step::Event(event));
            }
            if running.is_done {
                return Poll::Ready(Step::End);
            }
            match running.updates.poll_recv(cx) {
                Poll::Pending => {}
                Poll::Ready(Some(Update::Failed(reason, message))) => {
                    return Poll::Ready(Step::Fail(self.adapter_error(reason, message).into()));
                }
                Poll::Ready(Some(update)) => {
                    running.take(update, &self.call);
                    continue;
                }
                // The thread stopped without a word.
                Poll::Ready(None) => {
                    return Poll::Ready(Step::Fail(StreamError::interrupted().into()));
                }
            }
            match running.clock.poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(over) => return Poll::Ready(Step::Fail(self.over(over, running))),
            }
        }
    }
}

/// What a poll came to.
enum Step {
    Event(Event),
    Fail(Error),
    End,
}

impl Running {
    fn take(&mut self, update: Update, call: &ModelCall) {
        match update {
            Update::Begun => return self.clock.begun(),
            Update::Alive => return self.clock.alive(),
            Update::Text(piece) => self.answer.text(piece),
            Update::CallBegun(name) => self.answer.call_begun(name),
            Update::CallArguments(piece) => self.answer.call_arguments(piece),
            Update::CallEnded => self.answer.call_ended(),
            Update::Done(summary) => {
                self.answer.done(*summary, check::dropped(&call.request));
                self.is_done = true;
            }
            // Handled by the caller.
            Update::Failed(..) => {}
        }
        self.clock.told();
    }
}

impl Stream for Answering {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        if matches!(this.stage, Stage::Before) {
            match this.begin() {
                Ok(running) => this.stage = Stage::Running(Box::new(running)),
                Err(error) => {
                    this.stage = Stage::Over;
                    return Poll::Ready(Some(Event::error(error)));
                }
            }
        }
        let Stage::Running(mut running) = std::mem::replace(&mut this.stage, Stage::Over) else {
            return Poll::Ready(None);
        };
        let step = this.poll_running(&mut running, cx);
        match step {
            Poll::Pending => {
                this.stage = Stage::Running(running);
                Poll::Pending
            }
            Poll::Ready(Step::Event(event)) => {
                this.stage = Stage::Running(running);
                Poll::Ready(Some(event))
            }
            // What is left of the work stops with the receiver.
            Poll::Ready(Step::Fail(error)) => Poll::Ready(Some(Event::error(error))),
            Poll::Ready(Step::End) => Poll::Ready(None),
        }
    }
}
