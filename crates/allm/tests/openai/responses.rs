//! The Responses API over HTTP.

use allm::{Azure, Engine, FinishReason, RetryPolicy};
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::{openai, weather};

fn engine(server: &Server, attempts: u32) -> Engine {
    let retry = RetryPolicy {
        max_attempts: attempts,
        ..RetryPolicy::default()
    };
    Engine::builder()
        .provider(openai(server))
        .model("openai:gpt-5")
        .tool(weather)
        .retry(retry)
        .build()
        .unwrap()
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [
        {"type": "output_text", "text": text, "annotations": []}]})
}

fn delta(text: &str) -> String {
    json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text})
        .to_string()
}

fn whole(output: Value) -> Value {
    json!({"id": "resp_1", "object": "response", "model": "gpt-5-2025", "status": "completed",
        "output": output, "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}})
}

fn completed(output: Value) -> String {
    json!({"type": "response.completed", "response": whole(output)}).to_string()
}

fn hello() -> Reply {
    Reply::frames(&[delta("Hel"), delta("lo"), completed(json!([message("Hello")]))])
}

/// P22: a stream and a document are the same answer.
#[tokio::test]
async fn p22_plain_text() {
    let document = Reply::new(200, whole(json!([message("Hello")])).to_string());
    for reply in [hello(), document] {
        let server = Server::start(vec![reply]).await;
        let response = engine(&server, 1).generate("hi").await.unwrap();
        assert_eq!(response.text(), "Hello");
        assert_eq!(response.finish_reason, Some(FinishReason::Stop));
        assert_eq!(response.usage.total_tokens, Some(5));
        assert_eq!(response.model.as_deref(), Some("gpt-5-2025"));
        assert_eq!(response.provider_request_id.as_deref(), Some("req-1"));
        let sent = &server.sent()[0];
        assert_eq!(sent.line, "POST /v1/responses HTTP/1.1");
        assert_eq!(
            sent.header("authorization"),
            Some("Bearer sk-test-0123456789")
        );
        assert_eq!(sent.body["store"], json!(false));
        assert_eq!(sent.body["stream"], json!(true));
    }
}

/// P132: what the model thought goes back with its calls.
#[tokio::test]
async fn p132_tools_and_thoughts() {
    let thought =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="});
    let call = |id: &str, city: &str| {
        json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "weather",
            "arguments": json!({"city": city}).to_string(), "status": "completed"})
    };
    let output = json!([thought, call("c1", "Oslo"), call("c2", "Rome")]);
    let server = Server::start(vec![Reply::frames(&[completed(output)]), hello()]).await;
    let answer = engine(&server, 1).chat("hi").text().await.unwrap();
    assert_eq!(answer, "Hello");
    let back = |id: &str, city: &str| {
        json!({"type": "function_call", "call_id": id, "name": "weather",
            "arguments": json!({"city": city}).to_string()})
    };
    let result = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    assert_eq!(
        server.sent()[1].body["input"],
        json!([
            {"role": "user", "content": "hi"},
            thought,
            back("c1", "Oslo"),
            back("c2", "Rome"),
            result("c1", "rain in Oslo"),
            result("c2", "rain in Rome"),
        ])
    );
}

/// P73: an error before any content is tried again, unless that cannot help.
#[tokio::test(start_paused = true)]
async fn p73_errors_in_the_stream() {
    let error = |message: &str| {
        let event = json!({"type": "error", "code": "rate_limit_exceeded", "message": message});
        Reply::frames(&[event.to_string()])
    };
    let server = Server::start(vec![error("Rate limit reached."), hello()]).await;
    let answer = engine(&server, 2).generate("hi").text().await.unwrap();
    assert_eq!(answer, "Hello");
    assert_eq!(server.sent().len(), 2);
    let large = "Request too large for gpt-5: limit 1, requested 2.";
    let server = Server::start(vec![error(large), hello()]).await;
    let error = engine(&server, 2).generate("hi").await.unwrap_err();
    assert_eq!(error.reason(), "request_too_large");
    assert_eq!(server.sent().len(), 1);
}

#[tokio::test]
async fn a_cut_stream() {
    let server = Server::start(vec![Reply::frames(&[delta("par")])]).await;
    let response = engine(&server, 1).generate("hi").await.unwrap();
    assert_eq!(response.finish_reason, Some(FinishReason::Error));
    assert_eq!(response.text(), "par");
    let reason = response.error.as_ref().map(|error| error.reason.as_str());
    assert_eq!(reason, Some("interrupted"));
}

/// P38: once it is closed, an answer is whole, however the connection ends.
#[tokio::test]
async fn p38_broken_after_the_end() {
    let mut reply = hello();
    reply.pieces[0].push_str("data: {\"half");
    reply.breaks = true;
    let server = Server::start(vec![reply]).await;
    let response = engine(&server, 1).generate("hi").await.unwrap();
    assert_eq!(response.text(), "Hello");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
}

/// P147: refused before anything is sent.
#[tokio::test]
async fn p147_refused() {
    let server = Server::start(vec![]).await;
    let error = engine(&server, 1)
        .generate("hi")
        .stop(vec!["END".to_owned()])
        .max_tokens(10)
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "unsupported_option");
    assert!(server.sent().is_empty());
}

#[tokio::test]
async fn p87_azure() {
    let server = Server::start(vec![hello()]).await;
    let azure = Azure::new("res")
        .base_url(format!("{}/openai/v1", server.url))
        .api_key("azure-key-1");
    let engine = Engine::builder()
        .provider(azure)
        .model("azure:gpt-5")
        .build()
        .unwrap();
    engine.generate("hi").await.unwrap();
    let sent = &server.sent()[0];
    assert_eq!(sent.line, "POST /v1/openai/v1/responses HTTP/1.1");
    assert_eq!(sent.header("api-key"), Some("azure-key-1"));
}
