//! Settings of a request.

use allm_core::{Request, Timeouts, Verbosity};
use allm_local::Local;
use serde_json::json;
use std::time::Duration;

use crate::folders::TestFolder;
use crate::play::{ask, call};
use crate::tiny::{END, GO, Tiny};

/// P246
#[tokio::test]
async fn p246_heat_and_seed_decide_what_is_said() {
    let folder = TestFolder::new();
    let letters = ["a", "b", "c", "d"];
    let mut tiny = Tiny::new();
    for this in letters {
        tiny = tiny.weighted(GO, this, 0.2);
        for that in letters {
            tiny = tiny.weighted(this, that, if this == that { 0.21 } else { 0.2 });
        }
    }
    let path = tiny.write(&folder.path().join("m.gguf"));
    let local = Local::new();
    let say = async |temperature, seed| {
        let mut request = Request::new("Say");
        request.temperature = temperature;
        request.top_k = Some(4);
        request.seed = seed;
        request.max_tokens = Some(40);
        ask(&local, call(&path, request)).await.text()
    };
    assert_eq!(say(None, None).await, "a".repeat(40));
    assert_eq!(say(Some(0.0), Some(5)).await, "a".repeat(40));
    let five = say(Some(1.0), Some(5)).await;
    assert_eq!(say(Some(1.0), Some(5)).await, five);
    assert_ne!(say(Some(1.0), Some(6)).await, five);
    assert_ne!(say(Some(1.0), None).await, say(Some(1.0), None).await);
}

/// P239
#[tokio::test]
async fn p239_what_means_nothing_here_is_left_out_with_a_warning() {
    let folder = TestFolder::new();
    let path = Tiny::new()
        .says(&[b"ok"])
        .write(&folder.path().join("m.gguf"));
    let mut request = Request::new("Hi");
    request.verbosity = Some(Verbosity::Low);
    request.user = Some("me".to_owned());
    request.extra.insert("mirostat".to_owned(), json!(2));
    let response = ask(&Local::new(), call(&path, request)).await;
    let warnings = response.warnings.iter();
    let warnings: Vec<_> = warnings
        .map(|warning| format!("{} {}", warning.code, warning.path.as_ref().unwrap()))
        .collect();
    let expected = [
        "option_dropped verbosity",
        "option_dropped user",
        "option_dropped extra.mirostat",
    ];
    assert_eq!(warnings, expected);
}

/// P259
#[tokio::test]
async fn p259_a_deadline_ends_an_answer_and_the_work() {
    let folder = TestFolder::new();
    let tiny = Tiny::new()
        .context(1_000_000)
        .after(GO, "a")
        .after("a", "a");
    let path = tiny.write(&folder.path().join("m.gguf"));
    let local = Local::new();
    let mut asked = call(&path, Request::new("Hi"));
    let mut request = Request::new("Hi");
    request.max_tokens = Some(900_000);
    asked.request = request.into();
    asked.timeouts = Timeouts {
        deadline: Some(Duration::from_millis(300)),
        ..Timeouts::default()
    };
    let response = ask(&local, asked).await;
    assert_eq!(response.error.unwrap().reason, "timeout");
    assert!(response.message.text().starts_with("aaa"));
    while local.activity().running > 0 {
        tokio::task::yield_now().await;
    }
}

/// P259: what is shown late counts as life, and what is never shown stalls.
#[tokio::test]
async fn an_answer_that_shows_nothing_stalls() {
    let folder = TestFolder::new();
    let tiny = Tiny::new()
        .context(1_000_000)
        .after(GO, "")
        .after("", "")
        .weighted("", END, 0.1);
    let path = tiny.write(&folder.path().join("m.gguf"));
    let local = Local::new();
    let mut request = Request::new("Hi");
    request.max_tokens = Some(900_000);
    let mut asked = call(&path, request);
    asked.timeouts = Timeouts {
        idle: Some(Duration::from_secs(20)),
        stall: Some(Duration::from_millis(200)),
        ..Timeouts::NONE
    };
    let response = ask(&local, asked).await;
    assert_eq!(response.error.unwrap().reason, "stalled");
}
