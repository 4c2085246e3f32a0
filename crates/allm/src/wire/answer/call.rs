//! The calls of an answer.

use std::sync::Arc;

use allm_core::{
    Event, Map, Opaque, ToolCall, ToolCallCompleted, ToolCallDelta, ToolCallId, ToolCallStarted,
    ToolName,
};
use bytestring::ByteString;

use super::Answer;

/// Which call of an answer, by the order of first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallAt(pub(super) usize);

/// Most arguments find room in it.
const FIRST_ROOM: usize = 64;

/// A call of the answer.
pub(super) struct CallSlot {
    pub(super) place: u64,
    id: Option<ToolCallId>,
    name: Option<ToolName>,
    /// What has come of the argument text, until it is known to be all of it.
    arguments: String,
    /// All of it.
    whole: Option<ByteString>,
    opaque: Option<Box<Opaque>>,
    /// Pieces that wait until the call can be announced.
    held: Vec<ByteString>,
    announced: bool,
    /// Whether the wire said that it is whole.
    complete: bool,
    /// As it was told when it was completed.
    told: Option<ToolCall>,
}

impl CallSlot {
    fn id(&self) -> ToolCallId {
        self.id.clone().unwrap_or_else(|| "".into())
    }

    fn name(&self) -> ToolName {
        self.name.clone().unwrap_or_else(|| "".into())
    }

    /// The call as it stands, with so many content parts before it. The arguments of one that was told are not read again.
    pub(super) fn into_call(mut self, at: Option<u32>) -> ToolCall {
        let mut call = self.told.take().unwrap_or_else(|| self.call_so_far());
        call.id = self.id();
        call.name = self.name();
        call.wire_id = self.id;
        call.at = at;
        call.opaque = self.opaque;
        call
    }

    fn call_so_far(&mut self) -> ToolCall {
        let (id, name) = (self.id(), self.name());
        let arguments = std::mem::take(&mut self.arguments);
        let arguments = self.whole.get_or_insert_with(|| arguments.into()).clone();
        if self.complete {
            ToolCall::new(id, name, arguments)
        } else {
            ToolCall::cut_off(id, name, arguments)
        }
    }
}

impl Answer {
    /// Opens a call. `place` orders parts and calls where the wire numbers them.
    pub(crate) fn call(&mut self, place: Option<u64>) -> CallAt {
        self.begin();
        let place = self.place(place);
        self.calls.push(CallSlot {
            place,
            id: None,
            name: None,
            arguments: String::new(),
            whole: None,
            opaque: None,
            held: Vec::new(),
            announced: false,
            complete: false,
            told: None,
        });
        CallAt(self.calls.len() - 1)
    }

    /// The call's id; the first that is not empty counts.
    pub(crate) fn call_id(&mut self, at: CallAt, id: &str) {
        if let Some(slot) = self.calls.get_mut(at.0)
            && slot.id.is_none()
            && !id.is_empty()
        {
            slot.id = Some(id.into());
            self.announce(at, false);
        }
    }

    /// No id will come: the call is announced without one.
    pub(crate) fn call_without_id(&mut self, at: CallAt) {
        self.announce(at, true);
    }

    /// The tool's name; the first that is not empty counts.
    pub(crate) fn call_name(&mut self, at: CallAt, name: &str) {
        if let Some(slot) = self.calls.get_mut(at.0)
            && slot.name.is_none()
            && !name.is_empty()
        {
            slot.name = Some(name.into());
            self.announce(at, false);
        }
    }

    pub(crate) fn call_id_of(&self, at: CallAt) -> Option<&str> {
        self.calls.get(at.0)?.id.as_ref().map(|id| id.as_str())
    }

    /// What the call has of arguments so far.
    pub(crate) fn arguments_of(&self, at: CallAt) -> &str {
        self.calls.get(at.0).map_or("", |slot| match &slot.whole {
            Some(whole) => whole,
            None => &slot.arguments,
        })
    }

    /// A piece of the argument text. Empty pieces are nothing.
    pub(crate) fn arguments(&mut self, at: CallAt, delta: ByteString) {
        let Some(slot) = self.calls.get_mut(at.0) else {
            return;
        };
        if delta.is_empty() || slot.complete {
            return;
        }
        if slot.arguments.capacity() == 0 {
            slot.arguments.reserve(FIRST_ROOM);
        }
        slot.arguments.push_str(&delta);
        if slot.announced {
            let event = ToolCallDelta {
                index: index(at),
                id: slot.id(),
                arguments_delta: delta,
            };
            self.events.push_back(Event::ToolCallDelta(event));
        } else {
            slot.held.push(delta);
        }
    }

    /// The whole argument text, which beats the pieces; what goes beyond them is a last piece.
    pub(crate) fn settle_arguments(&mut self, at: CallAt, whole: &str) {
        let so_far = self.arguments_of(at);
        if let Some(rest) = whole.strip_prefix(so_far) {
            let rest = ByteString::from(rest);
            return self.arguments(at, rest);
        }
        if let Some(slot) = self.calls.get_mut(at.0) {
            match &mut slot.whole {
                Some(known) => *known = whole.into(),
                None => whole.clone_into(&mut slot.arguments),
            }
            if slot.told.is_some() {
                slot.told = Some(slot.call_so_far());
            }
        }
    }

    /// What the provider wants back with a call.
    pub(crate) fn call_opaque(&mut self, at: CallAt, opaque: Opaque) {
        if let Some(slot) = self.calls.get_mut(at.0) {
            slot.opaque = Some(Box::new(opaque));
        }
    }

    /// The call is whole.
    pub(crate) fn complete_call(&mut self, at: CallAt) {
        if let Some(slot) = self.calls.get_mut(at.0) {
            slot.complete = true;
            self.tell_call(at);
        }
    }

    /// At the end of the answer: a call that the wire left open is whole, unless the answer was cut.
    pub(super) fn close_call(&mut self, at: CallAt, cut: bool) {
        let Some(slot) = self.calls.get_mut(at.0) else {
            return;
        };
        if !slot.complete && !cut {
            slot.complete = true;
        }
        self.tell_call(at);
    }

    /// Announces a call when its name and id are known, or at the latest when it ends.
    fn announce(&mut self, at: CallAt, at_last: bool) {
        let Some(slot) = self.calls.get_mut(at.0) else {
            return;
        };
        let known = slot.name.is_some() && slot.id.is_some();
        if slot.announced || !(known || at_last) {
            return;
        }
        slot.announced = true;
        let (index, id) = (index(at), slot.id());
        self.events
            .push_back(Event::ToolCallStarted(ToolCallStarted {
                index,
                id: id.clone(),
                name: slot.name(),
            }));
        for arguments_delta in std::mem::take(&mut slot.held) {
            self.events.push_back(Event::ToolCallDelta(ToolCallDelta {
                index,
                id: id.clone(),
                arguments_delta,
            }));
        }
    }

    fn tell_call(&mut self, at: CallAt) {
        self.announce(at, true);
        let Some(slot) = self.calls.get_mut(at.0) else {
            return;
        };
        if slot.told.is_some() || !slot.complete {
            return;
        }
        let call = slot.call_so_far();
        let event = ToolCallCompleted {
            index: index(at),
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            raw_arguments: call.raw_arguments.clone(),
            metadata: Map::new(),
        };
        slot.told = Some(call);
        self.events
            .push_back(Event::ToolCallCompleted(Arc::new(event)));
    }
}

fn index(at: CallAt) -> u32 {
    u32::try_from(at.0).unwrap_or(u32::MAX)
}
