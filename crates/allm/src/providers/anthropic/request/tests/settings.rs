use allm_core::{
    ParallelCalls, PromptCache, ProviderTool, RawJson, Strict, Summary, ToolCall, ToolChoice,
    Verbosity,
};

use super::*;

fn tool(name: &str) -> ToolSpec {
    ToolSpec::function(name, "Looks.", json!({}))
}

fn with_tools(names: &[&str]) -> Request {
    Request {
        tools: names.iter().map(|name| tool(name)).collect(),
        ..hi()
    }
}

fn effort(effort: Effort) -> Reasoning {
    Reasoning {
        effort: Some(effort),
        ..Reasoning::default()
    }
}

fn formatted(schema: Value) -> Request {
    Request {
        response_format: Some(ResponseFormat::json_schema("answer", schema)),
        ..hi()
    }
}

/// P92, P168: nothing is sent that was not said, but for the limit that the wire wants.
#[test]
fn p92_p168_the_smallest_body() {
    let expected = |max: u32, model: &str| {
        json!({
            "model": model,
            "max_tokens": max,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "stream": true
        })
    };
    for (model, max) in [
        (MODEL, 64_000),
        ("claude-3-opus-20240229", 4096),
        ("other", 4096),
    ] {
        let sent = sent(hi(), model);
        assert_eq!(sent.body, expected(max, model));
        assert!(sent.asked.default_max_tokens);
        assert_eq!(sent.warnings, []);
    }
    let own = sent(
        Request {
            max_tokens: Some(7),
            ..hi()
        },
        MODEL,
    );
    assert_eq!(own.body, expected(7, MODEL));
    assert!(!own.asked.default_max_tokens);
}

/// Every setting with a word, and warnings for those without.
#[test]
fn settings_have_their_words() {
    let sent = sent(
        Request {
            temperature: Some(0.5),
            top_p: Some(0.9),
            top_k: Some(4),
            max_tokens: Some(9),
            stop: vec!["END".to_owned()],
            service_tier: Some("auto".to_owned()),
            user: Some("u1".to_owned()),
            seed: Some(1),
            presence_penalty: Some(0.1),
            frequency_penalty: Some(0.1),
            verbosity: Some(Verbosity::Low),
            ..hi()
        },
        MODEL,
    );
    assert_eq!(
        sent.body,
        json!({
            "model": MODEL,
            "max_tokens": 9,
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 4,
            "stop_sequences": ["END"],
            "service_tier": "auto",
            "metadata": {"user_id": "u1"},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "stream": true
        })
    );
    let dropped = ["seed", "presence_penalty", "frequency_penalty", "verbosity"];
    let dropped = dropped.map(|path| ("option_dropped".to_owned(), path.to_owned()));
    assert_eq!(sent.warnings, dropped);
}

#[test]
fn p91_the_same_bytes() {
    let request = Request {
        extra: [
            ("b".to_owned(), json!({"z": 1, "a": 2})),
            ("a".to_owned(), json!(1)),
        ]
        .into_iter()
        .collect(),
        ..with_tools(&["b", "a"])
    };
    let once = || build(&call(request.clone(), MODEL), &"anthropic".into()).expect("a body");
    let first = once().body.to_vec();
    for _ in 0..100 {
        assert_eq!(once().body.to_vec(), first);
    }
}

/// P93: `extra` reaches every setting, keeps siblings, and leaves streaming on.
#[test]
fn p93_extra() {
    let sent = body(Request {
        reasoning: Some(effort(Effort::Low)),
        extra: [
            ("stream".to_owned(), json!(false)),
            (
                "output_config".to_owned(),
                json!({"task_budget": {"total": 1}}),
            ),
            ("container".to_owned(), json!("box")),
        ]
        .into_iter()
        .collect(),
        ..hi()
    });
    assert_eq!(sent["stream"], true);
    assert_eq!(
        sent["output_config"],
        json!({"effort": "low", "task_budget": {"total": 1}})
    );
    assert_eq!(sent["container"], "box");
}

#[test]
fn p169_a_temperature_above_one() {
    let hot = |temperature| Request {
        temperature: Some(temperature),
        ..hi()
    };
    assert_eq!(
        refused(hot(1.5), MODEL),
        "invalid_request: temperature: out_of_range"
    );
    assert_eq!(refused(hot(1.0), MODEL), "");
}

#[test]
fn p100_a_tool_without_parameters() {
    let sent = body(with_tools(&["look"]));
    assert_eq!(
        sent["tools"],
        json!([{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}])
    );
}

#[test]
fn provider_tools_go_as_they_are() {
    let definition = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2});
    let sent = body(Request {
        tools: vec![
            ToolSpec::Provider(ProviderTool {
                provider: "anthropic".into(),
                definition: RawJson::from_value(&definition).expect("JSON"),
            }),
            tool("look"),
        ],
        ..hi()
    });
    assert_eq!(sent["tools"][0], definition);
    assert_eq!(sent["tools"][1]["name"], "look");
}

#[test]
fn p170_tool_choices() {
    let any_of = |names: &[&str]| ToolChoice::AnyOf(names.iter().map(|n| (*n).into()).collect());
    let one = Some(ParallelCalls::OneAtMost);
    let null = Value::Null;
    for (choice, parallel, expected) in [
        (None, None, null.clone()),
        (Some(ToolChoice::Auto), None, null.clone()),
        (
            Some(ToolChoice::Auto),
            Some(ParallelCalls::Allowed),
            null.clone(),
        ),
        (Some(ToolChoice::None), None, json!({"type": "none"})),
        (Some(ToolChoice::None), one, json!({"type": "none"})),
        (Some(ToolChoice::Required), None, json!({"type": "any"})),
        (
            Some(ToolChoice::Tool("a".into())),
            None,
            json!({"type": "tool", "name": "a"}),
        ),
        (
            Some(any_of(&["b"])),
            None,
            json!({"type": "tool", "name": "b"}),
        ),
        (Some(any_of(&["b", "a"])), None, json!({"type": "any"})),
        (
            None,
            one,
            json!({"type": "auto", "disable_parallel_tool_use": true}),
        ),
        (
            Some(ToolChoice::Required),
            one,
            json!({"type": "any", "disable_parallel_tool_use": true}),
        ),
        (
            Some(ToolChoice::Tool("a".into())),
            one,
            json!({"type": "tool", "name": "a", "disable_parallel_tool_use": true}),
        ),
    ] {
        let request = Request {
            tool_choice: choice.clone(),
            parallel_tool_calls: parallel,
            ..with_tools(&["a", "b"])
        };
        assert_eq!(refused(request.clone(), MODEL), "");
        let sent = body(request);
        let said = sent.get("tool_choice").cloned().unwrap_or_default();
        assert_eq!(said, expected, "{choice:?} {parallel:?}");
    }
    let some = Request {
        tool_choice: Some(any_of(&["a", "b"])),
        ..with_tools(&["a", "b", "c"])
    };
    assert!(refused(some, MODEL).starts_with("unsupported_option: tool_choice: unsupported"));
    let none = Request {
        parallel_tool_calls: one,
        ..hi()
    };
    assert_eq!(body(none).get("tool_choice"), None);
}

#[test]
fn p174_thinking() {
    let sent = |reasoning: Reasoning, model| {
        let request = Request {
            reasoning: Some(reasoning),
            ..hi()
        };
        assert_eq!(refused(request.clone(), model), "");
        sent(request, model)
    };
    let new = sent(effort(Effort::High), MODEL);
    assert_eq!(new.body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(new.body["output_config"], json!({"effort": "high"}));
    assert_eq!(
        sent(effort(Effort::Minimal), MODEL).body["output_config"],
        json!({"effort": "low"})
    );
    for (asked, budget) in [
        (effort(Effort::Minimal), 1024),
        (effort(Effort::Medium), 4096),
        (effort(Effort::High), 16_384),
        (effort(Effort::Max), 16_384),
        (
            Reasoning {
                budget_tokens: Some(2000),
                ..effort(Effort::High)
            },
            2000,
        ),
    ] {
        let old = sent(asked, "old");
        assert_eq!(
            old.body["thinking"],
            json!({"type": "enabled", "budget_tokens": budget})
        );
        assert_eq!(old.body["max_tokens"], 4096 + budget);
        assert_eq!(old.body.get("output_config"), None);
    }
    // A limit that is known holds the budget already.
    assert_eq!(sent(effort(Effort::High), OLD).body["max_tokens"], 64_000);
    for model in [MODEL, OLD] {
        let off = sent(effort(Effort::None), model).body;
        assert_eq!(off["thinking"], json!({"type": "disabled"}));
    }
    let summary = Reasoning {
        summary: Some(Summary::Auto),
        budget_tokens: Some(2000),
        ..effort(Effort::Low)
    };
    let shown = sent(summary, MODEL);
    assert_eq!(
        shown.body["thinking"],
        json!({"type": "adaptive", "display": "summarized"})
    );
    assert!(shown.asked.summaries);
    let path = "reasoning.budget_tokens".to_owned();
    assert_eq!(shown.warnings, [("option_dropped".to_owned(), path)]);
    let unsaid = sent(Reasoning::default(), MODEL).body;
    assert_eq!(unsaid.get("thinking"), None);
}

#[test]
fn p174_what_does_not_go_with_a_budget() {
    let request = Request {
        max_tokens: Some(4096),
        temperature: Some(0.5),
        tool_choice: Some(ToolChoice::Required),
        reasoning: Some(effort(Effort::Medium)),
        ..with_tools(&["a"])
    };
    assert_eq!(
        refused(request.clone(), OLD),
        "invalid_request: max_tokens: below_reasoning_budget; \
         tool_choice: unsupported (a model that thinks cannot be made to call); \
         temperature: unsupported (a model that thinks has the temperature 1)"
    );
    assert_eq!(refused(request.clone(), MODEL), "");
    let fits = Request {
        max_tokens: Some(4097),
        temperature: Some(1.0),
        tool_choice: None,
        ..request
    };
    assert_eq!(refused(fits, OLD), "");
}

#[test]
fn p94_p175_prompt_cache() {
    let cached = |retention| {
        body(Request {
            prompt_cache: Some(PromptCache {
                key: Some("tenant-key".to_owned()),
                retention,
            }),
            ..hi()
        })
    };
    let short = cached(Retention::Short);
    assert_eq!(short["cache_control"], json!({"type": "ephemeral"}));
    let long = cached(Retention::Long);
    assert_eq!(
        long["cache_control"],
        json!({"type": "ephemeral", "ttl": "1h"})
    );
    for sent in [&short, &long] {
        assert!(!sent.to_string().contains("tenant-key"));
    }
    assert_eq!(body(hi()).get("cache_control"), None);
}

/// P115, P119: the form of an answer, with tools in one body.
#[test]
fn p115_p119_native_output() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    let request = Request {
        tools: vec![tool("look")],
        ..formatted(schema)
    };
    assert_eq!(refused(request.clone(), MODEL), "");
    let sent = sent(request, MODEL);
    assert_eq!(
        sent.body["output_config"],
        json!({"format": {"type": "json_schema", "schema": {
            "type": "object",
            "properties": {"n": {"type": "integer", "description": "minimum: 1"}},
            "additionalProperties": false
        }}})
    );
    assert_eq!(sent.body["tools"][0]["name"], "look");
    assert_eq!(sent.asked.answer_tool, None);
    let path = "response_format.schema".to_owned();
    assert_eq!(sent.warnings, [("schema_relaxed".to_owned(), path)]);
}

#[test]
fn p117_p120_forms_that_the_wire_has_not() {
    let recursive = formatted(json!({"type": "object", "properties": {"next": {"$ref": "#"}}}));
    assert_eq!(
        refused(recursive.clone(), MODEL),
        "unsupported_option: response_format.schema: unsupported (it points back to itself)"
    );
    // Through a tool it goes.
    assert_eq!(refused(recursive, OLD), "");
    let any = Request {
        response_format: Some(ResponseFormat::JsonObject),
        ..hi()
    };
    assert_eq!(
        refused(any, MODEL),
        "unsupported_option: response_format: unsupported (JSON needs a schema here)"
    );
    let plain = Request {
        response_format: Some(ResponseFormat::Text),
        ..hi()
    };
    assert_eq!(body(plain), body(hi()));
}

/// P121: older models answer through a tool.
#[test]
fn p121_the_answer_tool() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    let sent = sent(formatted(schema.clone()), OLD);
    assert_eq!(sent.body["tools"][0]["name"], "respond_with_json");
    assert_eq!(sent.body["tools"][0]["input_schema"], schema);
    assert_eq!(
        sent.body["tool_choice"],
        json!({"type": "tool", "name": "respond_with_json", "disable_parallel_tool_use": true})
    );
    assert_eq!(sent.body.get("output_config"), None);
    assert_eq!(sent.asked.answer_tool.as_deref(), Some("respond_with_json"));
    assert_eq!(sent.warnings, []);
    for (request, refusal) in [
        (
            Request {
                reasoning: Some(effort(Effort::Low)),
                ..formatted(schema)
            },
            "unsupported_option: response_format: unsupported (this model cannot think and keep to a form)",
        ),
        (
            formatted(json!({"type": "array"})),
            "unsupported_option: response_format.schema: unsupported (this model answers with objects only)",
        ),
    ] {
        assert_eq!(refused(request, OLD), refusal);
    }
}

/// P122: a tool of the caller's with that name, in an earlier turn, keeps it.
#[test]
fn p122_the_name_is_free() {
    let call = ToolCall::new("a", "respond_with_json", "{}");
    let request = Request {
        messages: vec![
            Message::user("hi"),
            Message::assistant("").with_tool_calls(vec![call]),
            Message::tool_result("a", "1"),
        ]
        .into(),
        ..formatted(json!({"type": "object"}))
    };
    let sent = sent(request, OLD);
    assert_eq!(sent.body["tools"][0]["name"], "respond_with_json_");
    assert_eq!(
        sent.asked.answer_tool.as_deref(),
        Some("respond_with_json_")
    );
}

#[test]
fn strict_tools() {
    let with = |strict, schema: Value| {
        let ToolSpec::Function(function) = tool("look") else {
            panic!("a function")
        };
        Request {
            tools: vec![ToolSpec::Function(allm_core::FunctionSpec {
                strict,
                schema: schema.into(),
                ..function
            })],
            ..hi()
        }
    };
    let fits = || json!({"type": "object", "properties": {}, "additionalProperties": false});
    let loose = || json!({"type": "object", "properties": {"n": {"minimum": 1}}, "additionalProperties": false});
    for (strict, schema, sent) in [
        (Strict::Yes, fits(), json!(true)),
        (Strict::Auto, fits(), json!(true)),
        (Strict::Auto, loose(), Value::Null),
        (Strict::Auto, json!({}), Value::Null),
        (Strict::No, fits(), Value::Null),
    ] {
        assert_eq!(body(with(strict, schema))["tools"][0]["strict"], sent);
    }
    assert_eq!(
        refused(with(Strict::Yes, loose()), MODEL),
        "unsupported_option: tools[0].schema: not_strict (#/properties/n/minimum)"
    );
    assert_eq!(
        refused(with(Strict::Yes, fits()), OLD),
        "unsupported_option: tools[0].strict: unsupported (the model keeps to no schema exactly)"
    );
}
