//! `generate`, `step` and `chat` on the scripted provider: awaited and streamed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod engine;
mod equal;
mod late;
mod runs;
mod stops;

use allm::{Chat, ChatResult, Engine, EngineBuilder, Event, Fake, Fold, Script, Thread, Tool};
use serde_json::json;

/// An engine over this fake, with the tools `a` (gives its arguments back) and `m` (manual).
fn engine(fake: &Fake) -> Engine {
    builder(fake).build().expect("a valid engine")
}

fn builder(fake: &Fake) -> EngineBuilder {
    Engine::builder()
        .provider(fake.clone())
        .model("fake:any")
        .tool(echo())
        .tool(Tool::new("m", "", json!({"type": "object"})).manual())
}

fn echo() -> Tool {
    Tool::new("a", "Gives its arguments back.", json!({"type": "object"}))
        .handler(|arguments: allm::Map| async move { Ok::<_, String>(arguments) })
}

fn text(text: &str) -> Script {
    Script::new().text(text)
}

fn call(name: &str) -> Script {
    Script::new().call(name, json!({}))
}

/// The fold of a streamed chat, and its events.
async fn folded(thread: &str, chat: Chat) -> (ChatResult, Vec<Event>) {
    let events = chat.stream().collect().await;
    let mut fold = Fold::with_thread(Thread::from(thread));
    events.iter().for_each(|event| fold.push(event));
    let result = fold.chat_result().expect("a thread");
    ((*result).clone(), events)
}

fn tags(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::tag).collect()
}
