//! Servers that others wrote, as child processes.

use std::time::Duration;

use allm::{ToolRunOptions, run_tool_calls};
use allm_core::{Part, Progress, ToolCall, ToolReason, ToolReply};
use allm_mcp::{McpConnection, McpServer, connect_all};
use serde_json::json;

use crate::support::*;

/// server-everything, which has one tool of each kind.
pub(crate) fn everything() -> Option<McpServer> {
    let program = installed("mcp-server-everything")?;
    Some(
        McpServer::command(program)
            .name("everything")
            .start_timeout(LONG),
    )
}

fn files(folder: &std::path::Path) -> Option<McpServer> {
    let program = installed("mcp-server-filesystem")?;
    Some(
        McpServer::command(program)
            .arg(folder)
            .prefix("fs")
            .start_timeout(LONG),
    )
}

/// What every connection to server-everything must do, whatever the way to it.
pub(crate) async fn works(server: &McpConnection) {
    let tools = server.tools();
    for name in [
        "echo",
        "get-sum",
        "get-tiny-image",
        "trigger-long-running-operation",
    ] {
        named(&tools, name);
    }
    assert_eq!(
        call(server, "echo", json!({"message": "hello"})).await,
        ok(json!("Echo: hello"))
    );
    let said = call(
        server,
        "get-structured-content",
        json!({"location": "New York"}),
    )
    .await;
    let value = parsed(said);
    assert!(value["temperature"].is_number(), "{value}");

    // Pictures, resources and links.
    let said = call(server, "get-tiny-image", nothing()).await.unwrap();
    let ToolReply::OkWith { value, media } = &said else {
        panic!("{said:?}")
    };
    let text = value.get().unwrap().as_str().unwrap().to_owned();
    assert!(text.contains("[image: image/png, "), "{text}");
    let [Part::Image(part)] = &media[..] else {
        panic!("{media:?}")
    };
    assert_eq!(part.image.mime_type.as_deref(), Some("image/png"));
    let bytes = part.image.to_bytes().unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
    assert!(text.contains(&format!("{} bytes]", bytes.len())), "{text}");
    let said = call(server, "get-resource-links", json!({"count": 2}))
        .await
        .unwrap();
    assert!(format!("{said:?}").contains("[resource link "), "{said:?}");
    let said = call(
        server,
        "get-resource-reference",
        json!({"resourceType": "Text", "resourceId": 1}),
    )
    .await;
    assert!(format!("{said:?}").contains("[resource "), "{said:?}");

    // What is wrong with the arguments is reported.
    let said = call(server, "get-sum", json!({"a": "x", "b": 1}))
        .await
        .unwrap();
    assert!(matches!(said, ToolReply::Error(_)), "{said:?}");
}

/// Progress of a long call, and one that is stopped half-way.
pub(crate) async fn runs_long(server: &McpConnection) {
    let tool = named(&server.tools(), "trigger-long-running-operation");
    let reports = reports();
    let mut with = context("key-1");
    with.progress = Some(reports.clone());
    let said = run(&tool, json!({"duration": 0.4, "steps": 4}), with).await;
    assert!(matches!(said, Ok(ToolReply::Ok(_))), "{said:?}");
    let last = reports.0.lock().unwrap().last().cloned();
    assert_eq!(last, Some(Progress::new(4.0).total(4.0)));

    let calls = vec![ToolCall::new(
        "c",
        tool.name.as_str(),
        r#"{"duration": 600, "steps": 6000}"#,
    )];
    let options = ToolRunOptions::new().tool_timeout(Duration::from_millis(300));
    let batch = run_tool_calls(calls, &[tool], options).await.unwrap();
    assert!(batch.messages[0].text().contains("\"timeout\""));
    // It goes on answering others.
    assert_eq!(
        call(server, "echo", json!({"message": "on"})).await,
        ok(json!("Echo: on"))
    );
}

/// M1, M21, M22, M23, M25, M191: all kinds of results of a server that others wrote.
#[tokio::test]
async fn m21_m22_m23_m25_everything() {
    let Some(server) = everything() else { return };
    let server = server.connect().await.unwrap();
    works(&server).await;
    server.close().await;
}

/// M28, M29: progress and cancelling.
#[tokio::test]
async fn m28_m29_long_calls() {
    let Some(server) = everything() else { return };
    runs_long(&server.connect().await.unwrap()).await;
}

/// M27, M70: killed with signal 9 in mid-call, and started again by the next call.
#[tokio::test]
async fn m27_m70_killed_in_mid_call() {
    let Some(program) = installed("mcp-server-everything") else {
        return;
    };
    let notes = Notes::new("pid");
    // The shell becomes the server: its number is the server's.
    let server = McpServer::command("/bin/sh").args(["-c", r#"echo $$ > "$1"; exec "$2""#, "sh"]);
    let server = server
        .arg(notes.path())
        .arg(program)
        .name("everything")
        .start_timeout(LONG);
    let server = server.connect().await.unwrap();
    let tool = named(&server.tools(), "trigger-long-running-operation");
    let reports = reports();
    let mut with = context("key-1");
    with.progress = Some(reports.clone());
    let waiting = run(&tool, json!({"duration": 600, "steps": 6000}), with);
    let kill = async {
        while reports.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let pid = std::fs::read_to_string(notes.path()).unwrap();
        let status = std::process::Command::new("/bin/kill")
            .args(["-9", pid.trim()])
            .status();
        assert!(status.unwrap().success());
    };
    let (said, ()) = tokio::join!(waiting, kill);
    assert_eq!(said.unwrap_err().reason, ToolReason::HandlerExit);
    assert_eq!(
        call(&server, "echo", json!({"message": "back"})).await,
        ok(json!("Echo: back"))
    );
}

/// M7, M15: three servers at once; hints of a server that others wrote.
#[tokio::test]
async fn m7_m15_three_servers() {
    let folder = std::env::temp_dir().join(format!("allm-mcp-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (Some(everything), Some(files), Some(memory)) =
        (everything(), files(&folder), installed("mcp-server-memory"))
    else {
        return;
    };
    let memory = McpServer::command(memory).env("MEMORY_FILE_PATH", folder.join("memory.json"));
    let memory = memory.prefix("memory").start_timeout(LONG);
    let servers = connect_all([everything, files, memory]).await.unwrap();
    let tools = servers.tools();
    let write = named(&tools, "fs_write_file");
    assert_eq!(write.approval, allm_core::ApprovalRule::Always);
    assert_eq!(
        named(&tools, "fs_read_text_file").effect,
        allm_core::Effect::Pure
    );

    let file = folder.join("note.txt");
    let arguments = json!({"path": file, "content": "written"});
    assert!(matches!(
        run(&write, arguments, context("w")).await,
        Ok(ToolReply::Ok(_))
    ));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "written");
    let read = named(&tools, "fs_read_text_file");
    let outside = run(&read, json!({"path": "/etc/hostname"}), context("r"));
    assert!(matches!(outside.await, Ok(ToolReply::Error(_))));

    let entity =
        json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["first"]}]});
    assert!(
        run(
            &named(&tools, "memory_create_entities"),
            entity,
            context("m")
        )
        .await
        .is_ok()
    );
    let graph = run(&named(&tools, "memory_read_graph"), nothing(), context("g")).await;
    assert_eq!(parsed(graph)["entities"][0]["name"], json!("Ada"));
    servers.close().await;
    let _ = std::fs::remove_dir_all(&folder);
}
