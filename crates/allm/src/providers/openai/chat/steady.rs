//! Chunks that do nothing but bring one delta, which come by the thousand.

use allm_core::ReasoningKind;
use bytestring::ByteString;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::chunk::{Chunk, Content, Delta};
use super::stream::ChatDecoder;
use crate::providers::compat::profile::ReasoningField;
use crate::wire::answer::{Answer, CallAt};
use crate::wire::lenient::Text;
use crate::wire::shape::Shape;

/// Where the delta of such a chunk goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goes {
    Text,
    Reasoning,
    Call(CallAt),
}

/// Members that nobody reads and that are others in every chunk.
#[derive(Deserialize)]
struct Loose<'a> {
    #[serde(borrow, default)]
    obfuscation: Option<&'a RawValue>,
}

impl ChatDecoder {
    /// What a chunk that was known by its shape brings.
    pub(super) fn go(&mut self, delta: ByteString, to: Goes, answer: &mut Answer) {
        match to {
            Goes::Text => self.text(delta, answer),
            Goes::Reasoning => self.reasoned(delta, ReasoningKind::Raw, answer),
            Goes::Call(at) => answer.arguments(at, delta),
        }
    }

    /// Looks whether chunks like this one, which was read, need not be read in full.
    pub(super) fn get_used_to(&mut self, chunk: &Chunk<'_>, frame: &str, answer: &Answer) {
        if let Some((delta, to)) = self.only_delta(chunk, answer) {
            self.habit.learn(to, || {
                let loose: Loose<'_> = serde_json::from_str(frame).ok()?;
                Shape::of(frame, delta, &[loose.obfuscation])
            });
        }
    }

    /// The delta, if a second chunk like this one would do nothing but bring it.
    fn only_delta<'a>(&self, chunk: &Chunk<'a>, answer: &Answer) -> Option<(&'a str, Goes)> {
        let choice = chunk.choices.first.as_ref()?;
        let said = choice.delta.0.as_ref()?;
        let values = [
            chunk.usage,
            chunk.error,
            chunk.citations,
            chunk.search_results,
            chunk.timings,
            choice.usage,
            choice.error,
            said.reasoning_details,
            said.annotations,
        ];
        let says_more = values.iter().any(Option::is_some)
            || chunk.x_groq.0.is_some()
            || chunk.choices.others
            || choice.finish_reason.get().is_some()
            || choice.finish_details.0.is_some()
            || choice.native_finish_reason.get().is_some()
            || said.refusal.get().is_some()
            || said.function_call.0.is_some();
        if says_more {
            return None;
        }
        let thought = self.thinking(said);
        match (&said.content, thought, said.tool_calls.0.as_slice()) {
            (Content::Text(text), None, []) => Some((text.borrowed()?, Goes::Text)),
            (content, Some(thought), []) if is_empty(content) => {
                Some((thought.borrowed()?, Goes::Reasoning))
            }
            (content, None, [piece]) if is_empty(content) => {
                let piece = piece.0.as_ref()?;
                let function = piece.function.0.as_ref()?;
                let at = self.calls.find(piece, function, answer)?;
                Some((function.arguments.0.borrowed()?, Goes::Call(at)))
            }
            _ => None,
        }
    }

    /// The field that thinking came in.
    fn thinking<'c, 'a>(&self, said: &'c Delta<'a>) -> Option<&'c Text<'a>> {
        let mut fields = self.reasoning_in.iter().map(|field| match field {
            ReasoningField::ReasoningContent => &said.reasoning_content,
            ReasoningField::Reasoning => &said.reasoning,
        });
        fields.find(|text| text.get().is_some())
    }
}

fn is_empty(content: &Content<'_>) -> bool {
    match content {
        Content::Nothing => true,
        Content::Text(text) => text.get().is_none(),
        Content::List(_) => false,
    }
}
