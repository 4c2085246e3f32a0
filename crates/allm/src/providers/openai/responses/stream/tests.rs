//! The decoder against the contract.

mod ends;
mod items;

use allm_core::{Event, Opaque, Part, Response};
use serde_json::{Value, json};

use super::super::WIRE;
use super::ResponsesDecoder;
use crate::wire::testing::{Decoded, about, decode, frames};

/// Reads a stream of these events.
fn stream(events: &[Value]) -> Decoded {
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    body(&frames(&lines))
}

fn body(input: &[u8]) -> Decoded {
    decode(
        about("openai", WIRE),
        &mut ResponsesDecoder::default(),
        input,
    )
}

/// Reads an answer that came as one document.
fn document(value: &Value) -> Decoded {
    body(value.to_string().as_bytes())
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn message(texts: &[&str]) -> Value {
    let content: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "output_text", "text": text, "annotations": []}))
        .collect();
    json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
}

fn call(call_id: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call",
        "id": format!("fc_{call_id}"),
        "call_id": call_id,
        "name": "look",
        "arguments": arguments,
        "status": "completed"
    })
}

fn text_delta(index: u64, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": delta})
}

fn arguments_delta(index: u64, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": delta})
}

fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "model": "gpt-5", "status": "completed", "output": output}})
}

fn opaque(kind: &str, data: &str) -> Opaque {
    Opaque {
        provider: "openai".into(),
        wire: WIRE.to_owned(),
        kind: kind.to_owned(),
        data: allm_core::RawJson::new(data).expect("JSON"),
    }
}

/// Ids, names and argument texts of the calls.
fn calls(response: &Response) -> Vec<(&str, &str, &str)> {
    response
        .tool_calls()
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), &*call.raw_arguments))
        .collect()
}

fn reasoning_deltas(decoded: &Decoded) -> Vec<&str> {
    decoded
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ReasoningDelta(delta) => Some(&*delta.delta),
            _ => None,
        })
        .collect()
}

fn parts(response: &Response) -> &[Part] {
    &response.message.content
}
