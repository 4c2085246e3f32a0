//! An answer as it grows, and the events that tell of it.

use std::collections::VecDeque;
use std::sync::Arc;

use allm_core::{
    Event, FinishReason, Message, MessageCompleted, MessageStarted, ModelCall, Origin, Part,
    PartId, ProviderName, RequestId, TextCompleted, TextDelta, ToolCall, ToolCallCompleted,
    ToolCallDelta, ToolCallId, ToolCallStarted, Warning,
};

use crate::worker::Summary;

/// The name of the wire, though there is none.
pub(super) const WIRE: &str = "local.gguf";

/// An answer as it grows. It is text, or calls.
pub(super) struct Answer {
    provider: ProviderName,
    request_id: RequestId,
    model: String,
    text: String,
    calls: Vec<ToolCall>,
    /// The call that is being written.
    open: Option<(ToolCallId, String, String)>,
    is_started: bool,
    events: VecDeque<Event>,
}

impl Answer {
    pub(super) fn new(provider: ProviderName, call: &ModelCall) -> Self {
        Self {
            provider,
            request_id: call.request_id.clone(),
            model: call.model.model.clone(),
            text: String::new(),
            calls: Vec::new(),
            open: None,
            is_started: false,
            events: VecDeque::new(),
        }
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether any content has come.
    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    pub(super) fn text(&mut self, piece: String) {
        self.start();
        self.text += &piece;
        self.events.push_back(Event::TextDelta(TextDelta {
            id: Some(part_id()),
            delta: piece.into(),
        }));
    }

    pub(super) fn call_begun(&mut self, name: String) {
        self.start();
        // Unique over the whole conversation, because small models are shown no ids.
        let id: ToolCallId = format!("{}-{}", self.request_id, self.calls.len()).into();
        self.events
            .push_back(Event::ToolCallStarted(ToolCallStarted {
                index: self.index(),
                id: id.clone(),
                name: name.as_str().into(),
            }));
        self.open = Some((id, name, String::new()));
    }

    pub(super) fn call_arguments(&mut self, piece: String) {
        let index = self.index();
        let Some((id, _, arguments)) = &mut self.open else {
            return;
        };
        *arguments += &piece;
        self.events.push_back(Event::ToolCallDelta(ToolCallDelta {
            index,
            id: id.clone(),
            arguments_delta: piece.into(),
        }));
    }

    pub(super) fn call_ended(&mut self) {
        let index = self.index();
        let Some((id, name, arguments)) = self.open.take() else {
            return;
        };
        let call = sent(ToolCall::new(id, name, arguments));
        self.events
            .push_back(Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
                index,
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                raw_arguments: call.raw_arguments.clone(),
                metadata: call.metadata.clone(),
            })));
        self.add(call);
    }

    pub(super) fn done(&mut self, summary: Summary, dropped: Vec<Warning>) {
        self.start();
        if let Some((id, name, arguments)) = self.open.take() {
            self.add(sent(ToolCall::cut_off(id, name, arguments)));
        }
        let mut content = Vec::new();
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            content.push(Part::text(text.clone()));
            self.events.push_back(Event::TextCompleted(TextCompleted {
                id: Some(part_id()),
                text,
            }));
        }
        let Summary {
            finish,
            raw_finish,
            usage,
            warnings,
        } = summary;
        let message = Message {
            tool_calls: std::mem::take(&mut self.calls),
            origin: Some(self.origin().into()),
            ..Message::assistant(content)
        };
        self.events
            .push_back(Event::MessageCompleted(Arc::new(MessageCompleted {
                finish_reason: FinishReason::settled(
                    Some(finish),
                    allm_core::HasCalls::of(&message.tool_calls),
                ),
                raw_finish_reason: Some(raw_finish.to_owned()),
                usage: Some(usage),
                model: Some(self.model.clone()),
                warnings: dropped.into_iter().chain(warnings).collect(),
                ..MessageCompleted::new(message)
            })));
    }

    fn add(&mut self, call: ToolCall) {
        self.calls.push(ToolCall {
            at: Some(0),
            ..call
        });
    }

    /// The place of the call that is being written.
    fn index(&self) -> u32 {
        u32::try_from(self.calls.len()).unwrap_or(u32::MAX)
    }

    fn start(&mut self) {
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        let message = Message {
            origin: Some(self.origin().into()),
            ..Message::assistant(Vec::<Part>::new())
        };
        self.events
            .push_back(Event::MessageStarted(Box::new(MessageStarted {
                message,
                request_id: self.request_id.clone(),
                response_id: None,
                model: Some(self.model.clone()),
            })));
    }

    fn origin(&self) -> Origin {
        Origin {
            provider: self.provider.clone(),
            wire: WIRE.to_owned(),
            model: Some(self.model.clone()),
            response_id: None,
        }
    }
}

/// There is one part.
/// The id is the provider's own, so that it is also the one that was sent.
fn sent(mut call: ToolCall) -> ToolCall {
    call.wire_id = Some(call.id.clone());
    call
}

fn part_id() -> PartId {
    "p0".into()
}
