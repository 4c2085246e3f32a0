//! Clients that mean no good.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, echo, service};

/// M140
#[tokio::test]
async fn what_is_no_json_is_skipped() {
    let mut client = Client::plain(service([echo()])).await;
    for line in [
        "{",
        "nonsense",
        "\u{0}\u{1}",
        "",
        "[",
        "{\"jsonrpc\": \"2.0\", \"id\": 1,",
    ] {
        client.line(line).await;
    }
    let result = client.call("echo", json!({"text": "x"})).await;
    assert_eq!(result["isError"], json!(false));
}

/// M140
#[tokio::test]
async fn json_that_is_no_message_is_answered_as_such() {
    let mut client = Client::plain(service([echo()])).await;
    for line in ["42", "null", "\"x\"", "{}", "{\"id\": 1}", "[1,2]"] {
        client.line(line).await;
        let answer = client.hear().await.unwrap();
        assert_eq!(answer["error"]["code"], json!(-32600), "{line}: {answer}");
    }
    let result = client.call("echo", json!({"text": "x"})).await;
    assert_eq!(result["isError"], json!(false));
}

/// M141
#[tokio::test]
async fn a_message_that_is_too_long_is_skipped() {
    let mut client = Client::plain(service([echo()]).max_message(1000)).await;
    let call = json!({"name": "echo", "arguments": {"text": "x".repeat(100_000)}});
    client.request("tools/call", call).await;
    let result = client.call("echo", json!({"text": "x"})).await;
    assert_eq!(result["isError"], json!(false));
}

/// M142
#[tokio::test]
async fn an_unknown_method_is_an_error_of_the_request() {
    let mut client = Client::plain(service([echo()])).await;
    for method in ["nonsense", "tools/delete", "sampling/createMessage", ""] {
        let answer = client.ask(method, json!({})).await;
        assert_eq!(answer["error"]["code"], json!(-32601), "{answer}");
    }
    client.notify("notifications/nonsense", json!({})).await;
    client
        .notify("notifications/cancelled", json!({"requestId": 99}))
        .await;
    client.notify("notifications/cancelled", json!({})).await;
    let result = client.call("echo", json!({"text": "x"})).await;
    assert_eq!(result["isError"], json!(false));
}

/// M142
#[tokio::test]
async fn parameters_of_the_wrong_kind_are_an_error_of_the_request() {
    let mut client = Client::plain(service([echo()])).await;
    for params in [
        json!({}),
        json!({"name": 7}),
        json!({"name": "echo", "arguments": [1]}),
        json!({"name": "echo", "arguments": "x"}),
        json!([]),
        json!(null),
    ] {
        client.request("tools/call", params.clone()).await;
        let answer = client.hear().await.unwrap();
        let code = answer["error"]["code"].as_i64().unwrap();
        assert!(
            [-32600, -32601, -32602].contains(&code),
            "{params}: {answer}"
        );
    }
    let result = client.call("echo", json!({"text": "x"})).await;
    assert_eq!(result["isError"], json!(false));
}

/// M143
#[tokio::test]
async fn a_call_before_the_beginning_is_refused_and_the_beginning_is_still_possible() {
    let mut client = Client::silent(service([echo()]));
    let call = json!({"name": "echo", "arguments": {"text": "x"}});
    let answer = client.ask("tools/call", call).await;
    assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
    client.initialize(json!({})).await;
    let result = client.call("echo", json!({"text": "x"})).await;
    assert_eq!(result["isError"], json!(false));
}

/// M143
#[tokio::test]
async fn who_begins_with_something_else_is_left() {
    let mut client = Client::silent(service([echo()]));
    client.notify("notifications/initialized", json!({})).await;
    let error = (&mut client.served).await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the client did not begin with `initialize`"
    );
}

/// M143
#[tokio::test]
async fn who_says_nothing_is_no_error() {
    let mut client = Client::silent(service([echo()]));
    client.close().await;
    (&mut client.served).await.unwrap().unwrap();
}

/// M144
#[tokio::test]
async fn a_hundred_calls_at_once_have_a_hundred_answers() {
    let mut client = Client::plain(service([echo()])).await;
    let mut ids = std::collections::BTreeMap::new();
    for number in 0..100 {
        let text = format!("call {number}");
        let call = json!({"name": "echo", "arguments": {"text": text}});
        ids.insert(client.request("tools/call", call).await, text);
    }
    while !ids.is_empty() {
        let heard = tokio::time::timeout(Duration::from_secs(60), client.hear());
        let answer = heard.await.unwrap().unwrap();
        let text = ids.remove(&answer["id"].as_i64().unwrap()).unwrap();
        assert_eq!(answer["result"]["structuredContent"], json!({"text": text}));
    }
}

/// M142
#[tokio::test]
async fn two_requests_of_one_id_break_nothing() {
    let mut client = Client::plain(service([echo()])).await;
    let call = |text: &str| -> Value {
        let params = json!({"name": "echo", "arguments": {"text": text}});
        json!({"jsonrpc": "2.0", "id": 500, "method": "tools/call", "params": params})
    };
    client.say(call("one")).await;
    client.say(call("two")).await;
    // At least one of them is answered, and others are too.
    assert_eq!(client.hear().await.unwrap()["id"], json!(500));
    let id = client.request("ping", json!({})).await;
    loop {
        let answer = client.hear().await.unwrap();
        if answer["id"] == json!(id) {
            break;
        }
    }
}
