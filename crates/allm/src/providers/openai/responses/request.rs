//! The body of a request.

use allm_core::{
    FunctionSpec, Map, ModelCall, ParallelCalls, Path, ProviderName, Reasoning, Request,
    ResponseFormat, Retention, Summary, ToolChoice, ToolName, ToolSpec, Verbosity, Warning,
};
use serde_json::{Value, json};

use super::WIRE;
use super::input::{IDS, Key, Stored, Writer};
use crate::providers::openai::model::Family;
use crate::providers::translate::body::merge;
use crate::providers::translate::notes::Warnings;
use crate::providers::translate::schema;
use crate::providers::translate::written::{self, Body, Head, Recipient};

/// The name of the conversation.
const INPUT: &str = "input";

/// The body, and what was left out of it.
pub(super) fn body(
    provider: &ProviderName,
    call: &ModelCall,
    family: Family,
) -> Result<(Body, Vec<Warning>), serde_json::Error> {
    let mut warnings = Warnings::default();
    let settings = settings(call, family, &mut warnings);
    let stored = match settings.get("store") {
        Some(Value::Bool(true)) => Stored::Yes,
        _ => Stored::No,
    };
    let head = Head {
        settings: &settings,
        name: INPUT,
        tools: None,
    };
    let to = Recipient {
        provider,
        wire: WIRE,
        ids: Some(IDS),
    };
    let key = Key {
        provider: provider.clone(),
        stored,
    };
    let messages = &call.request.messages;
    let begin = |_| Writer::new(stored);
    let body = written::body(&head, messages, to, key, begin, &mut warnings)?;
    Ok((body, warnings.finish()))
}

fn settings(call: &ModelCall, family: Family, warnings: &mut Warnings) -> Map {
    let request = &*call.request;
    let mut body = Map::new();
    // Nothing is kept with the provider, so what it thought has to travel.
    put(&mut body, "store", Some(false));
    if family.reasons() {
        let include = json!(["reasoning.encrypted_content"]);
        put(&mut body, "include", Some(include));
    }
    put(&mut body, "max_output_tokens", request.max_tokens);
    put(&mut body, "temperature", request.temperature);
    put(&mut body, "top_p", request.top_p);
    put(&mut body, "service_tier", request.service_tier.clone());
    put(&mut body, "safety_identifier", request.user.clone());
    tools(&mut body, request, warnings);
    put_object(&mut body, "text", text(request, warnings));
    if let Some(asked) = &request.reasoning {
        put_object(&mut body, "reasoning", reasoning(asked, warnings));
    }
    if let Some(cache) = &request.prompt_cache {
        let session = call.session_id.as_ref().map(|id| id.as_str());
        let key = cache.key.as_deref().or(session);
        put(&mut body, "prompt_cache_key", key);
        if cache.retention == Retention::Long {
            put(&mut body, "prompt_cache_retention", Some("24h"));
        }
    }
    dropped(request, warnings);
    merge(&mut body, &request.extra);
    body.remove(INPUT);
    put(&mut body, "model", Some(call.model.model.as_str()));
    put(&mut body, "stream", Some(true));
    body
}

fn put(body: &mut Map, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), value.into());
    }
}

fn put_object(body: &mut Map, name: &str, object: Map) {
    if !object.is_empty() {
        body.insert(name.to_owned(), object.into());
    }
}

/// What this wire has no word for.
fn dropped(request: &Request, warnings: &mut Warnings) {
    let set = [
        ("top_k", request.top_k.is_some()),
        ("seed", request.seed.is_some()),
        ("presence_penalty", request.presence_penalty.is_some()),
        ("frequency_penalty", request.frequency_penalty.is_some()),
    ];
    for (name, is_set) in set {
        if is_set {
            warnings.dropped(name);
        }
    }
}

fn tools(body: &mut Map, request: &Request, warnings: &mut Warnings) {
    if request.tools.is_empty() {
        return;
    }
    let tools = (0..)
        .zip(&request.tools)
        .filter_map(|(at, spec)| match spec {
            ToolSpec::Function(function) => Some(function_tool(function, at, warnings)),
            ToolSpec::Provider(tool) => Some(tool.definition.to_value()),
            _ => None,
        });
    let tools = Value::Array(tools.collect());
    put(body, "tools", Some(tools));
    put(
        body,
        "tool_choice",
        request.tool_choice.as_ref().map(tool_choice),
    );
    if request.parallel_tool_calls == Some(ParallelCalls::OneAtMost) {
        put(body, "parallel_tool_calls", Some(false));
    }
}

fn function_tool(spec: &FunctionSpec, at: usize, warnings: &mut Warnings) -> Value {
    let parameters = schema::parameters(&spec.schema).into_owned();
    let path = || Path::from("tools").index(at).field("strict");
    let mut tool = Map::new();
    put(&mut tool, "type", Some("function"));
    put(&mut tool, "name", Some(spec.name.as_str()));
    if !spec.description.is_empty() {
        put(&mut tool, "description", Some(spec.description.as_str()));
    }
    // Left out, it would mean yes.
    let strict = schema::strict(spec.strict, &parameters, path, warnings);
    put(&mut tool, "strict", Some(strict));
    put(&mut tool, "parameters", Some(parameters));
    tool.into()
}

fn tool_choice(choice: &ToolChoice) -> Value {
    let named = |name: &ToolName| json!({"type": "function", "name": name.as_str()});
    match choice {
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => named(name),
        ToolChoice::AnyOf(names) => {
            let tools: Vec<Value> = names.iter().map(named).collect();
            json!({"type": "allowed_tools", "mode": "required", "tools": tools})
        }
        _ => "auto".into(),
    }
}

fn text(request: &Request, warnings: &mut Warnings) -> Map {
    let mut text = Map::new();
    let format = request.response_format.as_ref();
    let format = format.and_then(|format| response_format(format, warnings));
    put(&mut text, "format", format);
    let verbosity = request.verbosity.map(|verbosity| match verbosity {
        Verbosity::Low => "low",
        Verbosity::High => "high",
        _ => "medium",
    });
    put(&mut text, "verbosity", verbosity);
    text
}

fn response_format(format: &ResponseFormat, warnings: &mut Warnings) -> Option<Value> {
    match format {
        ResponseFormat::Text => Some(json!({"type": "text"})),
        ResponseFormat::JsonObject => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema(format) => {
            let path = || Path::from("response_format").field("strict");
            let strict = schema::strict(format.strict, &format.schema, path, warnings);
            Some(json!({
                "type": "json_schema",
                "name": format.name,
                "schema": format.schema,
                "strict": strict
            }))
        }
        _ => None,
    }
}

fn reasoning(asked: &Reasoning, warnings: &mut Warnings) -> Map {
    let mut reasoning = Map::new();
    let effort = asked.effort.as_ref().map(|effort| effort.as_str());
    put(&mut reasoning, "effort", effort);
    let summary = asked.summary.map(|summary| match summary {
        Summary::Concise => "concise",
        Summary::Detailed => "detailed",
        _ => "auto",
    });
    put(&mut reasoning, "summary", summary);
    if asked.budget_tokens.is_some() {
        warnings.dropped(Path::from("reasoning").field("budget_tokens"));
    }
    reasoning
}

#[cfg(test)]
mod tests;
