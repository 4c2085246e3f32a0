//! A script as a stream of events.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;

use allm_core::json::Sorted;
use allm_core::{
    AdapterError, AdapterReason, Cancelled, Error, Event, Failure, FinishReason, ModelCall,
    ProviderName, StreamError, StreamReason, ToolCall,
};

use super::answer::{Answer, CallEnd};
use super::clock::{Clock, Wake};
use super::log::{FakeOutcome, OpenStream};
use super::step::{Step, whole_call};
use super::{Fake, Reply};

/// One attempt. It begins with the first poll.
pub(super) struct Player {
    fake: Fake,
    call: ModelCall,
    stage: Stage,
}

enum Stage {
    Before,
    Playing(Box<Playing>),
    Over,
}

impl Player {
    pub(super) fn new(fake: Fake, call: ModelCall) -> Self {
        Self {
            fake,
            call,
            stage: Stage::Before,
        }
    }
}

impl Stream for Player {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        if matches!(this.stage, Stage::Before) {
            if this.call.cancel.is_cancelled() {
                // Nothing was sent, so nothing is used up or recorded.
                this.stage = Stage::Over;
                let error = StreamError {
                    provider: Some(this.fake.name.clone()),
                    request_id: Some(this.call.request_id.clone()),
                    ..cancelled()
                };
                return Poll::Ready(Some(Event::error(Error::from(error))));
            }
            this.stage = Stage::Playing(Box::new(Playing::open(&this.fake, &this.call)));
        }
        let Stage::Playing(playing) = &mut this.stage else {
            return Poll::Ready(None);
        };
        let polled = playing.poll(cx);
        if playing.stream.is_none() {
            this.stage = Stage::Over;
        }
        polled
    }
}

struct Playing {
    provider: ProviderName,
    call: ModelCall,
    cancelled: Cancelled,
    /// Gone when the attempt is over.
    stream: Option<OpenStream>,
    /// What the attempt ends with, once its last events are taken.
    ending: Option<FakeOutcome>,
    reply: Option<Reply>,
    position: usize,
    events: u64,
    answer: Answer,
    clock: Clock,
}

impl Playing {
    fn open(fake: &Fake, call: &ModelCall) -> Self {
        let (stream, reply) = fake.open(call);
        let (call_ids, usage) = match &reply {
            Ok(reply) => (reply.call_ids, reply.usage.clone()),
            Err(_) => (0, None),
        };
        let mut playing = Self {
            provider: fake.name.clone(),
            call: call.clone(),
            cancelled: call.cancel.cancelled(),
            stream: Some(stream),
            ending: None,
            reply: None,
            position: 0,
            events: 0,
            answer: Answer::new(fake.name.clone(), call, call_ids, usage),
            clock: Clock::new(call.timeouts),
        };
        match reply {
            Ok(reply) => playing.reply = Some(reply),
            Err(error) => playing.fail(error),
        }
        playing
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if self.call.cancel.is_cancelled() {
                self.answer.forget();
                self.stream_fail(cancelled());
            }
            if let Some(event) = self.answer.next_event() {
                return Poll::Ready(Some(self.give(event)));
            }
            match self.clock.poll(cx) {
                Poll::Pending => match Pin::new(&mut self.cancelled).poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => continue,
                },
                Poll::Ready(Some(Wake::Timeout)) => self.time_out(),
                Poll::Ready(Some(Wake::Stalled)) => {
                    let message = "no event came within the limit";
                    self.stream_fail(StreamError::new(StreamReason::Stalled, message));
                }
                Poll::Ready(Some(Wake::Over) | None) => {
                    if self.step() == Next::Cut {
                        self.close(FakeOutcome::Cut);
                        return Poll::Ready(None);
                    }
                }
            }
        }
    }

    /// Hands an event out. The attempt is over with its last one, not with the end of the stream.
    fn give(&mut self, event: Event) -> Event {
        self.events += 1;
        if let Some(stream) = &self.stream {
            stream.polled();
        }
        if self.answer.is_told()
            && let Some(outcome) = self.ending.take()
        {
            self.close(outcome);
        }
        event
    }

    fn close(&mut self, outcome: FakeOutcome) {
        if let Some(stream) = self.stream.take() {
            stream.close(outcome);
        }
    }

    /// Plays the next step.
    fn step(&mut self) -> Next {
        let reply = self.reply.as_ref();
        let script = reply.map(|reply| Arc::clone(&reply.script));
        let step = script
            .as_ref()
            .and_then(|script| script.steps().get(self.position));
        self.position += 1;
        match step {
            None => self.complete(None),
            Some(Step::Cut) => return Next::Cut,
            Some(Step::Finish { reason, raw }) => self.complete(Some((*reason, raw.clone()))),
            Some(Step::Delay(millis)) => self.clock.begin(Some(Duration::from_millis(*millis))),
            Some(Step::Hang) => self.clock.begin(None),
            Some(Step::Fail(reason)) => self.fail(self.scripted(*reason)),
            Some(Step::FailWith(error)) => self.fail((**error).clone()),
            Some(Step::FailAndContinue(reason)) => {
                let error = Error::from(self.scripted(*reason));
                self.clock.event();
                self.answer.tell(Event::error(error));
            }
            Some(Step::StreamFail(reason)) => {
                self.stream_fail(StreamError::new(*reason, "the script fails here"));
            }
            Some(Step::Usage(usage)) => self.answer.usage = Some((**usage).clone()),
            Some(Step::Id(id)) => self.answer.id = Some(id.clone()),
            Some(Step::Model(model)) => self.answer.model.clone_from(model),
            Some(Step::Raw(chunk)) => {
                self.clock.heard();
                self.answer.raw(chunk);
            }
            Some(content) => {
                self.clock.event();
                self.say(content);
            }
        }
        Next::Step
    }

    /// Plays a step that is content.
    fn say(&mut self, step: &Step) {
        let answer = &mut self.answer;
        match step {
            Step::Text(text) => answer.text(text),
            Step::Chunks(chunks) => chunks.iter().for_each(|chunk| answer.text(chunk)),
            Step::Typed(text) => {
                let mut buffer = [0; 4];
                for character in text.chars() {
                    answer.text(character.encode_utf8(&mut buffer));
                }
            }
            Step::Reasoning(text) => answer.reasoning(text),
            Step::ReasoningOpaque { text, opaque } => answer.reasoning_opaque(text, opaque),
            Step::Part(part) => answer.part((**part).clone()),
            Step::Call {
                id,
                name,
                arguments,
            } => {
                let id = id.clone().unwrap_or_else(|| answer.next_call_id());
                // A script that is played was checked, so there are arguments.
                if let Some(call) = whole_call(id, name, &Sorted(arguments)) {
                    answer.call(call, &[], CallEnd::Whole);
                }
            }
            Step::CallRaw {
                name,
                raw_arguments,
            } => {
                let call = ToolCall::new(answer.next_call_id(), &**name, &**raw_arguments);
                answer.call(call, &[], CallEnd::Whole);
            }
            Step::CallChunked { name, fragments } => {
                let call = ToolCall::new(answer.next_call_id(), &**name, fragments.concat());
                answer.call(call, fragments, CallEnd::Whole);
            }
            Step::CallCutOff { name, fragments } => {
                let call = ToolCall::cut_off(answer.next_call_id(), &**name, fragments.concat());
                answer.call(call, fragments, CallEnd::CutOff);
            }
            // Played by `step`.
            Step::Raw(_)
            | Step::Usage(_)
            | Step::Id(_)
            | Step::Model(_)
            | Step::Finish { .. }
            | Step::Delay(_)
            | Step::Fail(_)
            | Step::FailWith(_)
            | Step::FailAndContinue(_)
            | Step::StreamFail(_)
            | Step::Cut
            | Step::Hang => {}
        }
    }

    fn complete(&mut self, finish: Option<(Option<FinishReason>, Option<String>)>) {
        self.answer.complete(finish);
        self.ending = Some(FakeOutcome::Completed);
    }

    fn scripted(&self, reason: AdapterReason) -> AdapterError {
        let error = AdapterError::new(self.provider.clone(), reason, "the script fails here");
        AdapterError {
            request_id: Some(self.call.request_id.clone()),
            ..error
        }
    }

    /// Before any content an answer that does not come is the provider's failure, later it is the stream's.
    fn time_out(&mut self) {
        let message = "nothing came within the limit";
        if self.answer.is_started() {
            self.stream_fail(StreamError::new(StreamReason::Timeout, message));
        } else {
            let error = self.scripted(AdapterReason::Timeout);
            self.fail(AdapterError {
                message: message.to_owned(),
                ..error
            });
        }
    }

    fn fail(&mut self, mut error: AdapterError) {
        error
            .request_id
            .get_or_insert_with(|| self.call.request_id.clone());
        self.end(Error::from(error));
    }

    fn stream_fail(&mut self, error: StreamError) {
        self.end(Error::from(StreamError {
            provider: Some(self.provider.clone()),
            event_index: Some(self.events),
            request_id: Some(self.call.request_id.clone()),
            ..error
        }));
    }

    fn end(&mut self, error: Error) {
        let failure = Failure::from(error);
        self.ending = Some(FakeOutcome::Failed(failure.clone()));
        self.answer.tell(Event::error(failure));
    }
}

#[derive(PartialEq, Eq)]
enum Next {
    Step,
    Cut,
}

fn cancelled() -> StreamError {
    StreamError::new(StreamReason::Cancelled, "the caller cancelled")
}
