//! Bodies that begin like the one before: what is known of a conversation is copied, and only what is new is written.
//!
//! A body is settings and then the conversation, turn by turn. What was sent last is kept with the messages, with a mark
//! at the end of each turn. The next body takes over everything up to the last mark before which the messages are the
//! same ones, and goes on from there. It has the same bytes as one that is written from its beginning.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use allm_core::json::{Sorted, sorted_entries};
use allm_core::{ApiKey, KeyId, Map, Messages, ProviderName, Role};
use bytes::Bytes;
use serde::ser::Error as _;

use super::ids::{IdRule, Ids};
use super::notes::Warnings;
use super::opaque::{Left, Opaques};
use super::turns::{Turn, turns_from};

/// A body, and what is known of it.
#[derive(Debug)]
pub(crate) struct Body {
    bytes: Bytes,
    /// What was taken over from the body before, and whether that was looked through for a key.
    old: Option<(Range<usize>, Searched)>,
    searched: Searched,
}

/// The key that a body was looked through for, and that is not in it.
type Searched = Arc<OnceLock<KeyId>>;

impl Body {
    /// Whether the key stands in it, in any form. What was searched before is not searched again.
    pub(crate) fn holds(&self, key: &ApiKey) -> bool {
        let id = key.id();
        let known = match &self.old {
            Some((range, searched)) if searched.get() == Some(&id) => range.clone(),
            _ => 0..0,
        };
        let redactor = allm_core::Redactor::new().with_key(key);
        let holds = redactor.finds_key_outside(&self.bytes, known);
        if !holds {
            let _ = self.searched.set(id);
        }
        holds
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl std::ops::Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// To whom a body goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipient<'a> {
    pub(crate) provider: &'a ProviderName,
    pub(crate) wire: &'static str,
    /// Which ids of calls it takes; `None` where none are sent.
    pub(crate) ids: Option<IdRule>,
}

/// How a wire writes a conversation.
pub(crate) trait Script<'a> {
    /// What the bytes depend on besides the messages.
    type Key: PartialEq + Send + Sync + 'static;
    /// What a turn has to know of those before it.
    type State: Clone + Send + Sync + 'static;

    /// Writes a turn after those that stand there.
    fn turn(&mut self, turn: &Turn<'a>, to: &mut Page<'a>) -> Result<(), serde_json::Error>;

    fn state(&self) -> Self::State;

    /// Writes what closes the conversation.
    fn end(&self, _: &mut Vec<u8>) {}
}

/// Where a conversation is written.
pub(crate) struct Page<'a> {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ids: Ids<'a>,
    pub(crate) opaques: Opaques<'a>,
}

/// The settings of a body and the name of its conversation, which comes last: what stays the same from turn to turn stands
/// before what grows.
pub(crate) struct Head<'a> {
    pub(crate) settings: &'a Map,
    /// The list of tools as JSON, where it is none of the settings: schemas are long, and a copy of them for each body is not
    /// needed.
    pub(crate) tools: Option<&'a [u8]>,
    /// `messages`, `input` or `contents`.
    pub(crate) name: &'static str,
}

impl Head<'_> {
    fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        if self.settings.contains_key(self.name) {
            return Err(serde_json::Error::custom("the conversation stands twice"));
        }
        // The caller's own stand alone.
        let mut tools = self.tools.filter(|_| !self.settings.contains_key(TOOLS));
        let mut bytes = Vec::with_capacity(ROOM + tools.map_or(0, <[u8]>::len));
        bytes.push(b'{');
        for (name, value) in sorted_entries(self.settings) {
            if name.as_str() > TOOLS
                && let Some(tools) = tools.take()
            {
                put(&mut bytes, TOOLS, tools);
            }
            serde_json::to_writer(&mut bytes, name)?;
            bytes.push(b':');
            serde_json::to_writer(&mut bytes, &Sorted(value))?;
            bytes.push(b',');
        }
        if let Some(tools) = tools {
            put(&mut bytes, TOOLS, tools);
        }
        bytes.push(b'"');
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(b"\":[");
        Ok(bytes)
    }
}

const TOOLS: &str = "tools";

/// Writes a member whose name needs no escapes, with the comma after it.
fn put(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    bytes.push(b'"');
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b"\":");
    bytes.extend_from_slice(value);
    bytes.push(b',');
}

/// What was sent last, kept with the messages.
struct Kept<K, S> {
    key: K,
    body: Bytes,
    /// Where the conversation begins in the body.
    start: usize,
    marks: Vec<Mark<S>>,
    searched: Searched,
}

/// A place between two turns.
#[derive(Clone)]
struct Mark<S> {
    /// How many messages are before it.
    messages: usize,
    /// How many bytes of the conversation are.
    bytes: usize,
    state: S,
    left: Left,
}

impl<K, S> Kept<K, S> {
    /// How many marks can be used where so many messages are the same.
    fn usable(&self, messages: &Messages, common: usize) -> usize {
        let mut usable = self.marks.partition_point(|mark| mark.messages <= common);
        // A result belongs to the turn before it, which is not at its end there.
        while let Some(last) = usable.checked_sub(1).and_then(|last| self.marks.get(last))
            && let Some(next) = messages.get(last.messages)
            && next.role == Role::Tool
        {
            usable -= 1;
        }
        usable
    }
}

/// The body of a request. `begin` makes the script, from the state of the turn that it goes on after.
pub(crate) fn body<'a, K, S, W>(
    head: &Head<'_>,
    messages: &'a Messages,
    to: Recipient<'a>,
    key: K,
    begin: impl FnOnce(Option<S>) -> W,
    warnings: &mut Warnings,
) -> Result<Body, serde_json::Error>
where
    K: PartialEq + Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    W: Script<'a, Key = K, State = S>,
{
    let mut bytes = head.write()?;
    let start = bytes.len();
    let noted = messages.noted::<Kept<K, S>>();
    let known = noted.filter(|(kept, _)| kept.key == key);
    let usable = known.map(|(kept, common)| {
        let usable = kept.usable(messages, common);
        (kept, usable)
    });
    let from = usable.as_ref().and_then(|(kept, usable)| {
        let mark = kept.marks.get(usable.checked_sub(1)?)?;
        Some((kept, *usable, mark))
    });
    let first = from.map_or(0, |(_, _, mark)| mark.messages);
    let mut ids = Ids::from(messages, first, to);
    if !ids.is_empty() && first > 0 {
        // An id of an earlier turn may count for a later one.
        ids = Ids::from(messages, 0, to);
    }
    // Which id stands for another depends on all of them, and whether one may stand there on who gave it.
    let is_kept = ids.is_settled();
    let from = from.filter(|_| is_kept);
    let mut marks = Vec::new();
    let mut old = None;
    let mut opaques = Opaques::new(to.provider, to.wire);
    if let Some((kept, usable, mark)) = from {
        let conversation = kept.body.get(kept.start..kept.start + mark.bytes);
        let conversation = conversation.unwrap_or_default();
        bytes.reserve(conversation.len() + ROOM);
        bytes.extend_from_slice(conversation);
        marks.reserve(usable + 2);
        marks.extend_from_slice(kept.marks.get(..usable).unwrap_or_default());
        old = Some((start..bytes.len(), Arc::clone(&kept.searched)));
        opaques.left = mark.left.clone();
    }
    let mut script = begin(from.map(|(_, _, mark)| mark.state.clone()));
    let mut page = Page {
        bytes,
        ids,
        opaques,
    };
    let first = from.map_or(0, |(_, _, mark)| mark.messages);
    let mut mark = |at: usize, script: &W, page: &Page<'_>| {
        if marks.last().is_none_or(|last: &Mark<S>| last.messages < at) && at > 0 && is_kept {
            marks.push(Mark {
                messages: at,
                bytes: page.bytes.len() - start,
                state: script.state(),
                left: page.opaques.left.clone(),
            });
        }
    };
    for turn in turns_from(messages, first) {
        if turn.begins() {
            mark(turn.index(), &script, &page);
        }
        script.turn(&turn, &mut page)?;
    }
    mark(messages.len(), &script, &page);
    script.end(&mut page.bytes);
    page.bytes.extend_from_slice(b"]}");
    page.opaques.left.tell(warnings);
    // It is kept for as long as the conversation.
    page.bytes.shrink_to_fit();
    let body = Body {
        bytes: page.bytes.into(),
        old,
        searched: Searched::default(),
    };
    if is_kept && body.len() <= MOST_KEPT {
        messages.note(Kept {
            key,
            body: body.bytes.clone(),
            start,
            marks,
            searched: Arc::clone(&body.searched),
        });
    }
    Ok(body)
}

/// How much a turn has, as a rule.
const ROOM: usize = 2048;
/// What is larger holds pictures and files, and is in memory once already.
const MOST_KEPT: usize = 8 << 20;

/// Text as a string of JSON.
pub(crate) fn string(to: &mut Vec<u8>, text: &str) -> Result<(), serde_json::Error> {
    serde_json::to_writer(to, text)
}

/// A comma, unless this is the first in its list.
pub(crate) fn comma(to: &mut Vec<u8>) {
    if to.last() != Some(&b'[') {
        to.push(b',');
    }
}

#[cfg(all(test, feature = "openai", feature = "anthropic", feature = "gemini"))]
mod tests;
