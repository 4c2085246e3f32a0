//! Reads the answers of the Chat Completions family.

use std::time::SystemTime;

use allm_core::{AdapterError, AdapterReason, FinishReason, ReasoningKind};
use bytestring::ByteString;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Content, Delta};
use super::details::Details;
use super::steady::Goes;
use super::think::{Pieces, Think};
use super::usage;
use crate::providers::compat::profile::{Profile, ReasoningField, ThinkTags};
use crate::wire::answer::{Answer, PartAt, PartKind};
use crate::wire::classify::classify;
use crate::wire::decode::{Decoder, End, Fault, Flow};
use crate::wire::lenient::{Object, Text};
use crate::wire::shape::Habit;
use crate::wire::sse::{Frame, Seen};

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct ChatDecoder {
    pub(super) reasoning_in: Vec<ReasoningField>,
    think: Option<Think>,
    text: Option<PartAt>,
    reasoning: Option<PartAt>,
    refusal: Option<PartAt>,
    pub(super) calls: Calls,
    details: Details,
    /// Whether thinking came in a field of its own, so that details only repeat it.
    plain_reasoning: bool,
    finish: Option<String>,
    native: Option<String>,
    /// What was told last of what the call used. It is read when the answer ends: its parts take more room than its text,
    /// and with many answers at once they would all be there together.
    usage: String,
    annotations: Vec<Value>,
    done: bool,
    document: bool,
    pub(super) habit: Habit<Goes>,
    /// Of fragments of calls, which others come between; it holds until what is told of the answer as a whole changes.
    pub(super) fragments: Habit<()>,
}

/// The kind of opaque values that this wire makes.
pub(super) const DETAILS: &str = "reasoning_details";

impl ChatDecoder {
    pub(crate) fn new(profile: &Profile) -> Self {
        Self {
            reasoning_in: profile.reasoning_in.clone(),
            think: (profile.think_tags == ThinkTags::Split).then(Think::default),
            text: None,
            reasoning: None,
            refusal: None,
            calls: Calls::default(),
            details: Details::default(),
            plain_reasoning: false,
            finish: None,
            native: None,
            usage: String::new(),
            annotations: Vec::new(),
            done: false,
            document: false,
            habit: Habit::default(),
            fragments: Habit::default(),
        }
    }

    fn chunk(&mut self, text: &ByteString, name: &str, answer: &mut Answer) -> Result<(), Fault> {
        let Object(Some(chunk)) = serde_json::from_str::<Object<Chunk<'_>>>(text)? else {
            return Err(Fault::Malformed);
        };
        let was_cut = self
            .reason()
            .is_ok_and(|reason| reason.is_some_and(FinishReason::is_cut));
        self.facts(&chunk, answer);
        let groq = chunk.x_groq.0.as_ref();
        let choice = chunk.choices.first.as_ref();
        for usage in [
            groq.and_then(|groq| groq.usage),
            choice.and_then(|choice| choice.usage),
            chunk.usage,
        ] {
            self.usage(usage);
        }
        if chunk.choices.others {
            answer.warn("extra_choices", None);
        }
        if let Some(choice) = choice {
            self.choice(choice, text, answer);
        }
        let error = chunk
            .error
            .or(choice.and_then(|choice| choice.error))
            .or(groq.and_then(|groq| groq.error));
        let told = match error {
            Some(error) => Some(json!({"error": value(error)})),
            None if name == "error" => serde_json::from_str(text).ok(),
            None if self.document && !chunk.choices.present => return Err(Fault::Unreadable),
            None => None,
        };
        match told {
            None => {
                self.get_used_to(&chunk, text, answer);
                Ok(())
            }
            Some(told) => {
                let provider = &answer.about().provider;
                let error = classify(provider, None, &told, SystemTime::now());
                if !was_cut {
                    return Err(error.into());
                }
                answer.warn("late_error", Some(error.reason.as_str().to_owned()));
                Ok(())
            }
        }
    }

    /// What is told of the answer as a whole.
    fn facts(&mut self, chunk: &Chunk<'_>, answer: &mut Answer) {
        answer.response_id(chunk.id.get());
        answer.model(chunk.model.get());
        if let Some(groq) = &chunk.x_groq.0 {
            answer.provider_request_id(groq.id.get());
        }
        let texts = [
            ("system_fingerprint", &chunk.system_fingerprint),
            ("service_tier", &chunk.service_tier),
            ("provider", &chunk.provider),
        ];
        for (name, text) in texts {
            if let Some(text) = text.get()
                && answer.extra_of(name).is_none_or(|known| known != text)
            {
                answer.extra(name, text.into());
                self.fragments.forget();
            }
        }
        let values = [
            ("citations", chunk.citations),
            ("search_results", chunk.search_results),
            ("timings", chunk.timings),
        ];
        for (name, raw) in values {
            if let Some(raw) = raw {
                answer.extra(name, value(raw));
            }
        }
    }

    fn usage(&mut self, told: Option<&RawValue>) {
        let Some(told) = told.map(RawValue::get) else {
            return;
        };
        // What tells nothing does not take the place of what told something.
        let tells = match self.usage.is_empty() {
            true => told.starts_with('{'),
            false => usage::read(told).is_some(),
        };
        if tells {
            self.usage.clear();
            self.usage.push_str(told);
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, frame: &ByteString, answer: &mut Answer) {
        let (delta, message) = (choice.delta.0.as_ref(), choice.message.0.as_deref());
        // Some send both: the empty delta beside the message of a document, or all so far beside the delta of a chunk.
        let (said, whole) = match (self.document, delta, message) {
            (true, delta, message) => (message.or(delta), true),
            (false, Some(delta), _) => (Some(delta), false),
            (false, None, message) => (message, true),
        };
        if let Some(said) = said {
            self.said(said, whole, frame, answer);
        }
        let details = choice.finish_details.0.as_ref();
        let finish = choice
            .finish_reason
            .get()
            .or_else(|| details.and_then(|details| details.kind.get()));
        if let Some(finish) = finish {
            self.finish = Some(finish.to_owned());
        }
        if let Some(native) = choice.native_finish_reason.get() {
            self.native = Some(native.to_owned());
            answer.extra("native_finish_reason", native.into());
        }
    }

    fn said(&mut self, said: &Delta<'_>, whole: bool, frame: &ByteString, answer: &mut Answer) {
        self.thought(said, frame, answer);
        match &said.content {
            Content::Nothing => {}
            Content::Text(text) => self.text(text.slice_of(frame), answer),
            Content::List(pieces) => {
                for piece in pieces.iter().filter_map(|piece| piece.0.as_ref()) {
                    self.reasoned(piece.thinking.flat(frame), ReasoningKind::Raw, answer);
                    self.text(piece.text.slice_of(frame), answer);
                }
            }
        }
        if let Some(refusal) = said.refusal.get() {
            let at = *self
                .refusal
                .get_or_insert_with(|| answer.open(PartKind::Refusal, None));
            answer.delta(at, refusal.into());
        }
        for piece in said.tool_calls.0.iter().filter_map(|call| call.0.as_ref()) {
            self.calls.push(piece, whole, frame, answer);
        }
        if let Some(function) = &said.function_call.0 {
            self.calls.legacy(function, frame, answer);
        }
        if let Some(annotations) = said.annotations
            && let Value::Array(more) = value(annotations)
        {
            self.annotations.extend(more);
        }
    }

    /// Thinking comes in one of several fields, or in two at once.
    fn thought(&mut self, said: &Delta<'_>, frame: &ByteString, answer: &mut Answer) {
        let shown = said
            .reasoning_details
            .map(|details| self.details.push(details.get()))
            .unwrap_or_default();
        let kind = if shown.summary {
            ReasoningKind::Summary
        } else {
            ReasoningKind::Raw
        };
        let field = |field: &ReasoningField| -> Option<&Text<'_>> {
            let text = match field {
                ReasoningField::ReasoningContent => &said.reasoning_content,
                ReasoningField::Reasoning => &said.reasoning,
            };
            text.get().map(|_| text)
        };
        let plain = self.reasoning_in.iter().find_map(field);
        if let Some(plain) = plain {
            self.plain_reasoning = true;
            self.reasoned(plain.slice_of(frame), kind, answer);
        } else if !self.plain_reasoning {
            self.reasoned(shown.text.into(), kind, answer);
        }
    }

    pub(super) fn reasoned(&mut self, text: ByteString, kind: ReasoningKind, answer: &mut Answer) {
        if text.is_empty() {
            return;
        }
        let at = *self
            .reasoning
            .get_or_insert_with(|| answer.open(PartKind::Reasoning(kind), None));
        answer.delta(at, text);
    }

    pub(super) fn text(&mut self, text: ByteString, answer: &mut Answer) {
        match &mut self.think {
            None => self.shown(text, answer),
            Some(think) => {
                let pieces = think.push(&text);
                self.pieces(pieces, answer);
            }
        }
    }

    fn pieces(&mut self, pieces: Pieces, answer: &mut Answer) {
        self.reasoned(pieces.reasoning.into(), ReasoningKind::Raw, answer);
        self.shown(pieces.text.into(), answer);
    }

    fn shown(&mut self, text: ByteString, answer: &mut Answer) {
        if text.is_empty() {
            return;
        }
        let at = *self
            .text
            .get_or_insert_with(|| answer.open(PartKind::Text, None));
        answer.delta(at, text);
    }

    /// Why the model stopped, as far as it was told.
    fn reason(&self) -> Result<Option<FinishReason>, AdapterReason> {
        let native = self.native.as_deref().unwrap_or_default();
        match native {
            "MALFORMED_FUNCTION_CALL" => return Err(AdapterReason::GenerationFailed),
            "length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS" => {
                return Ok(Some(FinishReason::Length));
            }
            _ => {}
        }
        let Some(finish) = self.finish.as_deref() else {
            return Ok(self.refusal.map(|_| FinishReason::ContentFilter));
        };
        let reason = match finish {
            "length" | "model_length" | "max_tokens" => FinishReason::Length,
            "content_filter" | "safety" | "refusal" => FinishReason::ContentFilter,
            "error" | "insufficient_system_resource" => {
                return Err(AdapterReason::ProviderUnavailable);
            }
            _ if self.refusal.is_some() => FinishReason::ContentFilter,
            "stop" | "eos" | "end_turn" => FinishReason::Stop,
            "tool_calls" | "tool_call" | "function_call" | "tool_use" => FinishReason::ToolCalls,
            _ => FinishReason::Other,
        };
        Ok(Some(reason))
    }

    /// The provider says that it failed, in place of a reason to stop.
    fn failed(&self, reason: AdapterReason, answer: &Answer) -> Fault {
        let word = match reason {
            AdapterReason::GenerationFailed => self.native.as_deref(),
            _ => self.finish.as_deref(),
        };
        let message = format!("the answer ended with `{}`", word.unwrap_or_default());
        AdapterError::new(answer.about().provider.clone(), reason, message).into()
    }
}

impl Decoder for ChatDecoder {
    fn frame(&mut self, frame: &Frame, answer: &mut Answer) -> Result<Flow, Fault> {
        self.habit.forget();
        self.chunk(&frame.data, &frame.name, answer)?;
        Ok(if self.finish.is_some() {
            Flow::Closed
        } else {
            Flow::GoOn
        })
    }

    fn glance(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> bool {
        if self.finish.is_some() || seen.name == b"error" {
            return false;
        }
        match self.habit.read(seen) {
            Some((delta, to)) => {
                self.go(delta, to, answer);
                true
            }
            None => self.glance_at_fragment(seen, answer),
        }
    }

    fn document(&mut self, text: &ByteString, answer: &mut Answer) -> Result<(), Fault> {
        self.document = true;
        self.chunk(text, "", answer)
    }

    fn done(&mut self, _: &mut Answer) -> Result<Flow, Fault> {
        self.done = true;
        Ok(Flow::Done)
    }

    fn settle(&mut self, answer: &mut Answer) {
        if let Some(read) = usage::read(&std::mem::take(&mut self.usage)) {
            if let Some(odd) = read.odd {
                answer.warn("usage_inconsistent", Some(odd.to_owned()));
            }
            answer.usage(read.usage);
        }
    }

    fn end(&mut self, _: End, answer: &mut Answer) -> Result<(), Fault> {
        if let Some(mut think) = self.think.take() {
            let pieces = think.finish();
            self.pieces(pieces, answer);
        }
        let closed = self.done || self.document;
        let details = self.details.finish();
        let has_content = answer.has_content() || details.is_some();
        if self.finish.is_none() && !(closed && has_content) {
            return Err(Fault::Interrupted);
        }
        if let Some(details) = details {
            let opaque = answer.opaque(DETAILS, details);
            let kind = PartKind::Reasoning(ReasoningKind::Raw);
            let at = *self
                .reasoning
                .get_or_insert_with(|| answer.open(kind, None));
            answer.attach(at, opaque);
        }
        if !closed {
            answer.warn("missing_done", None);
        }
        self.settle(answer);
        if !self.annotations.is_empty() {
            let annotations = std::mem::take(&mut self.annotations);
            answer.extra("annotations", annotations.into());
        }
        let reason = match self.reason() {
            Ok(reason) => reason,
            Err(reason) => return Err(self.failed(reason, answer)),
        };
        if reason.is_some_and(FinishReason::is_cut) {
            self.calls.settle(answer);
        }
        answer.finish(reason, self.finish.as_deref());
        Ok(())
    }
}

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
