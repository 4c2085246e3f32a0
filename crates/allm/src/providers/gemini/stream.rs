//! Reads the answers of `generateContent`: chunks of a stream, a list of them, or one.

mod chunk;
mod finish;
mod partial;
mod steady;
mod usage;

use std::time::SystemTime;

use allm_core::{AdapterError, File, FinishReason, Image, Part, RawJson, ReasoningKind};
use bytestring::ByteString;
use serde_json::{Value, json};

use crate::wire::answer::{Answer, CallAt, PartAt, PartKind};
use crate::wire::classify::classify;
use crate::wire::decode::{Decoder, End, Fault, Flow};
use crate::wire::lenient::{List, Object, Text};
use crate::wire::shape::Habit;
use crate::wire::sse::{Frame, Seen};
use chunk::{Candidate, Chunk, Feedback, FunctionCall, InlineData, Raw, RawChunk};
use finish::Finish;
use partial::Partial;
use steady::Goes;
use usage::Counters;

/// The kind of an opaque value that is a signature.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// Reads one answer.
#[derive(Default)]
pub(crate) struct GeminiDecoder {
    /// The text part that grows, and whether it is thinking.
    run: Option<(bool, PartAt)>,
    /// The call whose arguments come bit by bit.
    open: Option<(CallAt, Partial)>,
    counters: Counters,
    /// Facts about the candidate, by their names; the last one of a name counts.
    facts: Vec<(&'static str, ByteString)>,
    closing: Closing,
    chunks: u64,
    has_candidate: bool,
    is_document: bool,
    habit: Habit<Goes>,
    /// The last chunk that was known by its shape, if it counts anew: a copy, because who holds a slice keeps the room of the
    /// network from being used again. Empty if there is none.
    unread_usage: Vec<u8>,
}

/// What was said of the end so far. More may follow it.
#[derive(Default)]
enum Closing {
    #[default]
    None,
    Finished,
    /// The provider refused what the model made.
    Failed(Box<AdapterError>),
}

impl Decoder for GeminiDecoder {
    fn frame(&mut self, frame: &Frame, answer: &mut Answer) -> Result<Flow, Fault> {
        self.habit.forget();
        self.read_usage(answer);
        let Object(Some(chunk)) = serde_json::from_str(&frame.data)? else {
            return Err(Fault::Malformed);
        };
        if frame.name == "error" {
            let told = serde_json::from_str(&frame.data)?;
            self.error(&told, answer)?;
        } else {
            self.chunk(&chunk, &frame.data, &frame.data, answer)?;
            self.get_used_to(&chunk, &frame.data);
        }
        Ok(Flow::GoOn)
    }

    fn glance(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> bool {
        self.go_on(seen, answer)
    }

    fn document(&mut self, text: &ByteString, answer: &mut Answer) -> Result<(), Fault> {
        self.is_document = true;
        if !text.starts_with('[') {
            let Object(chunk) = serde_json::from_str(text)?;
            return match chunk {
                Some(chunk) => self.chunk(&chunk, text, text, answer),
                None => Err(Fault::Unreadable),
            };
        }
        let chunks: List<Raw<'_>> = serde_json::from_str(text)?;
        for raw in chunks.0.into_iter().flatten() {
            let Object(Some(chunk)) = serde_json::from_str(raw.get())? else {
                return Err(Fault::Unreadable);
            };
            self.chunk(&chunk, raw.get(), text, answer)?;
        }
        Ok(())
    }

    fn done(&mut self, _: &mut Answer) -> Result<Flow, Fault> {
        Ok(match self.closing {
            Closing::None => Flow::GoOn,
            Closing::Finished | Closing::Failed(_) => Flow::Done,
        })
    }

    fn end(&mut self, _: End, answer: &mut Answer) -> Result<(), Fault> {
        self.read_usage(answer);
        self.counters.tell(answer);
        match std::mem::take(&mut self.closing) {
            Closing::Failed(error) => return Err(Fault::Provider(error)),
            Closing::Finished => {}
            Closing::None if self.is_unanswered() => {
                return Err(Fault::Unreadable);
            }
            Closing::None if self.is_document => {}
            Closing::None => return Err(Fault::Interrupted),
        }
        if !answer.finish_so_far().is_some_and(FinishReason::is_cut) {
            self.close_call(answer);
        }
        for (name, text) in std::mem::take(&mut self.facts) {
            if let Ok(value) = serde_json::from_str(&text) {
                answer.extra(name, value);
            }
        }
        Ok(())
    }
}

impl GeminiDecoder {
    /// Whether something came, and none of it was an answer.
    fn is_unanswered(&self) -> bool {
        !self.has_candidate && (self.is_document || self.chunks > 0)
    }

    /// Reads a chunk; `text` is its own text, a slice of `frame`.
    fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        text: &str,
        frame: &ByteString,
        answer: &mut Answer,
    ) -> Result<(), Fault> {
        self.chunks += 1;
        answer.response_id(chunk.response_id.get());
        answer.model(chunk.model_version.get());
        if let Some(usage) = chunk.usage_metadata {
            self.count(frame.slice_ref(usage.get()), answer);
        }
        let chosen = self.choose(chunk, answer);
        if let Some((place, candidate)) = chosen {
            self.candidate(candidate, place, text, frame, answer);
        } else if let Some(feedback) = chunk.prompt_feedback {
            self.feedback(feedback.get(), answer);
        }
        if let Some(feedback) = chunk.prompt_feedback {
            self.fact("promptFeedback", Some(feedback), frame);
        }
        match chunk.error {
            Some(error) => {
                let error: Value = serde_json::from_str(error.get())?;
                self.error(&json!({ "error": error }), answer)
            }
            None => Ok(()),
        }
    }

    /// A statement of what was used.
    fn count(&mut self, usage: ByteString, answer: &mut Answer) {
        self.counters.take(usage);
        if let Some(usage) = self.counters.usage() {
            answer.usage(usage);
        }
    }

    /// The candidate that is read: the first one, by its index or by its place.
    fn choose<'c, 'a>(
        &mut self,
        chunk: &'c Chunk<'a>,
        answer: &mut Answer,
    ) -> Option<(usize, &'c Candidate<'a>)> {
        let candidates = || {
            let entries = chunk.candidates.0.iter().enumerate();
            entries.filter_map(|(place, entry)| Some((place, entry.0.as_ref()?)))
        };
        let count = candidates().count();
        let chosen = candidates().find(|(_, candidate)| candidate.index.0.unwrap_or(0) == 0);
        self.has_candidate |= count > 0;
        if count > usize::from(chosen.is_some()) {
            answer.warn("extra_choices", None);
        }
        chosen
    }

    fn candidate(
        &mut self,
        candidate: &Candidate<'_>,
        place: usize,
        text: &str,
        frame: &ByteString,
        answer: &mut Answer,
    ) {
        let parts = candidate.content.0.as_ref().map(|content| &content.parts.0);
        let mut raw_parts = None;
        for (part_place, part) in parts.into_iter().flatten().enumerate() {
            let Some(part) = &part.0 else {
                continue;
            };
            let signature = signature(part.thought_signature);
            if part.text.0.is_some() {
                self.text(&part.text, part.is_thought(), signature, frame, answer);
                continue;
            }
            self.run = None;
            if let Some(call) = &part.function_call.0 {
                self.call(call, signature, answer);
            } else if let Some(data) = &part.inline_data.0
                && !part.is_thought()
                && data.data.get().is_some()
            {
                inline(data, signature, answer);
            } else {
                // Read once for all parts of the chunk.
                let raw_parts = raw_parts.get_or_insert_with(|| raw_parts_of(text, place));
                let raw = raw_parts.get(part_place).copied().flatten();
                let raw = raw.map(|raw| raw.get().to_owned());
                self.other(raw, part.is_thought(), signature, frame, answer);
            }
        }
        for (name, value) in [
            ("groundingMetadata", candidate.grounding_metadata),
            ("citationMetadata", candidate.citation_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
            ("safetyRatings", candidate.safety_ratings),
            ("avgLogprobs", candidate.avg_logprobs),
            ("logprobsResult", candidate.logprobs_result),
        ] {
            self.fact(name, value, frame);
        }
        if let Some(word) = candidate.finish_reason.and_then(finish::word) {
            self.finish(&word, candidate.finish_message.get(), answer);
        }
    }

    fn fact(&mut self, name: &'static str, value: Raw<'_>, frame: &ByteString) {
        let Some(value) = value else {
            return;
        };
        let text = frame.slice_ref(value.get());
        match self.facts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = text,
            None => self.facts.push((name, text)),
        }
    }

    fn finish(&mut self, word: &str, message: Option<&str>, answer: &mut Answer) {
        if let Some(message) = message {
            answer.extra("finishMessage", message.into());
        }
        self.closing = match finish::meaning(word) {
            Finish::Ended(reason) => {
                answer.finish(Some(reason), Some(word));
                Closing::Finished
            }
            Finish::Failed => {
                let provider = &answer.about().provider;
                Closing::Failed(Box::new(finish::failure(provider, word, message)))
            }
        };
    }

    /// What is said of a prompt that has no answer.
    fn feedback(&mut self, feedback: &str, answer: &mut Answer) {
        if let Ok(Object(Some(Feedback { block_reason }))) = serde_json::from_str(feedback)
            && let Some(reason) = block_reason.get()
            && !self.has_candidate
        {
            let raw = format!("blocked:{reason}");
            answer.finish(Some(FinishReason::ContentFilter), Some(&raw));
            self.closing = Closing::Finished;
        }
    }

    /// An error inside the answer.
    fn error(&mut self, told: &Value, answer: &mut Answer) -> Result<(), Fault> {
        let error = classify(&answer.about().provider, None, told, SystemTime::now());
        if let Some(FinishReason::Length | FinishReason::ContentFilter) = answer.finish_so_far() {
            answer.warn("late_error", Some(error.reason.as_str().to_owned()));
            return Ok(());
        }
        self.counters.tell(answer);
        Err(error.into())
    }

    /// Text or thinking. A run of one kind is one part; a signature ends the part that it stands on.
    fn text(
        &mut self,
        text: &Text<'_>,
        thought: bool,
        signature: Option<RawJson>,
        frame: &ByteString,
        answer: &mut Answer,
    ) {
        // A part that is nothing but a signature is sent back as that.
        let alone = signature.is_some() && text.str().is_empty();
        let at = match self.run {
            Some((kind, at)) if kind == thought && !alone => at,
            _ if text.str().is_empty() && signature.is_none() => return,
            _ => answer.open(kind_of(thought), None),
        };
        answer.delta(at, text.slice_of(frame));
        self.run = Some((thought, at));
        if let Some(signature) = signature {
            let opaque = answer.opaque(SIGNATURE, signature);
            answer.attach(at, opaque);
            self.run = None;
        }
    }

    /// A call, whole or bit by bit.
    fn call(&mut self, call: &FunctionCall<'_>, signature: Option<RawJson>, answer: &mut Answer) {
        let name = call.name.get();
        let says_nothing = name.is_none() && call.args.is_none() && call.partial_args.0.is_empty();
        if name.is_some() {
            self.close_call(answer);
        }
        if self.open.is_none() {
            if says_nothing && !call.will_continue() {
                return;
            }
            let at = answer.call(None);
            if let Some(id) = call.id.get() {
                answer.call_id(at, id);
            }
            if let Some(name) = name {
                answer.call_name(at, name);
            }
            if call.id.get().is_none() {
                answer.call_without_id(at);
            }
            self.open = Some((at, Partial::default()));
        }
        let Some((at, partial)) = &mut self.open else {
            return;
        };
        if let Some(signature) = signature {
            let opaque = answer.opaque(SIGNATURE, signature);
            answer.call_opaque(*at, opaque);
        }
        if let (Some(args), true) = (call.args, call.will_continue()) {
            partial.begin(args.get());
        }
        for arg in call.partial_args.0.iter().filter_map(|arg| arg.0.as_ref()) {
            if let Some(piece) = partial.take(arg) {
                answer.arguments(*at, piece.into());
            }
        }
        if call.will_continue() {
            return;
        }
        match (call.args, self.open.take()) {
            // The whole arguments beat their pieces.
            (Some(args), Some((at, _))) => {
                answer.settle_arguments(at, args.get());
                answer.complete_call(at);
            }
            (_, open) => {
                self.open = open;
                self.close_call(answer);
            }
        }
    }

    /// The call whose arguments came bit by bit is whole.
    fn close_call(&mut self, answer: &mut Answer) {
        let Some((at, mut partial)) = self.open.take() else {
            return;
        };
        match partial.text() {
            Some(text) => answer.settle_arguments(at, &text),
            // What came stays, and is no JSON: it has no end.
            None if answer.arguments_of(at).is_empty() => answer.arguments(at, "{".into()),
            None => {}
        }
        answer.complete_call(at);
    }

    /// A part that has no type here.
    fn other(
        &mut self,
        raw: Option<String>,
        thought: bool,
        signature: Option<RawJson>,
        frame: &ByteString,
        answer: &mut Answer,
    ) {
        let kind = raw.as_deref().and_then(kind_of_part);
        match (kind, raw.and_then(|raw| RawJson::new(raw).ok())) {
            (Some(kind), Some(raw)) => {
                let opaque = answer.opaque(&kind, raw);
                answer.part(Part::opaque(opaque), None);
            }
            // A signature that stands alone, and is kept as if on an empty text.
            _ => self.text(&Text::default(), thought, signature, frame, answer),
        }
    }
}

fn kind_of(thought: bool) -> PartKind {
    if thought {
        PartKind::Reasoning(ReasoningKind::Summary)
    } else {
        PartKind::Text
    }
}

/// A picture or a file in the answer. What these have no place for follows as a part of its own.
fn inline(data: &InlineData<'_>, signature: Option<RawJson>, answer: &mut Answer) {
    let (mime_type, text) = (data.mime_type.str(), data.data.str());
    let part = if mime_type.starts_with("image/") {
        Part::image(Image::from_base64(text, mime_type))
    } else {
        Part::file(File::from_base64(text, mime_type))
    };
    answer.part(part, None);
    if let Some(signature) = signature {
        let opaque = answer.opaque(SIGNATURE, signature);
        answer.part(Part::opaque(opaque), None);
    }
}

/// The signature, as it was written.
fn signature(raw: Raw<'_>) -> Option<RawJson> {
    let text = raw?.get();
    let is_signature = text.starts_with('"') && text.len() > 2;
    is_signature.then(|| RawJson::new(text).ok()).flatten()
}

/// The parts of a candidate, each as it came.
fn raw_parts_of(chunk: &str, candidate: usize) -> Vec<Raw<'_>> {
    let candidates = serde_json::from_str(chunk).map(|chunk: RawChunk<'_>| chunk.candidates.0);
    let candidate = candidates
        .ok()
        .and_then(|all| all.into_iter().nth(candidate));
    let content = candidate.and_then(|candidate| candidate.0?.content.0);
    content.map(|content| content.parts.0).unwrap_or_default()
}

/// What a part is, by the name of what it holds.
fn kind_of_part(raw: &str) -> Option<String> {
    let part: allm_core::Map = serde_json::from_str(raw).ok()?;
    let known = |name: &str| matches!(name, "text" | "thought" | SIGNATURE);
    let names = part
        .into_iter()
        .filter(|(name, value)| !known(name) && !value.is_null());
    names.map(|(name, _)| name).min()
}

#[cfg(test)]
mod tests;
