//! Chunks that do nothing but bring one delta, which come by the thousand.

use bytestring::ByteString;
use serde::Deserialize;

use super::GeminiDecoder;
use super::chunk::{Candidate, Chunk, Part, Raw};
use crate::wire::answer::{Answer, PartAt};
use crate::wire::lenient::Object;
use crate::wire::shape::Shape;
use crate::wire::sse::Seen;

/// Where the delta of such a chunk goes.
#[derive(Clone, Copy)]
pub(super) struct Goes {
    to: To,
    /// Whether the chunk says what was used so far.
    counts: bool,
}

#[derive(Clone, Copy)]
enum To {
    Part(PartAt),
    /// The text that the arguments of the open call end with.
    Arguments,
}

/// The counters of a chunk, which are others in every one.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted<'a> {
    #[serde(borrow, default)]
    prompt_token_count: Raw<'a>,
    #[serde(borrow, default)]
    candidates_token_count: Raw<'a>,
    #[serde(borrow, default)]
    thoughts_token_count: Raw<'a>,
    #[serde(borrow, default)]
    cached_content_token_count: Raw<'a>,
    #[serde(borrow, default)]
    total_token_count: Raw<'a>,
}

impl GeminiDecoder {
    /// Reads a chunk of the shape that is known; `false` if it is another.
    pub(super) fn go_on(&mut self, seen: &Seen<'_>, answer: &mut Answer) -> bool {
        if seen.name == b"error" {
            return false;
        }
        let Some((delta, goes)) = self.habit.read(seen) else {
            return false;
        };
        match (goes.to, &mut self.open) {
            (To::Part(at), _) => answer.delta(at, delta),
            (To::Arguments, Some((at, partial))) => {
                if let Some(piece) = partial.go_on(delta) {
                    answer.arguments(*at, piece);
                }
            }
            (To::Arguments, None) => return false,
        }
        if goes.counts {
            self.unread_usage.clear();
            self.unread_usage.extend_from_slice(seen.data);
        }
        true
    }

    /// Reads what the last chunk that was known by its shape says of usage: what those before it said is no more.
    pub(super) fn read_usage(&mut self, answer: &mut Answer) {
        let unread = std::mem::take(&mut self.unread_usage);
        if unread.is_empty() {
            return;
        }
        let Ok(frame) = ByteString::try_from(unread) else {
            return;
        };
        if let Ok(Object(Some(chunk))) = serde_json::from_str::<Object<Chunk<'_>>>(&frame)
            && let Some(usage) = chunk.usage_metadata
        {
            self.count(frame.slice_ref(usage.get()), answer);
        }
    }

    /// Looks whether chunks like this one, which was read, need not be read in full.
    pub(super) fn get_used_to(&mut self, chunk: &Chunk<'_>, frame: &str) {
        let Some((delta, to)) = self.only_delta(chunk) else {
            return;
        };
        let goes = Goes {
            to,
            counts: chunk.usage_metadata.is_some(),
        };
        self.habit.learn(goes, || {
            let counted = chunk
                .usage_metadata
                .map(|usage| serde_json::from_str::<Object<Counted<'_>>>(usage.get()));
            let counted = counted.transpose().ok()?.and_then(|counted| counted.0);
            let counted = counted.unwrap_or_default();
            let loose = [
                counted.prompt_token_count,
                counted.candidates_token_count,
                counted.thoughts_token_count,
                counted.cached_content_token_count,
                counted.total_token_count,
            ];
            Shape::of(frame, delta, &loose)
        });
    }

    /// The delta, if a second chunk like this one would do nothing but bring it, and count anew.
    fn only_delta<'a>(&self, chunk: &Chunk<'a>) -> Option<(&'a str, To)> {
        let [Object(Some(candidate))] = chunk.candidates.0.as_slice() else {
            return None;
        };
        let says_more = chunk.prompt_feedback.is_some()
            || chunk.error.is_some()
            || candidate.finish_reason.is_some()
            || candidate.index.0.unwrap_or(0) != 0;
        let part = only_part(candidate).filter(|part| part.thought_signature.is_none())?;
        if says_more {
            return None;
        }
        if part.text.0.is_some() {
            let (_, at) = self.run?;
            return Some((part.text.borrowed()?, To::Part(at)));
        }
        let call = part.function_call.0.as_ref()?;
        let [Object(Some(arg))] = call.partial_args.0.as_slice() else {
            return None;
        };
        let goes_on = self.open.is_some()
            && call.name.get().is_none()
            && call.args.is_none()
            && call.will_continue();
        let delta = arg.string_value.borrowed().filter(|_| goes_on)?;
        Some((delta, To::Arguments))
    }
}

fn only_part<'c, 'a>(candidate: &'c Candidate<'a>) -> Option<&'c Part<'a>> {
    match candidate.content.0.as_ref()?.parts.0.as_slice() {
        [Object(Some(part))] => Some(part),
        _ => None,
    }
}
