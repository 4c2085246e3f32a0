//! What models and tools do in these tests, said in a few words.
//!
//! A tool is what its name says: `m…` is manual, `g…` is gated by a person, `u…` does not exist, `x…` is at most once
//! (an intent is written first); `ask…` asks, one with `wonder` in its name asks and goes on with the answer (with
//! `wonder_twice`, after a second question), `halt…` ends the run, `fail…` reports an error, `boom…` fails under a
//! policy that halts. Any other gives "done".

use allm_core::run::{PolicyDecision, ToolOutcome};
use allm_core::{
    AdapterError, AdapterReason, CallFailure, CustomHalt, Effect, Error, Failure, FailureReason,
    FinishReason, Map, Message, Response, Tool, ToolCall, Usage,
};
use serde_json::{Value, json};

/// One answer of the model, or its absence.
#[derive(Clone)]
pub(crate) enum Answer {
    /// An answer, whole.
    Whole(Response),
    /// A part of an answer, then an error.
    Breaks(Response),
    /// No event at all.
    Refused,
}

/// Short, as a random test that fails shows many of them.
impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, response) = match self {
            Self::Whole(response) => ("whole", response),
            Self::Breaks(response) => ("breaks", response),
            Self::Refused => return f.write_str("refused"),
        };
        let calls = response.tool_calls().iter();
        let names: Vec<&str> = calls.map(|call| call.original_name()).collect();
        write!(f, "{kind} {names:?} {:?}", response.finish_reason)
    }
}

pub(crate) fn text(text: &str) -> Answer {
    Answer::Whole(text_response(text))
}

pub(crate) fn text_response(text: &str) -> Response {
    Response {
        finish_reason: Some(FinishReason::Stop),
        usage: Usage::io(10, 5),
        ..Response::new(Message::assistant(text))
    }
}

/// Calls of these tools with the ids `c0`, `c1` … and no arguments.
pub(crate) fn calls(names: &[&str]) -> Answer {
    Answer::Whole(call_response(names, "{}"))
}

pub(crate) fn call_response(names: &[&str], raw: &str) -> Response {
    let call = |(number, name): (usize, &&str)| ToolCall::new(format!("c{number}"), *name, raw);
    let calls = names.iter().enumerate().map(call).collect();
    Response {
        finish_reason: Some(FinishReason::ToolCalls),
        usage: Usage::io(20, 8),
        ..Response::new(Message::assistant("Let me see.").with_tool_calls(calls))
    }
}

/// The first words of an answer, then an error.
pub(crate) fn breaks(text: &str) -> Answer {
    Answer::Breaks(Response::new(Message::assistant(text)))
}

pub(crate) fn failure() -> Failure {
    let error = AdapterError::new("test", AdapterReason::RateLimited, "not now");
    Failure::from(Error::from(error))
}

pub(crate) fn effect_of(name: &str) -> Effect {
    match name.chars().next() {
        Some('x' | 'g') => Effect::AtMostOnce,
        _ => Effect::Pure,
    }
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name, "", json!({"type": "object"})).effect(effect_of(name))
}

/// What a tool does, by its name and by what a person has answered it.
pub(crate) fn outcome_of(name: &str, answer: Option<&allm_core::Answer>) -> ToolOutcome {
    if name.contains("wonder") {
        wonders(name, answer)
    } else if name.starts_with("ask") {
        asks(&format!("What about {name}?"))
    } else if name.starts_with("halt") {
        ToolOutcome::Halted {
            reason: CustomHalt::new("enough").unwrap(),
            value: json!({"plan": 1}),
            content: "{\"plan\":1}".to_owned(),
        }
    } else if name.starts_with("fail") {
        ToolOutcome::failed(CallFailure::new(FailureReason::Reported, "no such row"))
    } else if name.starts_with("boom") {
        let failure = CallFailure::new(FailureReason::HandlerRaised, "the tool `boom` crashed");
        ToolOutcome::Failed {
            content: failure.to_content(),
            failure,
            decision: PolicyDecision::Halt { exception: None },
        }
    } else {
        ToolOutcome::replied("done", "done")
    }
}

fn wonders(name: &str, answer: Option<&allm_core::Answer>) -> ToolOutcome {
    let asked = answer.map_or(0, |answer| {
        let state = answer.state.as_ref().expect("its own state");
        assert_eq!(state["tool"], name, "it is its own");
        state["asked"].as_u64().unwrap()
    });
    let wanted = 1 + u64::from(name.contains("twice"));
    match answer {
        Some(answer) if asked == wanted => {
            let content = format!("done with {}", answer.text());
            ToolOutcome::replied(content.as_str(), content.as_str())
        }
        _ => ToolOutcome::AskedToGoOn {
            question: format!("What about {name}, {asked}?"),
            opts: map(json!({"schema": {"type": "string"}})),
            state: Some(json!({"tool": name, "asked": asked + 1})),
        },
    }
}

pub(crate) fn asks(question: &str) -> ToolOutcome {
    ToolOutcome::Asked {
        question: question.to_owned(),
        opts: Map::new(),
    }
}

pub(crate) fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}
