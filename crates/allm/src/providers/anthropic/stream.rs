//! Reads the answers of the Messages wire.

use std::collections::HashMap;
use std::time::SystemTime;

use allm_core::FinishReason;
use bytestring::ByteString;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::block::{Asked, Block};
use super::event::{Delta, Event, Whole};
use super::members::Members;
use super::usage::Spent;
use crate::wire::answer::Answer;
use crate::wire::classify::classify;
use crate::wire::decode::{Decoder, End, Fault, Flow};
use crate::wire::lenient::{List, Object, Text};
use crate::wire::shape::{Habit, Shape};
use crate::wire::sse::{Frame, Seen};

/// Reads one answer.
pub(crate) struct Messages {
    asked: Asked,
    blocks: Vec<Block>,
    /// Where the latest block of an index is.
    known: HashMap<u64, usize>,
    /// What is added to an index to give its place; grows when indices begin anew.
    base: u64,
    /// The place after all others.
    next_place: u64,
    /// Whether the answer through a tool has come.
    answered: bool,
    begun: bool,
    closed: bool,
    spent: Spent,
    /// The block that deltas of a known shape go to, and what they are.
    habit: Habit<(usize, Piece)>,
}

/// What a delta is.
#[derive(Clone, Copy)]
enum Piece {
    Text,
    Thinking,
    Arguments,
}

impl Piece {
    fn of(kind: &str) -> Option<Self> {
        match kind {
            "text_delta" => Some(Self::Text),
            "thinking_delta" => Some(Self::Thinking),
            "input_json_delta" => Some(Self::Arguments),
            _ => None,
        }
    }

    fn text<'c, 'a>(self, delta: &'c Delta<'a>) -> &'c Text<'a> {
        match self {
            Self::Text => &delta.text,
            Self::Thinking => &delta.thinking,
            Self::Arguments => &delta.partial_json,
        }
    }
}

impl Messages {
    pub(crate) fn new(asked: Asked) -> Self {
        Self {
            asked,
            blocks: Vec::new(),
            known: HashMap::new(),
            base: 0,
            next_place: 0,
            answered: false,
            begun: false,
            closed: false,
            spent: Spent::default(),
            habit: Habit::default(),
        }
    }

    fn usage(&mut self, said: Option<&RawValue>, answer: &mut Answer) {
        let said = said.map(|said| serde_json::from_str(said.get()));
        let Some(Ok(Value::Object(said))) = said else {
            return;
        };
        self.spent.say(said);
        let (usage, inconsistent) = self.spent.usage();
        if inconsistent {
            answer.warn("usage_inconsistent", Some("thinking_tokens".to_owned()));
        }
        answer.usage(usage);
    }

    /// A message at the start of a stream, or all of it.
    fn message(&mut self, message: &Whole<'_>, frame: &ByteString, answer: &mut Answer) {
        self.usage(message.usage, answer);
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        answer.response_id(message.id.get());
        answer.model(message.model.get());
        answer.provider_request_id(message.request_id.get());
        self.stopped(message.stop_reason.get(), answer);
        fact("stop_sequence", message.stop_sequence, answer);
        fact("stop_details", message.stop_details, answer);
        fact("container", message.container, answer);
        fact("context_management", message.context_management, answer);
        let blocks = message
            .content
            .and_then(|content| serde_json::from_str::<List<&RawValue>>(content.get()).ok());
        for raw in blocks.unwrap_or_default().0 {
            if let Some(at) = self.open(None, raw, frame, answer)
                && let Some(block) = self.blocks.get_mut(at)
            {
                block.stop(answer);
            }
        }
    }

    /// The index of the next block, and the place where it stands.
    fn place(&mut self, index: Option<u64>) -> (u64, u64) {
        let after_last = || {
            self.blocks
                .last()
                .map_or(0, |last| last.index.saturating_add(1))
        };
        let index = index.unwrap_or_else(after_last);
        if self.known.contains_key(&index) {
            // The indices begin anew; the blocks before stay where they are.
            self.base = self.next_place.saturating_sub(index);
        }
        let place = self.base.saturating_add(index);
        self.next_place = self.next_place.max(place.saturating_add(1));
        (index, place)
    }

    fn add(&mut self, block: Block) -> usize {
        let at = self.blocks.len();
        self.known.insert(block.index, at);
        self.answered |= block.is_answer();
        self.blocks.push(block);
        at
    }

    /// The block of this index, or the last one.
    fn find(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(index) => self.known.get(&index).copied(),
            None => self.blocks.len().checked_sub(1),
        }
    }

    fn open(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        frame: &ByteString,
        answer: &mut Answer,
    ) -> Option<usize> {
        let (index, place) = self.place(index);
        if self.answered {
            // There is one answer; a second call is a call.
            self.asked.answer_tool = None;
        }
        let block = Block::start(index, place, raw, frame, &self.asked, answer)?;
        Some(self.add(block))
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &Delta<'_>,
        frame: &ByteString,
        answer: &mut Answer,
    ) {
        let kind = delta.kind.str();
        let at = match self.find(index) {
            Some(at) => at,
            None => {
                let (index, place) = self.place(index);
                let Some(block) = Block::of_delta(index, place, kind, &self.asked, answer) else {
                    return;
                };
                self.add(block)
            }
        };
        let piece = Piece::of(kind);
        if let Some(piece) = piece
            && self.grow(at, piece, piece.text(delta).slice_of(frame), answer)
        {
            // A second event like this one would do nothing but bring its delta.
            if let Some(text) = piece.text(delta).borrowed() {
                self.habit
                    .learn((at, piece), || Shape::of(frame, text, &[]));
            }
        } else if let Some(block) = self.blocks.get_mut(at)
            && let Ok(raw) = serde_json::from_str::<RareDelta>(frame)
        {
            block.collect(raw.delta);
        }
    }

    /// Adds to a block; `false` when it holds nothing of the kind.
    fn grow(&mut self, at: usize, piece: Piece, delta: ByteString, answer: &mut Answer) -> bool {
        let Some(block) = self.blocks.get_mut(at) else {
            return false;
        };
        match piece {
            Piece::Text => block.text(delta, answer),
            Piece::Thinking => block.thinking(delta, answer),
            Piece::Arguments => block.arguments(delta, answer),
        }
    }

    fn stopped(&mut self, reason: Option<&str>, answer: &mut Answer) {
        let Some(raw) = reason else { return };
        let reason = match raw {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "tool_use" => FinishReason::ToolCalls,
            "refusal" => FinishReason::ContentFilter,
            _ => FinishReason::Other,
        };
        if raw == "max_tokens" && self.asked.default_max_tokens {
            answer.warn("default_max_tokens_reached", None);
        }
        answer.finish(Some(reason), Some(raw));
    }

    /// The message is whole: what is open is completed.
    fn close(&mut self, answer: &mut Answer) {
        self.closed = true;
        let cut = answer.finish_so_far().is_some_and(FinishReason::is_cut);
        for block in &mut self.blocks {
            block.stop(answer);
            if !cut {
                block.settle_answer(answer);
            }
        }
        // The call through which the model was made to answer is not shown.
        if answer.finish_so_far() == Some(FinishReason::ToolCalls)
            && !answer.has_calls()
            && self.answered
        {
            answer.finish(Some(FinishReason::Stop), Some("tool_use"));
        }
    }

    /// The provider tells of a failure inside an answer.
    fn failed(&mut self, text: &str, answer: &mut Answer) -> Result<Flow, Fault> {
        let body: Value = serde_json::from_str(text)?;
        let error = classify(&answer.about().provider, None, &body, SystemTime::now());
        if answer.finish_so_far().is_some_and(FinishReason::is_cut) {
            answer.warn("late_error", Some(error.reason.as_str().to_owned()));
            self.close(answer);
            return Ok(Flow::Done);
        }
        Err(error.into())
    }
}

/// Members of a piece that has no field of its own.
#[derive(Deserialize)]
struct RareDelta {
    delta: Members,
}

/// A fact of the answer without a field.
fn fact(name: &str, value: Option<&RawValue>, answer: &mut Answer) {
    if let Some(value) = value.and_then(|value| serde_json::from_str(value.get()).ok()) {
        answer.extra(name, value);
    }
}

impl Decoder for Messages {
    fn frame(&mut self, frame: &Frame, answer: &mut Answer) -> Result<Flow, Fault> {
        self.habit.forget();
        let data = &frame.data;
        let Object(Some(event)) = serde_json::from_str::<Object<Event<'_>>>(data)? else {
            return Err(Fault::Malformed);
        };
        let kind = event.kind.get().unwrap_or(&frame.name);
        let index = event.index.0;
        if self.closed {
            // What comes now counts for usage only.
            if kind == "message_delta" {
                self.usage(event.usage, answer);
            }
            return Ok(Flow::GoOn);
        }
        if event.error.is_some() {
            return self.failed(data, answer);
        }
        match kind {
            "message_start" => {
                if let Some(message) = &event.message.0 {
                    self.message(message, data, answer);
                }
            }
            "content_block_start" => {
                if let Some(raw) = event.content_block {
                    self.open(index, raw, data, answer);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = &event.delta.0 {
                    self.delta(index, delta, data, answer);
                }
            }
            "content_block_stop" => {
                if let Some(at) = self.find(index)
                    && let Some(block) = self.blocks.get_mut(at)
                {
                    block.stop(answer);
                }
            }
            "message_delta" => {
                if let Some(delta) = &event.delta.0 {
                    self.stopped(delta.stop_reason.get(), answer);
                    fact("stop_sequence", delta.stop_sequence, answer);
                    fact("stop_details", delta.stop_details, answer);
                    fact("container", delta.container, answer);
                }
                fact("context_management", event.context_management, answer);
                self.usage(event.usage, answer);
            }
            "message_stop" => {
                self.usage(event.usage, answer);
                self.close(answer);
                return Ok(Flow::Closed);
            }
            "ping" => {}
            _ if kind == "error" || &*frame.name == "error" => return self.failed(data, answer),
            _ => {}
        }
        Ok(Flow::GoOn)
    }

    fn glance(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> bool {
        match self.habit.read(seen) {
            Some((delta, (at, piece))) => self.grow(at, piece, delta, answer),
            None => false,
        }
    }

    fn document(&mut self, text: &ByteString, answer: &mut Answer) -> Result<(), Fault> {
        let read = serde_json::from_str::<Object<Whole<'_>>>(text);
        let Object(Some(message)) = read? else {
            return Err(Fault::Unreadable);
        };
        if message.error.is_some() || message.kind.str() == "error" {
            return self.failed(text, answer).map(|_| ());
        }
        let is_list = |raw: &RawValue| raw.get().starts_with('[');
        if !message.content.is_some_and(is_list) && message.stop_reason.get().is_none() {
            return Err(Fault::Unreadable);
        }
        self.message(&message, text, answer);
        self.close(answer);
        Ok(())
    }

    fn done(&mut self, _: &mut Answer) -> Result<Flow, Fault> {
        Ok(if self.closed { Flow::Done } else { Flow::GoOn })
    }

    fn end(&mut self, _: End, _: &mut Answer) -> Result<(), Fault> {
        if self.closed {
            Ok(())
        } else {
            Err(Fault::Interrupted)
        }
    }
}

#[cfg(test)]
mod tests;
