//! Servers by HTTP that must not be trusted: each is contained, and nobody waits for what will not come.

use std::time::Duration;

use allm::{ToolRunOptions, run_tool_calls};
use allm_core::{ReportedError, ToolCall, ToolReason, ToolReply};
use allm_mcp::{McpConnection, McpErrorKind, McpServer};
use serde_json::json;
use tokio::process::Child;

use crate::http::started;
use crate::support::*;

async fn reached(mode: &str) -> (Child, McpConnection) {
    let (child, url) = started(mode).await;
    let server = McpServer::http(url).bearer("sesame").start_timeout(LONG);
    (child, server.connect().await.unwrap())
}

/// M25, M178: what the server says is what it says, whatever the status.
#[tokio::test]
async fn m25_m178_an_error_with_a_status() {
    for (mode, words) in [
        ("says_400", "no such city"),
        ("says_500", "the disk is full"),
    ] {
        let (_child, server) = reached(mode).await;
        let said = call(&server, "headers", nothing()).await;
        assert_eq!(said, Ok(ToolReply::error(words)), "{mode}");
        assert!(server.is_alive().await);
    }
}

/// M26, M178: an answer that cannot be read, or is of another request, is none; nobody waits for another.
#[tokio::test]
async fn m26_m178_answers_that_are_none() {
    for mode in [
        "not_json",
        "a_page",
        "wrong_id",
        "wrong_id_event",
        "bad_event",
        "bad_result_event",
    ] {
        let (_child, server) = reached(mode).await;
        let said = call(&server, "headers", nothing()).await.unwrap_err();
        assert_eq!(said.reason, ToolReason::InvalidReturn, "{mode}: {said:?}");
    }
}

/// M93: a server that has forgotten the session is connected again, and the call that it refused made once more.
#[tokio::test]
async fn m93_a_forgotten_session() {
    let (_child, server) = reached("forgets").await;
    let said = call(&server, "headers", nothing()).await;
    assert_eq!(said, ok(json!("call 2")));
}

/// M179: a call that was refused for another reason is not made again, whatever words it was refused with.
#[tokio::test]
async fn m179_a_refusal_that_mentions_a_session() {
    let (_child, server) = reached("mentions_session").await;
    let said = call(&server, "headers", nothing()).await;
    assert_eq!(said, Ok(ToolReply::error("unknown argument `session`")));
    assert_eq!(
        call(&server, "headers", nothing()).await,
        ok(json!("call 2"))
    );
}

/// M5, M6: a server that never answers, dies, refuses or says something else at the beginning is told apart.
#[tokio::test]
async fn m5_m6_bad_beginnings() {
    for (mode, kind) in [
        ("never", McpErrorKind::Timeout),
        ("dies_greeted", McpErrorKind::Start),
        ("greets_with_junk", McpErrorKind::Handshake),
        ("refuses", McpErrorKind::Handshake),
    ] {
        let (_child, url) = started(mode).await;
        let limit = match mode {
            "never" => Duration::from_millis(500),
            _ => LONG,
        };
        let server = McpServer::http(url).bearer("sesame").start_timeout(limit);
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{mode}: {error}");
    }
}

/// M28: a call that is never answered ends with the deadline of the run.
#[tokio::test]
async fn m28_a_call_that_is_never_answered() {
    let (_child, server) = reached("silent").await;
    let tools = server.tools();
    let options = ToolRunOptions::new().deadline(Duration::from_millis(300));
    let calls = vec![ToolCall::new("c1", "headers", "{}")];
    let run = run_tool_calls(calls, &tools, options).into_future();
    let batch = tokio::time::timeout(LONG, run).await;
    let text = batch.expect("it ends").unwrap().messages[0].text();
    assert!(text.contains(r#""reason":"timeout""#), "{text}");
}

/// M27: a server that dies in mid-call has crashed.
#[tokio::test]
async fn m27_death_is_a_crash() {
    let (_child, server) = reached("dies").await;
    let said = call(&server, "headers", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
}

/// M61: a tool that was changed between two lists is refused.
#[tokio::test]
async fn m61_a_changed_tool() {
    let (_child, server) = reached("changes").await;
    server.refresh().await.unwrap();
    let said = call(&server, "headers", nothing()).await;
    let text = "the server has changed what it says about the tool headers, so it was not called; the application has \
                to look at the change first";
    let error = ReportedError::new(text).details(json!({"reason": "tool_changed"}));
    assert_eq!(said, Ok(ToolReply::Error(error)));
}
