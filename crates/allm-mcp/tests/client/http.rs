//! Servers by streamable HTTP.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use allm::{ToolRunOptions, run_tool_calls};
use allm_core::{ToolCall, ToolReason};
use allm_mcp::{McpErrorKind, McpServer};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::*;

/// A server of `http_server.py`, and where it is.
pub(crate) async fn started(mode: &str) -> (Child, String) {
    script("http_server.py", &[mode]).await
}

/// A server in Python that says its port on its first line, and where it is.
pub(crate) async fn script(name: &str, args: &[&str]) -> (Child, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client");
    let mut command = Command::new("python3");
    command.arg("-I").arg(folder.join(name)).args(args);
    command.stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let port = BufReader::new(out).lines().next_line().await.unwrap();
    (child, format!("http://127.0.0.1:{}/mcp", port.unwrap()))
}

/// M90: the token and the headers go with every request; a server of the older kind refuses the newer greeting.
#[tokio::test]
async fn m8_m90_credentials() {
    let (_child, url) = started("plain").await;
    let server = McpServer::http(url)
        .bearer("sesame")
        .header("X-Team", "blue");
    let server = server.connect().await.unwrap();
    let said = call(&server, "headers", nothing()).await;
    let seen = json!({"X-Team": "blue", "Authorization": "Bearer sesame", "Mcp-Session-Id": "one"});
    assert_eq!(said, ok(seen));
}

/// M91: a server that wants credentials is told apart.
#[tokio::test]
async fn m91_unauthorized() {
    let (_child, url) = started("plain").await;
    for server in [McpServer::http(&url), McpServer::http(&url).bearer("wrong")] {
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.kind(), McpErrorKind::Unauthorized, "{error}");
        assert!(!error.to_string().contains("wrong"));
    }
}

/// M92: credentials do not leave the machine in plain text, and are not shown.
#[tokio::test]
async fn m92_credentials_are_kept() {
    let server = McpServer::http("http://example.org/mcp?key=hunter2").bearer("sesame");
    let shown = format!("{server:?}");
    assert!(
        !shown.contains("hunter2") && !shown.contains("sesame"),
        "{shown}"
    );
    let wrong = [
        server,
        McpServer::http("http://me:pass@example.org/"),
        McpServer::http("ftp://example.org/"),
        McpServer::http("nowhere"),
        McpServer::http("https://example.org/").header("Authorization", "x"),
        McpServer::http("https://example.org/").header("a b", "x"),
        McpServer::http("https://example.org/").bearer("a\nb"),
    ];
    for server in wrong {
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.kind(), McpErrorKind::InvalidSettings, "{error}");
        assert!(!error.to_string().contains("pass"), "{error}");
    }
}

/// M85: an answer without an end is not kept, as a body or as an event.
#[tokio::test]
async fn m85_floods() {
    for mode in ["flood", "flood_events"] {
        let (_child, url) = started(mode).await;
        let server = McpServer::http(url)
            .bearer("sesame")
            .connect()
            .await
            .unwrap();
        let before = peak_memory();
        let tools = server.tools();
        let calls = vec![ToolCall::new("c1", "headers", "{}")];
        let options = ToolRunOptions::new().tool_timeout(Duration::from_secs(20));
        let batch = run_tool_calls(calls, &tools, options).await.unwrap();
        let text = batch.messages[0].text();
        assert!(text.contains("handler_exit"), "{mode}: {text}");
        let grown = peak_memory() - before;
        assert!(grown < 128 * 1024 * 1024, "{mode}: {grown}");
    }
}

/// M27: a failure of the server is a crash of the call, without what its body says.
#[tokio::test]
async fn m27_a_status() {
    let (_child, url) = started("fails").await;
    let server = McpServer::http(url)
        .bearer("sesame")
        .connect()
        .await
        .unwrap();
    let said = call(&server, "headers", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
    assert!(
        !format!("{said:?}").contains("secret internals"),
        "{said:?}"
    );
}

/// M6: nobody is there.
#[tokio::test]
async fn m6_nobody_is_there() {
    let (mut child, url) = started("plain").await;
    let server = McpServer::http(&url)
        .bearer("sesame")
        .connect()
        .await
        .unwrap();
    child.kill().await.unwrap();
    let error = McpServer::http(&url).connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Start, "{error}");
    let said = call(&server, "headers", nothing()).await.unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
}
