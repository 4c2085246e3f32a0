//! The spans of runs and tools.

use std::time::Duration;

use allm::{AdapterReason, Fake, Map, Script, SessionId, Tool};
use serde_json::json;

use super::collector::Collector;
use super::{builder, engine};

fn two_turns() -> Fake {
    let calls = Script::new()
        .call("echo", json!({"a": 1}))
        .call("bad", json!({}));
    Fake::new().reply(calls).reply(Script::new().text("done"))
}

fn bad() -> Tool {
    Tool::new("bad", "", json!({})).handler(|_: Map| async {
        tracing::info!("inside the handler");
        Err::<(), _>("no".to_owned())
    })
}

/// C162 and the tree of a run: run, steps, model calls, tools.
#[tokio::test]
async fn c162_the_tree_of_two_turns() {
    let (told, _guard) = Collector::start();
    let engine = builder(&two_turns()).tool(bad()).build().expect("valid");
    let session = SessionId::new("s-1").expect("valid");
    engine
        .chat("hi")
        .session_id(session)
        .request_id("q")
        .await
        .expect("a result");
    assert_eq!(
        told.tree(),
        "allm.run: invoke_agent\n  \
           allm.step\n    \
             allm.model_call: chat small\n    \
             allm.tool: execute_tool echo\n    \
             allm.tool: execute_tool bad\n  \
           allm.step\n    \
             allm.model_call: chat small\n"
    );
    let run = told.only("allm.run");
    assert_eq!(run.fields["allm.turns"], "2");
    assert_eq!(run.fields["allm.halted_reason"], "completed");
    assert_eq!(run.fields["gen_ai.conversation.id"], "s-1");
    assert_eq!(run.fields["gen_ai.operation.name"], "invoke_agent");
    assert!(!run.fields.contains_key("error.type"));
    for span in told
        .spans()
        .iter()
        .filter(|span| span.name == "allm.model_call")
    {
        assert_eq!(span.fields["allm.request_id"], "q");
        assert_eq!(span.fields["gen_ai.conversation.id"], "s-1");
    }
    let tools: Vec<_> = told
        .spans()
        .into_iter()
        .filter(|span| span.name == "allm.tool")
        .collect();
    assert_eq!(tools[0].fields["gen_ai.tool.name"], "echo");
    assert_eq!(tools[0].fields["gen_ai.tool.type"], "function");
    assert_eq!(tools[0].fields["gen_ai.tool.call.id"], "call_1");
    assert!(!tools[0].fields.contains_key("error.type"));
    assert_eq!(tools[1].fields["error.type"], "reported");
    assert_eq!(
        tools[1].events.len(),
        1,
        "what the handler tells is below its span"
    );
}

/// Below the span of the caller; streamed as awaited.
#[tokio::test]
async fn the_callers_span_is_the_parent() {
    use tracing::Instrument as _;
    let mut trees = Vec::new();
    for streamed in [false, true] {
        let (told, _guard) = Collector::start();
        let engine = builder(&two_turns()).tool(bad()).build().expect("valid");
        let outer = tracing::info_span!("mine");
        let call = async {
            if streamed {
                engine.chat("hi").stream().collect().await;
            } else {
                engine.chat("hi").await.expect("a result");
            }
        };
        call.instrument(outer).await;
        trees.push(told.tree());
    }
    assert!(trees[0].starts_with("mine\n  allm.run"), "{}", trees[0]);
    assert_eq!(trees[0], trees[1]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_or_stopped() {
    let slow = || {
        Tool::new("slow", "", json!({})).handler(|_: Map| async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok::<_, String>(())
        })
    };
    let fake = Fake::new().always(Script::new().call("slow", json!({})));
    let engine = builder(&fake).tool(slow()).build().expect("valid");
    let (told, _guard) = Collector::start();
    let chat = engine.chat("hi").into_future();
    tokio::time::timeout(Duration::from_secs(1), chat)
        .await
        .expect_err("too slow");
    tokio::task::yield_now().await;
    assert!(!told.tree().contains("(open)"), "{}", told.tree());
    assert_eq!(told.only("allm.run").fields["error.type"], "cancelled");
    assert_eq!(told.only("allm.tool").fields["error.type"], "cancelled");
    let (told, _guard) = Collector::start();
    engine
        .chat("hi")
        .run_deadline(Duration::from_secs(5))
        .await
        .expect("a result");
    tokio::task::yield_now().await;
    assert!(!told.tree().contains("(open)"), "{}", told.tree());
    assert_eq!(
        told.only("allm.run").fields["allm.halted_reason"],
        "deadline_exceeded"
    );
    assert_eq!(told.only("allm.tool").fields["error.type"], "timeout");
}

#[tokio::test]
async fn a_run_whose_turn_fails() {
    let fake = Fake::new().reply(
        Script::new()
            .text("half")
            .fail(AdapterReason::ProviderUnavailable),
    );
    let (told, _guard) = Collector::start();
    engine(&fake)
        .chat("hi")
        .await
        .expect("a result that says so");
    let run = told.only("allm.run");
    assert_eq!(run.fields["error.type"], "provider_unavailable");
    assert_eq!(run.fields["allm.halted_reason"], "error");
    assert_eq!(
        told.only("allm.model_call").fields["error.type"],
        "provider_unavailable"
    );
}

#[tokio::test]
async fn tools_run_by_hand() {
    let (told, _guard) = Collector::start();
    let call = allm::ToolCall::new("1", "bad", "{}");
    allm::run_tool_calls(vec![call], &[bad()], allm::ToolRunOptions::default())
        .await
        .expect("run");
    assert_eq!(told.tree(), "allm.tool: execute_tool bad\n");
}
