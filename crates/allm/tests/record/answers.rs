//! One answer in every provider's words: a text, a call, and what it cost.

use serde_json::{Value, json};

use crate::providers::Kind;

/// As events.
pub(crate) fn streamed(kind: Kind) -> String {
    match kind {
        Kind::Chat | Kind::Azure | Kind::Compat => chat(),
        Kind::Responses => responses(),
        Kind::Anthropic => anthropic(),
        Kind::Gemini => gemini(),
    }
}

/// As one document.
pub(crate) fn whole(kind: Kind) -> String {
    let document = match kind {
        Kind::Chat | Kind::Azure | Kind::Compat => json!({
            "id": "c2", "object": "chat.completion", "model": "m-1", "choices": [{"index": 0,
                "message": {"role": "assistant", "content": "Grüße 👋", "tool_calls": [{"id": "call_2",
                    "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}]},
                "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}),
        Kind::Responses => response(),
        Kind::Anthropic => {
            json!({"id": "msg_2", "type": "message", "role": "assistant", "model": "claude-1",
            "content": [{"type": "text", "text": "Grüße 👋"},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Oslo"}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 7}})
        }
        Kind::Gemini => last(
            json!([{"text": "Grüße 👋"}, {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}]),
        ),
    };
    document.to_string()
}

const ARGUMENTS: &str = r#"{"city":"Oslo"}"#;

fn chat() -> String {
    let delta = |delta: Value| {
        let choices = json!([{"index": 0, "delta": delta}]);
        json!({"id": "c1", "model": "m-1", "choices": choices}).to_string()
    };
    let call = |function: Value| json!({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]});
    let frames = [
        delta(json!({"role": "assistant", "content": "Grü"})),
        delta(json!({"content": "ße 👋"})),
        delta(call(json!({"name": "weather", "arguments": "{\"city\":"}))),
        delta(call(json!({"arguments": "\"Oslo\"}"}))),
        json!({"model": "m-1", "choices": [{"delta": {}, "finish_reason": "tool_calls"}]}).to_string(),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}})
            .to_string(),
        "[DONE]".to_owned(),
    ];
    let comment = ": PROCESSING\n\n".to_owned();
    let frames = frames.iter().map(|data| format!("data: {data}\n\n"));
    std::iter::once(comment).chain(frames).collect()
}

fn response() -> Value {
    json!({"id": "resp_1", "object": "response", "model": "gpt-5-1", "status": "completed", "output": [
        {"type": "message", "id": "msg_1", "role": "assistant",
            "content": [{"type": "output_text", "text": "Grüße 👋", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
            "arguments": ARGUMENTS, "status": "completed"}],
        "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}})
}

fn responses() -> String {
    let delta = |text: &str| json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text});
    named(&[
        delta("Grü"),
        delta("ße 👋"),
        json!({"type": "response.completed", "response": response()}),
    ])
}

fn anthropic() -> String {
    let delta = |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u32| json!({"type": "content_block_stop", "index": index});
    named(&[
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "claude-1", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        delta(0, json!({"type": "text_delta", "text": "Grü"})),
        delta(0, json!({"type": "text_delta", "text": "ße 👋"})),
        stop(0),
        json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}}),
        delta(
            1,
            json!({"type": "input_json_delta", "partial_json": "{\"city\":"}),
        ),
        delta(
            1,
            json!({"type": "input_json_delta", "partial_json": "\"Oslo\"}"}),
        ),
        stop(1),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ])
}

/// Events that are named by their type.
fn named(events: &[Value]) -> String {
    let events = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    });
    events.collect()
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "gemini-1", "responseId": "r1"})
}

fn last(content: Value) -> Value {
    let mut chunk = parts(content);
    chunk["candidates"][0]["finishReason"] = "STOP".into();
    chunk["usageMetadata"] =
        json!({"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12});
    chunk
}

fn gemini() -> String {
    let call = json!([{"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}]);
    let chunks = [
        parts(json!([{"text": "Grü"}])),
        parts(json!([{"text": "ße 👋"}])),
        last(call),
    ];
    let frames = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n"));
    frames.collect()
}
