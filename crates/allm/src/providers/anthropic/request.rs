//! What is sent: the settings of a request, and its conversation.

pub(super) mod tools;

use allm_core::{
    Effort, JsonSchemaFormat, Map, ModelCall, Path, ProviderName, Reasoning, Request,
    ResponseFormat, Retention, ToolSpec, Warning,
};
use serde_json::{Value, json};

use super::block::Asked;
use super::messages::{IDS, Writer, system};
use super::models::Model;
use super::schema;
use crate::providers::translate::body::merge;
use crate::providers::translate::media::warn_detail;
use crate::providers::translate::notes::Warnings;
use crate::providers::translate::written::{self, Body, Head, Recipient};

pub(super) const WIRE: &str = "anthropic.messages";

/// The longest answer where neither the caller nor the name of the model says one.
const MAX_TOKENS: u32 = 4096;
/// The tool through which a model without a form for answers is made to answer.
const ANSWER_TOOL: &str = "respond_with_json";

/// A request as it is sent.
pub(super) struct Built {
    pub(super) body: Body,
    pub(super) asked: Asked,
    pub(super) warnings: Vec<Warning>,
}

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    Unsaid,
    Off,
    /// As it sees fit.
    Adaptive,
    /// At most so many tokens.
    Budget(u32),
}

impl Thinking {
    pub(super) fn of(reasoning: Option<&Reasoning>, model: Model) -> Self {
        let Some(asked) = reasoning.filter(|asked| **asked != Reasoning::default()) else {
            return Self::Unsaid;
        };
        if asked.effort == Some(Effort::None) {
            return Self::Off;
        }
        if model.thinks_adaptively() {
            return Self::Adaptive;
        }
        let budget = asked.budget_tokens.unwrap_or(match &asked.effort {
            Some(Effort::Minimal | Effort::Low) => 1024,
            None | Some(Effort::Medium | Effort::None) => 4096,
            Some(_) => 16_384,
        });
        Self::Budget(budget)
    }

    fn is_on(self) -> bool {
        matches!(self, Self::Adaptive | Self::Budget(_))
    }
}

/// How the form of an answer is asked for.
pub(super) enum Form<'a> {
    Free,
    /// With the wire's own setting.
    Native(&'a JsonSchemaFormat),
    /// Through a tool.
    Tool(&'a JsonSchemaFormat),
}

impl<'a> Form<'a> {
    pub(super) fn of(request: &'a Request, model: Model) -> Self {
        match &request.response_format {
            // Who lets tools and a schema through together has said that the model takes both.
            Some(ResponseFormat::JsonSchema(format))
                if model.has_output_format() || !request.tools.is_empty() =>
            {
                Self::Native(format)
            }
            Some(ResponseFormat::JsonSchema(format)) => Self::Tool(format),
            _ => Self::Free,
        }
    }
}

/// Makes the body of a request that was checked.
pub(super) fn build(call: &ModelCall, provider: &ProviderName) -> Result<Built, serde_json::Error> {
    let request = &*call.request;
    let model = Model::of(&call.model.model);
    let mut warnings = Warnings::default();
    let mut asked = Asked::default();
    let mut settings = Map::new();
    settings.insert("model".to_owned(), call.model.model.as_str().into());

    set(&mut settings, "system", system(&request.messages));

    limits(request, model, &mut settings, &mut asked);
    let mut later = Warnings::default();
    plain(request, &mut settings, &mut later);
    thinking(request, model, &mut settings, &mut asked, &mut later);
    tools::write(request, model, &mut settings);
    form(request, model, &mut settings, &mut asked, &mut later);

    merge(&mut settings, &request.extra);
    settings.insert("stream".to_owned(), true.into());
    let head = Head {
        settings: &settings,
        name: "messages",
        tools: None,
    };
    let to = Recipient {
        provider,
        wire: WIRE,
        ids: Some(IDS),
    };
    let begin = |role: Option<_>| Writer::new(role.flatten());
    let key = provider.clone();
    let body = written::body(&head, &request.messages, to, key, begin, &mut warnings)?;
    warn_detail(&request.messages, &mut warnings);
    warnings.append(later);
    Ok(Built {
        body,
        asked,
        warnings: warnings.finish(),
    })
}

fn set(settings: &mut Map, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        settings.insert(name.to_owned(), value.into());
    }
}

/// The longest answer, which the wire always wants to know.
fn limits(request: &Request, model: Model, settings: &mut Map, asked: &mut Asked) {
    let max_tokens = request.max_tokens.unwrap_or_else(|| {
        asked.default_max_tokens = true;
        let budget = match Thinking::of(request.reasoning.as_ref(), model) {
            Thinking::Budget(budget) => budget,
            _ => 0,
        };
        // A limit that leaves no room beside the budget would be refused.
        let known = model.max_tokens().filter(|limit| *limit > budget);
        known.unwrap_or_else(|| budget.saturating_add(MAX_TOKENS))
    });
    settings.insert("max_tokens".to_owned(), max_tokens.into());
}

/// Settings that go out under a name of the wire, or not at all.
fn plain(request: &Request, settings: &mut Map, warnings: &mut Warnings) {
    set(settings, "temperature", request.temperature);
    set(settings, "top_p", request.top_p);
    set(settings, "top_k", request.top_k);
    set(settings, "service_tier", request.service_tier.as_deref());
    if !request.stop.is_empty() {
        set(settings, "stop_sequences", Some(request.stop.clone()));
    }
    let user = request.user.as_deref();
    set(
        settings,
        "metadata",
        user.map(|user| json!({"user_id": user})),
    );
    if let Some(cache) = &request.prompt_cache {
        let control = match cache.retention {
            Retention::Long => json!({"type": "ephemeral", "ttl": "1h"}),
            _ => json!({"type": "ephemeral"}),
        };
        set(settings, "cache_control", Some(control));
    }
    for (name, is_set) in [
        ("seed", request.seed.is_some()),
        ("presence_penalty", request.presence_penalty.is_some()),
        ("frequency_penalty", request.frequency_penalty.is_some()),
        ("verbosity", request.verbosity.is_some()),
    ] {
        if is_set {
            warnings.dropped(name);
        }
    }
}

fn thinking(
    request: &Request,
    model: Model,
    settings: &mut Map,
    asked: &mut Asked,
    warnings: &mut Warnings,
) {
    let Some(reasoning) = &request.reasoning else {
        return;
    };
    let thinking = Thinking::of(Some(reasoning), model);
    let mut value = Map::new();
    let kind = match thinking {
        Thinking::Unsaid => return,
        Thinking::Off => "disabled",
        Thinking::Adaptive => "adaptive",
        Thinking::Budget(budget) => {
            value.insert("budget_tokens".to_owned(), budget.into());
            "enabled"
        }
    };
    value.insert("type".to_owned(), kind.into());
    if thinking.is_on() && reasoning.summary.is_some() {
        asked.summaries = true;
        value.insert("display".to_owned(), "summarized".into());
    }
    set(settings, "thinking", Some(Value::Object(value)));
    if thinking != Thinking::Adaptive {
        return;
    }
    if reasoning.budget_tokens.is_some() {
        warnings.dropped(Path::from("reasoning").field("budget_tokens"));
    }
    if let Some(effort) = &reasoning.effort {
        let word = match effort {
            Effort::Minimal => "low",
            effort => effort.as_str(),
        };
        set_output(settings, "effort", word);
    }
}

fn form(
    request: &Request,
    model: Model,
    settings: &mut Map,
    asked: &mut Asked,
    warnings: &mut Warnings,
) {
    match Form::of(request, model) {
        Form::Free => {}
        Form::Native(format) => {
            // A schema that points to itself was refused before.
            let Ok(relaxed) = schema::relaxed(&format.schema) else {
                return;
            };
            if let Some(first) = relaxed.changed.first() {
                let path = Path::from("response_format").field("schema");
                warnings.add("schema_relaxed", Some(path), Some(first.clone()));
            }
            let format = json!({"type": "json_schema", "schema": relaxed.schema});
            set_output(settings, "format", format);
        }
        Form::Tool(format) => {
            let name = answer_tool(request);
            tools::force_answer(format, &name, settings);
            asked.answer_tool = Some(name);
        }
    }
}

/// Sets one of the settings of the answer beside the others.
fn set_output(settings: &mut Map, name: &str, value: impl Into<Value>) {
    let mut config = Map::new();
    config.insert(name.to_owned(), value.into());
    let mut over = Map::new();
    over.insert("output_config".to_owned(), config.into());
    merge(settings, &over);
}

/// A name for the tool of the answer that no other tool has, now or before.
fn answer_tool(request: &Request) -> String {
    let offered = request.tools.iter().filter_map(ToolSpec::name);
    let called = || {
        let messages = request.messages.iter();
        messages.flat_map(|message| message.tool_calls.iter().map(|call| call.name.as_str()))
    };
    let offered: Vec<&str> = offered.map(|name| name.as_str()).collect();
    let is_taken = |name: &str| offered.contains(&name) || called().any(|called| called == name);
    let mut name = ANSWER_TOOL.to_owned();
    while is_taken(&name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests;
