use std::sync::Arc;

use allm_core::{Effort, JsonSchemaFormat, Message, ModelRef, RawJson, Summary, Thread, ToolCall};

use super::super::super::model::Family;
use super::super::super::own_profile;
use super::*;
use crate::Auth;

mod back;
mod media;

fn connection(name: &str) -> Connection {
    Connection::new(name, "https://h/v1", Auth::Bearer)
}

fn call(request: Request, model: &str) -> ModelCall {
    let model = ModelRef {
        provider: "p".into(),
        model: model.to_owned(),
    };
    ModelCall::new(request, model, "r")
}

fn openai(model: &str) -> Rules {
    Rules {
        profile: Arc::new(own_profile()),
        family: Some(Family::of(model)),
    }
}

fn compat(profile: &Profile) -> Rules {
    Rules {
        profile: Arc::new(profile.clone()),
        family: None,
    }
}

/// The body, and the codes and paths of the warnings.
fn written(call: &ModelCall, rules: &Rules) -> (Value, Vec<String>) {
    let (bytes, warnings) = body(&connection("p"), call, rules).expect("a body");
    let told = warnings
        .into_iter()
        .map(|w| format!("{} {}", w.code, w.path.unwrap_or_default()))
        .collect();
    (serde_json::from_slice(&bytes).expect("JSON"), told)
}

fn to_openai(request: Request, model: &str) -> (Value, Vec<String>) {
    written(&call(request, model), &openai(model))
}

fn to_compat(request: Request, profile: &Profile) -> (Value, Vec<String>) {
    written(&call(request, "m"), &compat(profile))
}

fn messages(request: Request, profile: &Profile) -> Value {
    let (mut body, _) = to_compat(request, profile);
    body["messages"].take()
}

fn looked(ids: &[&str]) -> Vec<ToolCall> {
    let call = |id: &&str| ToolCall::new(*id, "look", format!("{{\"at\":\"{id}\"}}"));
    ids.iter().map(call).collect()
}

/// P92, P150
#[test]
fn p92_p150_nothing_but_what_was_said() {
    let (body, warnings) = to_openai(Request::new("hi"), "gpt-4o");
    assert_eq!(
        body,
        json!({
            "model": "gpt-4o",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": true,
            "stream_options": {"include_usage": true}
        })
    );
    assert_eq!(warnings, [""; 0]);
}

fn full() -> Request {
    Request {
        tools: vec![ToolSpec::function(
            "look",
            "Looks.",
            json!({"type": "object", "properties": {"at": {"type": "string"}}}),
        )],
        tool_choice: Some(ToolChoice::Required),
        parallel_tool_calls: Some(ParallelCalls::OneAtMost),
        temperature: Some(0.5),
        top_p: Some(0.9),
        top_k: Some(4),
        seed: Some(7),
        presence_penalty: Some(0.1),
        frequency_penalty: Some(0.2),
        max_tokens: Some(100),
        stop: vec!["END".to_owned()],
        response_format: Some(ResponseFormat::JsonObject),
        reasoning: Some(Reasoning {
            effort: Some(Effort::High),
            budget_tokens: Some(10),
            summary: Some(Summary::Auto),
        }),
        verbosity: Some(Verbosity::Low),
        prompt_cache: Some(PromptCache {
            key: Some("k".to_owned()),
            retention: Retention::Long,
        }),
        service_tier: Some("flex".to_owned()),
        user: Some("u".to_owned()),
        ..Request::new("hi")
    }
}

#[test]
fn p127_every_setting() {
    let (body, warnings) = to_openai(full(), "o3");
    assert_eq!(
        body,
        json!({
            "model": "o3",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": {
                "name": "look", "description": "Looks.",
                "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}
            }}],
            "tool_choice": "required",
            "parallel_tool_calls": false,
            "temperature": 0.5, "top_p": 0.9, "seed": 7,
            "presence_penalty": 0.1, "frequency_penalty": 0.2,
            "max_completion_tokens": 100,
            "stop": ["END"],
            "response_format": {"type": "json_object"},
            "reasoning_effort": "high",
            "verbosity": "low",
            "prompt_cache_key": "k", "prompt_cache_retention": "24h",
            "service_tier": "flex", "user": "u",
            "stream": true, "stream_options": {"include_usage": true}
        })
    );
    assert_eq!(
        warnings,
        [
            "option_dropped top_k",
            "option_dropped reasoning.budget_tokens",
            "option_dropped reasoning.summary"
        ]
    );
}

#[test]
fn what_a_model_or_server_has_no_word_for_is_told() {
    let (body, warnings) = to_openai(full(), "gpt-4-turbo");
    assert_eq!(body.get("reasoning_effort"), None);
    assert_eq!(body.get("verbosity"), None);
    assert_eq!(
        warnings,
        [
            "option_dropped top_k",
            "option_dropped reasoning.effort",
            "option_dropped reasoning.budget_tokens",
            "option_dropped reasoning.summary",
            "option_dropped verbosity"
        ]
    );
    let (body, warnings) = to_compat(full(), &Profile::default());
    assert_eq!(body["reasoning_effort"], json!("high"));
    assert_eq!(body.get("prompt_cache_key"), None);
    assert!(warnings.contains(&"option_dropped prompt_cache".to_owned()));
}

/// P128: `max_tokens` or `max_completion_tokens`, never both.
#[test]
fn p128_one_name_for_the_limit() {
    let limited = || Request {
        max_tokens: Some(9),
        ..Request::new("hi")
    };
    for (model, name, other) in [
        ("gpt-4-turbo", "max_tokens", "max_completion_tokens"),
        ("gpt-4o", "max_completion_tokens", "max_tokens"),
    ] {
        let (body, _) = to_openai(limited(), model);
        assert_eq!((&body[name], body.get(other)), (&json!(9), None), "{model}");
        let mut request = limited();
        request.extra.insert(other.to_owned(), json!(5));
        let (body, _) = to_openai(request, model);
        assert_eq!((body.get(name), &body[other]), (None, &json!(5)), "{model}");
    }
    let (body, _) = to_compat(limited(), &Profile::default());
    assert_eq!(body["max_tokens"], json!(9));
}

#[test]
fn p91_the_same_bytes_each_time() {
    let build = || {
        let call = call(full(), "o3");
        body(&connection("p"), &call, &openai("o3"))
            .expect("a body")
            .0
            .to_vec()
    };
    let first = build();
    assert!((0..100).all(|_| build() == first));
}

/// P93, P150
#[test]
fn p93_extra_is_merged_and_streaming_stays() {
    let extra = json!({
        "stream": false,
        "stream_options": {"include_usage": false, "include_obfuscation": false},
        "response_format": {"json_schema": {"description": "d"}},
        "store": true
    });
    let mut request = Request::new("hi");
    request.response_format = Some(ResponseFormat::json_schema("n", json!({"type": "object"})));
    request.extra = extra.as_object().cloned().unwrap_or_default();
    let (body, warnings) = to_openai(request, "gpt-4o");
    assert_eq!(body["stream"], json!(true));
    assert_eq!(
        body["stream_options"],
        json!({"include_usage": true, "include_obfuscation": false})
    );
    assert_eq!(body["store"], json!(true));
    assert_eq!(
        body["response_format"],
        json!({"type": "json_schema", "json_schema": {
            "name": "n", "schema": {"type": "object"}, "strict": false, "description": "d"
        }})
    );
    assert_eq!(warnings, ["strict_disabled response_format.strict"]);
}

/// P94, C45
#[test]
fn p94_caching() {
    let plain = to_openai(Request::new("hi"), "gpt-4o");
    let mut with_session = call(Request::new("hi"), "gpt-4o");
    with_session.session_id = allm_core::SessionId::new("s1").ok();
    assert_eq!(written(&with_session, &openai("gpt-4o")), plain);
    let mut request = Request::new("hi");
    request.prompt_cache = Some(PromptCache::default());
    let mut cached = call(request, "gpt-4o");
    cached.session_id = allm_core::SessionId::new("s1").ok();
    let (body, _) = written(&cached, &openai("gpt-4o"));
    assert_eq!(body["prompt_cache_key"], json!("s1"));
    assert_eq!(body.get("prompt_cache_retention"), None);
}

/// P112, P113
#[test]
fn p112_p113_schemas_go_as_they_are() {
    let fitting = json!({
        "type": "object", "properties": {"a": {"type": "integer", "minimum": 1}},
        "required": ["a"], "additionalProperties": false
    });
    let mut request = Request::new("hi");
    request.response_format = Some(ResponseFormat::JsonSchema(JsonSchemaFormat {
        name: "n".to_owned(),
        schema: fitting.clone(),
        strict: Strict::Auto,
    }));
    let (body, warnings) = to_openai(request, "gpt-4o");
    let sent = &body["response_format"]["json_schema"];
    assert_eq!(sent["schema"], fitting);
    assert_eq!(sent["strict"], json!(true));
    assert_eq!(warnings, [""; 0]);
}

/// P100, P148
#[test]
fn p148_tools_and_choices_are_nested() {
    let mut strict = ToolSpec::function("b", "", json!({}));
    if let ToolSpec::Function(function) = &mut strict {
        function.strict = Strict::Yes;
    }
    let own = ToolSpec::Provider(allm_core::ProviderTool {
        provider: "p".into(),
        definition: RawJson::new(r#"{"type":"web_search"}"#).expect("JSON"),
    });
    let with = |choice| Request {
        tools: vec![
            ToolSpec::function("a", "A.", json!({})),
            strict.clone(),
            own.clone(),
        ],
        tool_choice: Some(choice),
        ..Request::new("hi")
    };
    let (body, _) = to_openai(with(ToolChoice::Tool("a".into())), "gpt-4o");
    let nothing = json!({"type": "object", "properties": {}});
    assert_eq!(
        body["tools"],
        json!([
            {"type": "function", "function": {"name": "a", "description": "A.", "parameters": nothing}},
            {"type": "function", "function": {"name": "b", "parameters": nothing, "strict": true}},
            {"type": "web_search"}
        ])
    );
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    assert_eq!(body["tool_choice"], named("a"));
    let any = ToolChoice::AnyOf(vec!["a".into(), "b".into()]);
    let (body, _) = to_openai(with(any.clone()), "gpt-4o");
    assert_eq!(
        body["tool_choice"],
        json!({"type": "allowed_tools", "allowed_tools": {
            "mode": "required", "tools": [named("a"), named("b")]
        }})
    );
    let refused = |rules: &Rules| {
        let call = call(with(any.clone()), "gpt-4o");
        super::super::check(&connection("p"), &call, rules).map_err(|error| error.to_string())
    };
    // `b` is strict and has no schema that fits.
    let loose = "tools[1].schema: not_strict (#/additionalProperties)";
    assert_eq!(
        refused(&openai("gpt-4o")),
        Err(format!("unsupported_option: {loose}"))
    );
    let choice = "tool_choice: unsupported (this server has no choice among some tools)";
    assert_eq!(
        refused(&compat(&Profile::default())),
        Err(format!("unsupported_option: {loose}; {choice}"))
    );
}

#[test]
fn p232_mistral_has_words_of_its_own() {
    let mistral = crate::Compat::mistral();
    let thread = Thread::from(vec![
        Message::user("hi"),
        Message::assistant("").with_tool_calls(looked(&["allm-1-0", "abcdefgh1"])),
        Message::tool_result("allm-1-0", "1"),
        Message::tool_result("abcdefgh1", "2"),
    ]);
    let request = Request {
        messages: thread.messages,
        seed: Some(7),
        ..full()
    };
    let (body, _) = to_compat(request, mistral.known_profile());
    assert_eq!(body["random_seed"], json!(7));
    assert_eq!(body.get("seed"), None);
    assert_eq!(body["tool_choice"], json!("any"));
    assert_eq!(body.get("stream_options"), None);
    assert_eq!(body["stream"], json!(true));
    let call = &body["messages"][1]["tool_calls"][0]["id"];
    assert_eq!(*call, body["messages"][2]["tool_call_id"]);
    let id = call.as_str().unwrap_or_default();
    assert!(
        id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
        "{id}"
    );
    assert_eq!(
        body["messages"][1]["tool_calls"][1]["id"],
        json!("abcdefgh1")
    );
}

#[test]
fn openrouter_asks_with_an_object() {
    let openrouter = crate::Compat::openrouter();
    let (body, warnings) = to_compat(full(), openrouter.known_profile());
    assert_eq!(
        body["reasoning"],
        json!({"effort": "high", "max_tokens": 10})
    );
    assert_eq!(body.get("reasoning_effort"), None);
    assert!(!warnings.contains(&"option_dropped reasoning.budget_tokens".to_owned()));
}
