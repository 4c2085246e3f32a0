//! Model calls of a session.

use std::future::poll_fn;
use std::task::Poll;

use allm_core::run::{ModelCommand, Stop};
use allm_core::session::{EntryBody, ModelEnd, ModelFailed, ModelResponded, Session as Data};
use allm_core::{
    AttemptReset, Error, Event, Failure, FinishReason, Hash, Passes, Request, Response,
    SessionError, StreamError, StreamReason, compact, json,
};
use tokio::time::sleep;

use super::Driver;
use crate::chat::model::{ModelStep, ModelTurn};
use crate::sessions::emit::Sink;
use crate::sessions::journal::Journal;

impl<J: Journal, S: Sink> Driver<'_, J, S> {
    pub(super) async fn call_model(&mut self, call: ModelCommand) -> Result<(), SessionError> {
        if self.is_interrupted() {
            // The message came while nobody drove the run: the model is not asked without it.
            return self.end_model(ModelEnd::Interrupted).await;
        }
        let session = self.session();
        let turn = session.turn();
        let Some(state) = session.run() else {
            return Ok(());
        };
        let attempt = state.attempt;
        let is_first = state.run().steps().is_empty();
        let limit = state.run().options().deadlines.turn;
        let request = self.request(call.request, call.finalizing);
        if is_first {
            let checked = self.plan.check_request(request.clone(), Passes::Two);
            if let Err(error) = checked {
                return self.refuse(error).await;
            }
        }
        self.sink.begin(turn.saturating_add(1), attempt);
        if attempt > 1 {
            let reset = AttemptReset {
                turn: turn.saturating_add(1),
                attempt,
            };
            self.sink.emit(Event::AttemptReset(reset)).await;
        }
        self.turn_deadline = limit.map(|limit| Box::pin(sleep(limit)));
        self.spans.begin_step(call.turn);
        let plan = std::sync::Arc::clone(&self.plan);
        let cancel = self.own.child();
        let model = self
            .spans
            .step()
            .in_scope(|| ModelTurn::new(plan, request, turn, cancel));
        self.model = Some(model);
        Ok(())
    }

    /// What is sent: the recorded settings, and the tools as they are now.
    fn request(&self, mut request: Request, finalizing: bool) -> Request {
        if !finalizing {
            let built_in = std::mem::take(&mut request.tools);
            request.tools = compact::project(
                self.plan.tools(),
                request.tool_choice.as_ref(),
                &request.extra,
            );
            request.tools.extend(built_in);
        }
        request
    }

    async fn refuse(&mut self, error: Error) -> Result<(), SessionError> {
        let body = model_failed(
            self.session(),
            ModelEnd::Failed,
            Failure::from(&error),
            None,
        );
        self.refusal = Some(error);
        self.append(vec![body]).await?;
        Ok(())
    }

    pub(super) async fn take_model(&mut self, step: ModelStep) -> Result<(), SessionError> {
        match step {
            ModelStep::Event(event) => {
                if self.shows.passes(&event) {
                    self.sink.emit(event).await;
                }
                Ok(())
            }
            ModelStep::Responded(response) => {
                self.model = None;
                self.take_response(*response).await
            }
            ModelStep::Refused(error) => {
                self.model = None;
                self.refuse(error).await
            }
        }
    }

    async fn take_response(&mut self, response: Response) -> Result<(), SessionError> {
        let failed = response.finish_reason == Some(FinishReason::Error);
        let error = response.error.clone().filter(|_| failed);
        let calls = !response.message.tool_calls.is_empty();
        let body = match error {
            Some(error) => model_failed(self.session(), ModelEnd::Failed, error, Some(response)),
            None => {
                let request_hash = self.request_hash()?;
                let session = self.session();
                EntryBody::ModelResponded(Box::new(ModelResponded {
                    turn: session.turn().saturating_add(1),
                    attempt: session.run().map_or(1, |state| state.attempt),
                    request_hash,
                    response,
                }))
            }
        };
        if calls {
            return self.take_calls(body).await;
        }
        self.append(vec![body]).await?;
        Ok(())
    }

    /// A hash of what was sent: it is fixed by where the session stands and by the tools.
    fn request_hash(&mut self) -> Result<Hash, SessionError> {
        let tools = match self.tools_hash {
            Some(hash) => hash,
            None => Hash::of_bytes(&json::canonical(self.plan.tools())?),
        };
        self.tools_hash = Some(tools);
        let session = self.session();
        let sent = (session.uid(), session.version(), tools);
        Ok(Hash::of_bytes(&json::canonical(&sent)?))
    }

    /// Ends the model call, if one is going on, and writes down what had come.
    pub(super) async fn end_model(&mut self, end: ModelEnd) -> Result<(), SessionError> {
        let stop = self.stop();
        let partial = match self.model.take() {
            Some(mut model) if model.is_whole() && end == ModelEnd::Stopped => {
                // The machine judges a whole answer by what is in it.
                model.end_reading();
                self.model = Some(model);
                return self.finish_reading().await;
            }
            Some(mut model) => model.stop(stop.unwrap_or(Stop::Cancelled)),
            None => None,
        };
        let message = match stop {
            Some(Stop::Deadline(_)) => "a deadline of the run passed",
            _ if end == ModelEnd::Interrupted => "the answer was broken off",
            _ => "the run was cancelled",
        };
        let reason = match stop {
            Some(Stop::Deadline(_)) => StreamReason::Timeout,
            _ => StreamReason::Cancelled,
        };
        let error = Failure::from(Error::from(StreamError::new(reason, message)));
        let body = model_failed(self.session(), end, error, partial);
        self.append(vec![body]).await?;
        Ok(())
    }

    async fn finish_reading(&mut self) -> Result<(), SessionError> {
        let step = poll_fn(|cx| match &mut self.model {
            Some(model) => model.poll_step(cx).map(Some),
            None => Poll::Ready(None),
        });
        match step.await {
            Some(step) => self.take_model(step).await,
            None => Ok(()),
        }
    }
}

/// That the model call of the present turn ended without an answer.
pub(super) fn model_failed(
    session: &Data,
    end: ModelEnd,
    error: Failure,
    partial: Option<Response>,
) -> EntryBody {
    EntryBody::ModelFailed(Box::new(ModelFailed {
        turn: session.turn().saturating_add(1),
        attempt: session.run().map_or(1, |state| state.attempt),
        end,
        error,
        usage: partial
            .as_ref()
            .map(|partial| partial.usage.clone())
            .unwrap_or_default(),
        partial,
    }))
}
