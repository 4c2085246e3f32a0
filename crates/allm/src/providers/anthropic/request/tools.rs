//! The tools of a request, and whether they must be called.

use allm_core::{
    FunctionSpec, JsonSchemaFormat, Map, ParallelCalls, Request, Strict, ToolChoice, ToolSpec,
};
use serde_json::{Value, json};

use super::super::models::Model;
use super::super::schema::relaxed;
use crate::providers::translate::schema::parameters;

/// What a tool choice comes to.
pub(crate) enum Choice<'a> {
    /// Nothing is said.
    Free,
    None,
    Any,
    Tool(&'a str),
    /// The wire has no word for it.
    Unsayable,
}

impl<'a> Choice<'a> {
    pub(crate) fn of(request: &'a Request) -> Self {
        match &request.tool_choice {
            None | Some(ToolChoice::Auto) => Self::Free,
            Some(ToolChoice::None) => Self::None,
            Some(ToolChoice::Required) => Self::Any,
            Some(ToolChoice::Tool(name)) => Self::Tool(name.as_str()),
            Some(ToolChoice::AnyOf(names)) => {
                let mut offered = request.tools.iter().filter_map(ToolSpec::name);
                match &names[..] {
                    [only] => Self::Tool(only.as_str()),
                    names if offered.all(|tool| names.contains(tool)) => Self::Any,
                    _ => Self::Unsayable,
                }
            }
            Some(_) => Self::Unsayable,
        }
    }

    /// Whether some tool must be called.
    pub(crate) fn is_forced(&self) -> bool {
        matches!(self, Self::Any | Self::Tool(_))
    }
}

/// Writes the tools and what is said of calling them. Without tools the wire lets nothing be said of it.
pub(super) fn write(request: &Request, model: Model, settings: &mut Map) {
    if request.tools.is_empty() {
        return;
    }
    let tools: Vec<Value> = request.tools.iter().map(|tool| spec(tool, model)).collect();
    settings.insert("tools".to_owned(), tools.into());
    let choice = Choice::of(request);
    let mut value = Map::new();
    let kind = match choice {
        Choice::Free | Choice::Unsayable => "auto",
        Choice::None => "none",
        Choice::Any => "any",
        Choice::Tool(name) => {
            value.insert("name".to_owned(), name.into());
            "tool"
        }
    };
    value.insert("type".to_owned(), kind.into());
    let one = request.parallel_tool_calls == Some(ParallelCalls::OneAtMost);
    // Where no call may come the wire has no such switch.
    if one && !matches!(choice, Choice::None) {
        value.insert("disable_parallel_tool_use".to_owned(), true.into());
    } else if matches!(choice, Choice::Free | Choice::Unsayable) {
        return;
    }
    settings.insert("tool_choice".to_owned(), Value::Object(value));
}

fn spec(tool: &ToolSpec, model: Model) -> Value {
    match tool {
        ToolSpec::Function(function) => {
            let schema = parameters(&function.schema);
            let mut spec = Map::new();
            spec.insert("name".to_owned(), function.name.as_str().into());
            spec.insert("input_schema".to_owned(), schema.into_owned());
            if !function.description.is_empty() {
                let description = function.description.as_str().into();
                spec.insert("description".to_owned(), description);
            }
            if is_strict(function, model) {
                spec.insert("strict".to_owned(), true.into());
            }
            Value::Object(spec)
        }
        ToolSpec::Provider(tool) => tool.definition.to_value(),
        _ => Value::Null,
    }
}

fn is_strict(function: &FunctionSpec, model: Model) -> bool {
    match function.strict {
        Strict::No => false,
        Strict::Yes => true,
        Strict::Auto => model.has_output_format() && loose_at(&function.schema).is_none(),
    }
}

/// Where a tool's schema is none that the wire keeps to exactly.
pub(crate) fn loose_at(schema: &Value) -> Option<String> {
    let schema = parameters(schema);
    match relaxed(&schema) {
        Err(_) => Some("#".to_owned()),
        Ok(relaxed) => match relaxed.changed.into_iter().next() {
            None if relaxed.schema != *schema => Some("#/additionalProperties".to_owned()),
            first => first,
        },
    }
}

/// Makes the model answer through a tool of this name.
pub(super) fn force_answer(format: &JsonSchemaFormat, name: &str, settings: &mut Map) {
    let tool = json!({
        "name": name,
        "description": "Gives the answer. Call it once, with the whole answer.",
        "input_schema": *parameters(&format.schema),
    });
    let choice = json!({"type": "tool", "name": name, "disable_parallel_tool_use": true});
    settings.insert("tools".to_owned(), json!([tool]));
    settings.insert("tool_choice".to_owned(), choice);
}
