//! Chunks that do nothing but bring one delta, which come by the thousand.

use allm_core::ReasoningKind;
use bytestring::ByteString;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::chunk::{CallDelta, Chunk, Content, Delta};
use super::stream::ChatDecoder;
use crate::providers::compat::profile::ReasoningField;
use crate::wire::answer::{Answer, CallAt};
use crate::wire::lenient::Text;
use crate::wire::shape::Shape;
use crate::wire::sse::Seen;

/// Where the delta of such a chunk goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goes {
    Text,
    Reasoning,
    Call(CallAt),
}

/// What such a chunk brings.
enum Brings<'a> {
    Delta(&'a str, Goes),
    /// A piece of the arguments of the call whose index stands in the chunk.
    Fragment(&'a str),
}

/// Where a call stands.
#[derive(Deserialize)]
struct Fragment<'a> {
    #[serde(borrow)]
    choices: [FragmentChoice<'a>; 1],
}

#[derive(Deserialize)]
struct FragmentChoice<'a> {
    #[serde(borrow)]
    delta: FragmentDelta<'a>,
}

#[derive(Deserialize)]
struct FragmentDelta<'a> {
    #[serde(borrow)]
    tool_calls: [&'a RawValue; 1],
}

#[derive(Deserialize)]
struct FragmentCall<'a> {
    #[serde(borrow)]
    index: &'a RawValue,
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

    /// Takes a fragment of a call that is known by its shape and its index; `false` if it is none.
    pub(super) fn glance_at_fragment(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> bool {
        let Some((delta, index)) = self.fragments.read_indexed(seen) else {
            return self.glance_at_call(seen, answer).is_some();
        };
        let Some(at) = self.calls.newest(index) else {
            return false;
        };
        answer.arguments(at, delta);
        true
    }

    /// Takes a piece of a call in a chunk that is like those of fragments otherwise, as the first piece of each call is.
    fn glance_at_call(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> Option<()> {
        let text = self.fragments.read_object(seen)?;
        let piece: CallDelta<'_> = serde_json::from_str(&text).ok()?;
        // It may open a call, and what goes on with the last call has another meaning then.
        self.habit.forget();
        self.calls.push(&piece, false, &text, answer);
        Some(())
    }

    /// Looks whether chunks like this one, which was read, need not be read in full.
    pub(super) fn get_used_to(&mut self, chunk: &Chunk<'_>, frame: &str, answer: &Answer) {
        match self.only_delta(chunk, answer) {
            None => {}
            Some(Brings::Delta(delta, to)) => self
                .habit
                .learn(to, || Shape::of(frame, delta, &[chunk.obfuscation])),
            Some(Brings::Fragment(delta)) => {
                // It was read in full, so it is not of the shape that was known.
                self.fragments.forget();
                self.fragments.learn((), || {
                    let found: Fragment<'_> = serde_json::from_str(frame).ok()?;
                    let [choice] = found.choices;
                    let [call] = choice.delta.tool_calls;
                    let FragmentCall { index } = serde_json::from_str(call.get()).ok()?;
                    let loose = [chunk.obfuscation];
                    Shape::with_index(frame, delta, index, &loose)?.around(frame, call, &loose)
                });
            }
        }
    }

    /// The delta, if a second chunk like this one would do nothing but bring it.
    fn only_delta<'a>(&self, chunk: &Chunk<'a>, answer: &Answer) -> Option<Brings<'a>> {
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
            (Content::Text(text), None, []) => Some(Brings::Delta(text.borrowed()?, Goes::Text)),
            (content, Some(thought), []) if is_empty(content) => {
                Some(Brings::Delta(thought.borrowed()?, Goes::Reasoning))
            }
            (content, None, [piece]) if is_empty(content) => {
                let piece = piece.0.as_ref()?;
                let function = piece.function.0.as_ref()?;
                let at = self.calls.find(piece, function, answer)?;
                let arguments = function.arguments.0.borrowed()?;
                let is_named = piece.id.get().is_some() || function.name.get().is_some();
                if piece.index.0.is_some() && !is_named {
                    return Some(Brings::Fragment(arguments));
                }
                // What opens a call is told once, as a rule.
                let goes_on = answer.arguments_of(at).len() > arguments.len();
                goes_on.then_some(Brings::Delta(arguments, Goes::Call(at)))
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
