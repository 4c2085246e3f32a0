//! A scripted conversation: what a model says and what its tools reply, turn by turn.

use allm_core::run::{Command, Input, Run, RunOptions, RunSetup, ToolOutcome};
use allm_core::{
    Event, FinishReason, Hash, Message, Response, Thread, Tool, ToolCall, ToolCallDelta, Usage,
};
use bytes::Bytes;
use bytestring::ByteString;
use serde_json::json;

/// How many calls each scripted answer makes, unless told otherwise.
const CALLS: u32 = 3;

/// Which run is driven, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hashing {
    /// The state is hashed after each input, as a journal does.
    EachInput,
    /// Never.
    Not,
}

/// A run with three tools that may go on for `turns` turns.
pub(crate) fn started(turns: u32) -> Run {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}});
    let tool = |name: &str| Tool::new(name, "Reads a part of a file.", schema.clone());
    let setup = RunSetup {
        tools: vec![tool("read"), tool("search"), tool("list")],
        options: RunOptions {
            max_turns: turns,
            ..RunOptions::default()
        },
        ..RunSetup::new(Thread::from("Find out why the build fails."))
    };
    Run::start(setup).expect("settings").run
}

/// The inputs of one turn: an answer with three calls, and what they came to.
pub(crate) fn turn(turn: u32) -> Vec<Input> {
    turn_of(turn, CALLS)
}

/// The same with this many calls.
pub(crate) fn turn_of(turn: u32, calls: u32) -> Vec<Input> {
    let call = |index: u32| {
        let name = ["read", "search", "list"]
            .get(index as usize % 3)
            .copied()
            .unwrap_or("read");
        let arguments = format!(r#"{{"path":"src/part_{index:02}.rs","line":{:06}}}"#, turn);
        ToolCall::new(format!("call-{turn:06}-{index}"), name, arguments)
    };
    let message = Message::assistant(format!("I look at three more files, in turn {turn:06}."))
        .with_tool_calls((0..calls).map(call).collect());
    let answer = Response {
        finish_reason: Some(FinishReason::ToolCalls),
        usage: Usage::io(1000, 100),
        ..Response::new(message)
    };
    let reply = |index: u32| {
        let content = format!("{:06}: fn part_{index:02}() {{ todo!() }}", turn);
        Input::tool_done(
            index,
            ToolOutcome::replied(content.as_str(), content.clone()),
        )
    };
    let replies = (0..calls).map(reply);
    std::iter::once(Input::responded(answer))
        .chain(replies)
        .collect()
}

/// Drives one turn: asks for each command, gives each input. The last hash is given back.
pub(crate) fn drive(run: &mut Run, inputs: Vec<Input>, hashing: Hashing) -> Option<Hash> {
    let mut hash = None;
    for input in inputs {
        let command = run.command();
        assert!(!matches!(command, Command::Finish), "the run goes on");
        run.apply(input).expect("the machine waits for it");
        if hashing == Hashing::EachInput {
            hash = run.state_hash().ok();
        }
    }
    hash
}

/// The run after this many turns.
pub(crate) fn driven(turns: u32) -> Run {
    let mut run = started(turns + 1);
    for number in 0..turns {
        drive(&mut run, turn(number), Hashing::Not);
    }
    run
}

/// A conversation of about this many messages, a quarter of them with three calls.
pub(crate) fn thread(messages: usize) -> Thread {
    let turns = messages.div_ceil(4);
    driven(u32::try_from(turns).expect("a bench's size"))
        .thread()
        .clone()
}

/// The 20 bytes of each delta.
const PIECE: &str = "twenty bytes of text";

/// Slices of one frame, as a provider's stream hands them out.
pub(crate) fn pieces(count: usize) -> impl Iterator<Item = ByteString> {
    let frame = Bytes::from(PIECE.repeat(64));
    (0..count).map(move |number| {
        let start = number % 64 * PIECE.len();
        let slice = frame.slice(start..start + PIECE.len());
        ByteString::try_from(slice).expect("text")
    })
}

/// A piece of the arguments of a call.
pub(crate) fn call_delta(index: u32, piece: ByteString) -> Event {
    Event::ToolCallDelta(ToolCallDelta {
        index,
        id: format!("call-{index}").into(),
        arguments_delta: piece,
    })
}
