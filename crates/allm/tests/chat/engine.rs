//! The engine: models, levels, gates.

use allm::{
    ApiKey, BoxFuture, Engine, EngineReason, Fake, KeyError, KeyRequest, KeySource, KeyUse,
    RetryPolicy, Thread, Tool,
};
use serde_json::json;

use super::{builder, engine, text};

fn named(name: &str) -> Fake {
    Fake::named(name).always(text("x"))
}

/// C3: the hint stands only where it can help.
#[test]
fn c3_a_provider_that_was_not_added_is_no_local_model() {
    let one = || Engine::builder().provider(named("openai"));
    for (builder, model) in [
        (one(), "anthropic:claude-x"),
        (Engine::builder(), "fake:any"),
        (Engine::builder(), "llama3:8b"),
    ] {
        let error = builder.model(model).build().expect_err("unknown");
        assert_eq!(error.reason, EngineReason::UnknownProvider);
        assert!(!error.message.contains("ollama"), "{}", error.message);
        assert!(error.message.contains(".provider("), "{}", error.message);
    }
}

#[test]
fn c3_c4_c5_c6_models_are_resolved_and_never_guessed() {
    let one = Engine::builder().provider(named("openai"));
    let error = one.model("llama3:8b").build().expect_err("unknown");
    assert_eq!(error.reason, EngineReason::UnknownProvider);
    assert!(
        error.message.contains("ollama:llama3:8b"),
        "{}",
        error.message
    );
    assert!(error.message.contains("there are: openai"));
    let two = || {
        Engine::builder()
            .provider(named("openai"))
            .provider(named("other"))
    };
    for model in ["gpt-4.1", "claude-x", "gemini-y"] {
        let error = two().model(model).build().expect_err("ambiguous");
        assert_eq!(error.reason, EngineReason::AmbiguousProvider);
    }
    assert!(
        two()
            .default_provider("other")
            .model("gpt-4.1")
            .build()
            .is_ok()
    );
    assert!(
        Engine::builder()
            .provider(named("openai"))
            .model("gpt-4.1")
            .build()
            .is_ok()
    );
    for model in [":gpt", "openai:", "open ai:x", "OpenAI:x", "openai:a\nb"] {
        let error = two().model(model).build().expect_err("invalid");
        assert_eq!(error.reason, EngineReason::InvalidModel, "{model:?}");
    }
}

#[tokio::test]
async fn c8_c94_the_order_of_the_gates() {
    let fake = Fake::new().with_key_use(KeyUse::Required);
    let no_model = Engine::builder()
        .provider(fake.clone())
        .build()
        .expect("valid");
    let error = no_model.chat(Thread::new()).await.expect_err("no model");
    assert_eq!(error.reason(), "no_model");
    let engine = Engine::builder()
        .provider(fake.clone())
        .model("fake:x")
        .build()
        .expect("valid");
    let error = engine.chat(Thread::new()).await.expect_err("no messages");
    assert_eq!(error.reason(), "invalid_thread");
    let error = engine.chat("hi").await.expect_err("no key");
    assert_eq!(error.reason(), "missing_key");
    fake.assert_calls(0);
}

#[tokio::test]
async fn c86_l13_l14_tools_are_merged_by_name() {
    let tool = |name: &str, description: &str| Tool::new(name, description, json!({}));
    let fake = Fake::new().always(text("x"));
    let engine = Engine::builder()
        .provider(fake.clone())
        .model("fake:x")
        .tools([tool("a", "1"), tool("b", "1"), tool("c", "1")])
        .build()
        .expect("valid");
    let names = || -> Vec<String> {
        let request = fake.last_request().expect("a request");
        let specs = request.tools.iter();
        specs
            .map(|spec| match spec {
                allm::ToolSpec::Function(f) => format!("{}{}", f.name, f.description),
                spec => format!("{spec:?}"),
            })
            .collect()
    };
    let _ = engine
        .chat("hi")
        .tools([tool("b", "2"), tool("d", "2")])
        .await
        .expect("a result");
    assert_eq!(names(), ["a1", "b2", "c1", "d2"]);
    let _ = engine
        .chat("hi")
        .tools(Vec::<Tool>::new())
        .await
        .expect("a result");
    assert_eq!(names(), ["a1", "b1", "c1"]);
    let _ = engine
        .chat("hi")
        .only_tools([tool("d", "2")])
        .await
        .expect("a result");
    assert_eq!(names(), ["d2"]);
    let _ = engine.chat("hi").no_tools().await.expect("a result");
    assert_eq!(names(), Vec::<String>::new());
}

#[tokio::test]
async fn l12_two_tools_of_one_name_are_refused_in_an_engine_and_in_a_call() {
    let fake = Fake::new();
    let tool = |name: &str| Tool::new(name, "Does x.", json!({}));
    let twice = |builder: allm::EngineBuilder| builder.build().expect_err("a clash").message;
    for message in [
        twice(builder(&fake).tool(tool("x")).tool(tool("x"))),
        twice(
            builder(&fake)
                .tool(tool("x").compact())
                .tool(tool("tool_help")),
        ),
    ] {
        assert!(message.contains("duplicate_name"), "{message}");
    }
    // Whether or not the engine has one of that name: `a` it has, `x` not.
    for name in ["a", "x"] {
        let chat = engine(&fake).chat("hi").tools([tool(name), tool(name)]);
        let error = chat.await.expect_err("a clash").to_string();
        assert!(
            error.contains("tools: duplicate_name"),
            "{name} twice: {error}"
        );
    }
    fake.assert_calls(0);
}

struct Asked(std::sync::Mutex<Vec<u32>>);

impl KeySource for &'static Asked {
    fn key(&self, ask: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        self.0.lock().expect("not poisoned").push(ask.attempt);
        Box::pin(async { Ok(ApiKey::new("secret-key-123").expect("a key")) })
    }
}

#[tokio::test(start_paused = true)]
async fn c101_a_key_source_is_asked_once_per_attempt() {
    static ASKED: Asked = Asked(std::sync::Mutex::new(Vec::new()));
    let fake = Fake::new()
        .with_key_use(KeyUse::Required)
        .reply(allm::Script::new().fail(allm::AdapterReason::RateLimited))
        .reply(text("x"));
    let engine = Engine::builder()
        .provider(fake.clone())
        .model("fake:x")
        .key_source(&ASKED)
        .build()
        .expect("valid");
    let _ = engine.generate("hi").await.expect("an answer");
    assert_eq!(*ASKED.0.lock().expect("not poisoned"), [1, 2]);
    assert!(fake.calls().iter().all(|call| call.key_used));
    let shown = format!("{engine:?} {:?}", engine.chat("hi"));
    assert!(!shown.contains("secret-key"));
}

#[tokio::test]
async fn c92_a_derived_engine_leaves_the_first_as_it_is() {
    let fake = Fake::new().always(text("x"));
    let first = engine(&fake);
    let second = first
        .with(|builder| builder.temperature(1.0).retry(RetryPolicy::none()))
        .expect("valid");
    let _ = second.generate("hi").await.expect("an answer");
    assert_eq!(
        fake.last_request().expect("a request").temperature,
        Some(1.0)
    );
    let _ = first.generate("hi").await.expect("an answer");
    assert_eq!(fake.last_request().expect("a request").temperature, None);
    // What is derived is a level over the first: a tool of the same name takes its place.
    let other = Tool::new("a", "Another.", json!({}));
    let third = first.with(|builder| builder.tool(other)).expect("valid");
    let _ = third.generate("hi").await.expect("an answer");
    let request = fake.last_request().expect("a request");
    let allm::ToolSpec::Function(spec) = &request.tools[0] else {
        panic!("a function");
    };
    assert_eq!(
        (spec.name.as_str(), spec.description.as_str()),
        ("a", "Another.")
    );
    assert_eq!(request.tools.len(), 2);
}

#[tokio::test]
async fn c59_request_ids() {
    let fake = Fake::new().always(text("x"));
    let engine = engine(&fake);
    let one = engine
        .generate("hi")
        .await
        .expect("an answer")
        .request_id
        .expect("an id");
    let two = engine
        .generate("hi")
        .await
        .expect("an answer")
        .request_id
        .expect("an id");
    assert_eq!(one.as_str().len(), 22);
    assert!(
        one != two
            && one
                .as_str()
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    );
}
