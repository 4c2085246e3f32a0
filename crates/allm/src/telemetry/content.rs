//! What was said, for those who ask for it, in the form of the GenAI conventions.

use allm_core::json::Sorted;
use allm_core::{Message, Part, Redactor, Response, Role};
use serde_json::{Value, json};

/// A value as JSON text without secrets. Texts are cleaned before they are escaped.
pub(super) fn text(redactor: &Redactor, mut value: Value) -> String {
    redactor.clean_value(&mut value);
    Sorted(&value).to_string()
}

pub(super) fn input<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Value {
    messages
        .into_iter()
        .map(|message| json!({"role": role(message.role), "parts": parts(message)}))
        .collect()
}

pub(super) fn output(response: &Response) -> Value {
    json!([{
        "role": "assistant",
        "parts": parts(&response.message),
        "finish_reason": response.finish_reason.map(allm_core::FinishReason::as_str),
    }])
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn parts(message: &Message) -> Vec<Value> {
    if let Some(id) = &message.tool_call_id {
        return vec![json!({
            "type": "tool_call_response",
            "id": id.as_str(),
            "response": message.text(),
        })];
    }
    let content = message.content.iter().map(|part| match part {
        Part::Text(part) => json!({"type": "text", "content": part.text}),
        Part::Refusal(part) => json!({"type": "text", "content": part.text}),
        Part::Reasoning(part) => json!({"type": "reasoning", "content": part.text}),
        // Pictures, files and a provider's own blocks are told of, not shown.
        Part::Image(_) => json!({"type": "image"}),
        Part::File(_) => json!({"type": "file"}),
        _ => json!({"type": "opaque"}),
    });
    let calls = message.tool_calls.iter().map(|call| {
        json!({
            "type": "tool_call",
            "id": call.id.as_str(),
            "name": call.name,
            "arguments": call.arguments,
        })
    });
    content.chain(calls).collect()
}
