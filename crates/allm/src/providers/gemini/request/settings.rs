//! Everything of a body but the conversation.

use allm_core::{
    Effort, FunctionSpec, Map, Part, Path, Reasoning, Request, ResponseFormat, Role, ToolChoice,
    ToolSpec,
};
use serde_json::{Value, json};

use super::super::model::is_third;
use super::super::openapi::{self, SchemaMode};
use super::Target;
use crate::providers::translate::notes::Warnings;
use crate::providers::translate::schema::parameters;

pub(super) fn settings(request: &Request, target: &Target<'_>, warnings: &mut Warnings) -> Map {
    let mut settings = Map::new();
    if let Some(text) = system(request) {
        let instruction = json!({"parts": [{"text": text}]});
        settings.insert("systemInstruction".to_owned(), instruction);
    }
    let config = config(request, target, warnings);
    if !config.is_empty() {
        settings.insert("generationConfig".to_owned(), config.into());
    }
    let tools = tools(request, target, warnings);
    if !tools.is_empty() {
        settings.insert("tools".to_owned(), tools.into());
        if let Some(choice) = &request.tool_choice {
            let config = json!({"functionCallingConfig": tool_choice(choice)});
            settings.insert("toolConfig".to_owned(), config);
        }
    }
    for (name, is_set) in [
        ("prompt_cache", request.prompt_cache.is_some()),
        ("verbosity", request.verbosity.is_some()),
        ("service_tier", request.service_tier.is_some()),
        ("user", request.user.is_some()),
    ] {
        if is_set {
            warnings.dropped(name);
        }
    }
    settings
}

/// All system messages as one text.
fn system(request: &Request) -> Option<String> {
    let texts: Vec<String> = request
        .messages
        .iter()
        .filter(|message| message.role == Role::System)
        .map(|message| {
            let texts: Vec<&str> = message.content.iter().filter_map(Part::as_text).collect();
            texts.join("\n")
        })
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn config(request: &Request, target: &Target<'_>, warnings: &mut Warnings) -> Map {
    let stop = (!request.stop.is_empty()).then(|| request.stop.clone().into());
    let mut config: Map = [
        ("temperature", request.temperature.map(Value::from)),
        ("topP", request.top_p.map(Value::from)),
        ("topK", request.top_k.map(Value::from)),
        ("maxOutputTokens", request.max_tokens.map(Value::from)),
        ("stopSequences", stop),
        ("seed", request.seed.map(Value::from)),
        ("presencePenalty", request.presence_penalty.map(Value::from)),
        (
            "frequencyPenalty",
            request.frequency_penalty.map(Value::from),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect();
    let json_type = || Value::from("application/json");
    match &request.response_format {
        Some(ResponseFormat::JsonObject) => {
            config.insert("responseMimeType".to_owned(), json_type());
        }
        Some(ResponseFormat::JsonSchema(format)) => {
            config.insert("responseMimeType".to_owned(), json_type());
            let path = || Path::from("response_format").field("schema");
            let (name, schema) = match target.schema_mode {
                SchemaMode::JsonSchema => ("responseJsonSchema", format.schema.clone()),
                SchemaMode::OpenApi => ("responseSchema", relaxed(&format.schema, path, warnings)),
            };
            config.insert(name.to_owned(), schema);
        }
        _ => {}
    }
    if let Some(reasoning) = &request.reasoning {
        let thinking = thinking(reasoning, is_third(target.model), warnings);
        if !thinking.is_empty() {
            config.insert("thinkingConfig".to_owned(), thinking.into());
        }
    }
    config
}

/// A schema in the older form, and a word about what it lost.
fn relaxed(schema: &Value, path: impl FnOnce() -> Path, warnings: &mut Warnings) -> Value {
    // What cannot be converted was refused before.
    let converted = openapi::converted(schema).unwrap_or_default();
    if let Some(lost) = converted.lost {
        warnings.add("schema_relaxed", Some(path()), Some(lost));
    }
    converted.schema
}

fn thinking(reasoning: &Reasoning, is_third: bool, warnings: &mut Warnings) -> Map {
    let path = |name| Path::from("reasoning").field(name);
    let mut thinking = Map::new();
    if is_third {
        if reasoning.budget_tokens.is_some() {
            warnings.dropped(path("budget_tokens"));
        }
        let level = reasoning.effort.as_ref().map(|effort| match effort {
            Effort::None => {
                // These models always think; this is as little as they can.
                warnings.dropped(path("effort"));
                "low"
            }
            Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High | Effort::XHigh | Effort::Max => "high",
            other => other.as_str(),
        });
        if let Some(level) = level {
            thinking.insert("thinkingLevel".to_owned(), level.into());
        }
    } else {
        let of_effort = reasoning.effort.as_ref().and_then(|effort| match effort {
            Effort::None => Some(0),
            Effort::Minimal | Effort::Low => Some(1024),
            Effort::Medium => Some(8192),
            Effort::High | Effort::XHigh | Effort::Max => Some(24_576),
            _ => None,
        });
        let budget = reasoning.budget_tokens.or(of_effort);
        if let Some(budget) = budget {
            thinking.insert("thinkingBudget".to_owned(), budget.into());
        } else if reasoning.effort.is_some() {
            warnings.dropped(path("effort"));
        }
    }
    if reasoning.summary.is_some() {
        thinking.insert("includeThoughts".to_owned(), true.into());
    }
    thinking
}

/// The functions in one entry, then the provider's own tools.
fn tools(request: &Request, target: &Target<'_>, warnings: &mut Warnings) -> Vec<Value> {
    let mut functions = Vec::new();
    let mut others = Vec::new();
    for (index, tool) in request.tools.iter().enumerate() {
        match tool {
            ToolSpec::Function(function) => {
                functions.push(declaration(function, index, target, warnings));
            }
            ToolSpec::Provider(tool) => others.push(tool.definition.to_value()),
            _ => {}
        }
    }
    let mut tools = Vec::new();
    if !functions.is_empty() {
        tools.push(json!({"functionDeclarations": functions}));
    }
    tools.extend(others);
    tools
}

fn declaration(
    function: &FunctionSpec,
    index: usize,
    target: &Target<'_>,
    warnings: &mut Warnings,
) -> Value {
    let mut declaration = Map::new();
    declaration.insert("name".to_owned(), function.name.as_str().into());
    if !function.description.is_empty() {
        declaration.insert(
            "description".to_owned(),
            function.description.clone().into(),
        );
    }
    let schema = parameters(&function.schema);
    let path = || Path::from("tools").index(index).field("schema");
    match target.schema_mode {
        SchemaMode::JsonSchema => {
            declaration.insert("parametersJsonSchema".to_owned(), schema.into_owned());
        }
        SchemaMode::OpenApi => {
            let schema = relaxed(&schema, path, warnings);
            declaration.insert("parameters".to_owned(), schema);
        }
    }
    declaration.into()
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) => {
            json!({"mode": "ANY", "allowedFunctionNames": [name.as_str()]})
        }
        ToolChoice::AnyOf(names) => {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            json!({"mode": "ANY", "allowedFunctionNames": names})
        }
        _ => json!({"mode": "AUTO"}),
    }
}
