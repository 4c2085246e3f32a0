//! The scenarios as answers of Chat Completions.

use allm_conformance::CannotExpress;
use allm_conformance::adapter::{
    ARGUMENTS, KEY, MALFORMED, OTHER_ARGUMENTS, PARTIAL, REFUSAL, Scenario, TEXT, THOUGHT, TOOL,
};
use serde_json::{Value, json};

use super::server::Answer;

pub(crate) fn says(scenario: Scenario) -> Result<Answer, CannotExpress> {
    Ok(match scenario {
        Scenario::Text => whole(
            vec![text(TEXT)],
            "stop",
            json!({"prompt_tokens": 12, "completion_tokens": 4}),
        ),
        Scenario::TextInPieces => whole(
            vec![text("Hel"), text("lo, wör"), text("ld 🌍!")],
            "stop",
            Value::Null,
        ),
        Scenario::Empty => whole(vec![], "stop", Value::Null),
        Scenario::OneCall => calls(vec![call(0, "c1", ARGUMENTS)]),
        Scenario::ParallelCalls => calls(vec![
            call(0, "c1", ARGUMENTS),
            call(1, "c2", OTHER_ARGUMENTS),
        ]),
        Scenario::CallInPieces => calls(vec![
            call(0, "c1", r#"{"ci"#),
            more(r#"ty": "#),
            more(r#""Boston"}"#),
        ]),
        Scenario::MalformedCall => calls(vec![call(0, "c1", MALFORMED)]),
        Scenario::TextAroundCall => {
            return Err(CannotExpress::because("an answer has one text"));
        }
        Scenario::Reasoning => whole(
            vec![delta(json!({"reasoning_content": THOUGHT})), text(TEXT)],
            "stop",
            Value::Null,
        ),
        Scenario::Usage => whole(
            vec![text(TEXT)],
            "stop",
            json!({"prompt_tokens": 20, "completion_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 4}}),
        ),
        Scenario::Refusal => whole(
            vec![delta(json!({ "refusal": REFUSAL }))],
            "stop",
            Value::Null,
        ),
        Scenario::Length => whole(vec![text(PARTIAL)], "length", Value::Null),
        Scenario::LengthInCall => whole(vec![call(0, "c1", r#"{"ci"#)], "length", Value::Null),
        Scenario::Unauthorized => failure(401, "invalid_api_key", "Incorrect API key provided"),
        Scenario::EchoesKey => {
            let message = format!("Incorrect API key provided: {KEY}");
            failure(401, "invalid_api_key", &message)
        }
        Scenario::RateLimited => {
            failure(429, "rate_limit_exceeded", "slow down").header("retry-after", "2")
        }
        Scenario::Unavailable => failure(503, "server_error", "overloaded"),
        Scenario::FailsMidway => {
            let error = json!({"error": {"code": 502, "message": "no"}});
            frames(&[begun(), text(PARTIAL), error])
        }
        Scenario::Cut => frames(&[begun(), text(PARTIAL)]),
        Scenario::Silent => Answer::silence(),
        Scenario::FallsSilent => frames(&[begun(), text(PARTIAL)]).then_hangs(),
        _ => return Err(CannotExpress::because("not known here")),
    })
}

fn delta(delta: Value) -> Value {
    json!({"id": "r1", "object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn begun() -> Value {
    delta(json!({"role": "assistant", "content": ""}))
}

fn text(text: &str) -> Value {
    delta(json!({ "content": text }))
}

fn call(index: u32, id: &str, arguments: &str) -> Value {
    let function = json!({"name": TOOL, "arguments": arguments});
    delta(
        json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
    )
}

fn more(arguments: &str) -> Value {
    delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}))
}

fn calls(chunks: Vec<Value>) -> Answer {
    whole(chunks, "tool_calls", Value::Null)
}

fn frames(frames: &[Value]) -> Answer {
    let frame = |frame: &Value| format!("data: {frame}\n\n");
    Answer::frames(frames.iter().map(frame).collect())
}

fn whole(mut chunks: Vec<Value>, finish: &str, usage: Value) -> Answer {
    chunks.insert(0, begun());
    let mut last = delta(json!({}));
    last["choices"][0]["finish_reason"] = finish.into();
    chunks.push(last);
    chunks.push(json!({"id": "r1", "choices": [], "usage": usage}));
    let frame = |frame: &Value| format!("data: {frame}\n\n");
    let mut frames: Vec<String> = chunks.iter().map(frame).collect();
    frames.push("data: [DONE]\n\n".to_owned());
    Answer::frames(frames)
}

fn failure(status: u16, code: &str, message: &str) -> Answer {
    let error =
        json!({"code": code, "message": message, "type": "invalid_request_error", "param": null});
    Answer::failure(status, json!({ "error": error }).to_string())
}
