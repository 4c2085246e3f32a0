//! The body of a request.

use allm_core::json::Sorted;
use allm_core::{
    FunctionSpec, Map, ModelCall, ParallelCalls, Path, PromptCache, Reasoning, Request,
    ResponseFormat, Retention, Strict, ToolChoice, ToolName, ToolSpec, Verbosity, Warning,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::messages::Writer;
use super::{Rules, WIRE};
use crate::providers::compat::profile::{MaxTokensField, Profile, ReasoningRequest};
use crate::providers::connection::Connection;
use crate::providers::translate::body::merge;
use crate::providers::translate::notes::Warnings;
use crate::providers::translate::schema;
use crate::providers::translate::written::{self, Body, Head, Recipient};

/// The body, and what was left out of it.
pub(super) fn body(
    connection: &Connection,
    call: &ModelCall,
    rules: &Rules,
) -> Result<(Body, Vec<Warning>), serde_json::Error> {
    let mut warnings = Warnings::default();
    let settings = settings(call, rules, &mut warnings);
    let tools = tools(&call.request.tools)?;
    let head = Head {
        settings: &settings,
        tools: tools.as_deref(),
        name: "messages",
    };
    let (messages, profile) = (&call.request.messages, &rules.profile);
    let to = Recipient {
        provider: &connection.name,
        wire: WIRE,
        ids: Some(profile.id_rule),
    };
    let writer = Writer::new(messages, &connection.name, WIRE, profile);
    let key = writer.key(profile);
    let body = written::body(&head, messages, to, key, |_| writer, &mut warnings)?;
    Ok((body, warnings.finish()))
}

fn settings(call: &ModelCall, rules: &Rules, warnings: &mut Warnings) -> Map {
    let request = &*call.request;
    let profile = &*rules.profile;
    let mut body = Map::new();
    body.insert("model".to_owned(), call.model.model.clone().into());
    numbers(&mut body, request, rules, warnings);
    choice(&mut body, request, profile);
    if let Some(format) = &request.response_format
        && let Some(format) = response_format(format, warnings)
    {
        body.insert("response_format".to_owned(), format);
    }
    if let Some(asked) = &request.reasoning {
        reasoning(&mut body, asked, rules, warnings);
    }
    if let Some(verbosity) = request.verbosity {
        if rules
            .family
            .map_or(profile.verbosity, |family| family.reasons())
        {
            put(&mut body, "verbosity", Some(verbosity_word(verbosity)));
        } else {
            warnings.dropped("verbosity");
        }
    }
    if let Some(cache) = &request.prompt_cache {
        prompt_cache(&mut body, cache, call, profile, warnings);
    }
    merge(&mut body, &request.extra);
    body.insert("stream".to_owned(), true.into());
    if profile.stream_options {
        let options = body.entry("stream_options").or_insert_with(|| json!({}));
        match options {
            Value::Object(options) => drop(options.insert("include_usage".to_owned(), true.into())),
            other => *other = json!({"include_usage": true}),
        }
    }
    body
}

fn put(body: &mut Map, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), value.into());
    }
}

fn numbers(body: &mut Map, request: &Request, rules: &Rules, warnings: &mut Warnings) {
    let profile = &*rules.profile;
    let old = match rules.family {
        Some(family) => family.has_old_token_field(),
        None => profile.max_tokens_field == MaxTokensField::MaxTokens,
    };
    let limit = if old {
        "max_tokens"
    } else {
        "max_completion_tokens"
    };
    // The caller's own word for it stands alone.
    let named = ["max_tokens", "max_completion_tokens"]
        .iter()
        .any(|name| request.extra.contains_key(*name));
    if !named {
        put(body, limit, request.max_tokens);
    }
    put(body, "temperature", request.temperature);
    put(body, "top_p", request.top_p);
    put(body, &profile.seed_field, request.seed);
    put(body, "presence_penalty", request.presence_penalty);
    put(body, "frequency_penalty", request.frequency_penalty);
    put(body, "service_tier", request.service_tier.clone());
    put(body, "user", request.user.clone());
    if !request.stop.is_empty() {
        put(body, "stop", Some(request.stop.clone()));
    }
    if request.top_k.is_some() {
        warnings.dropped("top_k");
    }
}

/// Most tools find room in it.
const TOOL_ROOM: usize = 512;

/// The list of tools; `None` without any.
fn tools(specs: &[ToolSpec]) -> Result<Option<Vec<u8>>, serde_json::Error> {
    if specs.is_empty() {
        return Ok(None);
    }
    let mut list = Vec::with_capacity(specs.len() * TOOL_ROOM);
    list.push(b'[');
    for spec in specs {
        match spec {
            ToolSpec::Function(function) => write_function(&mut list, function)?,
            ToolSpec::Provider(tool) => {
                serde_json::to_writer(&mut list, &Sorted(&tool.definition.to_value()))?;
            }
            _ => continue,
        }
        list.push(b',');
    }
    if list.len() > 1 {
        list.pop();
    }
    list.push(b']');
    Ok(Some(list))
}

/// With sorted keys, as everything else.
fn write_function(to: &mut Vec<u8>, spec: &FunctionSpec) -> Result<(), serde_json::Error> {
    #[derive(Serialize)]
    struct Tool<'a> {
        function: Function<'a>,
        r#type: &'static str,
    }
    #[derive(Serialize)]
    struct Function<'a> {
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        name: &'a str,
        parameters: Sorted<'a, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    }
    let function = Function {
        description: &spec.description,
        name: spec.name.as_str(),
        parameters: Sorted(&schema::parameters(&spec.schema)),
        strict: (spec.strict == Strict::Yes).then_some(true),
    };
    let r#type = "function";
    serde_json::to_writer(to, &Tool { function, r#type })
}

fn choice(body: &mut Map, request: &Request, profile: &Profile) {
    if request.tools.is_empty() {
        return;
    }
    if let Some(choice) = &request.tool_choice {
        put(body, "tool_choice", Some(tool_choice(choice, profile)));
    }
    if request.parallel_tool_calls == Some(ParallelCalls::OneAtMost) {
        put(body, "parallel_tool_calls", Some(false));
    }
}

fn tool_choice(choice: &ToolChoice, profile: &Profile) -> Value {
    let named = |name: &ToolName| json!({"type": "function", "function": {"name": name.as_str()}});
    match choice {
        ToolChoice::None => "none".into(),
        ToolChoice::Required => profile.required_word.clone().into(),
        ToolChoice::Tool(name) => named(name),
        ToolChoice::AnyOf(names) => {
            let tools: Vec<Value> = names.iter().map(named).collect();
            let allowed = json!({"mode": "required", "tools": tools});
            json!({"type": "allowed_tools", "allowed_tools": allowed})
        }
        _ => "auto".into(),
    }
}

fn response_format(format: &ResponseFormat, warnings: &mut Warnings) -> Option<Value> {
    match format {
        ResponseFormat::JsonObject => Some(json!({"type": "json_object"})),
        ResponseFormat::JsonSchema(format) => {
            let path = || Path::from("response_format").field("strict");
            let strict = schema::strict(format.strict, &format.schema, path, warnings);
            let schema = json!({"name": format.name, "schema": format.schema, "strict": strict});
            Some(json!({"type": "json_schema", "json_schema": schema}))
        }
        _ => None,
    }
}

fn reasoning(body: &mut Map, asked: &Reasoning, rules: &Rules, warnings: &mut Warnings) {
    let at = |field: &'static str| Path::from("reasoning").field(field);
    let form = match rules.family {
        Some(family) if !family.reasons() => ReasoningRequest::None,
        _ => rules.profile.reasoning_request,
    };
    let effort = asked.effort.as_ref().map(|effort| effort.as_str());
    let budget = asked.budget_tokens;
    match form {
        ReasoningRequest::Effort => put(body, "reasoning_effort", effort),
        ReasoningRequest::Object => {
            let mut object = Map::new();
            put(&mut object, "effort", effort);
            put(&mut object, "max_tokens", budget);
            if !object.is_empty() {
                body.insert("reasoning".to_owned(), object.into());
            }
        }
        ReasoningRequest::None => {
            if effort.is_some() {
                warnings.dropped(at("effort"));
            }
        }
    }
    if budget.is_some() && form != ReasoningRequest::Object {
        warnings.dropped(at("budget_tokens"));
    }
    if asked.summary.is_some() {
        warnings.dropped(at("summary"));
    }
}

const fn verbosity_word(verbosity: Verbosity) -> &'static str {
    match verbosity {
        Verbosity::Low => "low",
        Verbosity::High => "high",
        _ => "medium",
    }
}

fn prompt_cache(
    body: &mut Map,
    cache: &PromptCache,
    call: &ModelCall,
    profile: &Profile,
    warnings: &mut Warnings,
) {
    if !profile.prompt_cache {
        return warnings.dropped("prompt_cache");
    }
    let session = call.session_id.as_ref().map(|id| id.as_str());
    put(body, "prompt_cache_key", cache.key.as_deref().or(session));
    if cache.retention == Retention::Long {
        put(body, "prompt_cache_retention", Some("24h"));
    }
}

#[cfg(test)]
mod tests;
