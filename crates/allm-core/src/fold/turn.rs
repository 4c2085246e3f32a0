//! What belongs to one turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::blocks::{BlockKind, Blocks};
use super::calls::Calls;
use crate::data::{
    AnswerTo, Event, FinishReason, HasCalls, Map, Message, MessageCompleted, MessageStarted, Part,
    Response, Usage,
};
use crate::error::{AdapterError, AdapterReason, Error, Failure};
use crate::limits::AWAITING_USER;
use crate::run::HaltFacts;

#[derive(Clone, Debug, Default)]
pub(super) struct TurnFold {
    started: Option<Box<MessageStarted>>,
    blocks: Blocks,
    text: Option<String>,
    calls: Calls,
    completed: Option<Arc<MessageCompleted>>,
    finish: Option<FinishReason>,
    /// Told by itself, which is rare.
    usage: Option<Box<Usage>>,
    metadata: Map,
    error: Option<Box<Failure>>,
    tool_messages: BTreeMap<u32, Message>,
    /// By the index of the call that halts.
    halts: BTreeMap<u32, Map>,
}

impl TurnFold {
    pub(super) fn push(&mut self, event: &Event) {
        match event {
            Event::TextDelta(event) => {
                self.blocks
                    .append(BlockKind::Text, event.id.as_ref(), &event.delta);
            }
            Event::ReasoningDelta(event) => {
                self.blocks
                    .append(BlockKind::Reasoning, event.id.as_ref(), &event.delta);
            }
            Event::TextCompleted(event) => self.text = Some(event.text.clone()),
            Event::ToolCallStarted(event) => self.calls.start(event),
            Event::ToolCallDelta(event) => self.calls.append(event),
            Event::ToolCallCompleted(event) => self.calls.complete(event),
            Event::MessageStarted(event) => self.started = Some(event.clone()),
            Event::MessageCompleted(event) => self.complete(event),
            Event::RawChunk(event) => {
                if let Some(usage) = &event.usage {
                    self.usage = Some(Box::new(usage.clone()));
                }
            }
            Event::ToolResultEncoded(event) => {
                let message = Message {
                    is_error: event.is_error,
                    ..Message::tool_result_with(event.id.clone(), &event.content, &event.media)
                };
                self.tool_messages.insert(event.index, message);
                // It may have asked before, and gone on.
                self.halts.remove(&event.index);
            }
            Event::AskUserRequested(event) => {
                let (question, id) = (&event.question, &event.tool_call_id);
                let facts = HaltFacts::asked(question, id, &event.opts, event.answer_to);
                self.halts.insert(event.index, facts.into_metadata());
                if event.answer_to == AnswerTo::Model {
                    let message = Message::tool_result(id.clone(), AWAITING_USER);
                    self.tool_messages.insert(event.index, message);
                }
            }
            Event::ToolHalt(event) => {
                let facts = HaltFacts::of_event(event);
                self.halts.insert(event.index, facts.into_metadata());
                let message = Message {
                    is_error: event.is_error,
                    ..Message::tool_result(event.tool_call_id.clone(), &*event.content)
                };
                self.tool_messages.insert(event.index, message);
            }
            // Folded above the turn, or no part of the result.
            Event::Error(_)
            | Event::StepCompleted(_)
            | Event::ChatCompleted(_)
            | Event::ToolExecutionStarted(_)
            | Event::ToolExecutionCompleted(_)
            | Event::ToolProgress(_)
            | Event::AttemptReset(_) => {}
        }
    }

    pub(super) fn fail(&mut self, failure: &Failure) {
        if self.error.is_none() {
            self.error = Some(Box::new(failure.clone()));
        }
    }

    fn complete(&mut self, event: &Arc<MessageCompleted>) {
        self.finish = event.finish_reason.or(self.finish);
        // What was told last counts.
        if event.usage.is_some() {
            self.usage = None;
        } else if self.usage.is_none()
            && let Some(earlier) = &self.completed
        {
            self.usage = earlier.usage.clone().map(Box::new);
        }
        for (key, value) in &event.metadata {
            self.metadata.insert(key.clone(), value.clone());
        }
        self.completed = Some(Arc::clone(event));
    }

    pub(super) fn is_terminated(&self) -> bool {
        self.error.is_some() || self.completed.is_some()
    }

    /// Whether nothing of a provider's answer has come.
    pub(super) fn is_empty(&self) -> bool {
        self.started.is_none()
            && self.blocks.is_empty()
            && self.text.is_none()
            && self.calls.is_empty()
            && self.completed.is_none()
            && self.usage.is_none()
            && self.error.is_none()
    }

    pub(super) fn tool_messages(&self) -> impl Iterator<Item = &Message> {
        self.tool_messages.values()
    }

    /// The halt of the lowest index as step metadata.
    pub(super) fn halt_metadata(&self) -> Option<&Map> {
        self.halts.first_key_value().map(|(_, metadata)| metadata)
    }

    /// The answer as far as it has come. What nobody else holds is not copied.
    pub(super) fn into_response(mut self) -> Response {
        let ended = self.completed.is_some();
        let mut completed = self.completed.take().map(Arc::unwrap_or_clone);
        let usage = completed.as_mut().and_then(|end| end.usage.take());
        let usage = self.usage.take().map(|usage| *usage).or(usage);
        let usage = usage.unwrap_or_default();
        let started = self.started.take();
        let (message, completed) = self.message(completed, started.as_deref());
        let finish = match &self.error {
            Some(_) => Some(FinishReason::Error),
            None if ended => FinishReason::settled(self.finish, HasCalls::of(&message.tool_calls)),
            None => self.finish,
        };
        let mut response = Response {
            finish_reason: finish,
            error: self.error.map(|error| *error),
            usage,
            metadata: self.metadata,
            provider: message
                .origin
                .as_ref()
                .map(|origin| origin.provider.clone()),
            ..Response::new(message)
        };
        if let Some(started) = started {
            response.request_id = Some(started.request_id);
            response.id = started.response_id;
            response.model = started.model;
        }
        if let Some(completed) = completed {
            response.id = completed.response_id.or(response.id);
            response.model = completed.model.or(response.model);
            response.raw_finish_reason = completed.raw_finish_reason;
            response.provider_request_id = completed.provider_request_id;
            response.warnings = completed.warnings;
            response.rate_limit = completed.rate_limit;
            response.extra = completed.extra;
            response.raw = completed.raw;
        }
        if response.finish_reason == Some(FinishReason::Error) && response.error.is_none() {
            let provider = response
                .provider
                .clone()
                .unwrap_or_else(|| "unknown".into());
            let message = "the provider ended the answer with an error";
            let error = AdapterError::new(provider, AdapterReason::Unknown, message);
            response.error = Some(Failure::from(Error::from(error)));
        }
        response
    }

    /// The assistant message: as completed, else as far as the pieces go; and what else the completion said.
    fn message(
        &self,
        completed: Option<MessageCompleted>,
        started: Option<&MessageStarted>,
    ) -> (Message, Option<MessageCompleted>) {
        let whole = self.text.as_deref();
        let origin = || started.and_then(|started| started.message.origin.clone());
        let Some(mut completed) = completed else {
            let message = Message {
                tool_calls: self.calls.to_calls(),
                origin: origin(),
                ..Message::assistant(self.blocks.parts(whole))
            };
            return (message, None);
        };
        let mut message = std::mem::replace(&mut completed.message, Message::assistant(Vec::new()));
        let has_text = message
            .content
            .iter()
            .any(|part| matches!(part, Part::Text(_)));
        if !has_text {
            message.content.extend(self.blocks.text_parts(whole));
        }
        if message.tool_calls.is_empty() {
            message.tool_calls = self.calls.to_calls();
        }
        if message.origin.is_none() {
            message.origin = origin();
        }
        (message, Some(completed))
    }
}
