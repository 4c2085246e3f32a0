//! A conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::Map;
use super::content::Content;
use super::id::ToolCallId;
use super::message::{Message, Role};
use super::messages::Messages;

/// A conversation: its messages in order. Cheap to clone, history is shared and never copied.
///
/// A thread is *sendable* when every call of every assistant message is answered exactly once directly after it, and no
/// tool message stands elsewhere; see [`validate::sendable`](crate::validate::sendable).
///
/// ```
/// use allm_core::{Message, Thread};
///
/// let thread = Thread::new().with(Message::system("Be brief.")).with(Message::user("Hi"));
/// assert_eq!(thread.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// The messages.
    #[serde(default, skip_serializing_if = "Messages::is_empty")]
    pub messages: Messages,
    /// The caller's own; never sent.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

impl Thread {
    /// An empty conversation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The last message.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.messages.last()
    }

    /// This conversation with one more message, by the rule of [`push`](Self::push).
    #[must_use]
    pub fn with(mut self, message: impl Into<Arc<Message>>) -> Self {
        self.push(message);
        self
    }

    /// This conversation with one more message of the person.
    #[must_use]
    pub fn with_user(self, content: impl Into<Content>) -> Self {
        self.with(Message::user(content))
    }

    /// Adds a message.
    ///
    /// A tool message goes into the block of the latest assistant message with an unanswered call of its id, at that
    /// call's place, so that answering after a question works. Any other message, and a tool message that answers
    /// nothing, goes to the end.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        let message = message.into();
        let place = match (&message.role, &message.tool_call_id) {
            (Role::Tool, Some(id)) => self.place_of_answer(id),
            _ => None,
        };
        match place {
            Some(place) => self.messages.insert(place, message),
            None => self.messages.push(message),
        }
    }

    /// Where the answer to the latest unanswered call of this id belongs.
    fn place_of_answer(&self, id: &ToolCallId) -> Option<usize> {
        for (position, message) in self.messages.iter().enumerate().rev() {
            if message.tool_calls.iter().all(|call| call.id != *id) {
                continue;
            }
            if let Some(end) = self.end_of_answers(position, message, id) {
                return Some(end);
            }
            let block = Block::after(self, position, message);
            if block.answers(id)
                < message
                    .tool_calls
                    .iter()
                    .filter(|call| call.id == *id)
                    .count()
            {
                return Some(block.place_for(id));
            }
        }
        None
    }

    /// The place behind the answers of a message, if those answer calls before the one of this id, in call order: how
    /// results come as a rule, and found without a list of them being made.
    fn end_of_answers(&self, position: usize, message: &Message, id: &ToolCallId) -> Option<usize> {
        let mut before = message.tool_calls.iter().take_while(|call| call.id != *id);
        let mut end = position + 1;
        for answer in self.messages.iter_from(end) {
            if answer.role != Role::Tool {
                break;
            }
            let answered = answer.tool_call_id.as_ref()?;
            before.find(|call| call.id == *answered)?;
            end += 1;
        }
        Some(end)
    }
}

/// An assistant message with calls and the tool messages directly after it.
struct Block<'a> {
    start: usize,
    /// The place of each call id among the calls.
    ranks: BTreeMap<&'a ToolCallId, usize>,
    answers: Vec<&'a ToolCallId>,
}

impl<'a> Block<'a> {
    fn after(thread: &'a Thread, position: usize, message: &'a Message) -> Self {
        let start = position + 1;
        let answers = thread
            .messages
            .iter_from(start)
            .take_while(|message| message.role == Role::Tool)
            .filter_map(|message| message.tool_call_id.as_ref())
            .collect();
        let mut ranks = BTreeMap::new();
        ranks.extend(message.tool_calls.iter().map(|call| &call.id).zip(0..));
        Self {
            start,
            ranks,
            answers,
        }
    }

    fn answers(&self, id: &ToolCallId) -> usize {
        self.answers.iter().filter(|answer| **answer == id).count()
    }

    /// Behind the answers to all calls that come before this one.
    fn place_for(&self, id: &ToolCallId) -> usize {
        let own = self.ranks.get(id);
        let later = self
            .answers
            .iter()
            .position(|answer| self.ranks.get(answer) > own);
        self.start + later.unwrap_or(self.answers.len())
    }
}

impl From<&str> for Thread {
    fn from(text: &str) -> Self {
        Self::new().with_user(text)
    }
}

impl From<String> for Thread {
    fn from(text: String) -> Self {
        Self::new().with_user(text)
    }
}

impl From<Message> for Thread {
    fn from(message: Message) -> Self {
        Self::new().with(message)
    }
}

impl From<Vec<Message>> for Thread {
    fn from(messages: Vec<Message>) -> Self {
        Self {
            messages: messages.into(),
            metadata: Map::new(),
        }
    }
}

impl From<Messages> for Thread {
    fn from(messages: Messages) -> Self {
        Self {
            messages,
            metadata: Map::new(),
        }
    }
}
