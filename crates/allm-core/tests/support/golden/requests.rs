//! Requests, their tools, and tools.

use std::time::Duration;

use allm_core::{
    Effect, Effort, FunctionSpec, JsonSchemaFormat, ParallelCalls, PromptCache, ProviderTool,
    Reasoning, Request, ResponseFormat, Retention, Strict, Summary, Thread, Tool, ToolChoice,
    ToolSpec, Verbosity,
};
use serde_json::json;

use super::Named;
use super::messages::answered;
use crate::support::{map, raw};

fn with_choice(choice: ToolChoice) -> Request {
    Request {
        tool_choice: Some(choice),
        ..Request::new("hi")
    }
}

fn with_format(format: ResponseFormat) -> Request {
    Request {
        response_format: Some(format),
        ..Request::new("hi")
    }
}

fn with_reasoning(effort: Effort, summary: Option<Summary>) -> Request {
    let reasoning = Reasoning {
        effort: Some(effort),
        budget_tokens: None,
        summary,
    };
    Request {
        reasoning: Some(reasoning),
        ..Request::new("hi")
    }
}

pub(super) fn requests() -> Vec<Named<Request>> {
    let strict = JsonSchemaFormat {
        name: "city".to_owned(),
        schema: json!({"type": "object"}),
        strict: Strict::Yes,
    };
    vec![
        ("minimal", Request::new("hi")),
        ("empty", Request::new(Thread::new())),
        ("full", full()),
        ("choice_auto", with_choice(ToolChoice::Auto)),
        ("choice_none", with_choice(ToolChoice::None)),
        ("choice_required", with_choice(ToolChoice::Required)),
        (
            "choice_tool",
            with_choice(ToolChoice::Tool("get_weather".into())),
        ),
        ("format_text", with_format(ResponseFormat::Text)),
        (
            "format_json_object",
            with_format(ResponseFormat::JsonObject),
        ),
        (
            "format_json_schema",
            with_format(ResponseFormat::json_schema("city", json!({}))),
        ),
        (
            "format_strict",
            with_format(ResponseFormat::JsonSchema(strict)),
        ),
        ("effort_none", with_reasoning(Effort::None, None)),
        (
            "effort_minimal",
            with_reasoning(Effort::Minimal, Some(Summary::Auto)),
        ),
        (
            "effort_low",
            with_reasoning(Effort::Low, Some(Summary::Concise)),
        ),
        ("effort_medium", with_reasoning(Effort::Medium, None)),
        ("effort_high", with_reasoning(Effort::High, None)),
        ("effort_max", with_reasoning(Effort::Max, None)),
        (
            "effort_other",
            with_reasoning(Effort::Other("ultra".to_owned()), None),
        ),
        (
            "verbosity_low",
            Request {
                verbosity: Some(Verbosity::Low),
                ..Request::new("hi")
            },
        ),
        (
            "verbosity_medium",
            Request {
                verbosity: Some(Verbosity::Medium),
                parallel_tool_calls: Some(ParallelCalls::Allowed),
                prompt_cache: Some(PromptCache::default()),
                ..Request::new("hi")
            },
        ),
    ]
}

fn full() -> Request {
    Request {
        model: Some(
            "openrouter:google/gemini-2.5-flash:free"
                .parse()
                .expect("a model"),
        ),
        tools: specs().into_iter().map(|(_, spec)| spec).collect(),
        tool_choice: Some(ToolChoice::AnyOf(vec![
            "get_weather".into(),
            "get_time".into(),
        ])),
        parallel_tool_calls: Some(ParallelCalls::OneAtMost),
        temperature: Some(0.1),
        top_p: Some(1.0),
        top_k: Some(40),
        seed: Some(-7),
        presence_penalty: Some(-2.0),
        frequency_penalty: Some(0.5),
        max_tokens: Some(4096),
        stop: vec!["END".to_owned(), "\n\n".to_owned()],
        response_format: Some(ResponseFormat::JsonObject),
        reasoning: Some(Reasoning {
            effort: Some(Effort::XHigh),
            budget_tokens: Some(2048),
            summary: Some(Summary::Detailed),
        }),
        verbosity: Some(Verbosity::High),
        prompt_cache: Some(PromptCache {
            key: Some("zoe".to_owned()),
            retention: Retention::Long,
        }),
        service_tier: Some("flex".to_owned()),
        user: Some("user-1".to_owned()),
        extra: map(json!({"logit_bias": {"50256": -100}, "big": u64::MAX})),
        metadata: map(json!({"trace": "t1"})),
        ..Request::new(answered())
    }
}

pub(super) fn specs() -> Vec<Named<ToolSpec>> {
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let strict = |strict| {
        ToolSpec::Function(FunctionSpec {
            name: "get_time".into(),
            description: String::new(),
            schema: json!({}).into(),
            strict,
        })
    };
    vec![
        (
            "function",
            ToolSpec::function("get_weather", "Returns the weather for a city.", schema),
        ),
        ("strict", strict(Strict::Yes)),
        ("strict_auto", strict(Strict::Auto)),
        (
            "provider",
            ToolSpec::Provider(ProviderTool {
                provider: "anthropic".into(),
                definition: raw("{\"type\": \"web_search_20250305\", \"name\":\"web_search\"}"),
            }),
        ),
    ]
}

pub(super) fn tools() -> Vec<Named<Tool>> {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    vec![
        ("plain", Tool::new("echo", "", json!({}))),
        (
            "full",
            Tool::new("get_weather", "Returns the weather for a city.", schema)
                .manual()
                .compact()
                .summary("the weather")
                .effect(Effect::Pure)
                .timeout(Duration::from_millis(1_500))
                .metadata(map(json!({"team": "sky"}))),
        ),
        (
            "idempotent",
            Tool::new("pay", "Pays.", json!({}))
                .effect(Effect::Idempotent)
                .timeout(Duration::MAX),
        ),
        (
            "reconcile",
            Tool::new("pay", "Pays.", json!({})).effect(Effect::Reconcile(None)),
        ),
    ]
}
