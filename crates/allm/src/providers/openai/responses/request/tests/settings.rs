//! Settings, tools, schemas.

use allm_core::{
    Effort, FunctionSpec, JsonSchemaFormat, PromptCache, ProviderTool, Strict, Summary,
};

use super::*;

fn fitting() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 1}},
        "required": ["city"],
        "additionalProperties": false
    })
}

fn loose() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}})
}

fn function(name: &str, schema: Value, strict: Strict) -> ToolSpec {
    ToolSpec::Function(FunctionSpec {
        name: name.into(),
        description: "Looks.".to_owned(),
        schema: schema.into(),
        strict,
    })
}

fn format(schema: Value, strict: Strict) -> ResponseFormat {
    ResponseFormat::JsonSchema(JsonSchemaFormat {
        name: "answer".to_owned(),
        schema,
        strict,
    })
}

/// P92, P131
#[test]
fn p92_p131_nothing_but_what_was_said() {
    assert_eq!(
        sent(Request::new("hi")),
        json!({
            "model": "gpt-5",
            "input": [{"role": "user", "content": "hi"}],
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "stream": true
        })
    );
    let (body, _) = written(&call(Request::new("hi"), "gpt-4.1"));
    assert_eq!(
        body,
        json!({
            "model": "gpt-4.1",
            "input": [{"role": "user", "content": "hi"}],
            "store": false,
            "stream": true
        })
    );
    let mut request = Request::new("hi");
    request.extra.insert("store".into(), true.into());
    assert_eq!(sent(request)["store"], true);
}

#[test]
fn every_setting_has_its_place() {
    let mut request = Request::new("hi");
    request.max_tokens = Some(16);
    request.temperature = Some(0.5);
    request.top_p = Some(0.9);
    request.service_tier = Some("flex".into());
    request.user = Some("u1".into());
    request.reasoning = Some(Reasoning {
        effort: Some(Effort::High),
        budget_tokens: None,
        summary: Some(Summary::Auto),
    });
    request.prompt_cache = Some(PromptCache {
        key: Some("key with spaces".into()),
        retention: Retention::Long,
    });
    assert_eq!(
        sent(request),
        json!({
            "model": "gpt-5",
            "input": [{"role": "user", "content": "hi"}],
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "stream": true,
            "max_output_tokens": 16,
            "temperature": 0.5,
            "top_p": 0.9,
            "service_tier": "flex",
            "safety_identifier": "u1",
            "reasoning": {"effort": "high", "summary": "auto"},
            "prompt_cache_key": "key with spaces",
            "prompt_cache_retention": "24h"
        })
    );
}

#[test]
fn p91_the_same_bytes_each_time() {
    let mut request = Request::new("hi");
    request.tools = vec![
        function("b", fitting(), Strict::Yes),
        function("a", loose(), Strict::No),
    ];
    request.response_format = Some(format(fitting(), Strict::Yes));
    for key in ["z", "y", "a"] {
        request.extra.insert(key.into(), json!({"c": 1, "b": 2}));
    }
    let first = bytes(&call(request.clone(), "gpt-5")).0;
    for _ in 0..100 {
        assert_eq!(bytes(&call(request.clone(), "gpt-5")).0, first);
    }
}

#[test]
fn p93_extra_comes_last_but_for_the_stream() {
    let mut request = Request::new("hi");
    request.response_format = Some(ResponseFormat::JsonObject);
    let extra = json!({
        "stream": false, "input": [], "model": "x", "store": true,
        "text": {"verbosity": "low"}, "include": ["web_search_call.results"]
    });
    request.extra = extra.as_object().expect("an object").clone();
    assert_eq!(
        sent(request),
        json!({
            "model": "gpt-5",
            "input": [{"role": "user", "content": "hi"}],
            "store": true,
            "include": ["web_search_call.results"],
            "text": {"format": {"type": "json_object"}, "verbosity": "low"},
            "stream": true
        })
    );
}

/// P94: a session turns no caching on; with caching on it is the key.
#[test]
fn p94_caching_is_asked_for() {
    let plain = bytes(&call(Request::new("hi"), "gpt-5")).0;
    let mut session = call(Request::new("hi"), "gpt-5");
    session.session_id = Some("s1".parse().expect("an id"));
    assert_eq!(bytes(&session).0, plain);
    let mut request = Request::new("hi");
    request.prompt_cache = Some(PromptCache::default());
    let mut cached = call(request, "gpt-5");
    assert_eq!(bytes(&cached).0, plain);
    cached.session_id = Some("s1".parse().expect("an id"));
    assert_eq!(written(&cached).0["prompt_cache_key"], "s1");
}

#[test]
fn p112_p114_strict_is_always_written() {
    let mut request = Request::new("hi");
    request.tools = vec![
        function("yes", fitting(), Strict::Yes),
        function("fits", fitting(), Strict::Auto),
        function("loose", loose(), Strict::Auto),
        function("no", fitting(), Strict::No),
    ];
    request.response_format = Some(format(loose(), Strict::Auto));
    let (body, warnings) = written(&call(request, "gpt-5"));
    let tool = |name: &str, schema: Value, strict: bool| {
        json!({
            "type": "function", "name": name, "description": "Looks.",
            "parameters": schema, "strict": strict
        })
    };
    assert_eq!(
        body["tools"],
        json!([
            tool("yes", fitting(), true),
            tool("fits", fitting(), true),
            tool("loose", loose(), false),
            tool("no", fitting(), false),
        ])
    );
    assert_eq!(body["text"]["format"]["strict"], false);
    assert_eq!(
        warnings,
        [
            "strict_disabled tools[2].strict",
            "strict_disabled response_format.strict"
        ]
    );
    let mut request = Request::new("hi");
    request.tools = vec![function("loose", loose(), Strict::Yes)];
    request.response_format = Some(format(loose(), Strict::Yes));
    assert_eq!(
        refused(request).to_string(),
        "unsupported_option: tools[0].schema: not_strict (#/additionalProperties); \
         response_format.schema: not_strict (#/additionalProperties)"
    );
}

/// P113, P119: the caller's schema goes out as it is, with tools in the same body.
#[test]
fn p113_p119_schemas_are_the_callers() {
    let mut schema = fitting();
    schema["$defs"] = json!({"x": {"type": "string", "format": "made-up"}});
    let mut request = Request::new("hi");
    request.tools = vec![function("look", schema.clone(), Strict::Yes)];
    request.response_format = Some(format(schema.clone(), Strict::Yes));
    let body = sent(request);
    assert_eq!(body["tools"][0]["parameters"], schema);
    assert_eq!(
        body["text"],
        json!({"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": true}})
    );
}

#[test]
fn p100_a_tool_without_parameters() {
    let mut request = Request::new("hi");
    request.tools = vec![ToolSpec::function("now", "", json!({}))];
    assert_eq!(
        sent(request)["tools"],
        json!([{
            "type": "function", "name": "now", "strict": false,
            "parameters": {"type": "object", "properties": {}}
        }])
    );
}

#[test]
fn tools_of_the_provider_go_out_as_they_are() {
    let definition = RawJson::new(r#"{"type": "web_search", "user_location": {"city": "Bonn"}}"#);
    let mut request = Request::new("hi");
    request.tools = vec![ToolSpec::Provider(ProviderTool {
        provider: "openai".into(),
        definition: definition.expect("JSON"),
    })];
    assert_eq!(
        sent(request)["tools"],
        json!([{"type": "web_search", "user_location": {"city": "Bonn"}}])
    );
}

#[test]
fn p147_what_cannot_be_said() {
    let mut request = Request::new("hi");
    request.stop = vec!["END".into()];
    request.max_tokens = Some(10);
    assert_eq!(
        refused(request).to_string(),
        "unsupported_option: stop: unsupported (the Responses API has no stop texts); \
         max_tokens: below_provider_minimum"
    );
    let mut request = Request::new("hi");
    request.seed = Some(1);
    request.top_k = Some(1);
    request.presence_penalty = Some(0.1);
    request.frequency_penalty = Some(0.1);
    request.reasoning = Some(Reasoning {
        budget_tokens: Some(100),
        ..Reasoning::default()
    });
    let plain = written(&call(Request::new("hi"), "gpt-5")).0;
    let (body, warnings) = written(&call(request, "gpt-5"));
    assert_eq!(body, plain);
    assert_eq!(
        warnings,
        [
            "option_dropped reasoning.budget_tokens",
            "option_dropped top_k",
            "option_dropped seed",
            "option_dropped presence_penalty",
            "option_dropped frequency_penalty"
        ]
    );
}

#[test]
fn p148_choices_are_flat() {
    let named = |name: &str| json!({"type": "function", "name": name});
    for (choice, expected) in [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Tool("a".into()), named("a")),
        (
            ToolChoice::AnyOf(vec!["a".into(), "b".into()]),
            json!({"type": "allowed_tools", "mode": "required", "tools": [named("a"), named("b")]}),
        ),
    ] {
        let mut request = Request::new("hi");
        request.tools = vec![
            function("a", loose(), Strict::No),
            function("b", loose(), Strict::No),
        ];
        request.tool_choice = Some(choice);
        request.parallel_tool_calls = Some(ParallelCalls::OneAtMost);
        let body = sent(request);
        assert_eq!(body["tool_choice"], expected);
        assert_eq!(body["parallel_tool_calls"], false);
    }
}

#[test]
fn p149_verbosity_stands_beside_the_format() {
    let mut request = Request::new("hi");
    request.verbosity = Some(Verbosity::Low);
    assert_eq!(sent(request.clone())["text"], json!({"verbosity": "low"}));
    request.response_format = Some(ResponseFormat::Text);
    assert_eq!(
        sent(request)["text"],
        json!({"format": {"type": "text"}, "verbosity": "low"})
    );
}
