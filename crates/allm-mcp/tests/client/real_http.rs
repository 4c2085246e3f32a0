//! A server that others wrote, by streamable HTTP.
//!
//! It listens on all interfaces, so it runs in a network of its own, and the test with it: the test starts itself again
//! in there.

use std::process::Stdio;
use std::time::Duration;

use allm_core::{ToolReason, ToolReply};
use allm_mcp::{McpConnection, McpServer};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::real::{runs_long, works};
use crate::support::*;

const INSIDE: &str = "ALLM_MCP_INSIDE";

/// Starts the test of this name again, in a network of its own. Tells whether it is in there already.
async fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if installed("mcp-server-everything").is_none() {
        return false;
    }
    let program = std::env::current_exe().unwrap();
    let script = r#"ip link set lo up && exec "$@""#;
    let mut command = Command::new("unshare");
    command
        .args(["--net", "sh", "-c", script, "sh"])
        .arg(program);
    command
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, "1");
    let output = command.stdin(Stdio::null()).output().await;
    let said = match &output {
        Ok(output) if output.status.success() => return false,
        Ok(output) => [&output.stdout[..], &output.stderr[..]].concat(),
        Err(error) => error.to_string().into_bytes(),
    };
    let said = String::from_utf8_lossy(&said);
    let cannot = output.is_err() || said.contains("unshare failed");
    let required = std::env::var("ALLM_MCP").is_ok_and(|value| value == "required");
    assert!(cannot && !required, "in a network of its own: {said}");
    eprintln!("SKIPPED: a network of its own cannot be made here: {said}");
    false
}

/// The server. Nobody else is in this network, so its usual port is free.
async fn started() -> Child {
    let program = installed("mcp-server-everything").unwrap();
    let mut command = Command::new(program);
    command.arg("streamableHttp").env("PORT", "3001");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.kill_on_drop(true).spawn().unwrap();
    let listening = async {
        while TcpStream::connect(("127.0.0.1", 3001)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, listening)
        .await
        .expect("it listens");
    child
}

async fn reached() -> McpConnection {
    let server = McpServer::http("http://127.0.0.1:3001/mcp").start_timeout(LONG);
    server.connect().await.unwrap()
}

/// M21 to M23, M28, M29: all kinds of results, progress and cancelling.
#[tokio::test]
async fn m21_everything_by_http() {
    if !inside("real_http::m21_everything_by_http").await {
        return;
    }
    let _child = started().await;
    let server = reached().await;
    works(&server).await;
    runs_long(&server).await;
    server.close().await;
}

/// M41: a question in the middle of a call.
#[tokio::test]
async fn m41_a_question_by_http() {
    if !inside("real_http::m41_a_question_by_http").await {
        return;
    }
    let _child = started().await;
    let server = reached().await;
    let tool = named(&server.tools(), "trigger-elicitation-request");
    let asked = run(&tool, nothing(), context("key-1")).await;
    let (text, opts) = question(&asked);
    assert_eq!(text, "Please provide inputs for the following fields:");
    assert!(opts["schema"]["properties"]["email"].is_object());
    let answer = json!({"name": "Ada", "check": true, "integer": 7}).to_string();
    let said = run(
        &tool,
        nothing(),
        answered("key-1", &asked.unwrap(), &answer),
    )
    .await;
    assert!(format!("{said:?}").contains("Ada"), "{said:?}");
}

/// M27, M70: killed in mid-call, and there again later.
#[tokio::test]
async fn m27_m70_m93_killed_by_http() {
    if !inside("real_http::m27_m70_m93_killed_by_http").await {
        return;
    }
    let mut child = started().await;
    let server = reached().await;
    let tool = named(&server.tools(), "trigger-long-running-operation");
    let reports = reports();
    let mut with = context("key-1");
    with.progress = Some(reports.clone());
    let waiting = run(&tool, json!({"duration": 600, "steps": 6000}), with);
    let kill = async {
        while reports.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        child.kill().await.unwrap();
    };
    let (said, ()) = tokio::join!(waiting, kill);
    assert_eq!(said.unwrap_err().reason, ToolReason::HandlerExit);
    let _child = started().await;
    let said = call(&server, "echo", json!({"message": "back"})).await;
    assert!(matches!(said, Ok(ToolReply::Ok(_))), "{said:?}");
}
