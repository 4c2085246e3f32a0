//! Anthropic over a real connection to a server on this machine.
#![cfg(feature = "anthropic")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

#[path = "../loopback/server.rs"]
mod server;

use allm::{Anthropic, Auth, Engine, FinishReason, RetryPolicy, tool};
use serde_json::{Value, json};
use server::{Reply, Server};

const MODEL: &str = "anthropic:claude-sonnet-4-5";
const KEY: &str = "sk-ant-test-key";

fn anthropic(server: &Server) -> Anthropic {
    Anthropic::new().base_url(&server.url).api_key(KEY)
}

fn engine(server: &Server) -> Engine {
    let engine = Engine::builder().provider(anthropic(server)).model(MODEL);
    engine.tool(weather).build().unwrap()
}

/// Tells the weather of a city.
#[tool]
async fn weather(city: String) -> Result<String, String> {
    match city.as_str() {
        "Atlantis" => Err("no such city".to_owned()),
        city => Ok(format!("rain in {city}")),
    }
}

fn start() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 1}
    }})
}

fn text(index: u32, text: &str) -> [Value; 3] {
    [
        json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn call(index: u32, id: &str, city: &str) -> [Value; 3] {
    let block = json!({"type": "tool_use", "id": id, "name": "weather", "input": {}});
    let arguments = json!({"city": city}).to_string();
    [
        json!({"type": "content_block_start", "index": index, "content_block": block}),
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": arguments}}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn thinking(index: u32) -> [Value; 3] {
    let block = json!({"type": "thinking", "thinking": "Hm.", "signature": ""});
    [
        json!({"type": "content_block_start", "index": index, "content_block": block}),
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn events(events: &[&[Value]]) -> String {
    let frame = |event: &Value| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    };
    let start = start();
    std::iter::once(&start)
        .chain(events.iter().copied().flatten())
        .map(frame)
        .collect()
}

#[tokio::test]
async fn plain_text() {
    let body = events(&[&text(0, "Hello"), &end("end_turn")]);
    let server = Server::start(vec![Reply::ok(&body)]).await;
    let response = engine(&server).generate("hi").await.unwrap();
    assert_eq!(response.text(), "Hello");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(
        response.model.as_deref(),
        Some("claude-sonnet-4-5-20250929")
    );
    assert_eq!(response.provider_request_id.as_deref(), Some("req_head"));
    assert_eq!(response.usage.input_tokens, Some(3));
    assert_eq!(response.usage.output_tokens, Some(9));
    let sent = server.sent();
    assert_eq!(sent[0].target, "/v1/messages");
    assert_eq!(sent[0].header("x-api-key"), Some(KEY));
    assert_eq!(sent[0].header("authorization"), None);
    assert_eq!(sent[0].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(sent[0].header("anthropic-beta"), None);
    assert_eq!(sent[0].body["stream"], true);
    assert_eq!(sent[0].body["model"], "claude-sonnet-4-5");
}

/// P166, P167, P171: two calls run, their results and the thinking go back.
#[tokio::test]
async fn p166_p167_p171_tools() {
    let first = events(&[
        &thinking(0),
        &text(1, "Looking."),
        &call(2, "t1", "Oslo"),
        &call(3, "t2", "Atlantis"),
        &end("tool_use"),
    ]);
    let second = events(&[&text(0, "Wet."), &end("end_turn")]);
    let server = Server::start(vec![Reply::ok(&first), Reply::ok(&second)]).await;
    let answer = engine(&server).chat("Weather?").text().await.unwrap();
    assert_eq!(answer, "Wet.");
    let sent = server.sent();
    assert_eq!(sent[0].body["tools"][0]["name"], "weather");
    let messages = &sent[1].body["messages"];
    assert_eq!(messages.as_array().map(Vec::len), Some(3));
    assert_eq!(
        messages[1],
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "t2", "name": "weather", "input": {"city": "Atlantis"}}
        ]})
    );
    let results = messages[2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["tool_use_id"], "t1");
    assert_eq!(results[0]["content"], "rain in Oslo");
    assert_eq!(results[0].get("is_error"), None);
    assert_eq!(results[1]["tool_use_id"], "t2");
    assert_eq!(results[1]["is_error"], true);
}

/// P188
#[tokio::test]
async fn p188_a_refusal_of_the_request() {
    let body = json!({
        "type": "error",
        "error": {"type": "authentication_error", "message": "invalid x-api-key"},
        "request_id": "req_body"
    });
    let server = Server::start(vec![Reply {
        status: 401,
        head: String::new(),
        ..Reply::ok(body.to_string())
    }])
    .await;
    let error = engine(&server).generate("hi").await.unwrap_err();
    assert_eq!(error.reason(), "authentication_failed");
    let allm::Error::Adapter(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.provider_request_id.as_deref(), Some("req_body"));
    assert_eq!(error.message, "invalid x-api-key");
}

/// P66: the first event is an error and the call is made again; after text it is not.
#[tokio::test]
async fn p66_errors_inside_a_stream() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let whole = events(&[&text(0, "Hello"), &end("end_turn")]);
    let half = format!("{}{error}", events(&[&text(0, "Half")]));
    let server = Server::start(vec![Reply::ok(error), Reply::ok(&whole), Reply::ok(&half)]).await;
    let soon = RetryPolicy {
        base_delay: std::time::Duration::from_millis(1),
        jitter: std::time::Duration::ZERO,
        ..RetryPolicy::default()
    };
    let engine = engine(&server).with(|b| b.retry(soon)).unwrap();
    let response = engine.generate("hi").await.unwrap();
    assert_eq!(response.text(), "Hello");
    let response = engine.generate("hi").await.unwrap();
    assert_eq!(response.finish_reason, Some(FinishReason::Error));
    assert_eq!(response.text(), "Half");
    assert_eq!(server.sent().len(), 3);
}

/// P77: a stop reason is not yet the end.
#[tokio::test]
async fn p77_a_cut_stream() {
    let body = events(&[&text(0, "Hello"), &end("end_turn")]);
    let cut = body.find("event: message_stop").unwrap();
    let server = Server::start(vec![Reply::ok(&body[..cut])]).await;
    let response = engine(&server).generate("hi").await.unwrap();
    assert_eq!(response.finish_reason, Some(FinishReason::Error));
    assert_eq!(response.text(), "Hello");
    let error = response.error.unwrap();
    assert_eq!(error.reason, "interrupted");
}

/// P82, P88: the options of every provider, and those of this one.
#[tokio::test]
async fn p82_p88_configuration() {
    let body = events(&[&text(0, "Hello"), &end("end_turn")]);
    let server = Server::start(vec![Reply::ok(&body)]).await;
    let provider = anthropic(&server)
        .base_url(format!("{}/prefix/", server.url))
        .header("x-own", "1")
        .query("q", "a b")
        .auth(Auth::Bearer)
        .beta("a")
        .beta("b")
        .version("2030-01-01")
        .named("second");
    let engine = Engine::builder()
        .provider(provider)
        .model("second:some/model")
        .build()
        .unwrap();
    assert_eq!(engine.generate("hi").text().await.unwrap(), "Hello");
    let sent = server.sent();
    assert_eq!(sent[0].target, "/prefix/v1/messages?q=a%20b");
    assert_eq!(sent[0].header("x-own"), Some("1"));
    assert_eq!(
        sent[0].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(sent[0].header("x-api-key"), None);
    assert_eq!(sent[0].header("anthropic-beta"), Some("a,b"));
    assert_eq!(sent[0].header("anthropic-version"), Some("2030-01-01"));
    assert_eq!(sent[0].body["model"], "some/model");
}

/// P121: an older model answers through a tool, and the caller sees text.
#[tokio::test]
async fn p121_structured_output_of_an_older_model() {
    let block = json!({"type": "tool_use", "id": "t", "name": "respond_with_json", "input": {}});
    let answer = [
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"n\": "}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "7}"}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    let server = Server::start(vec![Reply::ok(events(&[&answer, &end("tool_use")]))]).await;
    let engine = Engine::builder()
        .provider(anthropic(&server))
        .model("anthropic:claude-sonnet-4-0")
        .build()
        .unwrap();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let format = allm::ResponseFormat::json_schema("number", schema);
    let response = engine.generate("hi").response_format(format).await.unwrap();
    assert_eq!(response.text(), "{\"n\": 7}");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(server.sent()[0].body["tool_choice"]["type"], "tool");
}
