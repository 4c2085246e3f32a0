//! A server's tools as ours.

use std::time::Duration;

use allm::{Engine, Fake, Script};
use allm_core::{ApprovalRule, Effect};
use allm_mcp::{McpErrorKind, connect_all};
use serde_json::json;

use crate::support::*;

/// M10: a prefix, a choice and other names.
#[tokio::test]
async fn m10_chosen_and_named() {
    let server = scripted("hints")
        .prefix("x")
        .only(["reads", "sets"])
        .rename("sets", "put");
    let server = server
        .timeout(Duration::from_secs(7))
        .connect()
        .await
        .unwrap();
    let tools = server.tools();
    assert_eq!(names(&tools), ["x_reads", "put"]);
    assert_eq!(tools[0].timeout, Some(Duration::from_secs(7)));
    let server = scripted("hints")
        .without(["reads"])
        .connect()
        .await
        .unwrap();
    assert_eq!(names(&server.tools()), ["sets", "drops", "says_nothing"]);
}

/// M9, M11: names are made to fit; what cannot be used is left out and said, and the rest can be used.
#[tokio::test]
async fn m9_m11_left_out() {
    let server = connected("names").await;
    assert_eq!(names(&server.tools()), ["a_b", "auto_", "fine"]);
    let left_out = server.left_out();
    let why: Vec<_> = left_out
        .iter()
        .map(|(name, why)| (name.as_str(), why.as_str()))
        .collect();
    assert_eq!(why[0], ("a/b", "another tool of it is called a_b, too"));
    assert_eq!(why[1].0, "bad");
    Engine::builder()
        .provider(Fake::new())
        .model("fake:any")
        .tools(server.tools())
        .build()
        .unwrap();
}

/// M187: a name that is too long is left out, and everything that is said of tools counts for how much they may be.
#[tokio::test]
async fn m187_names_and_sizes() {
    let server = connected("long_names").await;
    assert_eq!(names(&server.tools()), ["fine"]);
    let left_out: Vec<_> = server.left_out().into_iter().collect();
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].0.starts_with("nnn") && left_out[0].0.len() < 300);
    assert_eq!(left_out[0].1, "its name has more than 256 bytes");
    let error = scripted("heavy").connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Listing);
    let text = "MCP server `heavy`: its tools are more than 33554432 bytes";
    assert_eq!(error.to_string(), text);
}

/// M188: a tool that a server comes to have later does not take the place of another server's.
#[tokio::test]
async fn m188_a_name_of_two_servers_later() {
    let servers = connect_all([
        scripted("grows").rename("echo", "first"),
        scripted("many").arg("1").rename("tool_0", "new"),
    ]);
    let servers = servers.await.unwrap();
    let first = &servers.get("grows").unwrap();
    assert!(call(first, "first", nothing()).await.is_ok());
    first.refresh().await.unwrap();
    assert_eq!(names(&first.tools()), ["first", "new"]);
    let tools = servers.tools();
    assert_eq!(names(&tools), ["first", "new"]);
    assert_eq!(tools[1].metadata["mcp"]["server"], json!("many"));
}

/// M15, M16: what the server hints at, what the settings say, and nothing of it believed.
#[tokio::test]
async fn m15_m16_hints() {
    let of = |tools: &[allm_core::Tool]| -> Vec<(String, Effect, ApprovalRule)> {
        let facts = tools
            .iter()
            .map(|t| (t.name.to_string(), t.effect.clone(), t.approval));
        facts.collect()
    };
    let row = |name: &str, effect, approval| (name.to_owned(), effect, approval);
    use ApprovalRule::{Always, Never};
    let server = connected("hints").await;
    assert_eq!(
        of(&server.tools()),
        [
            row("reads", Effect::Pure, Never),
            row("sets", Effect::Idempotent, Never),
            row("drops", Effect::AtMostOnce, Always),
            row("says_nothing", Effect::AtMostOnce, Never),
        ]
    );
    let server = scripted("hints")
        .effect("sets", Effect::Pure)
        .approval("drops", Never);
    let server = server.approval_of_all(Always).connect().await.unwrap();
    assert_eq!(
        of(&server.tools()),
        [
            row("reads", Effect::Pure, Always),
            row("sets", Effect::Pure, Always),
            row("drops", Effect::AtMostOnce, Never),
            row("says_nothing", Effect::AtMostOnce, Always),
        ]
    );
    let server = scripted("hints").ignore_hints().connect().await.unwrap();
    assert!(
        of(&server.tools())
            .iter()
            .all(|(_, effect, rule)| { *effect == Effect::AtMostOnce && *rule == Never })
    );
}

/// M13: a list in pages is whole, and in order.
#[tokio::test]
async fn m13_pages() {
    let server = scripted("many").args(["25", "10"]).connect().await.unwrap();
    let expected: Vec<_> = (0..25).map(|n| format!("tool_{n}")).collect();
    assert_eq!(names(&server.tools()), expected);
}

/// M17: tools of servers can be compact.
#[tokio::test]
async fn m17_compact() {
    let server = scripted("plain").compact().connect().await.unwrap();
    let model = Fake::new()
        .reply(Script::new().call("tool_help", json!({"names": ["echo"]})))
        .reply(Script::new().call("echo", json!({"x": 1})))
        .reply("Done.");
    let engine = Engine::builder().provider(model.clone()).model("fake:any");
    let engine = engine.tools(server.tools()).build().unwrap();
    let result = engine.chat("Go.").await.unwrap();
    let texts: Vec<_> = result
        .thread
        .messages
        .iter()
        .filter(|m| m.tool_call_id.is_some())
        .map(|m| m.text())
        .collect();
    assert!(texts[0].contains("A tool."), "{texts:?}");
    assert_eq!(texts[1], "{\"x\": 1}");
}
