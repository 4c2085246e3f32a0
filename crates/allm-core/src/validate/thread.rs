//! The order of the messages.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::faults::{Check, Faults, Place};
use super::message;
use crate::data::{Message, Messages, Role, Thread, ToolCallId};
use crate::error::{Fault, FaultCode, ValidationError};
use crate::path::Path;

const MESSAGES: &str = "messages";

/// Checks a conversation as data: each message alone.
///
/// A conversation that is empty or waits for results is good data; whether it can be sent is for [`sendable`] to say.
///
/// # Errors
///
/// `invalid_message` or `invalid_thread`, with paths such as `messages[2].content[0]`.
pub fn thread(thread: &Thread) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    for (index, message) in thread.messages.iter().enumerate() {
        message::check(message, Place::Entry(MESSAGES, index), None, &mut faults);
    }
    faults.finish()
}

/// Checks that a conversation can be sent as far as its order goes.
///
/// There is a message; every call of an assistant message is answered exactly once, by the tool messages directly after
/// it and in any order among them; and no tool message stands elsewhere. Only the assistant message directly before
/// counts, so an id may be used again in a later turn.
///
/// # Errors
///
/// `invalid_thread`, with paths such as `messages[2].tool_calls[0]`.
pub fn sendable(messages: &Messages) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::Tool {
            message::answered_call(message, Place::Entry(MESSAGES, index), &mut faults);
        }
    }
    order(messages, 0, &mut faults);
    faults.finish()
}

/// A call without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The place of its message in the conversation.
    pub message: usize,
    /// Its place among the calls of that message.
    pub index: usize,
    /// Its id.
    pub id: ToolCallId,
}

/// The calls of the last assistant message with calls that are not answered directly after it, in call order.
///
/// It looks no further back than that message, so its cost does not grow with the conversation.
#[must_use]
pub fn open_calls(messages: &Messages) -> Vec<OpenCall> {
    let last = messages
        .iter()
        .enumerate()
        .rev()
        .find(|(_, message)| message.role == Role::Assistant && !message.tool_calls.is_empty());
    let Some((position, message)) = last else {
        return Vec::new();
    };
    let mut block = Block::begin(position, message);
    let answers = messages.iter_from(position + 1);
    for answer in answers.take_while(|message| message.role == Role::Tool) {
        if let Some(id) = named_call(answer) {
            block.answer(id);
        }
    }
    block
        .unanswered()
        .into_iter()
        .map(|(index, id)| OpenCall {
            message: position,
            index,
            id: id.clone(),
        })
        .collect()
}

/// Checks that there are messages, and their order, of which the first so many were right before others that may have been
/// different. A tool message that names no call is left to the check of messages.
pub(super) fn order(messages: &Messages, right: usize, faults: &mut Faults) {
    if messages.is_empty() {
        faults.add(Check::NoMessages, MESSAGES, FaultCode::Empty);
    }
    // Needed only to tell a result in the wrong place from one of no call at all.
    let called = OnceCell::new();
    let mut block = Block::default();
    // What comes now may belong to the last block of what was right.
    let begins = |index: &usize| messages.get(*index).is_some_and(|it| it.role != Role::Tool);
    let first = (0..right).rev().find(begins).unwrap_or_default();
    for (index, message) in (first..).zip(messages.iter_from(first)) {
        if message.role != Role::Tool {
            std::mem::replace(&mut block, Block::begin(index, message)).close(faults);
            continue;
        }
        let Some(id) = named_call(message) else {
            continue;
        };
        let code = match block.answer(id) {
            Answer::First => continue,
            Answer::Further => FaultCode::DuplicateToolResult,
            Answer::OfNoCall if called.get_or_init(|| all_calls(messages)).contains(id) => {
                FaultCode::MisplacedToolResult
            }
            Answer::OfNoCall => FaultCode::OrphanToolResult,
        };
        let path = Place::Entry(MESSAGES, index).path();
        block.strays.push(Fault::new(path, code));
    }
    block.close(faults);
}

fn all_calls(messages: &Messages) -> HashSet<&ToolCallId> {
    messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .flat_map(|message| &message.tool_calls)
        .map(|call| &call.id)
        .collect()
}

/// The call that a tool message answers; an empty id names none.
fn named_call(message: &Message) -> Option<&ToolCallId> {
    message.tool_call_id.as_ref().filter(|id| !id.is_empty())
}

/// A message and the tool messages directly after it.
#[derive(Default)]
struct Block<'a> {
    start: usize,
    /// The unanswered calls of each id, the first one last. An id that a message has twice is a fault of the message;
    /// here its answers are counted off against its calls.
    open: HashMap<&'a ToolCallId, Vec<usize>>,
    strays: Vec<Fault>,
}

enum Answer {
    First,
    Further,
    OfNoCall,
}

impl<'a> Block<'a> {
    fn begin(start: usize, message: &'a Message) -> Self {
        let mut open: HashMap<_, Vec<_>> = HashMap::new();
        if message.role == Role::Assistant {
            for (index, call) in message.tool_calls.iter().enumerate().rev() {
                open.entry(&call.id).or_default().push(index);
            }
        }
        Self {
            start,
            open,
            strays: Vec::new(),
        }
    }

    fn answer(&mut self, id: &ToolCallId) -> Answer {
        match self.open.get_mut(id).map(Vec::pop) {
            Some(Some(_)) => Answer::First,
            Some(None) => Answer::Further,
            None => Answer::OfNoCall,
        }
    }

    /// The calls without an answer, in call order.
    fn unanswered(&self) -> Vec<(usize, &'a ToolCallId)> {
        let mut calls: Vec<_> = self
            .open
            .iter()
            .flat_map(|(id, indices)| indices.iter().map(|index| (*index, *id)))
            .collect();
        calls.sort_unstable_by_key(|(index, _)| *index);
        calls
    }

    fn close(self, faults: &mut Faults) {
        for (call, _) in self.unanswered() {
            let path = Path::from(MESSAGES)
                .index(self.start)
                .field("tool_calls")
                .index(call);
            faults.add(Check::Order, path, FaultCode::UnansweredToolCall);
        }
        for fault in self.strays {
            faults.put(Check::Order, fault);
        }
    }
}
