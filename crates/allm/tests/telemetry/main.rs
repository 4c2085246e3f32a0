//! What runs tell `tracing` and metrics (core.md §17).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    unused_must_use,
    reason = "these are tests, of what is told and not of what is answered"
)]

mod calls;
mod collector;
mod content;
mod metrics;
mod panics;
mod runs;
mod secrets;

use allm::{Engine, EngineBuilder, Fake, Map, Tool};
use serde_json::json;

fn builder(fake: &Fake) -> EngineBuilder {
    Engine::builder()
        .provider(fake.clone())
        .model("fake:small")
        .tool(Tool::new("echo", "", json!({})).handler(|a: Map| async move { Ok::<_, String>(a) }))
}

fn engine(fake: &Fake) -> Engine {
    builder(fake).build().expect("valid")
}
