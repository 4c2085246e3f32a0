//! The scenarios as answers of `streamGenerateContent`.

use allm_conformance::CannotExpress;
use allm_conformance::adapter::{
    ARGUMENTS, KEY, OTHER_ARGUMENTS, PARTIAL, Scenario, TEXT, THOUGHT, TOOL,
};
use serde_json::{Value, json};

use super::frames;
use super::server::Answer;

pub(crate) fn says(scenario: Scenario) -> Result<Answer, CannotExpress> {
    let io = |input: u64, output: u64| json!({"promptTokenCount": input, "candidatesTokenCount": output});
    Ok(match scenario {
        Scenario::Text => whole(&[json!([text(TEXT)])], "STOP", &io(12, 4)),
        Scenario::TextInPieces => {
            let pieces = ["Hel", "lo, wör", "ld 🌍!"].map(|piece| json!([text(piece)]));
            whole(&pieces, "STOP", &io(3, 2))
        }
        Scenario::Empty => whole(&[], "STOP", &io(3, 0)),
        Scenario::OneCall => whole(&[json!([call(ARGUMENTS)])], "STOP", &io(3, 2)),
        Scenario::ParallelCalls => {
            let calls = json!([call(ARGUMENTS), call(OTHER_ARGUMENTS)]);
            whole(&[calls], "STOP", &io(3, 2))
        }
        Scenario::CallInPieces => {
            let mut parts = vec![open_call()];
            parts.extend(["Bos", "to", "n"].map(|text| city(text, true)));
            parts.push(json!({"functionCall": {}}));
            let chunks: Vec<Value> = parts.into_iter().map(|part| json!([part])).collect();
            whole(&chunks, "STOP", &io(3, 2))
        }
        Scenario::MalformedCall => {
            return Err(CannotExpress::because("arguments are an object here"));
        }
        Scenario::TextAroundCall => {
            let parts = json!([text("Let me look."), call(ARGUMENTS), text("Done.")]);
            whole(&[parts], "STOP", &io(3, 2))
        }
        Scenario::Reasoning => {
            let thought = json!([{"text": THOUGHT, "thought": true}]);
            whole(&[thought, json!([text(TEXT)])], "STOP", &io(3, 2))
        }
        Scenario::Usage => {
            let usage = json!({"promptTokenCount": 20, "cachedContentTokenCount": 5, "candidatesTokenCount": 6,
                "thoughtsTokenCount": 4, "totalTokenCount": 30});
            whole(&[json!([text(TEXT)])], "STOP", &usage)
        }
        Scenario::Refusal => {
            return Err(CannotExpress::because(
                "a refusal has no words of its own here",
            ));
        }
        Scenario::Length => whole(&[json!([text(PARTIAL)])], "MAX_TOKENS", &io(3, 2)),
        Scenario::LengthInCall => {
            let chunks = [json!([open_call()]), json!([city("Bos", true)])];
            whole(&chunks, "MAX_TOKENS", &io(3, 2))
        }
        Scenario::Unauthorized => failure(401, "UNAUTHENTICATED", "no"),
        Scenario::EchoesKey => {
            failure(400, "INVALID_ARGUMENT", &format!("bad key {KEY}")).header("x-request-id", KEY)
        }
        Scenario::RateLimited => {
            failure(429, "RESOURCE_EXHAUSTED", "slow down").header("retry-after", "2")
        }
        Scenario::Unavailable => failure(503, "UNAVAILABLE", "overloaded"),
        Scenario::FailsMidway => {
            let error = json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "no"}});
            frames(&[chunk(&json!([text(PARTIAL)])), error])
        }
        Scenario::Cut => frames(&[chunk(&json!([text(PARTIAL)]))]),
        Scenario::Silent => Answer::silence(),
        Scenario::FallsSilent => frames(&[chunk(&json!([text(PARTIAL)]))]).then_hangs(),
        _ => return Err(CannotExpress::because("not known here")),
    })
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn call(arguments: &str) -> Value {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    json!({"functionCall": {"name": TOOL, "args": arguments}})
}

/// A call whose arguments come bit by bit.
fn open_call() -> Value {
    json!({"functionCall": {"name": TOOL, "willContinue": true}})
}

fn city(piece: &str, goes_on: bool) -> Value {
    let piece = json!({"jsonPath": "$.city", "stringValue": piece, "willContinue": goes_on});
    json!({"functionCall": {"partialArgs": [piece], "willContinue": true}})
}

fn chunk(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "gemini-2.5-flash", "responseId": "r1"})
}

fn whole(all: &[Value], reason: &str, usage: &Value) -> Answer {
    let mut chunks: Vec<Value> = all.iter().map(chunk).collect();
    let mut last = chunk(&json!([]));
    last["candidates"][0]["finishReason"] = reason.into();
    last["usageMetadata"] = usage.clone();
    chunks.push(last);
    frames(&chunks)
}

fn failure(status: u16, kind: &str, message: &str) -> Answer {
    let error = json!({"code": status, "status": kind, "message": message});
    Answer::failure(status, json!({ "error": error }).to_string())
}
