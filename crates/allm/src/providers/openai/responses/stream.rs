//! From what the wire says to an answer.
//!
//! The answer is a list of items. Each is announced, grows, and is told whole when it is done; the closing event tells
//! all of them once more. What is told whole beats what came in pieces.

mod entry;
mod item;
mod usage;

use std::time::SystemTime;

use allm_core::{FinishReason, ReasoningKind};
use bytestring::ByteString;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::answer::{Answer, CallAt, PartAt, PartKind};
use crate::wire::classify::classify;
use crate::wire::decode::{Decoder, End, Fault, Flow};
use crate::wire::lenient::{Count, List, Object, Text};
use crate::wire::shape::{Habit, Shape};
use crate::wire::sse::{Frame, Seen};
use entry::{Entries, Key};
use item::Item;

/// Reads a stream, or a document, of the Responses API.
#[derive(Default)]
pub(crate) struct ResponsesDecoder {
    entries: Entries,
    /// Whether the closing event has come.
    closed: bool,
    habit: Habit<Goes>,
}

/// Where the delta of an event goes.
#[derive(Clone, Copy)]
enum Goes {
    Part(PartAt),
    Call(CallAt),
}

/// What is read of any event.
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    output_index: Count,
    #[serde(default)]
    content_index: Count,
    #[serde(default)]
    summary_index: Count,
    #[serde(borrow, default)]
    item_id: Text<'a>,
    #[serde(borrow, default)]
    delta: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
    #[serde(borrow, default)]
    arguments: Text<'a>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Members that nobody reads and that are others in every event.
#[derive(Deserialize)]
struct Loose<'a> {
    #[serde(borrow, default)]
    sequence_number: Option<&'a RawValue>,
    #[serde(borrow, default)]
    obfuscation: Option<&'a RawValue>,
}

/// What is read of a whole response.
#[derive(Default, Deserialize)]
struct Whole<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    output: Option<List<&'a RawValue>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    incomplete_details: Object<Incomplete<'a>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    service_tier: Text<'a>,
    #[serde(borrow, default)]
    system_fingerprint: Text<'a>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow, default)]
    reason: Text<'a>,
}

/// What is read of a response that has only begun.
#[derive(Deserialize)]
struct Begun<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
}

impl Decoder for ResponsesDecoder {
    fn frame(&mut self, frame: &Frame, answer: &mut Answer) -> Result<Flow, Fault> {
        self.habit.forget();
        let Ok(Object(Some(payload))) = serde_json::from_str::<Object<Payload<'_>>>(&frame.data)
        else {
            // What follows the closing event cannot undo it.
            return if self.closed {
                Ok(Flow::GoOn)
            } else {
                Err(Fault::Malformed)
            };
        };
        let kind = payload.kind.get().unwrap_or(&frame.name);
        if payload.error.is_some() || kind == "error" {
            return failed(&frame.data, answer);
        }
        if self.closed {
            return Ok(Flow::GoOn);
        }
        match kind {
            "response.completed" | "response.incomplete" => {
                let whole: Option<Whole<'_>> = payload.response.and_then(read);
                let whole = whole.unwrap_or_default();
                let status = kind.trim_start_matches("response.");
                if whole.failed() {
                    whole.take_usage(answer);
                    return failed(&frame.data, answer);
                }
                self.close(&whole, Some(status), answer);
                return Ok(Flow::Closed);
            }
            "response.failed" => {
                let whole: Option<Whole<'_>> = payload.response.and_then(read);
                whole.unwrap_or_default().take_usage(answer);
                return failed(&frame.data, answer);
            }
            _ => self.event(kind, &payload, &frame.data, answer),
        }
        Ok(Flow::GoOn)
    }

    fn glance(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> bool {
        let Some((delta, to)) = self.habit.read(seen) else {
            return false;
        };
        match to {
            Goes::Part(at) => answer.delta(at, delta),
            Goes::Call(at) => answer.arguments(at, delta),
        }
        true
    }

    fn document(&mut self, text: &ByteString, answer: &mut Answer) -> Result<(), Fault> {
        let whole: Whole<'_> = match serde_json::from_str(text) {
            Ok(Object(Some(whole))) => whole,
            Ok(Object(None)) => return Err(Fault::Unreadable),
            Err(error) => return Err(error.into()),
        };
        if whole.failed() {
            whole.take_usage(answer);
            return failed(text, answer).map(drop);
        }
        if whole.output.is_none() && whole.status.get().is_none() {
            return Err(Fault::Unreadable);
        }
        self.close(&whole, None, answer);
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

impl ResponsesDecoder {
    /// An event of an answer that grows.
    fn event(&mut self, kind: &str, payload: &Payload<'_>, data: &ByteString, answer: &mut Answer) {
        let key = Key {
            index: payload.output_index.0,
            id: payload.item_id.get(),
        };
        let content = payload.content_index.0.unwrap_or_default();
        let summary = payload.summary_index.0.unwrap_or_default();
        let entries = &mut self.entries;
        let mut goes = None;
        match kind {
            "response.output_text.delta" => {
                let at = entries.block(key, content, PartKind::Text, answer);
                answer.delta(at, payload.delta.slice_of(data));
                goes = Some(Goes::Part(at));
            }
            "response.output_text.done" => {
                if let Some(text) = payload.text.get() {
                    let at = entries.block(key, content, PartKind::Text, answer);
                    answer.settle(at, text);
                }
            }
            "response.refusal.delta" => {
                let at = entries.block(key, content, PartKind::Refusal, answer);
                answer.delta(at, payload.delta.slice_of(data));
            }
            "response.refusal.done" => {
                if let Some(text) = payload.refusal.get() {
                    let at = entries.block(key, content, PartKind::Refusal, answer);
                    answer.settle(at, text);
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_summary.delta" => {
                let delta = payload.delta.slice_of(data);
                let at = entries.thought(key, ReasoningKind::Summary, summary, delta, answer);
                goes = at.map(Goes::Part);
            }
            "response.reasoning_text.delta" => {
                let delta = payload.delta.slice_of(data);
                let at = entries.thought(key, ReasoningKind::Raw, content, delta, answer);
                goes = at.map(Goes::Part);
            }
            "response.function_call_arguments.delta" => {
                let at = entries.call(key, answer);
                answer.arguments(at, payload.delta.slice_of(data));
                goes = Some(Goes::Call(at));
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = payload.arguments.get() {
                    let at = entries.call(key, answer);
                    answer.settle_arguments(at, arguments);
                }
            }
            "response.output_item.added" => {
                if let Some(item) = payload.item.and_then(Item::read) {
                    entries.added(payload.output_index.0, &item, answer);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = payload.item.and_then(Item::read) {
                    entries.done(payload.output_index.0, &item, answer);
                }
            }
            "response.created" | "response.queued" | "response.in_progress" => {
                let begun: Option<Begun<'_>> = payload.response.and_then(read);
                if let Some(begun) = begun {
                    answer.response_id(begun.id.get());
                    answer.model(begun.model.get());
                }
            }
            _ => {}
        }
        // A second event like this one would do nothing but bring its delta.
        if let (Some(goes), Some(_), Some(delta)) =
            (goes, payload.kind.get(), payload.delta.borrowed())
        {
            self.habit.learn(goes, || {
                let loose: Loose<'_> = serde_json::from_str(data).ok()?;
                Shape::of(data, delta, &[loose.sequence_number, loose.obfuscation])
            });
        }
    }

    /// The whole response is there.
    fn close(&mut self, whole: &Whole<'_>, event: Option<&str>, answer: &mut Answer) {
        self.closed = true;
        answer.response_id(whole.id.get());
        answer.model(whole.model.get());
        whole.take_usage(answer);
        let facts = [
            ("service_tier", &whole.service_tier),
            ("system_fingerprint", &whole.system_fingerprint),
        ];
        for (name, fact) in facts {
            if let Some(fact) = fact.get() {
                answer.extra(name, fact.into());
            }
        }
        let output = whole.output.iter().flat_map(|output| &output.0);
        let items: Vec<Item<'_>> = output.filter_map(|raw| Item::read(raw)).collect();
        self.entries.settle(&items, answer);
        let (reason, raw) = whole.finish(event);
        if self.entries.has_refusal(answer) {
            answer.finish(Some(FinishReason::ContentFilter), Some("refusal"));
        } else {
            answer.finish(reason, raw);
        }
    }
}

impl Whole<'_> {
    /// Whether it tells of a failure.
    fn failed(&self) -> bool {
        self.error.is_some() || matches!(self.status.get(), Some("failed" | "cancelled"))
    }

    fn take_usage(&self, answer: &mut Answer) {
        if let Some(usage) = self.usage {
            usage::read(usage, answer);
        }
    }

    /// Why it ended, and the provider's word for it.
    fn finish<'a>(&'a self, event: Option<&'a str>) -> (Option<FinishReason>, Option<&'a str>) {
        let status = self.status.get().or(event);
        let details = self.incomplete_details.0.as_ref();
        let why = details.and_then(|details| details.reason.get());
        let reason = match (status, why) {
            (None, _) => None,
            (Some("completed"), _) => Some(FinishReason::Stop),
            (Some("incomplete"), Some("max_output_tokens")) => Some(FinishReason::Length),
            (Some("incomplete"), Some("content_filter")) => Some(FinishReason::ContentFilter),
            (Some(_), _) => Some(FinishReason::Other),
        };
        (reason, why.or(status))
    }
}

/// An object as far as it is known; nothing if it is none.
fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    let object: Option<Object<T>> = serde_json::from_str(raw.get()).ok();
    object.and_then(|object| object.0)
}

/// The provider tells of a failure. An answer that is known to be cut stays what it is.
fn failed(data: &ByteString, answer: &mut Answer) -> Result<Flow, Fault> {
    let value: Value = serde_json::from_str(data)?;
    let provider = answer.about().provider.clone();
    let error = classify(&provider, None, &value, SystemTime::now());
    match answer.finish_so_far() {
        Some(FinishReason::Length | FinishReason::ContentFilter) => {
            answer.warn("late_error", Some(error.reason.as_str().to_owned()));
            Ok(Flow::GoOn)
        }
        _ => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
