//! The calls of an answer, told apart by their index.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::data::{
    ToolCall, ToolCallCompleted, ToolCallDelta, ToolCallId, ToolCallStarted, ToolName,
};

#[derive(Clone, Debug)]
struct Call {
    index: u32,
    id: ToolCallId,
    /// `None` until it was told.
    name: Option<ToolName>,
    raw: String,
    whole: Option<Arc<ToolCallCompleted>>,
}

/// Most arguments find room in it.
const FIRST_ROOM: usize = 64;

/// The calls in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    places: BTreeMap<u32, usize>,
}

impl Calls {
    pub(super) fn start(&mut self, event: &ToolCallStarted) {
        self.at(event.index, &event.id, Some(&event.name));
    }

    pub(super) fn append(&mut self, event: &ToolCallDelta) {
        let is_latest = |call: &Call| call.index == event.index;
        let call = if self.calls.last().is_some_and(is_latest) {
            self.calls.last_mut()
        } else {
            self.at(event.index, &event.id, None)
        };
        if let Some(call) = call {
            if call.raw.capacity() == 0 {
                call.raw.reserve(FIRST_ROOM);
            }
            call.raw.push_str(&event.arguments_delta);
        }
    }

    pub(super) fn complete(&mut self, event: &Arc<ToolCallCompleted>) {
        if let Some(call) = self.at(event.index, &event.id, Some(&event.name)) {
            call.whole = Some(Arc::clone(event));
        }
    }

    /// The call with this index, opened if it is new.
    fn at(&mut self, index: u32, id: &ToolCallId, name: Option<&ToolName>) -> Option<&mut Call> {
        let place = *self.places.entry(index).or_insert(self.calls.len());
        if place == self.calls.len() {
            self.calls.push(Call {
                index,
                id: id.clone(),
                name: name.cloned(),
                raw: String::new(),
                whole: None,
            });
        }
        self.calls.get_mut(place)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The calls; one that was not completed is malformed and keeps its text.
    pub(super) fn to_calls(&self) -> Vec<ToolCall> {
        let call = |call: &Call| match &call.whole {
            Some(whole) => {
                let (id, name) = (whole.id.clone(), whole.name.clone());
                ToolCall {
                    arguments: whole.arguments.clone(),
                    metadata: whole.metadata.clone(),
                    ..ToolCall::unread(id, name, whole.raw_arguments.clone())
                }
            }
            None => {
                let name = call.name.clone().unwrap_or_else(|| "".into());
                ToolCall::cut_off(call.id.clone(), name, &*call.raw)
            }
        };
        self.calls.iter().map(call).collect()
    }
}
