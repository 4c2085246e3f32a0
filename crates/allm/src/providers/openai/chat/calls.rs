//! Which call a piece belongs to.

use bytestring::ByteString;

use super::chunk::{CallDelta, Function};
use crate::wire::answer::{Answer, CallAt};

/// Most answers make no more calls.
const FIRST_CALLS: usize = 8;

/// The calls of an answer as the wire numbers them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<(Option<u64>, CallAt)>,
    /// The one call of the form before `tool_calls`.
    legacy: Option<CallAt>,
}

impl Calls {
    /// Takes a piece of a call; in a whole message each entry is a call of its own.
    pub(super) fn push(
        &mut self,
        piece: &CallDelta<'_>,
        whole: bool,
        frame: &ByteString,
        answer: &mut Answer,
    ) {
        let nothing = Function::default();
        let function = piece.function.0.as_ref().unwrap_or(&nothing);
        let known = if whole {
            None
        } else {
            self.find(piece, function, answer)
        };
        let at = match known {
            Some(at) => at,
            None if !whole && says_nothing(piece, function) => return,
            None => {
                let at = answer.call(None);
                if self.list.is_empty() {
                    self.list.reserve(FIRST_CALLS);
                }
                self.list.push((piece.index.0, at));
                at
            }
        };
        fill(at, piece.id.str(), function, frame, answer);
    }

    /// The call that a piece goes on with.
    pub(super) fn find(
        &self,
        piece: &CallDelta<'_>,
        function: &Function<'_>,
        answer: &Answer,
    ) -> Option<CallAt> {
        let id = piece.id.get();
        if let Some(index) = piece.index.0 {
            let at = self.newest(index)?;
            let other = match (id, answer.call_id_of(at)) {
                (Some(id), Some(known)) => id != known,
                _ => false,
            };
            return (!other).then_some(at);
        }
        match id {
            Some(id) => self
                .list
                .iter()
                .rev()
                .map(|(_, at)| *at)
                .find(|at| answer.call_id_of(*at) == Some(id)),
            None if function.name.get().is_some() => None,
            None => self.list.last().map(|(_, at)| *at),
        }
    }

    /// The call that came last under an index.
    pub(super) fn newest(&self, index: u64) -> Option<CallAt> {
        let same = |(known, _): &&(Option<u64>, CallAt)| *known == Some(index);
        self.list.iter().rev().find(same).map(|(_, at)| *at)
    }

    /// The form before `tool_calls`.
    pub(super) fn legacy(
        &mut self,
        function: &Function<'_>,
        frame: &ByteString,
        answer: &mut Answer,
    ) {
        if function.name.get().is_none() && function.arguments.0.get().is_none() {
            return;
        }
        let at = *self.legacy.get_or_insert_with(|| answer.call(None));
        fill(at, "", function, frame, answer);
    }

    /// At the end of a cut answer: the calls that had come to their own end before.
    pub(super) fn settle(&self, answer: &mut Answer) {
        let all: Vec<CallAt> = self
            .list
            .iter()
            .map(|(_, at)| *at)
            .chain(self.legacy)
            .collect();
        let Some((last, before)) = all.split_last() else {
            return;
        };
        let is_object = |at: CallAt, answer: &Answer| {
            serde_json::from_str::<allm_core::Map>(answer.arguments_of(at)).is_ok()
        };
        for at in before {
            if answer.arguments_of(*at).is_empty() || is_object(*at, answer) {
                answer.complete_call(*at);
            }
        }
        if is_object(*last, answer) {
            answer.complete_call(*last);
        }
    }
}

fn says_nothing(piece: &CallDelta<'_>, function: &Function<'_>) -> bool {
    piece.id.get().is_none()
        && function.name.get().is_none()
        && function.arguments.0.get().is_none()
}

fn fill(at: CallAt, id: &str, function: &Function<'_>, frame: &ByteString, answer: &mut Answer) {
    answer.call_id(at, id);
    answer.call_name(at, function.name.str());
    answer.arguments(at, function.arguments.0.slice_of(frame));
}
