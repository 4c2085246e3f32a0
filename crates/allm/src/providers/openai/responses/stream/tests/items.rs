//! Items: texts, calls, reasoning, and what has no type here.

use allm_core::{FinishReason, ReasoningKind, ReasoningPart, TextPart};

use super::*;

fn reasoning(text: Option<&str>, kind: ReasoningKind, item: &Value) -> Part {
    Part::Reasoning(ReasoningPart {
        text: text.map(str::to_owned),
        kind,
        opaque: Some(opaque("reasoning", &item.to_string()).into()),
    })
}

#[test]
fn p129_the_text_is_in_the_output() {
    let whole = json!({
        "id": "resp_1", "object": "response", "model": "gpt-5", "status": "completed",
        "output": [message(&["Hello"])]
    });
    let response = document(&whole).whole();
    assert_eq!(response.text(), "Hello");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("completed"));
    assert_eq!(response.id, Some("resp_1".into()));
    assert_eq!(response.model.as_deref(), Some("gpt-5"));
    let lies = json!({"status": "completed", "output": [message(&["a"])], "output_text": "b"});
    assert_eq!(document(&lies).whole().text(), "a");
}

#[test]
fn p22_a_document_folds_like_its_stream() {
    let thought = json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]});
    let output = json!([thought, message(&["Hello"]), call("c1", "{\"a\":1}")]);
    let whole = json!({
        "id": "resp_1", "model": "gpt-5", "status": "completed", "output": output,
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    });
    let streamed = stream(&[
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5"}}),
        added(0, json!({"type": "reasoning", "id": "rs", "summary": []})),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "hm"}),
        done(0, thought.clone()),
        added(1, json!({"type": "message", "id": "msg_1", "content": []})),
        text_delta(1, "Hel"),
        text_delta(1, "lo"),
        done(1, message(&["Hello"])),
        added(2, call("c1", "")),
        arguments_delta(2, "{\"a\":1}"),
        done(2, call("c1", "{\"a\":1}")),
        json!({"type": "response.completed", "response": whole}),
    ]);
    assert_eq!(
        streamed.tags(),
        [
            "message_started",
            "reasoning_delta",
            "text_delta",
            "text_delta",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_completed",
            "text_completed",
            "message_completed"
        ]
    );
    assert_eq!(streamed.whole(), document(&whole).whole());
}

#[test]
fn p130_messages_and_blocks_are_joined_in_order() {
    let output = json!([message(&["a", "b"]), message(&["c"])]);
    let response = document(&json!({"status": "completed", "output": output})).whole();
    assert_eq!(response.text(), "abc");
    assert_eq!(
        parts(&response),
        [Part::text("a"), Part::text("b"), Part::text("c")]
    );
    // The second message comes first, and the blocks of the first one the wrong way round.
    let response = stream(&[
        text_delta(1, "c"),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 1, "delta": "b"}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "a"}),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(response.text(), "abc");
}

#[test]
fn p134_reasoning_without_a_text() {
    let item =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA=="});
    let expected = [
        reasoning(None, ReasoningKind::Summary, &item),
        Part::text("x"),
    ];
    let output = json!([item, message(&["x"])]);
    let response = document(&json!({"status": "completed", "output": output})).whole();
    assert_eq!(parts(&response), expected);
    assert_eq!(response.reasoning(), "");
    let response = stream(&[
        added(
            0,
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "part"}),
        ),
        done(0, item),
        done(1, message(&["x"])),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(parts(&response), expected);
}

/// The item is kept byte for byte.
#[test]
fn a_reasoning_item_is_kept_as_it_came() {
    let item = r#"{ "id":"rs", "encrypted_content" : "a\/b\u0041", "summary":[], "type":"reasoning","n": 1.50 }"#;
    let frame = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    let end = completed(json!([])).to_string();
    let response = body(&frames(&[&frame, &end])).whole();
    let kept = parts(&response)[0].attached().expect("opaque");
    assert_eq!(kept, &opaque("reasoning", item));
}

#[test]
fn p135_two_calls_at_once() {
    let response = stream(&[
        added(0, call("a", "")),
        added(1, call("b", "")),
        arguments_delta(1, "{\"x\":"),
        arguments_delta(0, "{\"y\""),
        arguments_delta(1, "1}"),
        arguments_delta(0, ":2}"),
        done(1, json!({"type": "function_call", "id": "other", "call_id": "b", "name": "look", "arguments": ""})),
        done(0, json!({"type": "function_call", "id": "another", "call_id": "a", "name": "look", "arguments": ""})),
        completed(json!([])),
    ])
    .whole();
    let expected = [("a", "look", "{\"y\":2}"), ("b", "look", "{\"x\":1}")];
    assert_eq!(calls(&response), expected);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("completed"));
    // Without an index the id of the item counts.
    let delta = |id: &str, delta: &str| json!({"type": "response.function_call_arguments.delta", "item_id": id, "delta": delta});
    let announced = |id: &str| json!({"type": "response.output_item.added", "item": call(id, "")});
    let response = stream(&[
        announced("a"),
        announced("b"),
        delta("fc_b", "{\"x\":1}"),
        delta("fc_a", "{\"y\":2}"),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(calls(&response), expected);
}

#[test]
fn p136_done_is_enough_and_wins() {
    let alone = stream(&[done(0, call("a", "{\"x\":1}")), completed(json!([]))]);
    assert_eq!(
        alone.tags(),
        [
            "message_started",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_completed",
            "message_completed"
        ]
    );
    assert_eq!(calls(&alone.whole()), [("a", "look", "{\"x\":1}")]);
    let response = stream(&[
        added(0, call("a", "")),
        arguments_delta(0, "{\"x\":2}"),
        done(0, call("a", "{\"x\":1}")),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(calls(&response), [("a", "look", "{\"x\":1}")]);
    // Some servers send the object itself.
    let mut item = call("a", "");
    item["arguments"] = json!({"x": 1});
    let response = stream(&[done(0, item), completed(json!([]))]).whole();
    assert_eq!(calls(&response), [("a", "look", "{\"x\":1}")]);
}

#[test]
fn p137_empty_arguments_take_nothing_away() {
    let empty = json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": ""});
    let response = stream(&[
        added(0, call("a", "")),
        arguments_delta(0, "{\"x\":1}"),
        empty.clone(),
        done(0, call("a", "")),
        completed(json!([call("a", "")])),
    ])
    .whole();
    assert_eq!(calls(&response), [("a", "look", "{\"x\":1}")]);
    let response = stream(&[
        added(0, call("a", "")),
        arguments_delta(0, ""),
        empty,
        done(0, call("a", "")),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(calls(&response), [("a", "look", "{}")]);
    assert!(response.tool_calls()[0].arguments.is_some());
}

#[test]
fn p138_the_final_output_adds_and_completes() {
    let response = stream(&[
        text_delta(0, "Hi"),
        done(0, message(&["Hi"])),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(response.text(), "Hi");
    // A call that was opened and never done, and an item that was never streamed.
    let image = json!({"type": "image_generation_call", "id": "ig", "result": "AAAA"});
    let response = stream(&[
        done(0, message(&["Hi"])),
        added(1, call("a", "")),
        arguments_delta(1, "{\"x\""),
        completed(json!([message(&["Hi"]), call("a", "{\"x\":1}"), image])),
    ])
    .whole();
    assert_eq!(
        parts(&response),
        [
            Part::text("Hi"),
            Part::opaque(opaque("image_generation_call", &image.to_string()))
        ]
    );
    assert_eq!(calls(&response), [("a", "look", "{\"x\":1}")]);
    assert_eq!(response.tool_calls()[0].at, Some(1));
    // Names that changed on the way do not double an item, nor does one that is left out.
    let mut renamed = message(&["Hi"]);
    renamed["id"] = json!("another");
    let response = stream(&[
        done(0, json!({"type": "reasoning", "id": "rs", "summary": []})),
        done(1, message(&["Hi"])),
        completed(json!([renamed])),
    ])
    .whole();
    assert_eq!(response.text(), "Hi");
}

#[test]
fn p139_summaries_stream() {
    let delta = |kind: &str, piece: u64, delta: &str| json!({"type": format!("response.{kind}.delta"), "output_index": 0, "summary_index": piece, "delta": delta});
    for kind in ["reasoning_summary_text", "reasoning_summary"] {
        let item = json!({"type": "reasoning", "id": "rs", "summary": [
            {"type": "summary_text", "text": "one two"}, {"type": "summary_text", "text": "three"}]});
        let decoded = stream(&[
            delta(kind, 0, "one"),
            delta(kind, 0, " two"),
            delta(kind, 1, "three"),
            done(0, item.clone()),
            completed(json!([])),
        ]);
        assert_eq!(reasoning_deltas(&decoded), ["one", " two", "\n\n", "three"]);
        let response = decoded.whole();
        let expected = reasoning(Some("one two\n\nthree"), ReasoningKind::Summary, &item);
        assert_eq!(parts(&response), [expected]);
    }
}

/// Thinking that is shown itself is raw; a summary of it beats it.
#[test]
fn raw_thinking() {
    let delta = json!({"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "hm"});
    let mut item = json!({"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]});
    let response = stream(&[delta.clone(), done(0, item.clone()), completed(json!([]))]).whole();
    assert_eq!(
        parts(&response),
        [reasoning(Some("hm"), ReasoningKind::Raw, &item)]
    );
    item["summary"] = json!([{"type": "summary_text", "text": "He thought."}]);
    let expected = [reasoning(
        Some("He thought."),
        ReasoningKind::Summary,
        &item,
    )];
    let response = stream(&[delta, done(0, item.clone()), completed(json!([]))]).whole();
    assert_eq!(parts(&response), expected);
    let whole = json!({"status": "completed", "output": [item]});
    assert_eq!(parts(&document(&whole).whole()), expected);
}

#[test]
fn p143_what_is_unknown_is_kept_or_ignored() {
    let search = json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}});
    let response = stream(&[
        json!({"type": "keepalive", "sequence_number": 2}),
        json!({"type": "response.queued", "response": {"id": "resp_0"}}),
        added(
            0,
            json!({"type": "web_search_call", "id": "ws", "status": "in_progress"}),
        ),
        json!({"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws"}),
        json!({"type": "response.invented", "output_index": 0, "delta": "x", "text": {"a": 1}}),
        done(0, search.clone()),
        done(1, message(&["Hi"])),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(
        parts(&response),
        [
            Part::opaque(opaque("web_search_call", &search.to_string())),
            Part::text("Hi")
        ]
    );
    assert_eq!(response.id, Some("resp_0".into()));
}

/// Annotations and the phase go with the text, further members with the call.
#[test]
fn what_comes_with_a_text_or_a_call() {
    let mut said = message(&["Hi"]);
    said["phase"] = json!("commentary");
    said["content"][0]["annotations"] = json!([{"type": "url_citation", "url": "https://x.org"}]);
    let mut called = call("a", "{}");
    called["namespace"] = json!("files");
    called["caller"] = Value::Null;
    let whole = json!({"status": "completed", "output": [said, called]});
    let response = document(&whole).whole();
    let with =
        r#"{"annotations":[{"type":"url_citation","url":"https://x.org"}],"phase":"commentary"}"#;
    let expected = TextPart {
        text: "Hi".into(),
        opaque: Some(opaque("message", with).into()),
    };
    assert_eq!(parts(&response), [Part::Text(expected)]);
    assert_eq!(
        response.tool_calls()[0].opaque,
        Some(opaque("function_call", r#"{"namespace":"files"}"#).into())
    );
}

/// The id is `call_id`, else the item's, else none.
#[test]
fn ids_of_calls() {
    for (mut item, id) in [
        (json!({"id": "fc", "call_id": "c"}), "c"),
        (json!({"id": "fc", "call_id": ""}), "fc"),
        (json!({"id": "fc"}), "fc"),
        (json!({}), ""),
    ] {
        item["type"] = json!("function_call");
        item["name"] = json!("look");
        let events = [added(0, item.clone()), done(0, item), completed(json!([]))];
        assert_eq!(calls(&stream(&events).whole()), [(id, "look", "{}")]);
    }
}

/// A server that numbers every item 0 loses none.
#[test]
fn an_index_used_again_is_another_item() {
    let response = stream(&[
        added(0, call("a", "")),
        done(0, call("a", "{\"x\":1}")),
        added(0, call("b", "")),
        done(0, call("b", "{\"x\":2}")),
        done(0, call("c", "{\"x\":3}")),
        done(0, call("c", "{\"x\":3}")),
        completed(json!([])),
    ])
    .whole();
    assert_eq!(
        calls(&response),
        [
            ("a", "look", "{\"x\":1}"),
            ("b", "look", "{\"x\":2}"),
            ("c", "look", "{\"x\":3}")
        ]
    );
}
