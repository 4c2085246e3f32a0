//! What clients are told of a service and its tools.

use std::time::Duration;

use allm_core::{ApprovalRule, CancelToken, Effect, Tool};
use allm_mcp::server::{McpService, ServeReason};
use serde_json::{Value, json};

use crate::support::{Client, echo, object, service};

fn noop(name: &str) -> Tool {
    Tool::new(name, "", object()).handler(|_: Value| async { Ok::<_, std::fmt::Error>(()) })
}

/// M100
#[tokio::test]
async fn a_service_says_who_it_is_and_has_nothing_but_tools() {
    let service = service([echo()])
        .title("The test")
        .instructions("Echo everything.");
    let mut client = Client::silent(service);
    let answer = client.initialize(json!({})).await;
    assert_eq!(
        answer["result"],
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "title": "The test", "version": "1.2.3"},
            "instructions": "Echo everything."
        })
    );
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let answer = client.ask(method, json!({})).await;
        assert_eq!(answer["error"]["code"], json!(-32601), "{method}");
    }
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

/// M100
#[tokio::test]
async fn a_version_that_is_not_known_is_answered_with_one_that_is() {
    for (asked, told) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::silent(service([echo()]));
        let about = json!({
            "protocolVersion": asked,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"}
        });
        let answer = client.ask("initialize", about).await;
        assert_eq!(answer["result"]["protocolVersion"], json!(told));
    }
}

/// M101, M102, M103, M129
#[tokio::test]
async fn every_tool_that_can_be_called_is_listed_in_order_with_its_hints() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"n": {"type": "integer"}},
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "additionalProperties": false
    });
    let mut rich = noop("rich").compact().summary("Short.");
    rich.schema = schema.clone().into();
    rich.description = "Long.".to_owned();
    let mut open = noop("open").effect(Effect::Idempotent);
    open.schema = json!({}).into();
    let service = service([
        rich.effect(Effect::Pure),
        open,
        noop("once"),
        noop("asked")
            .approval(ApprovalRule::Always)
            .effect(Effect::Pure),
        noop("manual").manual(),
    ]);
    assert_eq!(service.left_out()[0].name, "manual");
    let mut client = Client::plain(service).await;
    let answer = client.ask("tools/list", json!({})).await;
    assert_eq!(
        answer["result"],
        json!({"tools": [
            {
                "name": "rich",
                "description": "Long.",
                "inputSchema": schema,
                "annotations": {"readOnlyHint": true}
            },
            {
                "name": "open",
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": false, "idempotentHint": true}
            },
            {
                "name": "once",
                "inputSchema": object(),
                "annotations": {"readOnlyHint": false, "idempotentHint": false}
            },
            {
                "name": "asked",
                "inputSchema": object(),
                "annotations": {"readOnlyHint": false, "destructiveHint": true}
            }
        ]})
    );
    let answer = client.ask("tools/list", json!({"cursor": "2"})).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
    let answer = client.ask("tools/call", json!({"name": "manual"})).await;
    assert_eq!(answer["error"]["code"], json!(-32602));
}

async fn refused(service: McpService) -> (ServeReason, String) {
    // Were it not refused, it would wait for ever.
    let served = service.serve(tokio::io::empty(), tokio::io::sink());
    let error = tokio::time::timeout(Duration::from_secs(5), served)
        .await
        .unwrap()
        .unwrap_err();
    (error.reason(), error.to_string())
}

/// M104
#[tokio::test]
async fn what_cannot_be_served_is_refused_before_anything_is_read() {
    let (reason, message) = refused(service([Tool::new("bare", "", object())])).await;
    assert_eq!(reason, ServeReason::InvalidTool);
    assert!(message.contains("`bare` has no handler"), "{message}");
    let (reason, _) = refused(service([echo(), echo()])).await;
    assert_eq!(reason, ServeReason::InvalidTool);
    let mut wrong = echo();
    wrong.schema = json!({"type": "nonsense"}).into();
    let (reason, _) = refused(service([wrong])).await;
    assert_eq!(reason, ServeReason::InvalidTool);
    for wrong in [
        McpService::new(" "),
        service([echo()]).max_concurrency(0),
        service([echo()]).max_open_calls(0),
        service([echo()]).max_message(0),
        service([echo()]).answer_timeout(Duration::ZERO),
        service([echo()]).tool_timeout(Duration::ZERO),
        service([echo()]).max_tool_output(0),
    ] {
        let (reason, message) = refused(wrong).await;
        assert_eq!(reason, ServeReason::InvalidConfig, "{message}");
    }
}

/// M132
#[tokio::test]
async fn a_service_that_is_stopped_before_it_begins_does_not_begin() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let mut client = Client::silent(service([echo()]).cancel(cancel));
    assert_eq!(client.hear().await, None);
    client.served.await.unwrap().unwrap();
}
