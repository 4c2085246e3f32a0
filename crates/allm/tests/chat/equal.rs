//! Awaited and streamed are one: L225.

use allm::{AdapterReason, Engine, Fake, FinishReason, Map, Mode, Script, Tool, ToolReply};
use serde_json::json;

use super::{builder, call, folded, text};

fn with_tools(fake: &Fake) -> Engine {
    let tool = |name: &'static str, reply: fn() -> ToolReply| {
        Tool::new(name, "", json!({})).handler(move |_: Map| async move { reply() })
    };
    builder(fake)
        .tool(tool("ask", || ToolReply::ask("why?")))
        .tool(tool("halt", || {
            ToolReply::halt("stop_here", &json!({"v": 1}))
        }))
        .tool(tool("fail", || {
            ToolReply::Error(allm::ReportedError::new("broken"))
        }))
        .build()
        .expect("valid")
}

#[tokio::test(start_paused = true)]
async fn l225_awaited_is_the_fold_of_streamed() {
    let scripts: Vec<(&str, Vec<Script>)> = vec![
        ("text", vec![text("hi")]),
        ("tool turn", vec![call("a"), text("done")]),
        (
            "three parallel calls",
            vec![
                Script::new()
                    .call("a", json!({"n": 1}))
                    .call("fail", json!({}))
                    .call("a", json!({"n": 3})),
                text("done"),
            ],
        ),
        ("max_turns", (0..9).map(|_| call("a")).collect()),
        ("question", vec![call("ask")]),
        ("custom halt", vec![call("halt")]),
        ("unknown tool", vec![call("nope")]),
        ("truncated", vec![call("a").finish(FinishReason::Length)]),
        (
            "mixed",
            vec![Script::new().call("m", json!({})).call("a", json!({}))],
        ),
        (
            "mixed with a question",
            vec![Script::new().call("m", json!({})).call("ask", json!({}))],
        ),
        (
            "mid-stream error",
            vec![call("a"), text("half").fail(AdapterReason::NetworkError)],
        ),
        (
            "later turn refused",
            vec![call("a"), Script::new().fail(AdapterReason::InvalidRequest)],
        ),
        ("cut", vec![text("half").cut()]),
        (
            "malformed",
            vec![Script::new().call_raw("a", "{bad"), text("done")],
        ),
    ];
    for (name, replies) in scripts {
        for mode in [Mode::Auto, Mode::Manual] {
            let fake = replies
                .iter()
                .fold(Fake::new(), |fake, script| fake.reply(script.clone()));
            let again = fake.fork();
            let awaited = with_tools(&fake)
                .chat("go")
                .request_id("r")
                .mode(mode)
                .await
                .expect(name);
            let (streamed, events) = folded(
                "go",
                with_tools(&again).chat("go").request_id("r").mode(mode),
            )
            .await;
            assert_eq!(awaited, streamed, "{name}");
            assert_eq!(
                events.last().map(allm::Event::tag),
                Some("chat_completed"),
                "{name}"
            );
            let third = fake.fork();
            let filtered = with_tools(&third)
                .chat("go")
                .request_id("r")
                .mode(mode)
                .without_text_deltas()
                .without_tool_deltas();
            let (filtered, events) = folded("go", filtered).await;
            assert_eq!(awaited, filtered, "{name} filtered");
            assert!(
                events.iter().all(|event| !event.tag().ends_with("_delta")),
                "{name}"
            );
        }
    }
}
