//! What came from a model and goes back to it.

use allm_core::{Part, ReasoningKind, ReasoningPart, TextPart};

use super::*;
use crate::providers::openai::responses::stream::ResponsesDecoder;
use crate::wire::testing::{about, decode};

fn thought(id: &str) -> Part {
    let data = json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gA=="});
    reasoning(&data.to_string())
}

fn reasoning(data: &str) -> Part {
    Part::Reasoning(ReasoningPart {
        text: Some("hm".into()),
        kind: ReasoningKind::Summary,
        opaque: Some(opaque("reasoning", data).into()),
    })
}

fn sent_thought(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gA=="})
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// P99, and the empty answer.
#[test]
fn p99_texts() {
    let sent = input(vec![
        Message::system(vec![Part::text("Be"), Part::text("brief.")]),
        Message::user(vec![Part::text("a"), Part::text("b")]),
        Message::assistant(vec![Part::text("c"), Part::text("d")]),
        Message::user("e"),
        Message::assistant(""),
        Message::user("f"),
        Message::assistant(vec![Part::refusal("No.")]),
    ]);
    assert_eq!(
        sent,
        json!([
            {"role": "system", "content": "Be\nbrief."},
            {"role": "user", "content": "a\nb"},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "c"}, {"type": "output_text", "text": "d"}]},
            {"role": "user", "content": "e"},
            {"type": "message", "role": "assistant", "content": ""},
            {"role": "user", "content": "f"},
            {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
        ])
    );
}

#[test]
fn p96_results_stand_in_call_order() {
    let sent = input(vec![
        Message::assistant("Let me see.").with_tool_calls(looked(&["a", "b", "c"])),
        Message::tool_result("c", "3"),
        Message::tool_error("b", "2"),
        Message::tool_result("a", "1"),
    ]);
    assert_eq!(
        sent,
        json!([
            said("Let me see."),
            look("a"),
            look("b"),
            look("c"),
            output("a", "1"),
            output("b", "2"),
            output("c", "3"),
        ])
    );
}

#[test]
fn p97_results_arrive_unchanged() {
    let text = "\"quotes\"\r\n\u{1F600}\t".repeat(12_000);
    let sent = input(vec![
        Message::assistant("").with_tool_calls(looked(&["a"])),
        Message::tool_result("a", text.as_str()),
    ]);
    assert_eq!(sent[1], output("a", text));
}

/// P101, P102: broken arguments go back as they were, but never as nothing.
#[test]
fn p101_p102_arguments_as_they_were() {
    let mut calls = vec![
        ToolCall::new("a", "look", "{\"x\": "),
        ToolCall::cut_off("b", "look", ""),
        ToolCall::new("c", "look", "{\"b\":1.0, \"a\":2}"),
    ];
    calls[2].raw_arguments = "{\"b\":1.0, \"a\":2}".into();
    let sent = input(vec![
        Message::assistant("").with_tool_calls(calls),
        Message::tool_error("a", "malformed"),
        Message::tool_error("b", "cut"),
        Message::tool_result("c", "ok"),
    ]);
    let arguments: Vec<&Value> = (0..3).map(|at| &sent[at]["arguments"]).collect();
    assert_eq!(arguments, ["{\"x\": ", "{}", "{\"b\":1.0, \"a\":2}"]);
    assert_eq!(sent[3], output("a", "malformed"));
}

#[test]
fn p103_p104_ids() {
    let long = "x".repeat(70);
    let ids = [long.as_str(), "functions.add:0"];
    let sent = input(vec![
        Message::assistant("").with_tool_calls(looked(&ids)),
        Message::tool_result(long.as_str(), "1"),
        Message::tool_result("functions.add:0", "2"),
    ]);
    let replaced = sent[0]["call_id"].as_str().expect("an id");
    assert!((1..=64).contains(&replaced.len()));
    assert_eq!(sent[2]["call_id"], replaced);
    assert_eq!(sent[1]["call_id"], "functions.add:0");
    assert_eq!(sent[3]["call_id"], "functions.add:0");
}

/// P132: byte for byte, without what is null or not asked for, before what followed it.
#[test]
fn p132_reasoning_goes_before_its_call() {
    let item = r#"{"id":"rs_1","type":"reasoning","status":null,"content":null,"encrypted_content":"a\/b\u0041==","summary":[ {"type":"summary_text","text":"hm"} ]}"#;
    let thread = vec![
        Message::user("hi"),
        Message::assistant(vec![reasoning(item)]).with_tool_calls(looked(&["a"])),
        Message::tool_result("a", "1"),
        // Nothing of its answer followed it.
        Message::assistant(vec![Part::text("So."), thought("rs_2")]),
        Message::user("?"),
        Message::assistant(vec![thought("rs_3")]),
        Message::user("!"),
    ];
    let call = call(Request::new(Thread::from(thread)), "gpt-5");
    let text = String::from_utf8(bytes(&call).0).expect("text");
    let expected = r#"{"type":"reasoning","id":"rs_1","summary":[ {"type":"summary_text","text":"hm"} ],"encrypted_content":"a\/b\u0041=="},{"type":"function_call""#;
    assert!(text.contains(expected), "{text}");
    let body: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        body["input"].as_array().expect("a list")[4..],
        [
            said("So."),
            json!({"role": "user", "content": "?"}),
            json!({"type": "message", "role": "assistant", "content": ""}),
            json!({"role": "user", "content": "!"}),
        ]
    );
}

/// P132: what was not kept cannot be named.
#[test]
fn p132_the_bare_name_of_a_thought() {
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let thread = |item: &Value| {
        vec![
            Message::assistant(vec![reasoning(&item.to_string())]).with_tool_calls(looked(&["a"])),
            Message::tool_result("a", "1"),
        ]
    };
    assert_eq!(input(thread(&bare)), json!([look("a"), output("a", "1")]));
    let open = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}]});
    assert_eq!(input(thread(&open))[0], open);
    let mut request = Request::new(Thread::from(thread(&bare)));
    request.extra.insert("store".into(), true.into());
    let body: Value = serde_json::from_slice(&bytes(&call(request, "gpt-5")).0).expect("JSON");
    assert_eq!(body["input"][0], bare);
}

#[test]
fn p133_the_order_of_thoughts_and_calls() {
    let mut calls = looked(&["a", "b"]);
    calls[0].at = Some(1);
    let sent = input(vec![
        Message::assistant(vec![thought("rs_1"), thought("rs_2")]).with_tool_calls(calls),
        Message::tool_result("a", "1"),
        Message::tool_result("b", "2"),
    ]);
    assert_eq!(
        sent,
        json!([
            sent_thought("rs_1"),
            look("a"),
            sent_thought("rs_2"),
            look("b"),
            output("a", "1"),
            output("b", "2"),
        ])
    );
}

/// P134, P143: an answer goes back as it came.
#[test]
fn p134_p143_an_answer_comes_and_goes() {
    let phase = |phase: &str, text: &str, annotations: Value| {
        json!({"type": "message", "id": "m", "role": "assistant", "status": "completed", "phase": phase,
            "content": [{"type": "output_text", "text": text, "annotations": annotations}]})
    };
    let search = json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}});
    let cited = json!([{"type": "url_citation", "url": "https://x.org"}]);
    let odd = json!({"type": "output_audio", "data": "AAAA"});
    let mut last = phase("final_answer", "Rain.", cited.clone());
    last["content"]
        .as_array_mut()
        .expect("a list")
        .push(odd.clone());
    let whole = json!({"status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="},
        search,
        phase("commentary", "Looking.", json!([])),
        last,
        {"type": "function_call", "id": "fc", "call_id": "a", "name": "look", "arguments": "{}",
            "status": "completed", "namespace": "sky"}
    ]});
    let response = decode(
        about("openai", WIRE),
        &mut ResponsesDecoder::default(),
        whole.to_string().as_bytes(),
    )
    .whole();
    let sent = input(vec![response.message, Message::tool_result("a", "1")]);
    assert_eq!(
        sent,
        json!([
            sent_thought("rs_1"),
            search,
            {"type": "message", "role": "assistant", "phase": "commentary", "content": [
                {"type": "output_text", "text": "Looking."}]},
            {"type": "message", "role": "assistant", "phase": "final_answer", "content": [
                {"type": "output_text", "text": "Rain.", "annotations": cited}, odd]},
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}", "namespace": "sky"},
            output("a", "1"),
        ])
    );
}

/// P98: what another provider or wire keeps to itself does not travel.
#[test]
fn p98_a_thread_of_others() {
    let foreign = |kind: &str| Opaque {
        provider: "anthropic".into(),
        wire: "anthropic.messages".into(),
        ..opaque(kind, r#"{"type":"thinking","signature":"x"}"#)
    };
    let mut calls = looked(&["toolu_1"]);
    calls[0].opaque = Some(foreign("tool_use").into());
    let content = vec![
        Part::Reasoning(ReasoningPart {
            text: Some("hm".into()),
            kind: ReasoningKind::Raw,
            opaque: Some(foreign("thinking").into()),
        }),
        Part::Text(TextPart {
            text: "Let me see.".into(),
            opaque: Some(foreign("citations").into()),
        }),
        Part::opaque(foreign("server_tool_use")),
    ];
    let thread = vec![
        Message::user("hi"),
        Message::assistant(content).with_tool_calls(calls),
        Message::tool_result("toolu_1", "1"),
    ];
    let (body, warnings) = written(&call(Request::new(Thread::from(thread)), "gpt-5"));
    assert_eq!(
        body["input"],
        json!([
            {"role": "user", "content": "hi"},
            said("Let me see."),
            look("toolu_1"),
            output("toolu_1", "1"),
        ])
    );
    assert_eq!(warnings, ["opaque_dropped messages[1].content[0]"]);
}
