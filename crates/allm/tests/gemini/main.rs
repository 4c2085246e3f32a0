//! Gemini over a real connection to a server on this machine.
#![cfg(feature = "gemini")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

#[path = "../loopback/server.rs"]
mod server;

use allm::{Auth, Engine, Error, FinishReason, Gemini, Image, Message, Part, RetryPolicy, tool};
use serde_json::{Value, json};
use server::{Reply, Server};

const MODEL: &str = "gemini:gemini-3-pro-preview";
const KEY: &str = "AIza-test-key-of-nobody";

fn gemini(server: &Server) -> Gemini {
    Gemini::new().base_url(&server.url).api_key(KEY)
}

fn engine(gemini: Gemini) -> Engine {
    let engine = Engine::builder().provider(gemini).model(MODEL);
    let engine = engine.retry(RetryPolicy::none());
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

fn chunks(chunks: &[Value]) -> String {
    let frames = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n"));
    frames.collect()
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}],
        "modelVersion": "gemini-3-pro-preview", "responseId": "r1"})
}

fn last(content: Value, reason: &str) -> Value {
    let mut chunk = parts(content);
    chunk["candidates"][0]["finishReason"] = reason.into();
    chunk["usageMetadata"] = json!({"promptTokenCount": 3, "candidatesTokenCount": 2});
    chunk
}

/// P189: the path asks for a stream of events, the key is in its header and nowhere else.
#[tokio::test]
async fn p189_plain_text() {
    let body = chunks(&[
        parts(json!([{"text": "Hel"}])),
        last(json!([{"text": "lo"}]), "STOP"),
    ]);
    let server = Server::start(vec![Reply::ok(body)]).await;
    let response = engine(gemini(&server)).generate("hi").await.unwrap();
    assert_eq!(response.text(), "Hello");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.model.as_deref(), Some("gemini-3-pro-preview"));
    assert_eq!(response.usage.input_tokens, Some(3));
    let sent = server.sent();
    assert_eq!(
        sent[0].target,
        "/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    );
    assert_eq!(sent[0].header("x-goog-api-key"), Some(KEY));
    assert_eq!(sent[0].header("authorization"), None);
    assert_eq!(
        sent[0].body["contents"],
        json!([{"role": "user", "parts": [{"text": "hi"}]}])
    );
}

/// P191, P194, P195, P196: calls run, and everything goes back as it came.
#[tokio::test]
async fn p191_p194_p195_p196_tools() {
    let call = |city: &str| json!({"name": "weather", "args": {"city": city}});
    let mut named = call("Atlantis");
    named["id"] = "c7".into();
    let first = chunks(&[
        parts(json!([{"text": "hm", "thought": true}])),
        parts(json!([{"functionCall": call("Oslo"), "thoughtSignature": "c2ln"}])),
        parts(json!([{"functionCall": call("Oslo")}, {"functionCall": named}])),
        last(
            json!([{"text": "", "thoughtSignature": "bGFzdA=="}]),
            "STOP",
        ),
    ]);
    let second = chunks(&[last(json!([{"text": "Wet."}]), "STOP")]);
    let server = Server::start(vec![Reply::ok(first), Reply::ok(second)]).await;
    let result = engine(gemini(&server)).chat("Weather?").await.unwrap();
    assert_eq!(result.text(), "Wet.");
    let ids: Vec<&str> = result
        .thread
        .messages
        .get(1)
        .unwrap()
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["allm-0-0", "allm-0-1", "c7"]);
    let sent = server.sent();
    let declared = &sent[0].body["tools"][0]["functionDeclarations"][0];
    assert_eq!(declared["name"], "weather");
    let contents = &sent[1].body["contents"];
    assert_eq!(
        contents[1],
        json!({"role": "model", "parts": [
            {"functionCall": call("Oslo"), "thoughtSignature": "c2ln"},
            {"functionCall": call("Oslo")},
            {"functionCall": named},
            {"text": "", "thoughtSignature": "bGFzdA=="}
        ]})
    );
    let results = contents[2]["parts"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in &results[..2] {
        assert_eq!(
            *result,
            json!({"functionResponse": {
                "name": "weather", "response": {"output": "rain in Oslo"}}})
        );
    }
    let failed = &results[2]["functionResponse"];
    assert_eq!(failed["id"], "c7");
    assert!(failed["response"].get("error").is_some(), "{failed}");
    assert_eq!(contents.as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn p47_errors_of_the_service() {
    let body = json!({"error": {"code": 400, "message": format!("API key {KEY} not valid."),
        "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}});
    let reply = Reply {
        status: 400,
        ..Reply::ok(body.to_string())
    };
    let server = Server::start(vec![reply]).await;
    let error = engine(gemini(&server)).generate("hi").await.unwrap_err();
    assert_eq!(error.reason(), "authentication_failed");
    assert!(!error.to_string().contains(KEY), "{error}");
}

/// P199: more may follow a finish reason, so only a clean end is one.
#[tokio::test]
async fn p75_p199_cut_streams() {
    let begun = chunks(&[parts(json!([{"text": "a"}]))]);
    let ended = chunks(&[last(json!([{"text": "a"}]), "STOP")]);
    let broken = Reply {
        breaks: true,
        ..Reply::ok(ended.clone())
    };
    let server = Server::start(vec![Reply::ok(begun), broken, Reply::ok(ended)]).await;
    let engine = engine(gemini(&server));
    for reason in ["interrupted", "network_error"] {
        let response = engine.generate("hi").await.unwrap();
        assert_eq!(response.finish_reason, Some(FinishReason::Error));
        assert_eq!(response.text(), "a");
        assert_eq!(response.into_result().unwrap_err().reason(), reason);
    }
    let response = engine.generate("hi").await.unwrap();
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
}

#[tokio::test]
async fn p201_a_refused_call() {
    let bare = json!({"candidates": [
        {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: f("}]});
    let said = last(json!([{"text": "a"}]), "MALFORMED_FUNCTION_CALL");
    let replies = [bare, said].map(|chunk| Reply::ok(chunks(&[chunk])));
    let server = Server::start(replies.to_vec()).await;
    let engine = engine(gemini(&server));
    let error = engine.generate("hi").await.unwrap_err();
    assert_eq!(error.reason(), "generation_failed");
    assert!(error.to_string().contains("Malformed function call: f("));
    let response = engine.generate("hi").await.unwrap();
    assert_eq!(response.text(), "a");
    let error = response.into_result().unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    assert_eq!(error.reason(), "generation_failed");
}

/// P82, P89: the common options, and Vertex AI.
#[tokio::test]
async fn p82_p89_configuration() {
    let body = chunks(&[last(json!([{"text": "a"}]), "STOP")]);
    let server = Server::start(vec![Reply::ok(&*body); 2]).await;
    let vertex = Gemini::new()
        .named("vertex")
        .vertex("p1", "europe-west4")
        .base_url(format!("{}/proxy/?a=b", server.url))
        .api_key("ya29-token-of-nobody")
        .query("c", "d e")
        .header("x-extra", "yes");
    let own = gemini(&server).auth(Auth::Header("x-own-key".to_owned()));
    let engine = Engine::builder().provider(vertex).provider(own);
    let engine = engine.model(MODEL).build().unwrap();
    let response = engine
        .generate("hi")
        .model("vertex:gemini-x")
        .await
        .unwrap();
    assert_eq!(response.text(), "a");
    let _ = engine.generate("hi").await.unwrap();
    let sent = server.sent();
    assert_eq!(
        sent[0].target,
        "/proxy/projects/p1/locations/europe-west4/publishers/google/models/gemini-x:streamGenerateContent?a=b&alt=sse&c=d%20e"
    );
    assert_eq!(
        sent[0].header("authorization"),
        Some("Bearer ya29-token-of-nobody")
    );
    assert_eq!(sent[0].header("x-goog-api-key"), None);
    assert_eq!(sent[0].header("x-extra"), Some("yes"));
    assert_eq!(sent[1].header("x-own-key"), Some(KEY));
    assert_eq!(sent[1].header("x-goog-api-key"), None);
}

/// P95, P107: what fails before anything is sent.
#[tokio::test]
async fn p95_p107_local_faults() {
    let server = Server::start(Vec::new()).await;
    let small = engine(gemini(&server).max_body_bytes(10));
    let error = small.generate("hi").await.unwrap_err();
    assert_eq!(error.reason(), "request_too_large");
    // Nobody is asked for a key: there is none.
    let keyless = Gemini::new().named("keyless").base_url(&server.url);
    let engine = Engine::builder()
        .provider(keyless)
        .model("keyless:x")
        .build();
    let svg = || Message::user(Part::image(Image::from_bytes("x", "image/svg+xml")));
    let error = engine
        .unwrap()
        .generate([svg(), Message::assistant("a"), svg()])
        .await
        .unwrap_err();
    let Error::Validation(error) = error else {
        panic!("{error:?}")
    };
    let faults: Vec<String> = error.faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "messages[0].content[0]: unsupported_media_type",
            "messages[2].content[0]: unsupported_media_type"
        ]
    );
    assert!(server.sent().is_empty());
}
