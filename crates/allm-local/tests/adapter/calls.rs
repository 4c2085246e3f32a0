//! Calls of tools, held to their schemas.

use allm_core::{
    Event, FinishReason, Message, ParallelCalls, Request, ResponseFormat, ToolCall, ToolChoice,
    ToolSpec,
};
use allm_local::Local;
use serde_json::{Value, json};

use crate::folders::TestFolder;
use crate::play::{ask, call, events, fold, request};
use crate::tiny::{END, GO, MESSAGES, Tiny};

fn tool(name: &str, properties: Value) -> ToolSpec {
    let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    ToolSpec::function(name, "Does it.", schema)
}

/// A model that would write anything but a call, if it were let.
fn unwilling() -> Tiny {
    Tiny::new()
        .says(&[b"No", b" way"])
        .after("\"", "x")
        .after("x", "\"")
}

fn asked(tools: Vec<ToolSpec>, choice: Option<ToolChoice>) -> Request {
    let mut request = Request::new("Do it");
    request.tools = tools;
    request.tool_choice = choice;
    request
}

fn calls(response: &allm_core::Response) -> Vec<(&str, Value)> {
    let calls = response.tool_calls().iter();
    calls
        .map(|call| (&*call.name, json!(call.arguments)))
        .collect()
}

/// P248
#[tokio::test]
async fn p248_a_choice_of_tools_is_kept() {
    let folder = TestFolder::new();
    let path = unwilling().write(&folder.path().join("m.gguf"));
    let local = Local::new();
    let tools = || {
        let text = json!({"q": {"type": "string"}});
        vec![
            tool("find", text.clone()),
            tool("seek", text),
            tool("now", json!({})),
        ]
    };
    let ask = async |choice| ask(&local, call(&path, asked(tools(), choice))).await;

    for choice in [None, Some(ToolChoice::Auto), Some(ToolChoice::None)] {
        let response = ask(choice).await;
        assert_eq!(
            (response.text(), calls(&response)),
            ("No way".to_owned(), vec![])
        );
        assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    }
    let response = ask(Some(ToolChoice::Tool("now".into()))).await;
    assert_eq!(calls(&response), [("now", json!({}))]);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(response.text(), "");
    let response = ask(Some(ToolChoice::Tool("seek".into()))).await;
    assert_eq!(calls(&response), [("seek", json!({"q": "x"}))]);
    let response = ask(Some(ToolChoice::Required)).await;
    assert_eq!(response.tool_calls().len(), 1);
    let response = ask(Some(ToolChoice::AnyOf(vec!["seek".into(), "now".into()]))).await;
    assert!(["seek", "now"].contains(&calls(&response)[0].0));
}

/// P248
#[tokio::test]
async fn p248_a_call_is_streamed_and_its_pieces_make_its_arguments() {
    let folder = TestFolder::new();
    let model = Tiny::new()
        .after(GO, "{")
        .after("\"", "Zü")
        .after("Zü", "rich")
        .after("rich", "\"");
    let path = model.write(&folder.path().join("m.gguf"));
    let request = asked(vec![tool("find", json!({"q": {"type": "string"}}))], None);
    let events = events(&Local::new(), call(&path, request)).await;
    let tags: Vec<_> = events.iter().map(Event::tag).collect();
    assert_eq!(
        &tags[..3],
        ["message_started", "tool_call_started", "tool_call_delta"]
    );
    assert_eq!(
        &tags[tags.len() - 2..],
        ["tool_call_completed", "message_completed"]
    );
    let expected = ToolCall {
        at: Some(0),
        wire_id: Some("request-1-0".into()),
        ..ToolCall::new("request-1-0", "find", r#"{"q": "Zürich"}"#)
    };
    assert_eq!(fold(&events).tool_calls(), [expected]);
}

/// P248: the model decides by its first token, and a text does not begin like a call.
#[tokio::test]
async fn a_text_is_no_call_that_went_wrong() {
    let folder = TestFolder::new();
    // It would begin with a brace and go on with something that is no call.
    let model = Tiny::new()
        .weighted(GO, "{'", 1.0)
        .weighted(GO, "\n", 0.9)
        .weighted(GO, "Well", 0.8)
        .after("Well", END);
    let path = model.write(&folder.path().join("m.gguf"));
    let request = asked(vec![tool("find", json!({}))], None);
    let response = ask(&Local::new(), call(&path, request)).await;
    assert_eq!(
        (response.text(), calls(&response)),
        ("Well".to_owned(), vec![])
    );
    // Without tools it says what it likes.
    let response = ask(&Local::new(), call(&path, Request::new("Do it"))).await;
    assert!(response.text().starts_with("{'"));
}

/// P248
#[tokio::test]
async fn several_calls_come_only_where_they_are_allowed() {
    let folder = TestFolder::new();
    let model = Tiny::new().after(GO, "{").after("}", "\n").after("\n", END);
    let path = model.write(&folder.path().join("m.gguf"));
    let mut request = asked(vec![tool("now", json!({}))], None);
    request.max_tokens = Some(120);
    let one = ask(&Local::new(), call(&path, request.clone())).await;
    assert_eq!(calls(&one), [("now", json!({}))]);
    request.parallel_tool_calls = Some(ParallelCalls::OneAtMost);
    assert_eq!(
        calls(&ask(&Local::new(), call(&path, request.clone())).await),
        calls(&one)
    );
    request.parallel_tool_calls = Some(ParallelCalls::Allowed);
    let several = ask(&Local::new(), call(&path, request)).await;
    // A fourth has no room and is not begun; that there might have been more is told (P268).
    assert_eq!(several.finish_reason, Some(FinishReason::Length));
    assert!(several.tool_calls().iter().all(|call| !call.incomplete));
    let ids: Vec<_> = several
        .tool_calls()
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["request-1-0", "request-1-1", "request-1-2"]);
}

/// P249: where no whole call fits the limit.
#[tokio::test]
async fn p249_a_call_that_is_cut_is_no_call() {
    let folder = TestFolder::new();
    let model = Tiny::new().after(GO, "{").after("\"", "y").after("y", "y");
    let path = model.write(&folder.path().join("m.gguf"));
    let cut = async |limit| {
        let mut request = asked(vec![tool("find", json!({"q": {"type": "string"}}))], None);
        request.max_tokens = Some(limit);
        ask(&Local::new(), call(&path, request)).await
    };
    let response = cut(39).await;
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    let [call] = response.tool_calls() else {
        panic!("one call: {response:?}")
    };
    assert!(call.incomplete && call.arguments.is_none());
    assert!(
        call.raw_arguments.starts_with(r#"{"q": "yy"#),
        "{}",
        call.raw_arguments
    );
    // Cut before its name was known, there is nothing to show.
    let response = cut(5).await;
    assert_eq!(
        (response.text(), response.tool_calls().len()),
        (String::new(), 0)
    );
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
}

/// P251
#[tokio::test]
async fn p251_an_answer_in_json_fits_its_schema() {
    let folder = TestFolder::new();
    let model = Tiny::new()
        .says(&[b"No", b" way"])
        .after("\"", "x")
        .after("x", "\"");
    let path = model.write(&folder.path().join("m.gguf"));
    let ask = async |format| {
        let mut request = Request::new("Do it");
        request.response_format = Some(format);
        request.max_tokens = Some(200);
        ask(&Local::new(), call(&path, request)).await
    };
    let schema = json!({
        "type": "object",
        "properties": {"b": {"type": "string"}, "a": {"enum": ["only"]}},
        "required": ["b", "a"]
    });
    let response = ask(ResponseFormat::json_schema("it", schema)).await;
    assert_eq!(response.text(), r#"{"b": "x", "a": "only"}"#);
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    let response = ask(ResponseFormat::JsonObject).await;
    assert!(response.text().starts_with('{'), "{}", response.text());
    let response = ask(ResponseFormat::Text).await;
    assert_eq!(response.text(), "No way");
}

/// P251: tools and a schema in one request: the model may do either.
#[tokio::test]
async fn an_answer_in_json_and_a_call_are_told_apart() {
    let folder = TestFolder::new();
    let schema =
        json!({"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]});
    let asked = || {
        let mut request = asked(vec![tool("now", json!({}))], None);
        request.response_format = Some(ResponseFormat::json_schema("it", schema.clone()));
        request
    };
    // Both begin with `{"n`; then one goes on with `a` and the other with `o`.
    let common = || Tiny::new().after("{", "\"").after("\"", "n");
    let answers = common().after("n", "o").after("o", "te");
    let path = answers
        .after("te", "\"")
        .write(&folder.path().join("answers.gguf"));
    let mut request = asked();
    request.max_tokens = Some(30);
    let response = ask(&Local::new(), call(&path, request)).await;
    assert!(response.text().starts_with(r#"{"note": ""#), "{response:?}");
    assert_eq!(response.tool_calls().len(), 0);
    let path = common()
        .after("n", "a")
        .write(&folder.path().join("calls.gguf"));
    let response = ask(&Local::new(), call(&path, asked())).await;
    assert_eq!(
        (response.text(), calls(&response)),
        (String::new(), vec![("now", json!({}))])
    );
}

/// P252
#[tokio::test]
async fn p252_tools_are_told_in_words_to_a_model_that_knows_none() {
    let folder = TestFolder::new();
    // The model is shown as many tokens as there are bytes in the prompt, so its length says what it read.
    let path = Tiny::new()
        .template(MESSAGES)
        .says(&[b"ok"])
        .write(&folder.path().join("m.gguf"));
    let read = async |request: Request| {
        let response = ask(&Local::new(), call(&path, request)).await;
        response.usage.input_tokens.unwrap()
    };
    let plain = read(Request::new("Do it")).await;
    let offered = asked(vec![tool("find", json!({}))], None);
    assert!(read(offered.clone()).await > plain + 100);
    // A tool that must not be called is not spoken of.
    let none = Request {
        tool_choice: Some(ToolChoice::None),
        ..offered
    };
    assert_eq!(read(none).await, plain);
    // What a tool gave stands with the question; the call is left out.
    let turn = |result: Message| {
        let asked = Message::assistant("").with_tool_calls(vec![ToolCall::new("c1", "find", "{}")]);
        request(vec![Message::user("Do it"), asked, result])
    };
    let good = read(turn(Message::tool_result("c1", "42"))).await;
    let words = "\n\nThe tool find gave this result: 42\n\nAnswer the question in one sentence with this result.";
    assert_eq!(good - plain, words.len() as u64);
    let bad = read(turn(Message::tool_error("c1", "42"))).await;
    assert_eq!(good - bad, 2, "an error has one letter less than a result");
}
