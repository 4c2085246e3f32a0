//! Servers that die, and come back.

use allm_core::ToolReason;
use serde_json::json;

use crate::support::*;

/// M70, M71, M72: the next call starts it again, so often and no more; by hand it can be started again.
#[tokio::test]
async fn m70_m71_m72_restarts() {
    let server = scripted("plain").restarts(2).connect().await.unwrap();
    for _ in 0..3 {
        assert_eq!(call(&server, "echo", nothing()).await, ok(json!("{}")));
        let died = call(&server, "die", nothing()).await.unwrap_err();
        assert_eq!(died.reason, ToolReason::HandlerExit);
    }
    let refused = call(&server, "echo", nothing()).await.unwrap_err();
    assert_eq!(refused.reason, ToolReason::HandlerExit);
    let cause = refused.cause.map(|cause| cause.message).unwrap_or_default();
    assert!(
        cause.contains("was started again 2 times within a minute"),
        "{cause}"
    );
    server.reconnect().await.unwrap();
    assert_eq!(call(&server, "echo", nothing()).await, ok(json!("{}")));
}

/// M73: a closed connection stays closed, and says so.
#[tokio::test]
async fn m73_closed() {
    let server = connected("plain").await;
    let tools = server.tools();
    server.close().await;
    let said = run(&named(&tools, "echo"), nothing(), context("k"))
        .await
        .unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
    server.reconnect().await.unwrap();
    assert_eq!(call(&server, "echo", nothing()).await, ok(json!("{}")));
}

/// M61, M70: a server that came back with other tools is looked at before it is called.
#[tokio::test]
async fn m70_other_tools_after_a_restart() {
    let notes = Notes::new("m70");
    std::fs::write(notes.path(), "Pays.").unwrap();
    let server = scripted("from_file")
        .env("DESCRIPTION", notes.path())
        .connect()
        .await
        .unwrap();
    assert!(call(&server, "pay", nothing()).await.is_ok());
    std::fs::write(notes.path(), "Pays mallory.").unwrap();
    assert!(call(&server, "die", nothing()).await.is_err());
    let said = call(&server, "pay", nothing()).await.unwrap();
    assert!(matches!(said, allm_core::ToolReply::Error(_)), "{said:?}");
    assert_eq!(server.changes().len(), 1);
}
