//! Tools that reply with pictures: L299, L301, L303 and S207 in runs and sessions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use allm::{
    Capabilities, EncodeError, Engine, Event, Fake, Image, Message, Part, Script, SessionStatus,
    Sessions, Support, Tool, ToolReply, ToolResultEncoder, ToolRunOptions, run_tool_calls,
};
use allm_core::{CallFailure, Messages, ToolCall, ToolFailure};
use allm_store::MemoryStore;
use serde_json::{Value, json};

fn picture() -> Part {
    Part::image(Image::from_bytes(vec![1, 2, 3], "image/png"))
}

fn draws() -> Tool {
    Tool::new("draw", "Draws.", json!({"type": "object"}))
        .handler(|_: Value| async { ToolReply::ok_with("a house", [picture()]) })
}

fn model() -> Fake {
    Fake::new()
        .reply(Script::new().call("draw", json!({})))
        .reply("Nice.")
}

fn engine(model: &Fake) -> Engine {
    let engine = Engine::builder().provider(model.clone()).model("fake:any");
    engine.tool(draws()).build().unwrap()
}

fn result(messages: &Messages) -> Message {
    let mut results = messages
        .iter()
        .filter(|message| message.tool_call_id.is_some());
    Message::clone(results.next().expect("a result"))
}

fn shown(id: &Message) -> Message {
    let id = id.tool_call_id.clone().unwrap();
    Message::tool_result(id, vec![Part::text("a house"), picture()])
}

/// L299
#[tokio::test]
async fn l299_the_model_is_shown_the_picture() {
    let model = model();
    let done = engine(&model).chat("Draw.").await.unwrap();
    let told = result(&done.thread.messages);
    assert_eq!(told, shown(&told));
    assert_eq!(result(&model.calls()[1].request.messages), told);
}

struct Loud;

impl ToolResultEncoder for Loud {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        Ok(format!("{value}!").repeat(20))
    }

    fn encode_failure(&self, _: &ToolFailure, report: &CallFailure) -> Result<String, EncodeError> {
        Ok(report.message.clone())
    }
}

/// L301
#[tokio::test]
async fn l301_the_encoder_has_the_value_alone() {
    let options = ToolRunOptions::new().encoder(Loud).max_tool_output(10);
    let calls = vec![ToolCall::new("c", "draw", "{}")];
    let batch = run_tool_calls(calls, &[draws()], options).await.unwrap();
    let content = &batch.messages[0].content;
    assert!(content[0].as_text().unwrap().starts_with("\"a house\"!"));
    assert_eq!(content[1..], [picture()]);
}

/// L303
#[tokio::test]
async fn l303_a_model_that_does_not_see_is_told() {
    let blind = Capabilities {
        vision: Support::No,
        ..Capabilities::default()
    };
    let model = model().with_capabilities(blind);
    let done = engine(&model).chat("Draw.").await.unwrap();
    assert_eq!(done.text(), "Nice.");
    let told = result(&done.thread.messages);
    assert_eq!(told, shown(&told));
    let words = Part::text("[image: image/png, 3 bytes]");
    let sent = result(&model.calls()[1].request.messages);
    assert_eq!(sent.content, [Part::text("a house"), words]);
    // And so it is when the thread goes on.
    let next = model.clone().reply("Yes.");
    let thread = done.thread.with_user("Still there?");
    assert!(engine(&next).chat(thread).await.is_ok());
    // What the caller asks for is refused as ever.
    let asked = Message::user(vec![Part::text("What is it?"), picture()]);
    assert!(engine(&next).chat(vec![asked]).await.is_err());
}

/// L303: a type that the wire refuses.
#[cfg(feature = "openai")]
#[tokio::test]
async fn l303_a_type_that_no_wire_takes() {
    use allm::{Error, OpenAi, RetryPolicy};

    // Nobody is there: whatever passes the checks fails to be sent.
    let provider = OpenAi::new().base_url("http://127.0.0.1:9/v1").api_key("k");
    let engine = Engine::builder().provider(provider).model("openai:any");
    let engine = engine.retry(RetryPolicy::none()).build().unwrap();
    let drawing = || Part::image(Image::from_bytes("<svg/>", "image/svg+xml"));
    let call = || Message::assistant("").with_tool_calls(vec![ToolCall::new("c", "draw", "{}")]);
    let thread = |last: Message| vec![Message::user("Draw."), call(), last];
    let told = Message::tool_result("c", vec![drawing()]);
    let error = engine.chat(thread(told)).await.unwrap_err();
    assert!(!matches!(error, Error::Validation(_)), "{error:?}");
    let asked = vec![Message::user(vec![drawing()])];
    let error = engine.chat(asked).await.unwrap_err();
    assert!(matches!(error, Error::Validation(_)), "{error:?}");
}

/// S207
#[tokio::test]
async fn s207_a_picture_is_there_after_a_reload() {
    let sessions = Sessions::new(MemoryStore::new());
    let model = model();
    let mut session = sessions.open_or_create("s").await.unwrap();
    let _ = session.reply(&engine(&model), "Draw.").await.unwrap();
    assert_eq!(session.status(), SessionStatus::Completed);
    let before = session.thread();
    drop(session);
    let session = sessions.open("s").await.unwrap();
    let told = result(&session.thread().messages);
    assert_eq!(told, shown(&told));
    assert_eq!(session.thread(), before);
}

/// L299
#[tokio::test]
async fn l299_the_event_has_the_picture() {
    use std::future::poll_fn;
    use std::pin::pin;

    use futures_core::Stream as _;

    let calls = vec![ToolCall::new("c", "draw", "{}")];
    let tools = [draws()];
    let options = ToolRunOptions::new();
    let mut events = pin!(allm::stream_tool_calls(calls, &tools, options));
    let mut media = Vec::new();
    while let Some(event) = poll_fn(|cx| events.as_mut().poll_next(cx)).await {
        if let Event::ToolResultEncoded(encoded) = event {
            media.push(encoded.media);
        }
    }
    assert_eq!(media, [vec![picture()]]);
}
