//! Questions and approvals, while a call is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use allm_core::{ApprovalRule, Map, Tool, ToolContext, ToolReply};
use allm_mcp::server::Approvals;
use serde_json::{Value, json};

use crate::support::{Client, echo, failure, object, service, text};

/// Asks, and the answer is the result.
fn asks(options: Value) -> Tool {
    let options = options.as_object().cloned().unwrap();
    Tool::new("asks", "", object()).handler(move |_: Value| {
        let options = options.clone();
        async move { ToolReply::ask_with("Which colour?", options) }
    })
}

/// Asks twice, and goes on with both answers.
pub(crate) fn books() -> Tool {
    Tool::new("book", "", object()).handler(|_: Value, context: ToolContext| async move {
        let key = context.idempotency_key;
        match context.answer {
            None => {
                let state = json!({"key": key});
                ToolReply::ask_and_go_on_with("Window or aisle?", Map::new(), state)
            }
            Some(answer) => {
                let mut state = answer.state.clone().unwrap();
                assert_eq!(state["key"], json!(key));
                match state.get("seat").cloned() {
                    None => {
                        state["seat"] = json!(answer.text());
                        ToolReply::ask_and_go_on_with("When?", Map::new(), state)
                    }
                    Some(seat) => ToolReply::ok(&json!({"seat": seat, "when": answer.text()})),
                }
            }
        }
    })
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// M120, M122
#[tokio::test]
async fn a_question_is_asked_at_the_client_and_the_answer_is_the_result() {
    let mut client = Client::asking(service([asks(json!({}))])).await;
    let id = client.begin("asks").await;
    let mut asked = client.hear().await.unwrap();
    assert_eq!(asked["method"], json!("elicitation/create"));
    asked["params"].as_object_mut().unwrap().remove("_meta");
    assert_eq!(
        asked["params"],
        json!({
            "mode": "form",
            "message": "Which colour?",
            "requestedSchema": {
                "type": "object",
                "properties": {"answer": {"type": "string"}},
                "required": ["answer"]
            }
        })
    );
    client
        .answer(&asked, accept(json!({"answer": "blue"})))
        .await;
    let answer = client.hear().await.unwrap();
    assert_eq!(answer["id"], json!(id));
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": "blue"}], "isError": false})
    );
}

/// M122
#[tokio::test]
async fn the_schema_of_a_question_is_the_form() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "Ada"},
            "level": {"type": "string", "oneOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]}
        },
        "required": ["name"]
    });
    let mut client = Client::asking(service([asks(json!({"schema": schema}))])).await;
    client.begin("asks").await;
    let asked = client.hear().await.unwrap();
    assert_eq!(asked["params"]["requestedSchema"], schema);
    client
        .answer(&asked, accept(json!({"name": "Bob", "level": "a"})))
        .await;
    let result = client.hear().await.unwrap()["result"].clone();
    assert_eq!(text(&result), r#"{"level":"a","name":"Bob"}"#);
}

/// M123, M186
#[tokio::test]
async fn an_answer_that_does_not_fit_the_form_is_none() {
    let schema = json!({
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 0}},
        "required": ["age"]
    });
    for said in [json!({"age": -1}), json!({"age": "old"}), json!({})] {
        let mut client = Client::asking(service([asks(json!({"schema": schema}))])).await;
        client.begin("asks").await;
        let asked = client.hear().await.unwrap();
        client.answer(&asked, accept(said)).await;
        let result = client.hear().await.unwrap()["result"].clone();
        let message = "the client's answer does not fit the question";
        assert_eq!(
            failure(&result),
            json!({"reason": "not_executed", "message": message})
        );
    }
}

/// M121
#[tokio::test]
async fn a_handler_that_asks_to_go_on_is_called_again_with_the_answer() {
    let mut client = Client::asking(service([books()])).await;
    let id = client.begin("book").await;
    for (question, answer) in [("Window or aisle?", "aisle"), ("When?", "today")] {
        let asked = client.hear().await.unwrap();
        assert_eq!(asked["params"]["message"], json!(question));
        client
            .answer(&asked, accept(json!({"answer": answer})))
            .await;
    }
    let answer = client.hear().await.unwrap();
    assert_eq!(answer["id"], json!(id));
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({"seat": "aisle", "when": "today"})
    );
}

/// M123
#[tokio::test]
async fn a_question_without_an_answer_is_a_failure() {
    for (said, message) in [
        (
            json!({"action": "decline"}),
            "the person declined to answer",
        ),
        (json!({"action": "cancel"}), "the person did not answer"),
        (
            accept(json!({"other": 1})),
            "the client's answer does not fit the question",
        ),
        (
            json!({"action": "accept"}),
            "the client's answer does not fit the question",
        ),
    ] {
        let mut client = Client::asking(service([asks(json!({}))])).await;
        client.begin("asks").await;
        let asked = client.hear().await.unwrap();
        client.answer(&asked, said).await;
        let result = client.hear().await.unwrap()["result"].clone();
        assert_eq!(
            failure(&result),
            json!({"reason": "not_executed", "message": message})
        );
    }
}

/// M123
#[tokio::test]
async fn a_client_that_fails_to_ask_is_a_failure() {
    let mut client = Client::asking(service([asks(json!({}))])).await;
    client.begin("asks").await;
    let asked = client.hear().await.unwrap();
    let error = json!({"code": -32603, "message": "no window"});
    client
        .say(json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}))
        .await;
    let result = client.hear().await.unwrap()["result"].clone();
    let message = failure(&result)["message"].clone();
    assert_eq!(
        message,
        json!(
            "the tool `asks` asks a person, and the client could not ask a person: no window. It asks: Which colour?"
        )
    );
}

/// M124
#[tokio::test]
async fn a_client_that_cannot_ask_is_told_so() {
    let mut client = Client::plain(service([asks(json!({}))])).await;
    let result = client.call("asks", json!({})).await;
    let message = failure(&result)["message"].clone();
    let message = message.as_str().unwrap();
    assert!(
        message.contains("has not declared the capability `elicitation`"),
        "{message}"
    );
    assert!(message.contains("Which colour?"), "{message}");
}

/// M124
#[tokio::test]
async fn a_client_that_only_opens_addresses_cannot_fill_forms() {
    let mut client = Client::silent(service([asks(json!({}))]));
    client.initialize(json!({"elicitation": {"url": {}}})).await;
    let result = client.call("asks", json!({})).await;
    assert_eq!(failure(&result)["reason"], json!("not_executed"));
}

/// M125
#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_without_end() {
    let service = service([asks(json!({}))]).answer_timeout(Duration::from_secs(60));
    let mut client = Client::asking(service).await;
    let id = client.begin("asks").await;
    let asked = client.hear().await.unwrap();
    assert_eq!(asked["method"], json!("elicitation/create"));
    let cancelled = client.hear().await.unwrap();
    assert_eq!(cancelled["method"], json!("notifications/cancelled"));
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    let answer = client.hear().await.unwrap();
    assert_eq!(answer["id"], json!(id));
    assert_eq!(failure(&answer["result"])["reason"], json!("expired"));
}

/// A tool that a person must agree to, and how often it ran.
fn gated() -> (Tool, Arc<AtomicUsize>) {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let tool = echo()
        .approval(ApprovalRule::Always)
        .handler(move |value: Value| {
            count.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, std::fmt::Error>(value) }
        });
    (tool, ran)
}

/// M127
#[tokio::test]
async fn a_person_agrees_before_a_call_runs() {
    let (tool, ran) = gated();
    let mut client = Client::asking(service([tool])).await;
    let call = json!({"name": "echo", "arguments": {"text": "rm"}});
    client.request("tools/call", call).await;
    let asked = client.hear().await.unwrap();
    assert_eq!(
        asked["params"]["message"],
        json!(r#"May `echo` run with {"text":"rm"}?"#)
    );
    assert_eq!(
        asked["params"]["requestedSchema"]["required"],
        json!(["approve"])
    );
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    client
        .answer(&asked, accept(json!({"approve": true})))
        .await;
    let result = client.hear().await.unwrap()["result"].clone();
    assert_eq!(result["structuredContent"], json!({"text": "rm"}));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

/// M127
#[tokio::test]
async fn nothing_but_a_yes_is_a_yes() {
    for said in [
        accept(json!({"approve": false})),
        accept(json!({})),
        accept(json!({"approve": "true"})),
        json!({"action": "accept"}),
        json!({"action": "decline", "content": {"approve": true}}),
        json!({"action": "cancel"}),
    ] {
        let (tool, ran) = gated();
        let mut client = Client::asking(service([tool])).await;
        client
            .request(
                "tools/call",
                json!({"name": "echo", "arguments": {"text": "rm"}}),
            )
            .await;
        let asked = client.hear().await.unwrap();
        client.answer(&asked, said).await;
        let result = client.hear().await.unwrap()["result"].clone();
        assert_eq!(failure(&result)["reason"], json!("denied"));
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}

/// M128
#[tokio::test]
async fn without_a_way_to_ask_a_call_that_needs_a_yes_is_refused() {
    let (tool, ran) = gated();
    let mut client = Client::plain(service([tool])).await;
    let result = client.call("echo", json!({"text": "rm"})).await;
    let message = failure(&result)["message"].clone();
    let message = message.as_str().unwrap();
    assert!(
        message.starts_with("the tool `echo` was not run: a person must agree"),
        "{message}"
    );
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

/// M128
#[tokio::test]
async fn approval_may_be_left_to_the_client() {
    let (tool, ran) = gated();
    let service = service([tool]).approvals(Approvals::LeaveToClient);
    let mut client = Client::plain(service).await;
    let result = client.call("echo", json!({"text": "rm"})).await;
    assert_eq!(result["isError"], json!(false));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}
