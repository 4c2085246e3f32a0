//! Which one tool a choice forces.

use serde_json::Value;

use crate::data::{Map, ToolChoice, ToolName};

/// The tool that must be called, if the choice leaves no other.
///
/// `extra` goes into the request's body last, so what it forces is what the provider is told.
pub(super) fn name<'a>(tool_choice: Option<&'a ToolChoice>, extra: &'a Map) -> Option<&'a str> {
    in_extra(extra).or_else(|| match tool_choice? {
        ToolChoice::Tool(name) => Some(name.as_str()),
        ToolChoice::AnyOf(names) => only(names.iter().map(ToolName::as_str)),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
    })
}

fn in_extra(extra: &Map) -> Option<&str> {
    let choice = extra
        .get("tool_choice")
        .and_then(|choice| in_choice(choice).or_else(|| in_calling_config(choice)));
    choice.or_else(|| {
        let config = either(extra, "toolConfig", "tool_config")?.as_object()?;
        in_calling_config(either(
            config,
            "functionCallingConfig",
            "function_calling_config",
        )?)
    })
}

/// `{type: tool, name}`, `{type: function, name}` and `{type: function, function: {name}}`.
fn in_choice(choice: &Value) -> Option<&str> {
    let name = match choice.get("type")?.as_str()? {
        "tool" => choice.get("name"),
        "function" => choice
            .get("function")
            .and_then(|function| function.get("name"))
            .or_else(|| choice.get("name")),
        _ => None,
    };
    name?.as_str()
}

/// `{mode: ANY, allowedFunctionNames: [one]}`.
fn in_calling_config(config: &Value) -> Option<&str> {
    let config = config.as_object()?;
    if config.get("mode")?.as_str()? != "ANY" {
        return None;
    }
    let names = either(config, "allowedFunctionNames", "allowed_function_names")?.as_array()?;
    let names: Vec<&str> = names.iter().map(Value::as_str).collect::<Option<_>>()?;
    only(names.into_iter())
}

/// Gemini takes both spellings of its keys.
fn either<'a>(object: &'a Map, camel: &str, snake: &str) -> Option<&'a Value> {
    object.get(camel).or_else(|| object.get(snake))
}

fn only<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}
