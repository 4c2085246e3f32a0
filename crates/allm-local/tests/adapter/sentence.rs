//! Models whose vocabulary is as SentencePiece has it.

use allm_core::{Event, FinishReason, Request, ResponseFormat, ToolChoice, ToolSpec};
use allm_local::Local;
use serde_json::json;

use crate::folders::TestFolder;
use crate::play::{ask, call, events, fold};
use crate::tiny::Tiny;

fn texts(events: &[Event]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match event {
        Event::TextDelta(delta) => Some(&*delta.delta),
        _ => None,
    });
    texts.collect()
}

/// P270: the space before the first word is no part of the answer, and a character may come in bytes.
#[tokio::test]
async fn p270_an_answer_in_pieces_and_bytes_is_text() {
    let folder = TestFolder::new();
    let pieces: [&[u8]; 7] = [b" Gr", b"\xc3", b"\xbc", b"n", b" ist", b" ", b"gut"];
    let path = Tiny::sentence()
        .says(&pieces)
        .write(&folder.path().join("m.gguf"));
    let events = events(&Local::new(), call(&path, Request::new("Hi"))).await;
    assert_eq!(texts(&events), ["Gr", "ü", "n", " ist", " ", "gut"]);
    let response = fold(&events);
    assert_eq!(response.text(), "Grün ist gut");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    // `<s>`, one for each character of ` [user] Hi` and its line end, and the mark after it.
    assert_eq!(response.usage.input_tokens, Some(1 + 11 + 1));
    assert_eq!(response.usage.output_tokens, Some(7));
}

/// P270, P248: with tools at hand, a text may begin with the space of its first word.
#[tokio::test]
async fn p270_a_text_may_begin_with_its_space() {
    let folder = TestFolder::new();
    let path = Tiny::sentence()
        .says(&[b" No", b" way"])
        .write(&folder.path().join("m.gguf"));
    let mut request = Request::new("Do it");
    request.tools = vec![ToolSpec::function(
        "now",
        "Tells the time.",
        json!({"type": "object"}),
    )];
    let response = ask(&Local::new(), call(&path, request)).await;
    assert_eq!(
        (response.text(), response.tool_calls().len()),
        ("No way".to_owned(), 0)
    );
}

/// P270, P248, P251: schemas are held over such a vocabulary, too, down to the bytes.
#[tokio::test]
async fn p270_calls_and_json_fit_their_schemas() {
    let folder = TestFolder::new();
    let model = Tiny::sentence()
        .says(&[b" No", b" way"])
        // As a piece and as a byte.
        .after("\"", " Z")
        .after("<0x22>", " Z")
        .after(" Z", b"\xc3")
        .after(b"\xc3", b"\xbc")
        .after(b"\xbc", "rich")
        .after("rich", "\"");
    let path = model.write(&folder.path().join("m.gguf"));
    let local = Local::new();
    let schema = json!({
        "type": "object",
        "properties": {"q": {"type": "string"}, "sign": {"const": "a ▁\n\"é"}},
        "required": ["q", "sign"]
    });
    let mut request = Request::new("Do it");
    request.tools = vec![ToolSpec::function("find", "Finds it.", schema.clone())];
    request.tool_choice = Some(ToolChoice::Required);
    let response = ask(&local, call(&path, request)).await;
    assert_eq!(response.error, None);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    let expected = json!({"q": " Zürich", "sign": "a ▁\n\"é"});
    assert_eq!(json!(response.tool_calls()[0].arguments), expected);

    let mut request = Request::new("Do it");
    request.response_format = Some(ResponseFormat::json_schema("it", schema));
    let response = ask(&local, call(&path, request)).await;
    let value: serde_json::Value = serde_json::from_str(&response.text()).unwrap();
    assert_eq!(value, expected);
}
