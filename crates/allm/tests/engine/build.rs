//! Building engines.

use allm::{
    Adapter, BoxStream, Engine, EngineReason, Event, Fake, KeyRequest, KeySource, KeyUse, Map,
    ModelCall, ProviderName, ResponseFormat, Script, Timeouts, Tool, ToolContext,
};
use serde_json::{Value, json};
use std::time::Duration;

use super::{Answer, Source, engine, text};

/// A provider that must not be touched.
struct Untouched(ProviderName);

impl Adapter for Untouched {
    fn provider(&self) -> &ProviderName {
        &self.0
    }

    fn key_use(&self) -> KeyUse {
        panic!("a key is looked up")
    }

    fn key_source(&self) -> Option<&dyn KeySource> {
        panic!("a key is looked up")
    }

    fn stream(&self, _: ModelCall) -> BoxStream<'static, Event> {
        panic!("the provider is called")
    }
}

/// C91, but for addresses, which are the providers'.
#[test]
fn c91_building_asks_nobody_and_refuses_what_is_wrong() {
    let builder = || {
        let source = |_: KeyRequest| -> Answer { panic!("a key is looked up") };
        let builder = Engine::builder().provider(Untouched("quiet".into()));
        builder.key_source(Source(source))
    };
    let engine = builder().model("quiet:x").build().expect("valid");
    assert!(engine.with(|builder| builder.temperature(1.0)).is_ok());
    let refused = |builder: allm::EngineBuilder| builder.build().expect_err("wrong").reason;
    assert_eq!(
        refused(builder().model("quiet:")),
        EngineReason::InvalidModel
    );
    assert_eq!(
        refused(builder().model("loud:x")),
        EngineReason::UnknownProvider
    );
    let zero = Timeouts {
        idle: Some(Duration::ZERO),
        ..Timeouts::default()
    };
    assert_eq!(
        refused(builder().timeouts(zero)),
        EngineReason::InvalidConfig
    );
    assert_eq!(
        refused(builder().deadline(Duration::ZERO)),
        EngineReason::InvalidConfig
    );
    let bad = Tool::new("bad name", "", json!({"type": 5}));
    assert_eq!(refused(builder().tool(bad)), EngineReason::InvalidConfig);
}

/// C95: requests, results, events and idempotency keys are equal.
#[tokio::test]
async fn c95_engines_built_alike_behave_alike() {
    let fake = Fake::new()
        .reply(Script::new().text("a").call("tell", json!({"x": 1})))
        .reply(text("b"));
    let mut seen = Vec::new();
    for _ in 0..2 {
        let fake = fake.fork();
        let tell =
            Tool::new("tell", "", json!({})).handler(|_: Map, context: ToolContext| async move {
                Ok::<_, String>(context.idempotency_key)
            });
        let engine = engine(&fake)
            .with(|builder| builder.tool(tell).seed(1))
            .expect("valid");
        let events = engine.chat("hi").request_id("r-1").stream().collect().await;
        let requests: Vec<Value> = fake
            .calls()
            .iter()
            .map(|call| serde_json::to_value(&*call.request).expect("JSON"))
            .collect();
        assert_eq!(requests.len(), 2);
        seen.push((events, requests));
    }
    assert_eq!(seen[0], seen[1]);
}

/// C87, as far as the engine goes: what `extra` says of `text` leaves the format of the answer.
#[tokio::test]
async fn c87_extra_beside_a_schema_keeps_both() {
    let fake = Fake::new().always(text("{}"));
    let schema = ResponseFormat::json_schema("answer", json!({"type": "object"}));
    let extra = |value: Value| -> Map { serde_json::from_value(value).expect("an object") };
    let engine = engine(&fake)
        .with(|builder| {
            let own = extra(json!({"text": {"own": {"a": 1}}}));
            builder.response_format(schema.clone()).extra(own)
        })
        .expect("valid");
    let verbose = extra(json!({"text": {"verbosity": "low", "own": {"b": 2}}}));
    let _ = engine
        .generate("hi")
        .extra(verbose)
        .await
        .expect("an answer");
    let request = fake.last_request().expect("a request");
    assert_eq!(request.response_format, Some(schema));
    assert_eq!(
        Value::Object(request.extra.clone()),
        json!({"text": {"verbosity": "low", "own": {"a": 1, "b": 2}}})
    );
}

/// L31 without sessions: the call's context, else the engine's; a call that gives none takes nothing away.
#[tokio::test]
async fn l31_a_level_without_a_context_does_not_count() {
    let fake = Fake::new().always(Script::new().call("see", json!({})));
    let see = Tool::new("see", "", json!({})).handler(|_: Map, context: ToolContext| async move {
        Ok::<_, String>(context.get::<&str>().copied())
    });
    let plain = engine(&fake)
        .with(|builder| builder.tool(see))
        .expect("valid");
    let engine = plain
        .with(|builder| builder.context("engine"))
        .expect("valid");
    let derived = engine.with(|builder| builder.max_turns(1)).expect("valid");
    for (step, expected) in [
        (plain.step("hi"), "null"),
        (engine.step("hi"), "engine"),
        (derived.step("hi"), "engine"),
        (engine.step("hi").context("call"), "call"),
        (engine.step("hi").off(allm::Setting::Context), "null"),
    ] {
        let step = step.await.expect("a step");
        assert_eq!(step.tool_results.get(0).expect("one").text(), expected);
    }
}

/// The session's id is the key of a prompt cache that has none, and only of one.
#[tokio::test]
async fn the_key_of_a_prompt_cache() {
    let fake = Fake::new().always(text("x"));
    let engine = engine(&fake);
    let session = || allm::SessionId::new("s-1").expect("valid");
    for (own, expected) in [(None, "s-1"), (Some("own".to_owned()), "own")] {
        let cache = allm::PromptCache {
            key: own,
            ..allm::PromptCache::default()
        };
        let call = engine.generate("hi").prompt_cache(cache);
        let _ = call.session_id(session()).await.expect("an answer");
        let sent = fake.last_request().expect("a request");
        let key = sent
            .prompt_cache
            .as_ref()
            .and_then(|cache| cache.key.clone());
        assert_eq!(key.as_deref(), Some(expected));
    }
    let _ = engine.generate("hi").session_id(session()).await;
    let sent = fake.last_request().expect("a request");
    assert_eq!(sent.prompt_cache, None);
}
