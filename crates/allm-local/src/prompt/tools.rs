//! Tools in plain words, for models whose template does not know any.

use allm_core::FunctionSpec;
use serde_json::{Map, Value, json};

use super::style::CallStyle;

/// What a model is told of the tools.
pub(super) fn described(tools: &[&FunctionSpec], style: CallStyle) -> String {
    let mut text = "You can call these tools:\n".to_owned();
    for tool in tools {
        text += &line(tool);
    }
    text += "\nTo call a tool, answer with nothing but JSON. Examples:\n";
    for tool in tools.iter().take(EXAMPLES) {
        text += &style.call(tool.name.as_str(), &example(&tool.schema));
        text.push('\n');
    }
    text += "\nCall a tool when it helps to answer. You will be given its result; then answer with it in plain words.";
    text
}

/// How many examples are shown: a small model follows examples, and loses its way among many.
const EXAMPLES: usize = 4;

fn line(tool: &FunctionSpec) -> String {
    let properties = tool.schema.get("properties").and_then(Value::as_object);
    let arguments = properties.map(|properties| {
        let named = properties.iter().map(|(name, schema)| match about(schema) {
            Some(about) => format!("{name} ({about})"),
            None => name.clone(),
        });
        named.collect::<Vec<_>>().join(", ")
    });
    let arguments = arguments.filter(|arguments| !arguments.is_empty());
    let arguments = arguments.map_or_else(String::new, |list| format!(" Arguments: {list}."));
    format!("- {}: {}{arguments}\n", tool.name, tool.description.trim())
}

/// What is known of an argument, in a few words.
fn about(schema: &Value) -> Option<String> {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<_> = choices.iter().map(ToString::to_string).collect();
        return Some(format!("one of {}", choices.join(", ")));
    }
    let kind = schema.get("type").and_then(Value::as_str);
    let words = schema.get("description").and_then(Value::as_str);
    match (kind, words) {
        (Some(kind), Some(words)) => Some(format!("{kind}: {words}")),
        (kind, words) => kind.or(words).map(str::to_owned),
    }
}

/// Arguments that fit a schema well enough to be an example.
fn example(schema: &Value) -> Value {
    let mut arguments = Map::new();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_none_or(|list| list.iter().any(|item| item == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if is_required(name) {
            arguments.insert(name.clone(), example_of(schema));
        }
    }
    Value::Object(arguments)
}

fn example_of(schema: &Value) -> Value {
    let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
    let given = list("examples").or_else(|| list("enum"));
    if let Some(first) = given.and_then(|given| given.first()) {
        return first.clone();
    }
    if let Some(value) = schema.get("default").or_else(|| schema.get("const")) {
        return value.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(2)),
        Some("boolean") => json!(true),
        Some("array") => match schema.get("items") {
            Some(items) => json!([example_of(items)]),
            None => json!([]),
        },
        Some("object") => example(schema),
        Some("null") => Value::Null,
        _ => json!("…"),
    }
}
