//! An answer as it grows: the one place that makes events of what a wire says.
//!
//! A decoder says what it reads, in whatever order its wire has. From that come the events of `Adapter::stream`:
//! nothing before the first content, calls announced before their pieces, one completion with everything in order.

mod call;
mod part;

use std::collections::VecDeque;
use std::sync::Arc;

use allm_core::{
    Event, FinishReason, HasCalls, Map, Message, MessageCompleted, MessageStarted, Opaque, Origin,
    Part, ProviderName, RateLimit, RawChunk, RawJson, RequestId, Role, TextCompleted, Usage,
    Warning,
};
use bytestring::ByteString;
use serde_json::Value;

use call::CallSlot;
use part::PartSlot;

pub(crate) use call::CallAt;
pub(crate) use part::{PartAt, PartKind};

/// What is known of an answer before it comes.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) provider: ProviderName,
    /// The wire's name, as in `Origin` and `Opaque`.
    pub(crate) wire: &'static str,
    pub(crate) request_id: RequestId,
    /// Whether what comes over the wire is given out too.
    pub(crate) raw_chunks: bool,
    /// Whether the completion carries the provider's body.
    pub(crate) raw_body: bool,
}

/// An answer as it grows.
pub(crate) struct Answer {
    about: About,
    events: VecDeque<Event>,
    /// Whether `message_started` was given.
    begun: bool,
    ended: bool,
    parts: Vec<PartSlot>,
    calls: Vec<CallSlot>,
    /// The place of what comes next, where the wire names none.
    next_place: u64,
    finish: Option<FinishReason>,
    warnings: Vec<Warning>,
    /// Made with the first of them, so that an answer that is waited for takes little room.
    facts: Option<Box<Facts>>,
}

/// What is told of an answer once, and given out with its first event or its last.
#[derive(Default)]
struct Facts {
    /// Chunks that wait for the first content.
    held: Vec<RawJson>,
    response_id: Option<String>,
    model: Option<String>,
    provider_request_id: Option<String>,
    usage: Option<Box<Usage>>,
    raw_finish: Option<String>,
    rate_limit: Option<Box<RateLimit>>,
    /// In the order told; a key stands there once. A map takes more room.
    extra: Vec<(String, Value)>,
    body: Option<RawJson>,
}

impl Answer {
    pub(crate) fn new(about: About) -> Self {
        Self {
            about,
            events: VecDeque::new(),
            begun: false,
            ended: false,
            parts: Vec::new(),
            calls: Vec::new(),
            next_place: 0,
            finish: None,
            warnings: Vec::new(),
            facts: None,
        }
    }

    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// The next event that is due.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether any content has come.
    pub(crate) fn has_content(&self) -> bool {
        self.begun
    }

    /// Whether its terminal event was made.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    fn facts(&mut self) -> &mut Facts {
        self.facts.get_or_insert_default()
    }

    /// The provider's id of the answer; the first one counts.
    pub(crate) fn response_id(&mut self, id: Option<&str>) {
        keep_first(&mut self.facts().response_id, id);
    }

    /// The model that answers; the first one counts.
    pub(crate) fn model(&mut self, model: Option<&str>) {
        keep_first(&mut self.facts().model, model);
    }

    /// The provider's id of the request; the first one counts.
    pub(crate) fn provider_request_id(&mut self, id: Option<&str>) {
        keep_first(&mut self.facts().provider_request_id, id);
    }

    pub(crate) fn rate_limit(&mut self, limit: Option<RateLimit>) {
        let known = &mut self.facts().rate_limit;
        if known.is_none() {
            *known = limit.map(Box::new);
        }
    }

    /// What the call used; a later statement replaces an earlier one.
    pub(crate) fn usage(&mut self, usage: Usage) {
        self.facts().usage = Some(Box::new(usage));
    }

    /// Why the model stopped, and the provider's word for it; a later statement replaces an earlier one.
    pub(crate) fn finish(&mut self, reason: Option<FinishReason>, raw: Option<&str>) {
        self.finish = reason;
        self.facts().raw_finish = raw.map(str::to_owned);
    }

    pub(crate) fn finish_so_far(&self) -> Option<FinishReason> {
        self.finish
    }

    /// A provider fact without a field.
    pub(crate) fn extra(&mut self, key: &str, value: Value) {
        let extra = &mut self.facts().extra;
        match extra.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value,
            None => {
                // Most answers have no more than one.
                extra.reserve_exact(1);
                extra.push((key.to_owned(), value));
            }
        }
    }

    pub(crate) fn extra_of(&self, key: &str) -> Option<&Value> {
        let mut known = self.facts.as_ref()?.extra.iter();
        known.find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Tells once of something that was left out or looked odd.
    pub(crate) fn warn(&mut self, code: &str, detail: Option<String>) {
        let known = self
            .warnings
            .iter()
            .any(|w| w.code == code && w.detail == detail);
        if !known {
            self.warnings.push(Warning {
                code: code.to_owned(),
                path: None,
                detail,
            });
        }
    }

    /// Warnings about the request.
    pub(crate) fn warn_all(&mut self, warnings: Vec<Warning>) {
        self.warnings.extend(warnings);
    }

    /// An opaque value of this provider and wire.
    pub(crate) fn opaque(&self, kind: &str, data: RawJson) -> Opaque {
        Opaque {
            provider: self.about.provider.clone(),
            wire: self.about.wire.to_owned(),
            kind: kind.to_owned(),
            data,
        }
    }

    /// What came over the wire, for those who asked for it.
    pub(crate) fn raw(&mut self, chunk: &ByteString) {
        if !self.about.raw_chunks {
            return;
        }
        // What is no JSON was told as a fault.
        if let Ok(chunk) = RawJson::new(&**chunk) {
            if self.begun {
                self.push_raw(chunk, None);
            } else {
                self.facts().held.push(chunk);
            }
        }
    }

    /// The whole body, when it is one document and was asked for.
    pub(crate) fn body(&mut self, body: &ByteString) {
        if self.about.raw_body {
            self.facts().body = RawJson::new(&**body).ok();
        }
    }

    fn push_raw(&mut self, chunk: RawJson, usage: Option<Usage>) {
        let event = RawChunk { chunk, usage };
        self.events.push_back(Event::RawChunk(Box::new(event)));
    }

    /// The place of something whose wire names none: after all that came.
    fn place(&mut self, place: Option<u64>) -> u64 {
        let place = place.unwrap_or(self.next_place);
        self.next_place = self.next_place.max(place.saturating_add(1));
        place
    }

    /// Content has come: what was held back goes out.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let origin = self.origin();
        let started = MessageStarted {
            request_id: self.about.request_id.clone(),
            response_id: origin.response_id.clone(),
            model: origin.model.clone(),
            message: Message {
                origin: Some(origin.into()),
                ..Message::assistant(Vec::new())
            },
        };
        self.events
            .push_back(Event::MessageStarted(Box::new(started)));
        for chunk in std::mem::take(&mut self.facts().held) {
            self.push_raw(chunk, None);
        }
    }

    fn origin(&self) -> Origin {
        let facts = self.facts.as_deref();
        Origin {
            provider: self.about.provider.clone(),
            wire: self.about.wire.to_owned(),
            model: facts.and_then(|facts| facts.model.clone()),
            response_id: facts.and_then(|facts| facts.response_id.as_deref().map(Into::into)),
        }
    }

    /// Ends the answer well: every call is completed, the whole message goes out.
    pub(crate) fn complete(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.begin();
        let finish = FinishReason::settled(self.finish, HasCalls::of(&self.calls));
        let cut = finish.is_some_and(FinishReason::is_cut);
        // What is told of each, of the text and of the whole.
        self.events.reserve(self.calls.len() + 2);
        for at in 0..self.calls.len() {
            self.close_call(CallAt(at), cut);
        }
        let message = self.message();
        let text = message.text();
        if !text.is_empty() {
            let mut ids = self.parts.iter().filter(|part| part.is_text());
            let id = match (ids.next(), ids.next()) {
                (Some(only), None) => Some(only.id.clone()),
                _ => None,
            };
            self.events
                .push_back(Event::TextCompleted(TextCompleted { id, text }));
        }
        let facts = self.facts.take().map(|facts| *facts).unwrap_or_default();
        let mut extra = Map::new();
        extra.extend(facts.extra);
        let completed = MessageCompleted {
            finish_reason: finish,
            raw_finish_reason: facts.raw_finish,
            usage: facts.usage.map(|usage| *usage),
            response_id: facts.response_id.map(Into::into),
            model: facts.model,
            provider_request_id: facts.provider_request_id,
            warnings: std::mem::take(&mut self.warnings),
            rate_limit: facts.rate_limit.map(|limit| *limit),
            extra,
            raw: facts.body,
            ..MessageCompleted::new(message)
        };
        self.events
            .push_back(Event::MessageCompleted(Arc::new(completed)));
    }

    /// Ends the answer with a failure. What was begun stays with the caller.
    pub(crate) fn fail(&mut self, error: &allm_core::Error) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if self.begun
            && self.about.raw_chunks
            && let (Some(usage), Ok(chunk)) = (self.facts().usage.take(), RawJson::new("null"))
        {
            self.push_raw(chunk, Some(*usage));
        }
        self.events.push_back(Event::error(error));
    }

    /// Parts and calls in the order of their places.
    fn message(&mut self) -> Message {
        let mut content: Vec<(u64, Part)> = Vec::with_capacity(self.parts.len());
        let mut parts = std::mem::take(&mut self.parts);
        for slot in &mut parts {
            content.extend(slot.take().map(|part| (slot.place, part)));
        }
        self.parts = parts;
        content.sort_by_key(|(place, _)| *place);
        let mut calls: Vec<CallSlot> = std::mem::take(&mut self.calls);
        calls.sort_by_key(|call| call.place);
        let tool_calls = calls
            .into_iter()
            .map(|call| {
                let before = content.partition_point(|(place, _)| *place < call.place);
                let at =
                    (before < content.len()).then(|| u32::try_from(before).unwrap_or(u32::MAX));
                call.into_call(at)
            })
            .collect();
        Message {
            role: Role::Assistant,
            content: content.into_iter().map(|(_, part)| part).collect(),
            tool_calls,
            origin: Some(self.origin().into()),
            ..Message::assistant(Vec::new())
        }
    }
}

fn keep_first(kept: &mut Option<String>, text: Option<&str>) {
    if kept.is_none() {
        *kept = text.filter(|text| !text.is_empty()).map(str::to_owned);
    }
}

#[cfg(test)]
mod tests;
