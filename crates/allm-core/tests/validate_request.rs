//! The settings and messages of a request: C38 to C48.

mod support;

use allm_core::{
    File, Image, JsonSchemaFormat, Message, Part, PromptCache, Reasoning, ReasoningKind,
    ReasoningPart, Request, ResponseFormat, Retention, Strict, Thread, ToolCall, ToolChoice,
    ToolSpec, validate,
};
use serde_json::{Value, json};
use support::told;

fn hello() -> Request {
    Request::new("hi")
}

fn told_of(request: &Request) -> Vec<String> {
    told(validate::request(request))
}

fn told_of_messages(messages: Vec<Message>) -> Vec<String> {
    told_of(&Request::new(Thread::from(messages)))
}

fn function(name: &str) -> ToolSpec {
    ToolSpec::function(name, "", json!({}))
}

fn reasoning() -> Part {
    Part::Reasoning(ReasoningPart {
        text: Some("hm".into()),
        kind: ReasoningKind::Raw,
        opaque: None,
    })
}

#[test]
fn c38_temperature_is_0_to_2() {
    let told_of = |temperature| {
        told_of(&Request {
            temperature: Some(temperature),
            ..hello()
        })
    };
    for good in [0.0, -0.0, 1.3, 2.0] {
        assert_eq!(told_of(good), [""; 0], "{good}");
    }
    for bad in [-0.1, 2.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            told_of(bad),
            ["invalid_request", "temperature: out_of_range"],
            "{bad}"
        );
    }
}

#[test]
fn c39_top_p_is_above_0_and_counts_are_positive() {
    let good = Request {
        top_p: Some(1.0),
        max_tokens: Some(1),
        top_k: Some(1),
        presence_penalty: Some(-2.0),
        frequency_penalty: Some(2.0),
        ..hello()
    };
    assert_eq!(told_of(&good), [""; 0]);
    let bad = Request {
        top_p: Some(0.0),
        presence_penalty: Some(2.1),
        frequency_penalty: Some(f64::NAN),
        max_tokens: Some(0),
        top_k: Some(0),
        reasoning: Some(Reasoning {
            budget_tokens: Some(0),
            ..Reasoning::default()
        }),
        ..hello()
    };
    assert_eq!(
        told_of(&bad),
        [
            "invalid_request",
            "top_p: out_of_range",
            "presence_penalty: out_of_range",
            "frequency_penalty: out_of_range",
            "max_tokens: must_be_positive",
            "top_k: must_be_positive",
            "reasoning.budget_tokens: must_be_positive",
        ]
    );
}

#[test]
fn c40_tool_names() {
    let names = ["", &"x".repeat(65), "a b", "auto", "none", "required", "ok"];
    let request = Request {
        tools: names.map(function).into(),
        ..hello()
    };
    assert_eq!(
        told_of(&request),
        [
            "invalid_tool",
            "tools[0].name: empty",
            "tools[1].name: invalid_format",
            "tools[2].name: invalid_format",
            "tools[3].name: reserved_tool_name",
            "tools[4].name: reserved_tool_name",
            "tools[5].name: reserved_tool_name",
        ]
    );
}

#[test]
fn c41_two_tools_of_one_name() {
    let request = Request {
        tools: ["a", "b", "c", "b", "a"].map(function).into(),
        ..hello()
    };
    assert_eq!(
        told_of(&request),
        [
            "invalid_tool",
            "tools: duplicate_name (tools[3] has the name of tools[1])"
        ]
    );
}

#[test]
fn c42_tool_schemas() {
    let schemas = [
        json!(true),
        json!([]),
        json!({"type": "string"}),
        json!({"properties": {"a": {"$ref": "https://example.com/a.json"}}}),
        json!({}),
    ];
    let specs = schemas.into_iter().zip(["a", "b", "c", "d", "e"]);
    let request = Request {
        tools: specs
            .map(|(schema, name)| ToolSpec::function(name, "", schema))
            .collect(),
        ..hello()
    };
    assert_eq!(
        told_of(&request),
        [
            "invalid_tool",
            "tools[0].schema: not_an_object",
            "tools[1].schema: not_an_object",
            "tools[2].schema: invalid_schema (#/type: must be `object`)",
            "tools[3].schema: remote_reference (#/properties/a/$ref)",
        ]
    );
}

#[test]
fn c43_a_tool_choice_needs_its_tools() {
    let told_of = |choice, tools: &[&str]| {
        told_of(&Request {
            tool_choice: Some(choice),
            tools: tools.iter().map(|name| function(name)).collect(),
            ..hello()
        })
    };
    let unknown = ["invalid_request", "tool_choice: unknown_tool"];
    let without = ["invalid_request", "tool_choice: no_tools"];
    let any_of =
        |names: &[&str]| ToolChoice::AnyOf(names.iter().map(|&name| name.into()).collect());

    assert_eq!(told_of(ToolChoice::Tool("x".into()), &["y"]), unknown);
    assert_eq!(told_of(any_of(&["y", "x"]), &["y"]), unknown);
    assert_eq!(told_of(any_of(&[]), &["y"]), unknown);
    assert_eq!(told_of(ToolChoice::Required, &[]), without);
    assert_eq!(told_of(ToolChoice::Tool("x".into()), &[]), without);
    assert_eq!(told_of(any_of(&["x"]), &[]), without);

    assert_eq!(told_of(ToolChoice::Tool("x".into()), &["x"]), [""; 0]);
    assert_eq!(told_of(any_of(&["y", "x"]), &["x", "y"]), [""; 0]);
    assert_eq!(told_of(ToolChoice::Required, &["x"]), [""; 0]);
    assert_eq!(told_of(ToolChoice::Auto, &[]), [""; 0]);
    assert_eq!(told_of(ToolChoice::None, &[]), [""; 0]);
}

#[test]
fn c44_extra_cannot_hold_reserved_keys() {
    let Value::Object(extra) = json!({
        "stream": false, "messages": [], "model": "x", "API_Key": "k", "Authorization": "k",
        "input": 1, "contents": 1, "X-Goog-Api-Key": 1, "x-api-key": 1, "api-key": 1, "apiKey": 1,
        "Model": 1, "stream_options": {}, "nested": {"model": 1}
    }) else {
        panic!("an object");
    };
    let request = Request { extra, ..hello() };
    assert_eq!(
        told_of(&request),
        [
            "invalid_request",
            "extra.API_Key: reserved_key",
            "extra.Authorization: reserved_key",
            "extra.X-Goog-Api-Key: reserved_key",
            "extra.api-key: reserved_key",
            "extra.apiKey: reserved_key",
            "extra.contents: reserved_key",
            "extra.input: reserved_key",
            "extra.messages: reserved_key",
            "extra.model: reserved_key",
            "extra.stream: reserved_key",
            "extra.x-api-key: reserved_key",
        ]
    );
}

#[test]
fn c45_an_empty_cache_key() {
    let with_key = |key: Option<&str>| Request {
        prompt_cache: Some(PromptCache {
            key: key.map(str::to_owned),
            retention: Retention::Short,
        }),
        ..hello()
    };
    assert_eq!(
        told_of(&with_key(Some(""))),
        ["invalid_request", "prompt_cache.key: empty"]
    );
    assert_eq!(told_of(&with_key(Some("k"))), [""; 0]);
    assert_eq!(told_of(&with_key(None)), [""; 0]);
}

#[test]
fn c46_parts_that_a_role_cannot_hold() {
    let url = "https://example.com/x";
    let messages = vec![
        Message::system([Part::text("be brief"), Part::file(File::from_url(url))]),
        Message::user([Part::text("hi"), reasoning()]),
        Message::user([Part::refusal("no")]),
        Message::assistant([
            Part::image(Image::from_url(url)),
            reasoning(),
            Part::refusal("no"),
        ]),
    ];
    assert_eq!(
        told_of_messages(messages),
        [
            "invalid_message",
            "messages[0].content[1]: not_allowed_for_role",
            "messages[1].content[1]: not_allowed_for_role",
            "messages[2].content[0]: not_allowed_for_role",
        ]
    );
}

#[test]
fn c46_a_tool_may_show_an_image_and_say_nothing() {
    let image = Part::image(Image::from_url("https://example.com/x"));
    let calls = vec![ToolCall::new("a", "f", ""), ToolCall::new("b", "f", "")];
    let messages = vec![
        Message::assistant("").with_tool_calls(calls),
        Message::tool_result("a", image),
        Message::tool_error("b", Vec::new()),
        Message::assistant(Vec::new()),
    ];
    assert_eq!(told_of_messages(messages), [""; 0]);
}

#[test]
fn c46_content_that_says_nothing() {
    let url = "https://example.com/x";
    let messages = vec![
        Message::system(""),
        Message::user(""),
        Message::user(Vec::new()),
        Message::user([Part::text(""), Part::text("")]),
        Message::user([Part::text(""), Part::image(Image::from_url(url))]),
        Message::system(Part::image(Image::from_url(url))),
    ];
    assert_eq!(
        told_of_messages(messages),
        [
            "invalid_message",
            "messages[0].content: empty",
            "messages[1].content: empty",
            "messages[2].content: empty",
            "messages[3].content: empty",
            "messages[5].content: empty",
            "messages[5].content[0]: image_in_system_message",
        ]
    );
}

#[test]
fn c47_a_tool_message_needs_an_id_and_no_other_may_have_one() {
    let without = Message {
        tool_call_id: None,
        ..Message::tool_result("", "x")
    };
    let messages = vec![
        without,
        Message::tool_result("", "x"),
        Message {
            tool_call_id: Some("a".into()),
            ..Message::user("hi")
        },
    ];
    assert_eq!(
        told_of_messages(messages),
        [
            "invalid_thread",
            "messages[0].tool_call_id: required",
            "messages[1].tool_call_id: required",
            "messages[2].tool_call_id: not_allowed",
        ]
    );
}

#[test]
fn c48_fields_of_other_roles_and_broken_calls() {
    let call = |id: &str, name: &str, at| ToolCall {
        at,
        ..ToolCall::new(id, name, "")
    };
    let calls = vec![
        call("a", "", Some(1)),
        call("", "f", Some(0)),
        call("b", "f", Some(3)),
        call("c", "f", None),
        call("d", "f", Some(1)),
        call("e", "f", Some(u32::MAX)),
        call("f", "f", Some(2)),
    ];
    let assistant = Message::assistant([Part::text("x"), Part::text("y")]).with_tool_calls(calls);
    assert_eq!(
        told(validate::message(&assistant)),
        [
            "invalid_message",
            "tool_calls[0].name: empty",
            "tool_calls[1].id: empty",
            "tool_calls[1].at: out_of_range",
            "tool_calls[2].at: out_of_range",
            "tool_calls[4].at: out_of_range",
            "tool_calls[5].at: out_of_range",
        ]
    );
    let user = Message {
        is_error: true,
        ..Message::user("hi").with_tool_calls(vec![ToolCall::new("a", "f", "")])
    };
    assert_eq!(
        told(validate::message(&user)),
        [
            "invalid_message",
            "tool_calls: not_allowed",
            "is_error: not_allowed"
        ]
    );
}

#[test]
fn c48_five_mistakes_come_in_the_documented_order() {
    let Value::Object(extra) = json!({"model": "x"}) else {
        panic!("an object");
    };
    let calls = vec![ToolCall::new("a", "f", "")];
    let thread = Thread::from(vec![
        Message::assistant("").with_tool_calls(calls),
        Message::user(""),
    ]);
    let request = Request {
        extra,
        stop: vec!["x".into(), String::new()],
        tools: vec![function("auto")],
        ..Request::new(thread)
    };
    assert_eq!(
        told_of(&request),
        [
            "invalid_message",
            "messages[1].content: empty",
            "messages[0].tool_calls[0]: unanswered_tool_call",
            "tools[0].name: reserved_tool_name",
            "stop[1]: empty",
            "extra.model: reserved_key",
        ]
    );
}

#[test]
fn c48_a_tool_built_into_another_provider() {
    let built_in = |provider: &str| -> ToolSpec {
        let tool = json!({"type": "provider", "provider": provider, "definition": "{}"});
        serde_json::from_value(tool).unwrap()
    };
    let request = Request {
        tools: vec![built_in("openai"), built_in("gemini")],
        ..hello()
    };
    assert_eq!(
        told(validate::request_for(&request, &"openai".into())),
        ["invalid_tool", "tools[1]: wrong_provider"]
    );
    assert_eq!(told_of(&request), [""; 0]);
}

#[test]
fn c48_the_name_and_the_schema_of_a_response_format() {
    let told_of = |name: &str, schema, strict| {
        let format = JsonSchemaFormat {
            name: name.to_owned(),
            schema,
            strict,
        };
        told_of(&Request {
            response_format: Some(ResponseFormat::JsonSchema(format)),
            ..hello()
        })
    };
    let open = || json!({"type": "object", "properties": {"a": {}}});
    assert_eq!(told_of("answer-1_A", open(), Strict::Auto), [""; 0]);
    assert_eq!(told_of("a", json!({"type": "array"}), Strict::No), [""; 0]);
    assert_eq!(
        told_of("", json!([]), Strict::Yes),
        [
            "invalid_request",
            "response_format.name: invalid_format",
            "response_format.schema: not_an_object"
        ]
    );
    assert_eq!(
        told_of("a b", open(), Strict::Yes),
        [
            "invalid_request",
            "response_format.name: invalid_format",
            "response_format.schema: not_strict (#/additionalProperties)"
        ]
    );
    assert_eq!(
        told_of("a", json!({"required": "a", "$ref": "x.json"}), Strict::Yes),
        [
            "invalid_request",
            "response_format.schema: invalid_schema (#/required: must be a list of different names)",
            "response_format.schema: remote_reference (#/$ref)"
        ]
    );
}
