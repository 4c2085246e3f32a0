//! Settings, and what they lead to.

use std::time::Duration;

use allm_core::{ApprovalRule, Effect};
use allm_mcp::{McpErrorKind, McpServer, connect_all, connect_each};

use crate::support::*;

/// M3: settings that make no sense are told before anything is tried.
#[tokio::test]
async fn m3_settings() {
    let program = || McpServer::command("/no/such/program");
    let wrong = [
        program().prefix("a b"),
        program().rename("x", "a b"),
        program().only(["x"]).without(["x"]),
        program().timeout(Duration::ZERO),
        program().start_timeout(Duration::ZERO),
        program().max_message(10),
        McpServer::command(""),
    ];
    for server in wrong {
        let shown = format!("{server:?}");
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.kind(), McpErrorKind::InvalidSettings, "{shown}");
    }
}

/// M4: a setting that names a tool which is not there says which there are.
#[tokio::test]
async fn m4_tools_that_are_not_there() {
    let error = scripted("hints")
        .effect("read", Effect::Pure)
        .connect()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::UnknownTool);
    let text = "MCP server `hints`: `effect` names the tool \"read\", which it does not have; it has: drops, reads, \
                says_nothing, sets";
    assert_eq!(error.to_string(), text);
}

/// M7: several servers are connected at the same time, and one that fails does not keep the others.
#[tokio::test]
async fn m7_several_servers() {
    let each = connect_each([scripted("hints"), scripted("refuses"), scripted("plain")]).await;
    let kinds: Vec<_> = each
        .iter()
        .map(|one| one.as_ref().err().map(|e| e.kind()))
        .collect();
    assert_eq!(kinds, [None, Some(McpErrorKind::Handshake), None]);
    let error = connect_all([scripted("hints"), scripted("refuses")])
        .await
        .unwrap_err();
    assert_eq!(error.server(), "refuses");
}

/// M185: the lists are fetched at the same time: each of these servers answers when all of them were asked.
#[tokio::test]
async fn m185_lists_are_fetched_at_the_same_time() {
    let folder = std::env::temp_dir().join(format!("allm-mcp-meets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let server = |prefix: &str| scripted("meets").arg(&folder).arg("3").prefix(prefix);
    let all = connect_all([server("one"), server("two"), server("three")]).await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(all.unwrap().tools().len(), 36);
}

/// M1: what the server says about itself can be had.
#[tokio::test]
async fn m1_connected() {
    let server = connected("plain").await;
    assert_eq!(server.name(), "plain");
    assert_eq!(server.instructions().await.as_deref(), Some("Be kind."));
    assert!(server.is_alive().await);
    server.close().await;
    assert!(!server.is_alive().await);
}

/// M92: nothing that is secret is shown.
#[test]
fn m92_nothing_secret_is_shown() {
    let server = McpServer::command("program")
        .env("TOKEN", "hunter2")
        .approval("x", ApprovalRule::Always);
    let shown = format!("{server:?}");
    assert!(
        shown.contains("TOKEN") && !shown.contains("hunter2"),
        "{shown}"
    );
}
