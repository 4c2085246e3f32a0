//! A conversation as wires see it: results stand with the calls that they answer, in call order.

use allm_core::{Message, Messages, Part, Role, ToolCall};

/// One step of a conversation.
#[derive(Debug)]
pub(crate) enum Turn<'a> {
    /// A message without calls. A tool message here answers no call.
    Message(Said<'a>),
    /// An assistant message with calls, and what they gave.
    Calls {
        said: Said<'a>,
        /// In call order, whatever their order in the thread.
        results: Vec<CallResult<'a>>,
    },
}

/// A message and its place in the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) index: usize,
    pub(crate) message: &'a Message,
}

/// The result of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallResult<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) message: &'a Message,
}

/// One thing that an assistant said or did.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Block<'a> {
    /// A part, with its place in the content.
    Part(usize, &'a Part),
    /// A call, with its place among the calls.
    Call(usize, &'a ToolCall),
}

impl Turn<'_> {
    /// The place of its first message.
    pub(crate) fn index(&self) -> usize {
        match self {
            Self::Message(said) | Self::Calls { said, .. } => said.index,
        }
    }

    /// Whether it stands on its own. A result that answers nothing belongs to what was before it.
    pub(crate) fn begins(&self) -> bool {
        match self {
            Self::Message(said) => said.message.role != Role::Tool,
            Self::Calls { .. } => true,
        }
    }
}

/// A conversation in turns.
pub(crate) fn turns(messages: &Messages) -> Vec<Turn<'_>> {
    turns_from(messages, 0)
}

/// The turns from this message on, with which one begins.
pub(crate) fn turns_from(messages: &Messages, first: usize) -> Vec<Turn<'_>> {
    let mut turns = Vec::with_capacity(messages.len().saturating_sub(first));
    let mut list = (first..)
        .zip(messages.iter_from(first).map(|message| &**message))
        .peekable();
    while let Some((index, message)) = list.next() {
        let said = Said { index, message };
        if message.role != Role::Assistant || message.tool_calls.is_empty() {
            turns.push(Turn::Message(said));
            continue;
        }
        // Several results of one id are counted off against the calls of that id.
        let mut answers: Vec<Option<CallResult<'_>>> = vec![None; message.tool_calls.len()];
        let mut strays = Vec::new();
        while let Some((index, message)) = list.next_if(|(_, next)| next.role == Role::Tool) {
            let open = said.message.tool_calls.iter().zip(&mut answers);
            let free = open
                .filter(|(call, _)| Some(&call.id) == message.tool_call_id.as_ref())
                .find(|(_, answer)| answer.is_none());
            match free {
                Some((call, answer)) => {
                    *answer = Some(CallResult { call, message });
                }
                None => strays.push(Turn::Message(Said { index, message })),
            }
        }
        let results = answers.into_iter().flatten().collect();
        turns.push(Turn::Calls { said, results });
        turns.extend(strays);
    }
    turns
}

/// What an assistant said and did, in the original order.
pub(crate) fn blocks(message: &Message) -> Vec<Block<'_>> {
    let mut blocks = Vec::with_capacity(message.content.len() + message.tool_calls.len());
    let mut calls = message.tool_calls.iter().enumerate().peekable();
    let place = |call: &ToolCall| {
        call.at
            .map_or(usize::MAX, |at| usize::try_from(at).unwrap_or(usize::MAX))
    };
    for (index, part) in message.content.iter().enumerate() {
        while let Some((number, call)) = calls.next_if(|(_, call)| place(call) <= index) {
            blocks.push(Block::Call(number, call));
        }
        blocks.push(Block::Part(index, part));
    }
    blocks.extend(calls.map(|(number, call)| Block::Call(number, call)));
    blocks
}

#[cfg(test)]
mod tests {
    use allm_core::Thread;

    use super::*;

    fn call(id: &str, at: Option<u32>) -> ToolCall {
        ToolCall {
            at,
            ..ToolCall::new(id, "look", "{}")
        }
    }

    #[test]
    fn p96_results_stand_in_call_order() {
        let calls = vec![call("a", None), call("b", None), call("c", None)];
        let messages: Messages = vec![
            Message::user("hi"),
            Message::assistant("").with_tool_calls(calls),
            Message::tool_result("c", "3"),
            Message::tool_result("a", "1"),
            Message::tool_result("x", "of no call"),
            Message::tool_result("b", "2"),
            Message::user("so?"),
        ]
        .into();
        let turns = turns(&messages);
        let [
            Turn::Message(first),
            Turn::Calls { said, results },
            Turn::Message(stray),
            Turn::Message(last),
        ] = &turns[..]
        else {
            panic!("{turns:?}")
        };
        assert_eq!(
            (first.index, said.index, stray.index, last.index),
            (0, 1, 4, 6)
        );
        let order: Vec<_> = results
            .iter()
            .map(|result| (result.call.id.as_str(), result.message.text()))
            .collect();
        assert_eq!(
            order,
            [("a", "1".into()), ("b", "2".into()), ("c", "3".into())]
        );
    }

    /// C35: an id used again belongs to the turn directly before.
    #[test]
    fn c35_an_id_used_again() {
        let thread = Thread::from(vec![
            Message::assistant("").with_tool_calls(vec![call("a", None)]),
            Message::tool_result("a", "1"),
            Message::assistant("").with_tool_calls(vec![call("a", None)]),
            Message::tool_result("a", "2"),
        ]);
        let turns = turns(&thread.messages);
        let texts: Vec<_> = turns
            .iter()
            .filter_map(|turn| match turn {
                Turn::Calls { results, .. } => Some(results.first()?.message.text()),
                Turn::Message(_) => None,
            })
            .collect();
        assert_eq!(texts, ["1", "2"]);
    }

    #[test]
    fn c16_the_original_order() {
        let message = Message {
            content: vec![Part::text("1"), Part::text("2")],
            tool_calls: vec![call("a", Some(1)), call("b", None)],
            ..Message::assistant("")
        };
        let order: Vec<String> = blocks(&message)
            .into_iter()
            .map(|block| match block {
                Block::Part(_, part) => part.as_text().unwrap_or_default().to_owned(),
                Block::Call(_, call) => call.id.to_string(),
            })
            .collect();
        assert_eq!(order, ["1", "a", "2", "b"]);
    }
}
