//! The scenarios as answers of the Messages API.

use allm_conformance::CannotExpress;
use allm_conformance::adapter::{
    ARGUMENTS, KEY, MALFORMED, OTHER_ARGUMENTS, PARTIAL, Scenario, TEXT, THOUGHT, TOOL,
};
use serde_json::{Value, json};

use super::frames;
use super::server::Answer;

pub(crate) fn says(scenario: Scenario) -> Result<Answer, CannotExpress> {
    let io = |input: u64, output: u64| json!({"input_tokens": input, "output_tokens": output});
    let some = io(3, 2);
    Ok(match scenario {
        Scenario::Text => whole(&[text(&[TEXT])], "end_turn", &io(12, 4)),
        Scenario::TextInPieces => {
            let pieces = text(&["Hel", "lo, wör", "ld 🌍!"]);
            whole(&[pieces], "end_turn", &some)
        }
        Scenario::Empty => whole(&[], "end_turn", &some),
        Scenario::OneCall => whole(&[call("c1", &[ARGUMENTS])], "tool_use", &some),
        Scenario::ParallelCalls => {
            let calls = [call("c1", &[ARGUMENTS]), call("c2", &[OTHER_ARGUMENTS])];
            whole(&calls, "tool_use", &some)
        }
        Scenario::CallInPieces => {
            let call = call("c1", &["", r#"{"ci"#, r#"ty": "#, r#""Boston"}"#]);
            whole(&[call], "tool_use", &some)
        }
        Scenario::MalformedCall => whole(&[call("c1", &[MALFORMED])], "tool_use", &some),
        Scenario::TextAroundCall => {
            let blocks = [
                text(&["Let me look."]),
                call("c1", &[ARGUMENTS]),
                text(&["Done."]),
            ];
            whole(&blocks, "tool_use", &some)
        }
        Scenario::Reasoning => whole(&[thought(), text(&[TEXT])], "end_turn", &some),
        Scenario::Usage => {
            let usage = json!({"input_tokens": 15, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0,
                "output_tokens": 10, "output_tokens_details": {"thinking_tokens": 4}});
            whole(&[text(&[TEXT])], "end_turn", &usage)
        }
        Scenario::Refusal => {
            return Err(CannotExpress::because(
                "a refusal has no words of its own here",
            ));
        }
        Scenario::Length => whole(&[text(&[PARTIAL])], "max_tokens", &some),
        Scenario::LengthInCall => whole(&[call("c1", &[r#"{"ci"#])], "max_tokens", &some),
        Scenario::Unauthorized => failure(401, "authentication_error", "invalid x-api-key"),
        Scenario::EchoesKey => {
            let message = format!("invalid x-api-key: {KEY}");
            failure(401, "authentication_error", &message)
        }
        Scenario::RateLimited => {
            failure(429, "rate_limit_error", "slow down").header("retry-after", "2")
        }
        Scenario::Unavailable => failure(529, "overloaded_error", "Overloaded"),
        Scenario::FailsMidway => {
            let error =
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}});
            frames(&[opening(), vec![error]].concat())
        }
        Scenario::Cut => frames(&opening()),
        Scenario::Silent => Answer::silence(),
        Scenario::FallsSilent => frames(&opening()).then_hangs(),
        _ => return Err(CannotExpress::because("not known here")),
    })
}

/// A block: how it starts, and its deltas.
type Block = (Value, Vec<Value>);

fn text(pieces: &[&str]) -> Block {
    let piece = |text: &&str| json!({"type": "text_delta", "text": text});
    let start = json!({"type": "text", "text": ""});
    (start, pieces.iter().map(piece).collect())
}

fn thought() -> Block {
    let start = json!({"type": "thinking", "thinking": "", "signature": ""});
    let pieces = vec![
        json!({"type": "thinking_delta", "thinking": THOUGHT}),
        json!({"type": "signature_delta", "signature": "c2ln"}),
    ];
    (start, pieces)
}

fn call(id: &str, pieces: &[&str]) -> Block {
    let piece = |text: &&str| json!({"type": "input_json_delta", "partial_json": text});
    let start = json!({"type": "tool_use", "id": id, "name": TOOL, "input": {}});
    (start, pieces.iter().map(piece).collect())
}

fn blocks(blocks: &[Block]) -> Vec<Value> {
    let message = json!({"id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [], "stop_reason": null});
    let mut frames = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "ping"}),
    ];
    for (index, (start, deltas)) in blocks.iter().enumerate() {
        frames.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            frames.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        frames.push(json!({"type": "content_block_stop", "index": index}));
    }
    frames
}

fn whole(all: &[Block], reason: &str, usage: &Value) -> Answer {
    let end = vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    frames(&[blocks(all), end].concat())
}

/// [`PARTIAL`] and no more.
fn opening() -> Vec<Value> {
    let mut frames = blocks(&[text(&[PARTIAL])]);
    frames.pop();
    frames
}

fn failure(status: u16, kind: &str, message: &str) -> Answer {
    let error = json!({"type": kind, "message": message});
    let body = json!({"type": "error", "error": error, "request_id": "req_1"});
    Answer::failure(status, body.to_string())
}
