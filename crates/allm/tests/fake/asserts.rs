//! What a test can ask afterwards: C189 and the helpers of §19.

use std::panic::{AssertUnwindSafe, catch_unwind};

use allm::{Fake, Message, Request, Script, ToolCall, ToolSpec};
use serde_json::json;

use crate::support::{ask, ask_with, events_of};

/// What a failed assertion prints.
fn said(assertion: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(assertion)).expect_err("it must fail");
    panic.downcast_ref::<String>().cloned().expect("a text")
}

async fn asked(messages: Vec<Message>) -> Fake {
    let fake = Fake::new().always("ok");
    events_of(&fake, ask_with(messages)).await;
    fake
}

#[tokio::test]
async fn c189_what_is_left_is_named() {
    let fake = Fake::new()
        .reply("a")
        .reply(Script::new().text("b").call("f", ()))
        .reply_when(|_| false, "c")
        .always("z");
    events_of(&fake, ask()).await;
    assert_eq!(
        said(|| fake.assert_exhausted()),
        "expected: every reply used\n   found: 2 replies left\n  reply 2 (text, call)\n  conditional reply 1 (text)"
    );
    events_of(&fake, ask()).await;
    assert!(said(|| fake.assert_exhausted()).contains("1 replies left"));
    Fake::new().always("z").assert_exhausted();
}

#[tokio::test]
async fn the_number_of_calls() {
    let fake = Fake::new().reply("a");
    fake.assert_calls(0);
    events_of(&fake, ask()).await;
    fake.assert_calls(1);
    assert_eq!(
        said(|| fake.assert_calls(2)),
        "expected: 2 calls\n   found: 1 calls\n  attempt 1 of fake:any: Completed"
    );
}

#[tokio::test]
async fn the_last_user_message() {
    let messages = vec![
        Message::user("first"),
        Message::assistant("ok"),
        Message::user("last"),
        Message::assistant("prefill"),
    ];
    let fake = asked(messages).await;
    fake.assert_last_user("last");
    assert_eq!(
        said(|| fake.assert_last_user("first")),
        "expected: the last user message \"first\"\n   found: \"last\""
    );
    assert!(said(|| Fake::new().assert_last_user("x")).ends_with("found: no call"));
    let system = asked(vec![Message::system("s")]).await;
    assert!(said(|| system.assert_last_user("x")).ends_with("found: no user message"));
    assert_eq!(fake.last_request().unwrap().messages.len(), 4);
    assert_eq!(Fake::new().last_request(), None);
}

#[tokio::test]
async fn the_tools_that_were_offered() {
    let mut request = Request::new("hi");
    request.tools = vec![
        ToolSpec::function("look", "", json!({"type": "object"})),
        ToolSpec::function("find", "", json!({"type": "object"})),
    ];
    let fake = Fake::new().always("ok");
    let call = allm::ModelCall::new(request, "fake:any".parse().unwrap(), "r1");
    events_of(&fake, call).await;
    events_of(&fake, ask()).await;
    fake.assert_sent_tool("find");
    assert_eq!(
        said(|| fake.assert_sent_tool("nope")),
        "expected: the tool \"nope\"\n   found: 2 tools\n  look\n  find"
    );
}

#[tokio::test]
async fn the_results_of_tools() {
    let messages = vec![
        Message::user("hi"),
        Message::assistant("").with_tool_calls(vec![ToolCall::new("c1", "f", "{}")]),
        Message::tool_result("c1", "sunny"),
    ];
    let fake = asked(messages).await;
    fake.assert_tool_result("c1", |text| text == "sunny");
    assert_eq!(
        said(|| fake.assert_tool_result("c1", |text| text == "rain")),
        "expected: a result for the call \"c1\" that the test accepts\n   found: \"sunny\""
    );
    assert_eq!(
        said(|| fake.assert_tool_result("c2", |_| true)),
        "expected: a result for the call \"c2\"\n   found: 1 results\n  \"c1\": \"sunny\""
    );
}
