//! What a call comes to.

use std::time::Duration;

use allm::{ToolRunOptions, run_tool_calls};
use allm_core::{Progress, ReportedError, ToolCall, ToolReason, ToolReply};
use serde_json::json;

use crate::support::*;

/// M20: the arguments arrive as they are, and the key travels with them.
#[tokio::test]
async fn m20_arguments_and_key() {
    let server = connected("plain").await;
    let arguments = json!({"a": [1, {"b": null}]});
    let said = call(&server, "echo", arguments.clone()).await;
    assert_eq!(parsed(said), arguments);
    let said = call(&server, "meta", nothing()).await;
    assert_eq!(said, ok(json!({"allm/idempotency-key": "key-1"})));
}

/// M24: what the tool reports is a reported error, with its details.
#[tokio::test]
async fn m24_reported_errors() {
    let server = connected("plain").await;
    let said = call(&server, "fail", nothing()).await;
    let error = ReportedError::new("no such city").details(json!({"code": 7}));
    assert_eq!(said, Ok(ToolReply::Error(error)));
}

/// M26: an answer that cannot be read is no reply, and nobody waits for it.
#[tokio::test]
async fn m26_unreadable_answers() {
    let server = connected("plain").await;
    let said = call(&server, "bad_error", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::InvalidReturn);
    assert!(server.is_alive().await);
    let server = connected("strange_result").await;
    let said = call(&server, "echo", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::InvalidReturn);
}

/// M27: a server that dies in mid-call has crashed.
#[tokio::test]
async fn m27_death_is_a_crash() {
    let server = connected("plain").await;
    let said = call(&server, "die", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
    assert_eq!(
        said.message,
        "the MCP server `plain` ended before it answered"
    );
}

/// M28: a call that passes its limit is cancelled at the server.
#[tokio::test]
async fn m28_timeouts_cancel_at_the_server() {
    let notes = Notes::new("m28");
    let server = scripted("silent").env("CANCELLED", notes.path());
    let server = server
        .timeout(Duration::from_millis(300))
        .connect()
        .await
        .unwrap();
    let calls = vec![ToolCall::new("c1", "echo", "{}")];
    let tools = server.tools();
    let batch = run_tool_calls(calls, &tools, ToolRunOptions::new())
        .await
        .unwrap();
    let text = batch.messages[0].text();
    assert!(text.contains("\"timeout\""), "{text}");
    assert_eq!(notes.first().await, json!("the call was stopped"));
}

/// M29: reports of progress are passed on, in order.
#[tokio::test]
async fn m29_progress() {
    let server = connected("plain").await;
    let tool = named(&server.tools(), "sleep");
    let reports = reports();
    let mut context = context("key-1");
    context.progress = Some(reports.clone());
    let handler = tool.handler.clone().unwrap();
    let mut waiting = handler.call(Default::default(), context);
    let step = |n: f64| Progress::new(n).total(2.0).message(format!("step {n}"));
    let both = async {
        while reports.0.lock().unwrap().last() != Some(&step(2.0)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        said = &mut waiting => panic!("{said:?}"),
        done = tokio::time::timeout(LONG, both) => done.unwrap(),
    }
}

/// M31: a server that wants the answer of a model is told that there is none.
#[tokio::test]
async fn m31_sampling_is_declined() {
    let server = connected("plain").await;
    let said = parsed(call(&server, "sampling", nothing()).await);
    assert_eq!(said["code"], json!(-32601), "{said}");
}

/// M2: the server does not get the environment of this process, but what is set for it.
#[tokio::test]
async fn m2_environment() {
    let server = scripted("plain").env("GIVEN", "1").connect().await.unwrap();
    let said = parsed(call(&server, "env", nothing()).await);
    let names: Vec<&str> = said["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"GIVEN") && names.contains(&"PATH"),
        "{names:?}"
    );
    // Cargo sets this one for tests.
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
    let server = scripted("plain").inherit_env().connect().await.unwrap();
    let said = parsed(call(&server, "env", nothing()).await);
    assert!(
        said["env"]
            .as_array()
            .unwrap()
            .contains(&json!("CARGO_MANIFEST_DIR"))
    );
}

/// M7: calls of one connection do not wait for each other.
#[tokio::test]
async fn m32_calls_run_at_the_same_time() {
    let server = connected("plain").await;
    let slow = named(&server.tools(), "sleep").handler.unwrap();
    let mut slow = slow.call(Default::default(), context("key-1"));
    let quick = call(&server, "echo", nothing());
    tokio::select! {
        said = &mut slow => panic!("{said:?}"),
        said = quick => assert_eq!(said, ok(json!("{}"))),
    }
}
