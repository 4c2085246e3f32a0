//! Every setting and every kind of content, on every wire, against the providers' own descriptions of their requests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use allm::{
    Detail, Effort, File, FilePart, FunctionSpec, Image, ImagePart, JsonSchemaFormat, Message,
    ModelCall, ModelRef, ParallelCalls, Part, PromptCache, ProviderTool, RawJson, Reasoning,
    Request, ResponseFormat, Retention, Strict, Summary, Thread, ToolCall, ToolChoice, ToolSpec,
    Verbosity,
};
use allm_recordings::recordings;
use allm_recordings::requests::bodies::{self, Line};
use allm_recordings::requests::conversation::Player;
use allm_recordings::requests::{Dialect, Schemas};
use serde_json::{Value, json};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": false
    })
}

fn function(name: &str, schema: Value, strict: Strict) -> ToolSpec {
    ToolSpec::Function(FunctionSpec {
        name: name.into(),
        description: "Tells the weather.".to_owned(),
        schema: schema.into(),
        strict,
    })
}

fn with_tools(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request::new("Weather?");
    request.tools = vec![
        function("look", schema(), Strict::No),
        function("ask", json!({}), Strict::No),
    ];
    change(&mut request);
    request
}

fn asked(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request::new("Hi");
    change(&mut request);
    request
}

fn said(messages: Vec<Message>) -> Request {
    let mut request = Request::new(Thread::from(messages));
    request.tools = vec![function("look", schema(), Strict::No)];
    request
}

fn calls(texts: &[(&str, &str)]) -> Vec<ToolCall> {
    let call = |(id, arguments): &(&str, &str)| ToolCall::new(*id, "look", *arguments);
    texts.iter().map(call).collect()
}

fn reasoning(change: impl FnOnce(&mut Reasoning)) -> Request {
    let mut reasoning = Reasoning::default();
    change(&mut reasoning);
    asked(|request| request.reasoning = Some(reasoning))
}

fn image(detail: Detail) -> Part {
    let image = Image::from_base64(PNG, "image/png");
    Part::Image(ImagePart {
        image: image.into(),
        detail,
    })
}

fn file(file: File, name: Option<&str>) -> Part {
    let name = name.map(str::to_owned);
    Part::File(FilePart {
        file: file.into(),
        name,
    })
}

/// What is sent, by name. A wire that refuses one says so before anything is sent.
fn matrix() -> BTreeMap<&'static str, Request> {
    let arguments = r#"{"city":"Ulm","days":1}"#;
    let format = |strict| {
        ResponseFormat::JsonSchema(JsonSchemaFormat {
            name: "weather".to_owned(),
            schema: schema(),
            strict,
        })
    };
    let rows: Vec<(&'static str, Request)> = vec![
        ("plain", Request::new("Hi")),
        (
            "system",
            said(vec![
                Message::system("Be brief."),
                Message::user("Hi"),
                Message::system("Be polite."),
            ]),
        ),
        (
            "several texts",
            said(vec![Message::user(vec![Part::text("a"), Part::text("b")])]),
        ),
        (
            "a name",
            said(vec![Message {
                name: Some("ann".to_owned()),
                ..Message::user("Hi")
            }]),
        ),
        ("tools", with_tools(|_| {})),
        (
            "strict tools",
            with_tools(|request| request.tools = vec![function("look", schema(), Strict::Yes)]),
        ),
        (
            "auto tools",
            with_tools(|request| request.tools = vec![function("look", schema(), Strict::Auto)]),
        ),
        (
            "choice auto",
            with_tools(|request| request.tool_choice = Some(ToolChoice::Auto)),
        ),
        (
            "choice none",
            with_tools(|request| request.tool_choice = Some(ToolChoice::None)),
        ),
        (
            "choice required",
            with_tools(|request| request.tool_choice = Some(ToolChoice::Required)),
        ),
        (
            "choice of one",
            with_tools(|request| request.tool_choice = Some(ToolChoice::Tool("look".into()))),
        ),
        (
            "choice of some",
            with_tools(|request| {
                request.tools.push(function("more", schema(), Strict::No));
                request.tool_choice = Some(ToolChoice::AnyOf(vec!["look".into(), "ask".into()]));
            }),
        ),
        (
            "one at most",
            with_tools(|request| request.parallel_tool_calls = Some(ParallelCalls::OneAtMost)),
        ),
        (
            "many calls",
            with_tools(|request| request.parallel_tool_calls = Some(ParallelCalls::Allowed)),
        ),
        (
            "calls and results",
            said(vec![
                Message::user("Weather?"),
                Message::assistant("Let me see.")
                    .with_tool_calls(calls(&[("call_1", arguments), ("call_2", arguments)])),
                Message::tool_error("call_2", "no such city"),
                Message::tool_result("call_1", r#"{"rain":true}"#),
                Message::user("And?"),
            ]),
        ),
        (
            "odd ids",
            said(vec![
                Message::user("Weather?"),
                Message::assistant("").with_tool_calls(calls(&[
                    ("functions.look:0", arguments),
                    (&"x".repeat(80), "{}"),
                ])),
                Message::tool_result("functions.look:0", "rain"),
                Message::tool_result("x".repeat(80), "sun"),
            ]),
        ),
        (
            "a malformed call",
            said(vec![
                Message::user("Weather?"),
                Message::assistant("").with_tool_calls(calls(&[("call_1", r#"{"city":"#)])),
                Message::tool_error("call_1", "the arguments are no JSON"),
            ]),
        ),
        (
            "a call without arguments",
            said(vec![
                Message::user("Weather?"),
                Message::assistant("").with_tool_calls(calls(&[("call_1", "")])),
                Message::tool_result("call_1", ""),
            ]),
        ),
        (
            "pictures in a result",
            said(vec![
                Message::user("Weather?"),
                Message::assistant("").with_tool_calls(calls(&[("call_1", arguments)])),
                Message::tool_result("call_1", vec![Part::text("See."), image(Detail::Auto)]),
            ]),
        ),
        (
            "a refusal",
            said(vec![
                Message::user("Bad?"),
                Message::assistant(vec![Part::refusal("No.")]),
                Message::user("Good?"),
            ]),
        ),
        (
            "an empty answer",
            said(vec![
                Message::user("a"),
                Message::assistant(""),
                Message::user("b"),
            ]),
        ),
        (
            "a picture",
            said(vec![Message::user(vec![
                Part::text("See:"),
                image(Detail::Auto),
            ])]),
        ),
        (
            "a picture in detail",
            said(vec![Message::user(vec![image(Detail::High)])]),
        ),
        (
            "a picture elsewhere",
            said(vec![Message::user(vec![Part::image(Image::from_url(
                "https://x.org/a.png",
            ))])]),
        ),
        (
            "a file",
            said(vec![Message::user(vec![file(
                File::from_bytes(b"%PDF-1.4".to_vec(), "application/pdf"),
                Some("a.pdf"),
            )])]),
        ),
        (
            "a nameless file",
            said(vec![Message::user(vec![file(
                File::from_bytes(b"hi".to_vec(), "text/plain"),
                None,
            )])]),
        ),
        (
            "a file elsewhere",
            said(vec![Message::user(vec![file(
                File::from_url("https://x.org/a.pdf"),
                None,
            )])]),
        ),
        (
            "text format",
            asked(|request| request.response_format = Some(ResponseFormat::Text)),
        ),
        (
            "json object",
            asked(|request| request.response_format = Some(ResponseFormat::JsonObject)),
        ),
        (
            "json schema",
            asked(|request| request.response_format = Some(format(Strict::Auto))),
        ),
        (
            "strict json schema",
            asked(|request| request.response_format = Some(format(Strict::Yes))),
        ),
        (
            "loose json schema",
            asked(|request| request.response_format = Some(format(Strict::No))),
        ),
        (
            "effort",
            reasoning(|reasoning| reasoning.effort = Some(Effort::Low)),
        ),
        (
            "no effort",
            reasoning(|reasoning| reasoning.effort = Some(Effort::None)),
        ),
        (
            "high effort",
            reasoning(|reasoning| reasoning.effort = Some(Effort::High)),
        ),
        (
            "a budget",
            asked(|request| {
                request.reasoning = Some(Reasoning {
                    budget_tokens: Some(2048),
                    ..Reasoning::default()
                });
                request.max_tokens = Some(9000);
            }),
        ),
        (
            "a summary",
            reasoning(|reasoning| {
                reasoning.effort = Some(Effort::Medium);
                reasoning.summary = Some(Summary::Auto);
            }),
        ),
        (
            "verbosity",
            asked(|request| request.verbosity = Some(Verbosity::Low)),
        ),
        (
            "a short cache",
            asked(|request| {
                request.prompt_cache = Some(PromptCache {
                    key: Some("k".to_owned()),
                    retention: Retention::Short,
                })
            }),
        ),
        (
            "a long cache",
            asked(|request| {
                request.prompt_cache = Some(PromptCache {
                    key: None,
                    retention: Retention::Long,
                })
            }),
        ),
        (
            "temperature",
            asked(|request| request.temperature = Some(0.5)),
        ),
        ("top_p", asked(|request| request.top_p = Some(0.5))),
        ("top_k", asked(|request| request.top_k = Some(5))),
        ("seed", asked(|request| request.seed = Some(7))),
        (
            "penalties",
            asked(|request| {
                request.presence_penalty = Some(0.5);
                request.frequency_penalty = Some(-0.5);
            }),
        ),
        (
            "max_tokens",
            asked(|request| request.max_tokens = Some(100)),
        ),
        (
            "stop",
            asked(|request| request.stop = vec!["END".to_owned()]),
        ),
        (
            "service_tier",
            asked(|request| request.service_tier = Some("auto".to_owned())),
        ),
        (
            "user",
            asked(|request| request.user = Some("u-1".to_owned())),
        ),
    ];
    rows.into_iter().collect()
}

/// A tool of each provider's own.
fn providers_tool(dialect: Dialect) -> Option<Request> {
    let (provider, definition) = match dialect {
        Dialect::OpenAiChat => return None,
        Dialect::OpenAiResponses => ("openai", r#"{"type":"web_search"}"#),
        Dialect::AnthropicMessages => (
            "anthropic",
            r#"{"type":"web_search_20250305","name":"web_search","max_uses":2}"#,
        ),
        Dialect::Gemini => ("gemini", r#"{"googleSearch":{}}"#),
    };
    let tool = ToolSpec::Provider(ProviderTool {
        provider: provider.into(),
        definition: RawJson::new(definition).unwrap(),
    });
    Some(with_tools(|request| request.tools.push(tool)))
}

/// P98, P100, P105, P108, P112, P119, P148, P170: what every setting becomes is allowed by the provider's own schema.
/// The bodies for Anthropic and Gemini are written to a file for `reader/check_requests.py`.
#[tokio::test]
async fn p98_every_setting() {
    let (Some(recordings), Some(schemas)) = (recordings(), Schemas::load()) else {
        return;
    };
    let player = Player::new(recordings).await;
    let mut faults = Vec::new();
    let mut lines = Vec::new();
    let mut refused = Vec::new();
    for (dialect, models) in [
        (Dialect::OpenAiChat, ["gpt-4.1", "o3"].as_slice()),
        (Dialect::OpenAiResponses, &["gpt-5", "gpt-4.1"]),
        (
            Dialect::AnthropicMessages,
            &[
                "claude-sonnet-4-5",
                "claude-opus-4-6",
                "claude-3-haiku-20240307",
            ],
        ),
        (
            Dialect::Gemini,
            &["gemini-2.5-flash", "gemini-3-pro-preview"],
        ),
    ] {
        let provider = match dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => "openai",
            Dialect::AnthropicMessages => "anthropic",
            Dialect::Gemini => "gemini",
        };
        let mut rows = matrix();
        rows.extend(providers_tool(dialect).map(|request| ("a provider's tool", request)));
        for (name, request) in rows {
            for model in models {
                let request = Arc::new(request.clone());
                let adapter = dialect.speaker(provider).at("http://127.0.0.1");
                let reference = ModelRef {
                    provider: provider.into(),
                    model: (*model).to_owned(),
                };
                let call = ModelCall::new(Arc::clone(&request), reference, "r");
                let id = format!("{}: {name} to {model}", dialect.name());
                if let Err(error) = adapter.check(&call) {
                    refused.push(format!("{id}: {error}"));
                    continue;
                }
                let bytes = player.bytes(dialect, provider, model, request).await;
                let body: Value = serde_json::from_slice(&bytes.unwrap()).unwrap();
                for fault in schemas.faults(dialect, &body) {
                    faults.push(format!("{id}: {fault}"));
                }
                lines.push(Line { dialect, id, body });
            }
        }
    }
    println!(
        "{} bodies, {} refused before sending",
        lines.len(),
        refused.len()
    );
    for line in &refused {
        println!("refused: {line}");
    }
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(bodies::check("matrix", &lines), Vec::<String>::new());
}
