//! The scenarios as answers of the Responses API.

use allm_conformance::CannotExpress;
use allm_conformance::adapter::{
    ARGUMENTS, KEY, MALFORMED, OTHER_ARGUMENTS, PARTIAL, REFUSAL, Scenario, TEXT, THOUGHT, TOOL,
};
use serde_json::{Value, json};

use super::frames;
use super::server::Answer;

pub(crate) fn says(scenario: Scenario) -> Result<Answer, CannotExpress> {
    Ok(match scenario {
        Scenario::Text => whole(vec![message(&[TEXT])], usage(12, 4, None)),
        Scenario::TextInPieces => whole(vec![message(&["Hel", "lo, wör", "ld 🌍!"])], Value::Null),
        Scenario::Empty => whole(vec![], Value::Null),
        Scenario::OneCall => whole(vec![call("c1", &[ARGUMENTS])], Value::Null),
        Scenario::ParallelCalls => whole(
            vec![call("c1", &[ARGUMENTS]), call("c2", &[OTHER_ARGUMENTS])],
            Value::Null,
        ),
        Scenario::CallInPieces => whole(
            vec![call("c1", &[r#"{"ci"#, r#"ty": "#, r#""Boston"}"#])],
            Value::Null,
        ),
        Scenario::MalformedCall => whole(vec![call("c1", &[MALFORMED])], Value::Null),
        Scenario::TextAroundCall => whole(
            vec![
                message(&["Let me look."]),
                call("c1", &[ARGUMENTS]),
                message(&["Done."]),
            ],
            Value::Null,
        ),
        Scenario::Reasoning => whole(vec![thought(), message(&[TEXT])], Value::Null),
        Scenario::Usage => whole(vec![message(&[TEXT])], usage(20, 10, Some((5, 4)))),
        Scenario::Refusal => whole(vec![refusal()], Value::Null),
        Scenario::Length => cut(&[message(&[PARTIAL])]),
        Scenario::LengthInCall => cut(&[cut_call()]),
        Scenario::Unauthorized => unauthorized("Incorrect API key provided"),
        Scenario::EchoesKey => unauthorized(&format!("Incorrect API key provided: {KEY}")),
        Scenario::RateLimited => {
            failure(429, "rate_limit_exceeded", "slow down").header("retry-after", "2")
        }
        Scenario::Unavailable => failure(503, "server_error", "overloaded"),
        Scenario::FailsMidway => {
            let error = json!({"code": "server_error", "message": "no"});
            let response = json!({"id": "r1", "status": "failed", "error": error});
            let failed = json!({"type": "response.failed", "response": response});
            frames(&[opening(), vec![failed]].concat())
        }
        Scenario::Cut => frames(&opening()),
        Scenario::Silent => Answer::silence(),
        Scenario::FallsSilent => frames(&opening()).then_hangs(),
        _ => return Err(CannotExpress::because("not known here")),
    })
}

/// How an item comes, and what it is when it is done.
struct Item {
    /// Without their `output_index`.
    pieces: Vec<Value>,
    done: Value,
}

fn created() -> Value {
    let response = json!({"id": "r1", "model": "gpt-5", "status": "in_progress", "output": []});
    json!({"type": "response.created", "response": response})
}

fn message(texts: &[&str]) -> Item {
    let piece = |text: &&str| json!({"type": "response.output_text.delta", "content_index": 0, "delta": text});
    let text = json!({"type": "output_text", "text": texts.concat(), "annotations": []});
    Item {
        pieces: texts.iter().map(piece).collect(),
        done: json!({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}),
    }
}

fn refusal() -> Item {
    let said = json!({"type": "refusal", "refusal": REFUSAL});
    Item {
        pieces: vec![
            json!({"type": "response.refusal.delta", "content_index": 0, "delta": REFUSAL}),
        ],
        done: json!({"type": "message", "id": "m1", "role": "assistant", "content": [said]}),
    }
}

fn thought() -> Item {
    let said = json!({"type": "summary_text", "text": THOUGHT});
    Item {
        pieces: vec![
            json!({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": THOUGHT}),
        ],
        done: json!({"type": "reasoning", "id": "t1", "summary": [said], "encrypted_content": "gA=="}),
    }
}

fn call(id: &str, arguments: &[&str]) -> Item {
    let piece =
        |text: &&str| json!({"type": "response.function_call_arguments.delta", "delta": text});
    Item {
        pieces: arguments.iter().map(piece).collect(),
        done: json!({"type": "function_call", "id": format!("f{id}"), "call_id": id, "name": TOOL,
            "arguments": arguments.concat(), "status": "completed"}),
    }
}

fn cut_call() -> Item {
    let mut item = call("c1", &[r#"{"ci"#]);
    item.done["status"] = json!("incomplete");
    item
}

fn usage(input: u64, output: u64, parts: Option<(u64, u64)>) -> Value {
    let mut usage =
        json!({"input_tokens": input, "output_tokens": output, "total_tokens": input + output});
    if let Some((cached, thinking)) = parts {
        usage["input_tokens_details"] = json!({"cached_tokens": cached});
        usage["output_tokens_details"] = json!({"reasoning_tokens": thinking});
    }
    usage
}

fn items(items: &[Item]) -> Vec<Value> {
    let mut frames = vec![created()];
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.done.clone();
        for empty in ["content", "summary"] {
            if begun.get(empty).is_some() {
                begun[empty] = json!([]);
            }
        }
        if begun.get("arguments").is_some() {
            begun["arguments"] = json!("");
        }
        frames.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": begun}),
        );
        for piece in &item.pieces {
            let mut piece = piece.clone();
            piece["output_index"] = json!(index);
            frames.push(piece);
        }
        frames.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item.done}),
        );
    }
    frames
}

fn whole(all: Vec<Item>, usage: Value) -> Answer {
    let output: Vec<&Value> = all.iter().map(|item| &item.done).collect();
    let response = json!({"id": "r1", "model": "gpt-5", "status": "completed", "output": output, "usage": usage});
    let end = json!({"type": "response.completed", "response": response});
    frames(&[items(&all), vec![end]].concat())
}

fn cut(all: &[Item]) -> Answer {
    let output: Vec<&Value> = all.iter().map(|item| &item.done).collect();
    let response = json!({"id": "r1", "model": "gpt-5", "status": "incomplete", "output": output,
        "incomplete_details": {"reason": "max_output_tokens"}});
    let end = json!({"type": "response.incomplete", "response": response});
    frames(&[items(all), vec![end]].concat())
}

/// [`PARTIAL`] and no more.
fn opening() -> Vec<Value> {
    let mut frames = items(&[message(&[PARTIAL])]);
    frames.pop();
    frames
}

fn unauthorized(message: &str) -> Answer {
    failure(401, "invalid_api_key", message)
}

fn failure(status: u16, code: &str, message: &str) -> Answer {
    let error =
        json!({"code": code, "message": message, "type": "invalid_request_error", "param": null});
    Answer::failure(status, json!({ "error": error }).to_string())
}
