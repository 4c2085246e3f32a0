//! Questions to clients of version 2026-07-28, which call again with the answer.

use std::time::Duration;

use allm_core::ApprovalRule;
use allm_mcp::server::McpService;
use serde_json::{Value, json};

use crate::asking::books;
use crate::support::{Client, echo, failure, service};

/// What every request of that version carries.
fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": capabilities
    })
}

fn can_ask() -> Value {
    meta(json!({"elicitation": {"form": {}}}))
}

async fn round(
    client: &mut Client,
    tool: &str,
    state: Option<&Value>,
    said: Option<Value>,
) -> Value {
    let mut call = json!({"name": tool, "arguments": {"text": "x"}, "_meta": can_ask()});
    if let Some(state) = state {
        call["requestState"] = state.clone();
    }
    if let Some(said) = said {
        call["inputResponses"] = json!({"answer": said});
    }
    client.ask("tools/call", call).await
}

fn accept(content: Value) -> Option<Value> {
    Some(json!({"action": "accept", "content": content}))
}

fn connect(service: McpService) -> Client {
    Client::silent(service)
}

/// M126
#[tokio::test]
async fn a_client_calls_again_with_the_answer() {
    let mut client = connect(service([books()]));
    let first = round(&mut client, "book", None, None).await["result"].clone();
    assert_eq!(first["resultType"], json!("input_required"));
    let asked = &first["inputRequests"]["answer"];
    assert_eq!(asked["method"], json!("elicitation/create"));
    assert_eq!(asked["params"]["message"], json!("Window or aisle?"));
    // The handler's own state is not in it.
    assert_eq!(first["requestState"].as_str().unwrap().len(), 32);

    let said = accept(json!({"answer": "aisle"}));
    let second = round(&mut client, "book", Some(&first["requestState"]), said).await;
    let second = second["result"].clone();
    assert_eq!(
        second["inputRequests"]["answer"]["params"]["message"],
        json!("When?")
    );
    let said = accept(json!({"answer": "today"}));
    let last = round(&mut client, "book", Some(&second["requestState"]), said).await;
    assert_eq!(
        last["result"]["structuredContent"],
        json!({"seat": "aisle", "when": "today"})
    );
    assert_eq!(last["result"]["resultType"], json!("complete"));
}

/// M126
#[tokio::test]
async fn a_handle_is_good_once_and_for_the_same_call() {
    let mut client = connect(service([books(), echo().approval(ApprovalRule::Always)]));
    let asked = round(&mut client, "echo", None, None).await["result"].clone();
    let state = asked["requestState"].clone();
    // Another tool, other arguments, another handle.
    let said = accept(json!({"approve": true}));
    let other = round(&mut client, "book", Some(&state), said.clone()).await;
    assert_eq!(other["error"]["code"], json!(-32602));
    let gone = round(&mut client, "echo", Some(&state), said.clone()).await;
    assert_eq!(gone["error"]["code"], json!(-32602));
    let guessed = round(&mut client, "echo", Some(&json!("0")), said.clone()).await;
    assert_eq!(guessed["error"]["code"], json!(-32602));

    let asked = round(&mut client, "echo", None, None).await["result"].clone();
    let state = asked["requestState"].clone();
    let mut call = json!({"name": "echo", "arguments": {"text": "y"}, "_meta": can_ask()});
    call["requestState"] = state;
    call["inputResponses"] = json!({"answer": said});
    let other = client.ask("tools/call", call).await;
    assert_eq!(other["error"]["code"], json!(-32602));
}

/// M126, M127
#[tokio::test]
async fn a_yes_holds_for_the_call_that_it_was_asked_for() {
    let mut client = connect(service([echo().approval(ApprovalRule::Always)]));
    for (said, runs) in [(true, true), (false, false)] {
        let asked = round(&mut client, "echo", None, None).await["result"].clone();
        let said = accept(json!({"approve": said}));
        let state = &asked["requestState"];
        let result = round(&mut client, "echo", Some(state), said).await["result"].clone();
        match runs {
            true => assert_eq!(result["structuredContent"], json!({"text": "x"})),
            false => assert_eq!(failure(&result)["reason"], json!("denied")),
        }
    }
}

/// M126
#[tokio::test]
async fn without_an_answer_it_is_asked_again() {
    let mut client = connect(service([books()]));
    let first = round(&mut client, "book", None, None).await["result"].clone();
    let again = round(&mut client, "book", Some(&first["requestState"]), None).await;
    let again = again["result"].clone();
    assert_eq!(again["inputRequests"], first["inputRequests"]);
    assert_ne!(again["requestState"], first["requestState"]);
    let wrong = Some(json!(7));
    let state = &again["requestState"];
    let answer = round(&mut client, "book", Some(state), wrong).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
}

/// M126
#[tokio::test(start_paused = true)]
async fn a_handle_is_kept_as_long_as_a_person_may_take() {
    let mut client = connect(service([books()]).answer_timeout(Duration::from_secs(60)));
    let first = round(&mut client, "book", None, None).await["result"].clone();
    tokio::time::advance(Duration::from_secs(61)).await;
    let said = accept(json!({"answer": "aisle"}));
    let late = round(&mut client, "book", Some(&first["requestState"]), said).await;
    assert_eq!(late["error"]["code"], json!(-32602));
}

/// M124
#[tokio::test]
async fn a_client_that_cannot_ask_is_told_so() {
    let mut client = connect(service([books()]));
    let call = json!({"name": "book", "arguments": {}, "_meta": meta(json!({}))});
    let answer = client.ask("tools/call", call).await;
    assert_eq!(failure(&answer["result"])["reason"], json!("not_executed"));
}
