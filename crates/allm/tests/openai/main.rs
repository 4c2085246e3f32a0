//! Chat Completions over HTTP, against a server on this machine.
#![cfg(feature = "openai")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod server;

use std::time::Duration;

use allm::{
    Api, Auth, Azure, Compat, Engine, Error, FinishReason, Image, KeyUse, Message, OpenAi, Part,
    RetryPolicy, tool,
};
use serde_json::json;
use server::{Reply, Server};

fn text(text: &str) -> String {
    json!({"id": "r1", "model": "m1", "choices": [{"delta": {"content": text}}]}).to_string()
}

fn finish(reason: &str) -> String {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string()
}

fn hello() -> Reply {
    Reply::frames(&[text("Hel"), text("lo"), finish("stop"), "[DONE]".to_owned()])
}

fn openai(server: &Server) -> OpenAi {
    OpenAi::new()
        .base_url(&server.url)
        .api_key("sk-test-0123456789")
}

fn engine(provider: OpenAi) -> Engine {
    let once = RetryPolicy {
        max_attempts: 1,
        ..RetryPolicy::default()
    };
    Engine::builder()
        .provider(provider)
        .model("openai:gpt-4o")
        .retry(once)
        .build()
        .unwrap()
}

#[tokio::test]
async fn plain_text() {
    let server = Server::start(vec![hello()]).await;
    let response = engine(openai(&server)).generate("hi").await.unwrap();
    assert_eq!(response.text(), "Hello");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.provider_request_id.as_deref(), Some("req-1"));
    assert_eq!(response.model.as_deref(), Some("m1"));
    let sent = &server.sent()[0];
    assert_eq!(sent.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(
        sent.header("authorization"),
        Some("Bearer sk-test-0123456789")
    );
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("accept"), Some("text/event-stream"));
    assert_eq!(sent.body["model"], json!("gpt-4o"));
    assert_eq!(sent.body["stream"], json!(true));
}

/// Tells the weather of a city.
#[tool]
async fn weather(city: String) -> Result<String, String> {
    Ok(format!("rain in {city}"))
}

/// P221: the calls have no ids; what the loop gives them is accepted.
#[tokio::test]
async fn p221_tools() {
    let call = |city: &str| {
        let arguments = json!({"city": city}).to_string();
        json!({"function": {"name": "weather", "arguments": arguments}})
    };
    let calls = json!({"tool_calls": [call("Oslo"), call("Rome")]});
    let first = Reply::frames(&[
        json!({"choices": [{"delta": calls}]}).to_string(),
        finish("stop"),
        "[DONE]".to_owned(),
    ]);
    let server = Server::start(vec![first, hello()]).await;
    let engine = engine(openai(&server))
        .with(|builder| builder.tool(weather))
        .unwrap();
    assert_eq!(engine.chat("hi").text().await.unwrap(), "Hello");
    let sent = server.sent();
    assert_eq!(
        sent[0].body["tools"][0]["function"]["name"],
        json!("weather")
    );
    let messages = sent[1].body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 4);
    for (at, city) in [(0, "Oslo"), (1, "Rome")] {
        let call = &messages[1]["tool_calls"][at];
        assert_eq!(call["id"], messages[2 + at]["tool_call_id"]);
        assert_ne!(call["id"], json!(""));
        assert_eq!(
            messages[2 + at]["content"],
            json!(format!("rain in {city}"))
        );
    }
}

#[tokio::test]
async fn an_error_answer() {
    let body =
        json!({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}});
    let server = Server::start(vec![Reply::new(401, body.to_string())]).await;
    let error = engine(openai(&server)).generate("hi").await.unwrap_err();
    assert_eq!(error.reason(), "authentication_failed");
    let Error::Adapter(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.status, Some(401));
    assert_eq!(error.provider_request_id.as_deref(), Some("req-1"));
}

#[tokio::test]
async fn a_cut_stream() {
    let clean = Reply::frames(&[text("par")]);
    let broken = Reply {
        breaks: true,
        ..clean.clone()
    };
    for (reply, reason) in [(clean, "interrupted"), (broken, "network_error")] {
        let server = Server::start(vec![reply]).await;
        let response = engine(openai(&server)).generate("hi").await.unwrap();
        assert_eq!(response.finish_reason, Some(FinishReason::Error));
        assert_eq!(response.text(), "par");
        assert_eq!(
            response.error.as_ref().map(|e| e.reason.as_str()),
            Some(reason)
        );
    }
}

/// Tolerance rule 7: nothing behind the marker counts, whole or not.
#[tokio::test]
async fn p38_what_comes_behind_the_marker() {
    let mut reply = hello();
    reply.pieces[0].push_str("data: nonsense\n\ndata: {\"half");
    reply.breaks = true;
    let server = Server::start(vec![reply]).await;
    let response = engine(openai(&server)).generate("hi").await.unwrap();
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.warnings, []);
}

/// P82, P83, P84, P233
#[tokio::test]
async fn p82_p83_p84_configuration() {
    let server = Server::start(vec![hello(), hello(), hello()]).await;
    let provider = openai(&server)
        .organization("org-1")
        .project("proj-1")
        .header("X-Own", "1")
        .header("content-type", "text/plain")
        .query("a", "b c")
        .auth(Auth::Header("x-key".to_owned()));
    assert!(!format!("{provider:?}").contains("sk-test"));
    engine(provider).generate("hi").text().await.unwrap();
    engine(openai(&server).header("Authorization", "Basic x"))
        .generate("hi")
        .text()
        .await
        .unwrap();
    let router = Compat::openrouter()
        .base_url(&server.url)
        .api_key("sk-or-0123456789")
        .referer("https://me")
        .title("Me")
        .named("router");
    let engine = Engine::builder()
        .provider(router)
        .model("router:a/b:free")
        .build()
        .unwrap();
    engine.generate("hi").text().await.unwrap();
    let sent = server.sent();
    assert_eq!(sent[0].line, "POST /v1/chat/completions?a=b%20c HTTP/1.1");
    let headers = [
        ("openai-organization", Some("org-1")),
        ("openai-project", Some("proj-1")),
        ("x-own", Some("1")),
        ("content-type", Some("application/json")),
        ("x-key", Some("sk-test-0123456789")),
        ("authorization", None),
    ];
    for (name, value) in headers {
        assert_eq!(sent[0].header(name), value, "{name}");
    }
    assert_eq!(sent[1].header("authorization"), Some("Basic x"));
    assert_eq!(sent[2].header("http-referer"), Some("https://me"));
    assert_eq!(sent[2].header("x-title"), Some("Me"));
    // P90: verbatim in the body.
    assert_eq!(sent[2].body["model"], json!("a/b:free"));
}

#[tokio::test]
async fn p87_azure_with_a_deployment() {
    let server = Server::start(vec![hello()]).await;
    let azure = Azure::new("res")
        .deployment("d", "2024-10-21")
        .base_url(format!("{}/openai/deployments/d", server.url))
        .api_key("azure-key-1");
    let engine = Engine::builder()
        .provider(azure)
        .model("azure:gpt-5")
        .build()
        .unwrap();
    engine.generate("hi").text().await.unwrap();
    let sent = &server.sent()[0];
    assert_eq!(
        sent.line,
        "POST /v1/openai/deployments/d/chat/completions?api-version=2024-10-21 HTTP/1.1"
    );
    assert_eq!(sent.header("api-key"), Some("azure-key-1"));
    assert_eq!(sent.header("authorization"), None);
    let wrong = Azure::new("res").deployment("d", "v").api(Api::Responses);
    assert!(
        Engine::builder()
            .provider(wrong)
            .model("azure:x")
            .build()
            .is_err()
    );
}

#[tokio::test]
async fn p214_a_local_server_without_a_key() {
    let server = Server::start(vec![hello()]).await;
    let local = Compat::ollama().base_url(&server.url);
    let engine = Engine::builder()
        .provider(local)
        .model("ollama:llama3.1:8b")
        .build()
        .unwrap();
    assert_eq!(engine.generate("hi").text().await.unwrap(), "Hello");
    let sent = &server.sent()[0];
    assert_eq!(sent.header("authorization"), None);
    assert_eq!(sent.body["model"], json!("llama3.1:8b"));
}

#[tokio::test]
async fn p95_a_body_over_the_limit() {
    let server = Server::start(vec![]).await;
    let small = openai(&server).max_body_bytes(64);
    let error = engine(small).generate("x".repeat(100)).await.unwrap_err();
    assert_eq!(error.reason(), "request_too_large");
    assert!(server.sent().is_empty());
}

/// P107: before the key is looked up.
#[tokio::test]
async fn p107_bad_pictures_before_the_key() {
    let svg = || Part::image(Image::from_bytes("x", "image/svg+xml"));
    let thread = vec![Message::user(vec![svg()]), Message::user(vec![svg()])];
    let error = engine(OpenAi::new())
        .generate(allm::Thread::from(thread))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid_message: messages[0].content[0]: unsupported_media_type; messages[1].content[0]: unsupported_media_type"
    );
}

#[tokio::test]
async fn p126_the_call_chooses_the_api() {
    let server = Server::start(vec![hello()]).await;
    let provider = openai(&server).api(Api::Responses);
    let engine = engine(provider);
    engine
        .generate("hi")
        .wire("openai.chat")
        .text()
        .await
        .unwrap();
    assert!(server.sent()[0].line.contains("/chat/completions"));
    let error = engine.generate("hi").wire("gemini").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported_option: wire: unsupported (this provider has openai.responses, openai.chat)"
    );
}

/// Comments keep the connection alive for longer than it may be silent.
#[tokio::test(start_paused = true)]
async fn p231_comments_are_signs_of_life() {
    let mut pieces = vec![": PROCESSING\n\n".to_owned(); 8];
    pieces.extend(hello().pieces);
    let reply = Reply {
        pieces,
        pause: Duration::from_secs(15),
        ..hello()
    };
    let server = Server::start(vec![reply]).await;
    let engine = engine(openai(&server))
        .with(|b| b.idle_timeout(Duration::from_secs(20)))
        .unwrap();
    assert_eq!(engine.generate("hi").text().await.unwrap(), "Hello");
}

/// A profile of one's own, and a server that wants a key.
#[tokio::test]
async fn a_key_that_is_needed() {
    let strict = Compat::new("needs-key", "https://localhost:1/v1").key_use(KeyUse::Required);
    let engine = Engine::builder()
        .provider(strict)
        .model("needs-key:m")
        .build()
        .unwrap();
    assert_eq!(
        engine.generate("hi").await.unwrap_err().reason(),
        "missing_key"
    );
}
