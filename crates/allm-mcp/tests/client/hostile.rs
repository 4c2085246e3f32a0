//! Servers that must not be trusted: each is contained, in time and in memory.

use std::time::Duration;

use allm::{ToolRunOptions, run_tool_calls};
use allm_core::{ToolCall, ToolReason, ToolReply};
use allm_mcp::{McpErrorKind, connect_all};
use serde_json::json;

use crate::support::*;

const MIB: usize = 1024 * 1024;

/// M5: a server that never answers is given up.
#[tokio::test]
async fn m5_never_answers() {
    let server = scripted("never").start_timeout(Duration::from_millis(500));
    let error = server.connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Timeout);
    assert_eq!(
        error.to_string(),
        "MCP server `never`: it was not ready within 500ms"
    );
    assert!(error.is_retryable());
}

/// M28: a call that is never answered ends with the deadline of the run.
#[tokio::test]
async fn m28_a_call_that_is_never_answered() {
    let server = connected("silent").await;
    let tools = server.tools();
    let options = ToolRunOptions::new().deadline(Duration::from_millis(300));
    let calls = vec![ToolCall::new("c1", "echo", "{}")];
    let run = run_tool_calls(calls, &tools, options);
    let batch = tokio::time::timeout(LONG, run.into_future()).await;
    let batch = batch.expect("it ends").unwrap();
    let text = batch.messages[0].text();
    assert!(text.contains(r#""reason":"timeout""#), "{text}");
}

/// M80: a message without an end is not kept; the call crashes at once, and memory is bounded.
#[tokio::test]
async fn m80_a_flood() {
    let server = connected("flood").await;
    let before = peak_memory();
    let said = call(&server, "echo", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
    let cause = said.cause.map(|cause| cause.message).unwrap_or_default();
    assert_eq!(
        cause,
        "the server sent a message of more than 8388608 bytes"
    );
    let grown = peak_memory() - before;
    assert!(grown < 64 * MIB, "{grown}");
}

/// M81: what is no message is passed over; a server that says nothing else is given up.
#[tokio::test]
async fn m81_junk() {
    let server = connected("some_junk").await;
    assert_eq!(
        call(&server, "echo", nothing()).await,
        ok(json!("after the junk"))
    );
    for mode in ["junk", "blank"] {
        let server = connected(mode).await;
        let said = call(&server, "echo", nothing()).await.unwrap_err();
        assert_eq!(said.reason, ToolReason::HandlerExit);
        let cause = said.cause.map(|cause| cause.message).unwrap_or_default();
        assert!(
            cause.contains("does not speak the protocol"),
            "{mode}: {cause}"
        );
    }
}

/// M82: an answer to nobody ends the connection: the call does not wait for its limit.
#[tokio::test]
async fn m82_answers_to_nobody() {
    let server = connected("wrong_id").await;
    let said = call(&server, "echo", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
    let cause = said.cause.map(|cause| cause.message).unwrap_or_default();
    assert_eq!(
        cause,
        "the server answered a request that is not open (4711)"
    );
    // The second answer to one request is one, too.
    let server = connected("twice").await;
    assert_eq!(call(&server, "echo", nothing()).await, ok(json!("once")));
}

/// M83: what is said on standard error holds nothing up, and is not kept.
#[tokio::test]
async fn m83_noise_on_standard_error() {
    let server = connected("stderr").await;
    let before = peak_memory();
    assert_eq!(
        call(&server, "echo", nothing()).await,
        ok(json!("after the noise"))
    );
    let grown = peak_memory() - before;
    assert!(grown < 64 * MIB, "{grown}");
}

/// M84: a flood of notifications holds nothing up: the list is not fetched for each of them.
#[tokio::test]
async fn m84_chatter() {
    let server = connected("chatter").await;
    let before = peak_memory();
    assert_eq!(
        call(&server, "echo", nothing()).await,
        ok(json!("after the chatter"))
    );
    let grown = peak_memory() - before;
    assert!(grown < 128 * MIB, "{grown}");
}

/// M84: a flood of questions: one is asked, a few wait, the others are declined.
#[tokio::test]
async fn m84_questions() {
    let server = connected("questions").await;
    let before = peak_memory();
    let tool = named(&server.tools(), "ask");
    let asked = run(&tool, nothing(), context("key-1")).await;
    assert_eq!(question(&asked).0, "Question 0?");
    let said = run(&tool, nothing(), answered("key-1", &asked.unwrap(), "Ada")).await;
    // It asked more, or it was content.
    assert!(said.is_ok(), "{said:?}");
    let grown = peak_memory() - before;
    assert!(grown < 128 * MIB, "{grown}");
}

/// M84: a server that asks and does not listen to the answers is given up.
#[tokio::test]
async fn m84_a_server_that_does_not_read() {
    let server = connected("pings").await;
    let before = peak_memory();
    let said = call(&server, "echo", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
    let cause = said.cause.map(|cause| cause.message).unwrap_or_default();
    assert_eq!(cause, "the server does not read what it is told");
    let grown = peak_memory() - before;
    assert!(grown < 128 * MIB, "{grown}");
}

/// M6: a server that dies, refuses or says something else at the beginning is told apart.
#[tokio::test]
async fn m6_bad_beginnings() {
    let error = scripted("dies_greeted").connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Closed);
    assert_eq!(error.server_said(), Some("there is no licence"));
    let error = scripted("dies_at_once").connect().await.unwrap_err();
    assert!(
        matches!(error.kind(), McpErrorKind::Closed | McpErrorKind::Start),
        "{error}"
    );
    let error = scripted("refuses").connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Handshake);
    assert_eq!(
        error.to_string(),
        "MCP server `refuses`: it refused the greeting: go away"
    );
    let error = scripted("not_mcp").connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Handshake);
    let error = allm_mcp::McpServer::command("/no/such/program")
        .connect()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Start);
}

/// M14: a list without an end is refused.
#[tokio::test]
async fn m14_lists_without_an_end() {
    for (mode, text) in [
        (
            "endless",
            "it lists more than 1000 tools; `max_tools` allows more",
        ),
        ("empty_pages", "its list of tools has no end"),
        ("circle", "its list of tools has no end: a page leads back"),
    ] {
        let error = scripted(mode).connect().await.unwrap_err();
        assert_eq!(error.kind(), McpErrorKind::Listing);
        assert_eq!(error.to_string(), format!("MCP server `{mode}`: {text}"));
    }
}

/// M12: giant descriptions are cut, giant schemas left out.
#[tokio::test]
async fn m12_giants() {
    let server = connected("giant").await;
    let tools = server.tools();
    assert_eq!(names(&tools), ["wordy"]);
    assert!(tools[0].description.len() < 17_000);
    let left_out = server.left_out();
    assert_eq!(left_out["vast"], "its schema has more than 262144 bytes");
}

/// M7: a tool that is named like another server's is not taken for it.
#[tokio::test]
async fn m7_a_name_of_two_servers() {
    let error = connect_all([scripted("plain").name("one"), scripted("plain").name("two")]).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::DuplicateTool);
    let text = "MCP server `two`: its tool echo has the name of one of `one`; give one of them a `prefix`, or `rename` \
                the tool";
    assert_eq!(error.to_string(), text);
    let both = connect_all([
        scripted("plain").prefix("one"),
        scripted("plain").prefix("two"),
    ]);
    let both = both.await.unwrap();
    let said = call(both.get("two").unwrap(), "two_echo", json!({"x": 1})).await;
    assert!(matches!(said, Ok(ToolReply::Ok(_))), "{said:?}");
}
