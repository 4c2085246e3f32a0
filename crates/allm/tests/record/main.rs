//! Recording and replaying real traffic (C193 to C198), with every provider, against a server on this machine.
#![cfg(all(feature = "openai", feature = "anthropic", feature = "gemini"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod answers;
mod chunkings;
mod ends;
mod misses;
mod providers;
mod replaying;
mod secrets;
mod server;
mod silence;
mod whole;

use std::fs;
use std::path::{Path, PathBuf};

use allm::{Engine, Event};
use serde_json::{Value, json};

/// An empty folder for the cassettes of a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("record-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A cassette written by hand.
fn cassette(file: &Path, interactions: &[Value]) {
    let document = json!({"v": 1, "type": "cassette", "data": {"interactions": interactions}});
    fs::write(file, document.to_string()).unwrap();
}

/// All events of one question.
async fn events(engine: &Engine) -> Vec<Event> {
    engine
        .generate("hi")
        .request_id("r")
        .stream()
        .collect()
        .await
}

/// What a task said when it panicked.
async fn panic_of(task: impl Future<Output = ()> + Send + 'static) -> String {
    let error = tokio::spawn(task).await.unwrap_err();
    let said = error.into_panic();
    match said.downcast::<String>() {
        Ok(said) => *said,
        Err(_) => panic!("not a text"),
    }
}
