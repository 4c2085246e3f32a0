//! An answer as it grows, and the events that tell of it.

use std::collections::VecDeque;
use std::sync::Arc;

use allm_core::json::RawJson;
use allm_core::{
    Event, FinishReason, Message, MessageCompleted, MessageStarted, ModelCall, Opaque, Origin,
    Part, PartId, ProviderName, RawChunk, RawChunks, ReasoningDelta, ReasoningKind, ReasoningPart,
    RequestId, ResponseId, TextCompleted, TextDelta, ToolCall, ToolCallCompleted, ToolCallDelta,
    ToolCallId, ToolCallStarted, Usage,
};

/// The wire that the fake speaks.
const WIRE: &str = "fake";

/// What further text is added to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Text,
    Reasoning,
}

/// Whether a call comes to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Whole,
    CutOff,
}

/// An answer as it grows. Events that nobody has taken yet wait in it.
pub(super) struct Answer {
    provider: ProviderName,
    request_id: RequestId,
    raw_chunks: RawChunks,
    pub(super) usage: Option<Usage>,
    pub(super) id: Option<ResponseId>,
    pub(super) model: String,
    content: Vec<Part>,
    row: Option<Row>,
    calls: Vec<ToolCall>,
    call_ids: u64,
    is_started: bool,
    /// Raw chunks wait here for the start of the message.
    held_back: Vec<Event>,
    events: VecDeque<Event>,
}

impl Answer {
    pub(super) fn new(
        provider: ProviderName,
        call: &ModelCall,
        call_ids: u64,
        usage: Option<Usage>,
    ) -> Self {
        Self {
            provider,
            request_id: call.request_id.clone(),
            raw_chunks: call.raw_chunks,
            usage,
            id: None,
            model: call.model.model.clone(),
            content: Vec::new(),
            row: None,
            calls: Vec::new(),
            call_ids,
            is_started: false,
            held_back: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// The oldest event that nobody has taken.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether all events were taken.
    pub(super) fn is_told(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether any content has come.
    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    /// Adds an event that is no part of the answer. What is held back stays so.
    pub(super) fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Forgets events that nobody has taken.
    pub(super) fn forget(&mut self) {
        self.events.clear();
    }

    pub(super) fn text(&mut self, piece: &str) {
        let id = match (self.row, self.content.last_mut()) {
            (Some(Row::Text), Some(Part::Text(part))) => {
                part.text.push_str(piece);
                self.last_part_id()
            }
            _ => self.add(Part::text(piece), Some(Row::Text)),
        };
        self.give(Event::TextDelta(TextDelta {
            id: Some(id),
            delta: piece.into(),
        }));
    }

    pub(super) fn reasoning(&mut self, piece: &str) {
        let id = match (self.row, self.content.last_mut()) {
            (Some(Row::Reasoning), Some(Part::Reasoning(part))) => {
                part.text.get_or_insert_default().push_str(piece);
                self.last_part_id()
            }
            _ => self.add(thought(Some(piece.to_owned()), None), Some(Row::Reasoning)),
        };
        self.give(Event::ReasoningDelta(ReasoningDelta {
            id: Some(id),
            delta: piece.into(),
        }));
    }

    pub(super) fn reasoning_opaque(&mut self, text: &str, opaque: &RawJson) {
        let opaque = Opaque {
            provider: self.provider.clone(),
            wire: WIRE.to_owned(),
            kind: "reasoning".to_owned(),
            data: opaque.clone(),
        };
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        self.part(thought(text, Some(opaque)));
    }

    /// A part of its own, with its text in one piece.
    pub(super) fn part(&mut self, part: Part) {
        let delta = match &part {
            Part::Text(part) => Some((Row::Text, part.text.clone())),
            Part::Reasoning(part) => part.text.clone().map(|text| (Row::Reasoning, text)),
            _ => None,
        };
        let id = Some(self.add(part, None));
        self.start();
        self.events.extend(delta.map(|(row, text)| {
            let delta = text.into();
            match row {
                Row::Text => Event::TextDelta(TextDelta { id, delta }),
                Row::Reasoning => Event::ReasoningDelta(ReasoningDelta { id, delta }),
            }
        }));
    }

    /// The next id of the fake's own.
    pub(super) fn next_call_id(&mut self) -> ToolCallId {
        self.call_ids += 1;
        format!("call_{}", self.call_ids).into()
    }

    /// A call whose argument text comes in these pieces.
    pub(super) fn call(&mut self, call: ToolCall, pieces: &[String], end: CallEnd) {
        self.row = None;
        let index = count(self.calls.len());
        let (id, name) = (call.id.clone(), call.name.clone());
        self.give(Event::ToolCallStarted(ToolCallStarted {
            index,
            id: id.clone(),
            name: name.clone(),
        }));
        for piece in pieces {
            self.give(Event::ToolCallDelta(ToolCallDelta {
                index,
                id: id.clone(),
                arguments_delta: piece.as_str().into(),
            }));
        }
        if end == CallEnd::Whole {
            self.give(Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
                index,
                id,
                name,
                arguments: call.arguments.clone(),
                raw_arguments: call.raw_arguments.clone(),
                metadata: call.metadata.clone(),
            })));
        }
        let sent = |id: &ToolCallId| Some(id.clone()).filter(|id| !id.is_empty());
        self.calls.push(ToolCall {
            wire_id: sent(&call.id),
            at: Some(count(self.content.len())),
            ..call
        });
    }

    pub(super) fn raw(&mut self, chunk: &RawJson) {
        if self.raw_chunks == RawChunks::Off {
            return;
        }
        let event = Event::RawChunk(Box::new(RawChunk {
            chunk: chunk.clone(),
            usage: None,
        }));
        if self.is_started {
            self.tell(event);
        } else {
            self.held_back.push(event);
        }
    }

    /// The end of the answer; `None` when the script names no finish.
    pub(super) fn complete(&mut self, finish: Option<(Option<FinishReason>, Option<String>)>) {
        self.start();
        let texts = || self.content.iter().enumerate();
        let mut texts = texts().filter(|(_, part)| part.as_text().is_some());
        if let Some((place, _)) = texts.next() {
            let is_only = texts.next().is_none();
            let message = Message::assistant(self.content.clone());
            self.tell(Event::TextCompleted(TextCompleted {
                id: is_only.then(|| part_id(place)),
                text: message.text(),
            }));
        }
        let (finish_reason, raw_finish_reason) = finish.unwrap_or_else(|| {
            let reason = if self.calls.is_empty() {
                FinishReason::Stop
            } else {
                FinishReason::ToolCalls
            };
            (Some(reason), None)
        });
        let message = Message {
            tool_calls: std::mem::take(&mut self.calls),
            origin: Some(self.origin().into()),
            ..Message::assistant(std::mem::take(&mut self.content))
        };
        self.tell(Event::MessageCompleted(Arc::new(MessageCompleted {
            finish_reason,
            raw_finish_reason,
            usage: self.usage.clone(),
            response_id: self.id.clone(),
            model: Some(self.model.clone()),
            ..MessageCompleted::new(message)
        })));
    }

    fn origin(&self) -> Origin {
        Origin {
            provider: self.provider.clone(),
            wire: WIRE.to_owned(),
            model: Some(self.model.clone()),
            response_id: self.id.clone(),
        }
    }

    /// Adds a part and gives its id. Text can be added to it while it is in a row.
    fn add(&mut self, part: Part, row: Option<Row>) -> PartId {
        self.content.push(part);
        self.row = row;
        self.last_part_id()
    }

    fn last_part_id(&self) -> PartId {
        part_id(self.content.len().saturating_sub(1))
    }

    /// Gives an event of the content.
    fn give(&mut self, event: Event) {
        self.start();
        self.tell(event);
    }

    /// Begins the message with the first content or the completion, and lets go what was held back.
    fn start(&mut self) {
        if self.is_started {
            return;
        }
        self.is_started = true;
        let started = MessageStarted {
            message: Message {
                origin: Some(self.origin().into()),
                ..Message::assistant(Vec::new())
            },
            request_id: self.request_id.clone(),
            response_id: self.id.clone(),
            model: Some(self.model.clone()),
        };
        self.tell(Event::MessageStarted(Box::new(started)));
        self.events.extend(self.held_back.drain(..));
    }
}

fn thought(text: Option<String>, opaque: Option<Opaque>) -> Part {
    Part::Reasoning(ReasoningPart {
        text,
        kind: ReasoningKind::Raw,
        opaque: opaque.map(Box::new),
    })
}

fn part_id(place: usize) -> PartId {
    format!("p{place}").into()
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
