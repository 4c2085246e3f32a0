//! Keys that no level names: a source of keys knows them.

use allm::{
    AdapterReason, ApiKey, BoxFuture, EngineBuilder, Fake, KeyError, KeyRequest, KeySource, KeyUse,
    Map, Script, Toggle, Tool,
};
use serde_json::json;

use super::builder;
use super::collector::Collector;

/// Of no shape that is known to be a key's.
const KEY: &str = "quite-an-ordinary-text";

struct Source;

impl KeySource for Source {
    fn key(&self, _: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        Box::pin(async { ApiKey::new(KEY).map_err(|error| KeyError::new(error.message)) })
    }
}

fn keyed(script: Script) -> EngineBuilder {
    let fake = Fake::new().with_key_use(KeyUse::Required).always(script);
    builder(&fake)
        .key_source(Source)
        .capture_content(Toggle::On)
}

/// C161: the prompt of a call that was refused, or stopped before anything came.
#[tokio::test(start_paused = true)]
async fn c161_what_was_asked_of_a_call_that_got_no_answer() {
    for script in [
        Script::new().fail(AdapterReason::InvalidRequest),
        Script::new().hang(),
    ] {
        let (told, guard) = Collector::start();
        let engine = keyed(script).build().expect("valid");
        let limit = std::time::Duration::from_secs(1);
        let prompt = format!("PROMPT {KEY}");
        engine.chat(&prompt).run_deadline(limit).await;
        drop(guard);
        let all = told.all();
        assert!(all.contains("PROMPT"), "{all}");
        assert!(!all.contains(KEY), "{all}");
    }
}

/// C161: what a tool was called with, and what it said.
#[tokio::test(start_paused = true)]
async fn c161_what_a_tool_was_told_and_said() {
    let (told, guard) = Collector::start();
    let says = Tool::new("says", "", json!({}))
        .handler(|_: Map| async { Ok::<_, String>(format!("RESULT {KEY}")) });
    let script = Script::new().call("says", json!({"x": format!("ARGUMENT {KEY}")}));
    let engine = keyed(script).tool(says).build().expect("valid");
    engine.chat("hi").max_turns(1).await;
    drop(guard);
    let all = told.all();
    assert!(all.contains("ARGUMENT") && all.contains("RESULT"), "{all}");
    assert!(!all.contains(KEY), "{all}");
}

/// C105: a name that the provider made up is text of the provider's, too.
#[tokio::test(start_paused = true)]
async fn c105_names_that_the_provider_gives() {
    let (told, guard) = Collector::start();
    let script = Script::new().text("x").model(KEY).id(KEY);
    let engine = keyed(script).build().expect("valid");
    engine.generate("hi").await;
    drop(guard);
    assert!(!told.all().contains(KEY), "{}", told.all());
}
