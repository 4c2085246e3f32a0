//! Repairing what providers send: ids, indexes, names, argument text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytestring::ByteString;

use crate::data::{
    ArgumentLimits, Event, FinishReason, Map, Message, ORIGINAL_ID, ORIGINAL_NAME, ToolCall,
    ToolCallId, ToolName, means_none, read_arguments,
};
use crate::error::{Error, Failure, StreamError, StreamReason};

/// Repairs the events of one provider answer before anybody sees them.
///
/// - Calls are numbered from 0 in the order first seen, whatever the adapter's indexes.
/// - A call with an empty id, or one already used in this answer, gets the id `allm-{turn}-{index}`, with a further
///   suffix if that is taken; the original stays in the call's `metadata.original_id`.
/// - A name outside the name rule is stored with every other character as `_` and cut at 64; the original stays in
///   `metadata.original_name`. Tools are looked up by the original.
/// - The argument text is parsed, once.
/// - A call that ends without any name becomes an `error` event: the turn fails with `malformed_event`.
///
/// Equal events give equal ids, every time. What is well-formed passes unchanged, so repairing twice is repairing once.
#[derive(Clone, Debug)]
pub struct Repair {
    turn: u32,
    limits: ArgumentLimits,
    calls: Vec<Repaired>,
    places: BTreeMap<u32, usize>,
    ids: BTreeSet<ToolCallId>,
}

/// Most answers make no more calls.
const FIRST_CALLS: usize = 8;

#[derive(Clone, Debug)]
struct Repaired {
    id: ToolCallId,
    /// Whether its whole argument text was empty, which in a cut answer means that it never came.
    empty: bool,
}

impl Repair {
    /// For the answer of this turn.
    #[must_use]
    pub fn new(turn: u32) -> Self {
        Self::with_limits(turn, ArgumentLimits::default())
    }

    /// For the answer of this turn, with limits for argument text.
    #[must_use]
    pub fn with_limits(turn: u32, limits: ArgumentLimits) -> Self {
        Self {
            turn,
            limits,
            calls: Vec::new(),
            places: BTreeMap::new(),
            ids: BTreeSet::new(),
        }
    }

    /// The event as everybody else sees it.
    #[must_use]
    pub fn event(&mut self, mut event: Event) -> Event {
        self.mend(&mut event);
        event
    }

    /// Makes of an event what everybody else sees.
    pub fn mend(&mut self, event: &mut Event) {
        match event {
            Event::ToolCallStarted(started) => {
                let place = self.place(started.index, &started.id);
                (started.index, started.id) = self.shown(place);
                if let Some(name) = mended_name(&started.name) {
                    started.name = name.into();
                }
            }
            Event::ToolCallDelta(delta) => {
                let place = self.place(delta.index, &delta.id);
                (delta.index, delta.id) = self.shown(place);
            }
            Event::ToolCallCompleted(completed) => {
                if completed.name.is_empty() {
                    *event = Event::error(nameless());
                    return;
                }
                let completed = Arc::make_mut(completed);
                let place = self.place(completed.index, &completed.id);
                let (index, id) = self.shown(place);
                let empty = means_none(&completed.raw_arguments);
                if empty {
                    completed.arguments = None;
                }
                self.read(&mut completed.arguments, &mut completed.raw_arguments);
                if let Some(repaired) = self.calls.get_mut(place) {
                    repaired.empty = empty;
                }
                remember(
                    &mut completed.metadata,
                    ORIGINAL_ID,
                    completed.id.as_str(),
                    id.as_str(),
                );
                mend_name(&mut completed.name, &mut completed.metadata);
                completed.index = index;
                completed.id = id;
            }
            Event::MessageCompleted(completed) => {
                let completed = Arc::make_mut(completed);
                let cut = completed.finish_reason.is_some_and(FinishReason::is_cut);
                // Before anything else: an answer that is refused must not leave its ids taken.
                if has_nameless(&completed.message) {
                    *event = Event::error(nameless());
                    return;
                }
                self.message(&mut completed.message, cut);
                for call in &mut completed.message.tool_calls {
                    // What was cut off is not read.
                    if !call.incomplete || call.arguments.is_some() {
                        self.read(&mut call.arguments, &mut call.raw_arguments);
                    }
                }
            }
            _ => {}
        }
    }

    /// Repairs the ids and names of the calls of a whole message, all of them: the named ones of a failed answer stay in
    /// the conversation.
    pub(super) fn message(&mut self, message: &mut Message, cut: bool) {
        let last = message.tool_calls.len().checked_sub(1);
        for (place, call) in message.tool_calls.iter_mut().enumerate() {
            if place >= self.calls.len() {
                self.open(&call.id);
            }
            let (_, id) = self.shown(place);
            let empty = self.calls.get(place).is_some_and(|call| call.empty)
                || call.arguments.is_none() && means_none(&call.raw_arguments);
            Self::call(call, id);
            if cut && Some(place) == last && empty && !call.incomplete {
                call.arguments = None;
                call.raw_arguments = ByteString::new();
                call.incomplete = true;
            }
        }
    }

    fn call(call: &mut ToolCall, id: ToolCallId) {
        remember(
            &mut call.metadata,
            ORIGINAL_ID,
            call.id.as_str(),
            id.as_str(),
        );
        call.id = id;
        mend_name(&mut call.name, &mut call.metadata);
    }

    /// Reads the argument text of a call that an adapter left unread, and holds every call to the limits.
    fn read(&self, arguments: &mut Option<Arc<Map>>, raw: &mut ByteString) {
        if raw.len() > self.limits.max_bytes {
            *arguments = None;
        } else if arguments.is_none() {
            *arguments = read_arguments(raw, self.limits);
        }
    }

    /// The place of the call with this adapter index, opened if it is new.
    fn place(&mut self, index: u32, id: &ToolCallId) -> usize {
        match self.places.get(&index) {
            Some(place) => *place,
            None => {
                let place = self.open(id);
                self.places.insert(index, place);
                place
            }
        }
    }

    fn open(&mut self, id: &ToolCallId) -> usize {
        let place = self.calls.len();
        let id = if id.is_empty() || self.ids.contains(id) {
            self.free_id(place)
        } else {
            id.clone()
        };
        self.ids.insert(id.clone());
        if self.calls.is_empty() {
            self.calls.reserve(FIRST_CALLS);
        }
        self.calls.push(Repaired { id, empty: false });
        place
    }

    fn free_id(&self, place: usize) -> ToolCallId {
        let base = format!("allm-{}-{place}", self.turn);
        let mut id = ToolCallId::from(base.as_str());
        let mut suffix = 2_u32;
        while self.ids.contains(&id) {
            id = ToolCallId::from(format!("{base}-{suffix}"));
            suffix += 1;
        }
        id
    }

    /// The index and the id that everybody else sees.
    fn shown(&self, place: usize) -> (u32, ToolCallId) {
        let index = u32::try_from(place).unwrap_or(u32::MAX);
        let id = self.calls.get(place).map(|call| call.id.clone());
        (index, id.unwrap_or_else(|| ToolCallId::from("")))
    }
}

/// Keeps what a repair changed, once.
fn remember(metadata: &mut Map, key: &str, original: &str, now: &str) {
    if original != now && !original.is_empty() {
        metadata.entry(key).or_insert_with(|| original.into());
    }
}

/// Makes a name fit the name rule, and keeps what the model wrote.
fn mend_name(name: &mut ToolName, metadata: &mut Map) {
    if let Some(mended) = mended_name(name) {
        remember(metadata, ORIGINAL_NAME, name, &mended);
        *name = mended.into();
    }
}

/// The name by the name rule, 1 to 64 of `A-Z a-z 0-9 _ -`, if it is not by it already.
fn mended_name(name: &str) -> Option<String> {
    let keep = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() <= 64 && name.chars().all(keep) {
        return None;
    }
    let characters = name.chars().take(64);
    Some(characters.map(|c| if keep(c) { c } else { '_' }).collect())
}

/// Whether a call of the message has no name. No repair gives it one.
pub(super) fn has_nameless(message: &Message) -> bool {
    message.tool_calls.iter().any(|call| call.name.is_empty())
}

pub(super) fn nameless() -> Failure {
    let error = StreamError::new(
        StreamReason::MalformedEvent,
        "the model made a call without a tool's name",
    );
    Failure::from(Error::from(error))
}
