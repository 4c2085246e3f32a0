//! The driver of `generate`: one model call.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use allm_core::run::Stop;
use allm_core::{
    CancelToken, Cancelled, Error, Event, Passes, Response, StreamError, StreamReason,
};
use futures_core::Stream;

use super::driver::Shows;
use super::model::{ModelStep, ModelTurn};
use crate::engine::plan::Plan;

/// One model call, and what came of it.
pub(crate) struct GenerateDriver {
    turn: ModelTurn,
    shows: Shows,
    cancelled: Option<Pin<Box<Cancelled>>>,
    own: CancelToken,
    end: Option<Result<Response, Error>>,
}

impl GenerateDriver {
    /// Begins a call: every check that needs no provider is made here.
    pub(crate) fn start(mut plan: Plan, cancel: Option<CancelToken>) -> Result<Self, Error> {
        let request = plan.plain_request();
        plan.forget_request();
        plan.check_request(request.clone(), Passes::One)?;
        let own = CancelToken::new();
        let shows = Shows::of(&plan);
        Ok(Self {
            turn: ModelTurn::new(Arc::new(plan), request, 0, own.child()),
            shows,
            cancelled: cancel.map(|cancel| Box::pin(cancel.cancelled())),
            own,
            end: None,
        })
    }

    /// The answer of a call that was polled to its end.
    pub(crate) fn into_result(mut self) -> Result<Response, Error> {
        let end = self.end.take();
        end.unwrap_or_else(|| Err(StreamError::interrupted().into()))
    }

    /// Ends the call because the caller cancelled.
    fn stop(&mut self) -> Event {
        let error = Error::from(StreamError::new(
            StreamReason::Cancelled,
            "the call was cancelled",
        ));
        let event = Event::error(&error);
        self.end = Some(match self.turn.stop(Stop::Cancelled) {
            None => Err(error),
            Some(partial) => {
                let mut partial = partial;
                partial.finish_reason = Some(allm_core::FinishReason::Error);
                partial.error.get_or_insert_with(|| (&error).into());
                Ok(partial)
            }
        });
        event
    }
}

impl Stream for GenerateDriver {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        loop {
            if this.end.is_some() {
                return Poll::Ready(None);
            }
            if let Some(cancelled) = &mut this.cancelled
                && cancelled.as_mut().poll(cx).is_ready()
            {
                if !this.turn.is_whole() {
                    return Poll::Ready(Some(this.stop()));
                }
                this.cancelled = None;
                this.turn.end_reading();
            }
            match this.turn.poll_step(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(ModelStep::Event(event)) => {
                    if this.shows.passes(&event) {
                        return Poll::Ready(Some(event));
                    }
                }
                Poll::Ready(ModelStep::Responded(response)) => this.end = Some(Ok(*response)),
                Poll::Ready(ModelStep::Refused(error)) => {
                    let event = Event::error(&error);
                    this.end = Some(Err(error));
                    return Poll::Ready(Some(event));
                }
            }
        }
    }
}

impl Drop for GenerateDriver {
    fn drop(&mut self) {
        self.own.cancel();
    }
}
