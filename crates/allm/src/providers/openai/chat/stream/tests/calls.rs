//! Calls in all the ways they come.

use allm_core::MalformedArguments;

use super::*;

fn piece(value: Value) -> String {
    delta(&json!({"tool_calls": [value]}))
}

/// Id, name and raw arguments of each call.
fn calls(response: &Response) -> Vec<(&str, &str, &str)> {
    let calls = response.tool_calls().iter();
    calls
        .map(|call| (call.id.as_str(), call.name.as_str(), &*call.raw_arguments))
        .collect()
}

fn answer(pieces: &[String], reason: &str) -> Response {
    let end = finish(reason);
    let mut data: Vec<&str> = pieces.iter().map(String::as_str).collect();
    data.extend([end.as_str(), "[DONE]"]);
    folded(&data)
}

#[test]
fn p152_interleaved_by_index() {
    let response = answer(
        &[
            piece(json!({"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}})),
            piece(
                json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}),
            ),
            piece(json!({"index": 1, "function": {"arguments": "{\"y\":"}})),
            piece(json!({"index": 0, "function": {"arguments": "1}"}})),
            piece(json!({"index": 1, "function": {"arguments": "2}"}})),
        ],
        "tool_calls",
    );
    assert_eq!(
        calls(&response),
        [("b", "g", "{\"y\":2}"), ("a", "f", "{\"x\":1}")]
    );
}

#[test]
fn p153_two_calls_in_one_delta_without_index() {
    let both = delta(&json!({"tool_calls": [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "function": {"name": "f", "arguments": "{}"}}
    ]}));
    let response = answer(&[both], "tool_calls");
    assert_eq!(calls(&response), [("a", "f", "{}"), ("b", "f", "{}")]);
}

#[test]
fn p154_the_same_index_with_a_new_id() {
    let response = answer(
        &[
            piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}})),
            piece(json!({"index": 0, "id": "b", "function": {"name": "g", "arguments": "{\"y\""}})),
            piece(json!({"index": 0, "id": "b", "function": {"arguments": ":1}"}})),
        ],
        "tool_calls",
    );
    assert_eq!(
        calls(&response),
        [("a", "f", "{}"), ("b", "g", "{\"y\":1}")]
    );
}

#[test]
fn p155_name_and_id_come_late() {
    let pieces = [
        piece(json!({"index": 0, "function": {"arguments": "{\"x\""}})),
        piece(json!({"index": 0, "function": {"name": "f"}})),
        piece(json!({"index": 0, "id": "a", "function": {"arguments": ":1}"}})),
        finish("tool_calls"),
        "[DONE]".to_owned(),
    ];
    let data: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let decoded = read(&data);
    assert_eq!(
        decoded.tags(),
        [
            "message_started",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_delta",
            "tool_call_completed",
            "message_completed"
        ]
    );
    assert_eq!(calls(&decoded.whole()), [("a", "f", "{\"x\":1}")]);
}

#[test]
fn p156_a_continuation_without_a_name() {
    let response = answer(
        &[
            piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}})),
            piece(
                json!({"index": 0, "id": null, "function": {"name": null, "arguments": "\"x\":"}}),
            ),
            piece(json!({"index": 0, "id": "", "function": {"name": "", "arguments": "1"}})),
            piece(json!({"index": 0, "function": {"arguments": "}"}})),
        ],
        "tool_calls",
    );
    assert_eq!(calls(&response), [("a", "f", "{\"x\":1}")]);
}

#[test]
fn p157_stop_with_calls() {
    let whole = piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}));
    let response = answer(&[whole], "stop");
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("stop"));
}

#[test]
fn p161_the_form_before_tool_calls() {
    let response = answer(
        &[
            delta(&json!({"function_call": {"name": "f", "arguments": "{\"x\""}})),
            delta(&json!({"function_call": {"arguments": ":1}"}})),
        ],
        "function_call",
    );
    assert_eq!(calls(&response), [("", "f", "{\"x\":1}")]);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
}

#[test]
fn p163_cut_calls_are_malformed() {
    let first =
        piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":1}"}}));
    let open = piece(json!({"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}}));
    let half = piece(json!({"index": 1, "function": {"arguments": "{\"y\""}}));
    let response = answer(&[first.clone(), open.clone()], "length");
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    let [done, cut] = response.tool_calls() else {
        panic!("{response:?}")
    };
    assert!(done.arguments.is_some() && !done.incomplete);
    assert_eq!(cut.fault(), Some(MalformedArguments::Incomplete));
    assert_eq!((&*cut.raw_arguments, &cut.arguments), ("", &None));
    let response = answer(&[first, open, half.clone()], "length");
    assert_eq!(response.tool_calls()[1].raw_arguments, "{\"y\"");
    assert!(response.tool_calls()[1].incomplete);
    let bad = answer(&[half], "tool_calls");
    assert_eq!(bad.tool_calls()[0].raw_arguments, "{\"y\"");
    assert_eq!(bad.tool_calls()[0].arguments, None);
    let empty = piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}));
    assert_eq!(calls(&answer(&[empty], "tool_calls")), [("a", "f", "{}")]);
}

#[test]
fn p220_arguments_in_every_form() {
    for arguments in [json!({}), json!(""), json!(null), json!("{}")] {
        let call = json!({"id": "a", "function": {"name": "f", "arguments": arguments}});
        let streamed = answer(&[piece(call.clone())], "tool_calls");
        let choice = json!({"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"});
        let whole = document(&json!({"choices": [choice]})).whole();
        for response in [streamed, whole] {
            assert_eq!(calls(&response), [("a", "f", "{}")], "{arguments}");
            assert_eq!(
                response.tool_calls()[0].arguments,
                Some(std::sync::Arc::default())
            );
        }
    }
    let object = json!({"id": "a", "function": {"name": "f", "arguments": {"a": "ü", "b": 1}}});
    let response = answer(&[piece(object)], "tool_calls");
    assert_eq!(calls(&response), [("a", "f", "{\"a\":\"ü\",\"b\":1}")]);
}

/// The loop gives such a call an id; the adapter makes none up.
#[test]
fn p221_a_call_without_id() {
    let call = json!({"function": {"name": "f", "arguments": "{}"}});
    let mut with_index = call.clone();
    with_index["index"] = json!(0);
    with_index["id"] = json!("");
    for call in [call, with_index] {
        let two = delta(&json!({"tool_calls": [call]}));
        let streamed = answer(&[two], "stop");
        let message = json!({"tool_calls": [call, call]});
        let whole = document(&json!({"choices": [{"message": message}]})).whole();
        assert_eq!(calls(&streamed), [("", "f", "{}")]);
        assert_eq!(calls(&whole), [("", "f", "{}"), ("", "f", "{}")]);
        assert!(whole.tool_calls().iter().all(|call| call.wire_id.is_none()));
    }
    // A name without an id opens a call each time.
    let call = json!({"function": {"name": "f", "arguments": "{}"}});
    let both = delta(&json!({"tool_calls": [call, call]}));
    assert_eq!(answer(&[both], "stop").tool_calls().len(), 2);
}

#[test]
fn p222_a_whole_call_in_one_delta() {
    let call = piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}));
    let decoded = read(&[&call, &finish("tool_calls"), "[DONE]"]);
    assert_eq!(
        decoded.tags(),
        [
            "message_started",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_completed",
            "message_completed"
        ]
    );
}

#[test]
fn p228_a_half_call_is_never_run() {
    let call =
        piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\""}}));
    let last = json!({"choices": [{
        "delta": {}, "finish_reason": "tool_calls", "native_finish_reason": "max_output_tokens"
    }]});
    let response = folded(&[&call, &last.to_string(), "[DONE]"]);
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(
        response.extra["native_finish_reason"],
        json!("max_output_tokens")
    );
    assert!(response.tool_calls()[0].incomplete);
    let malformed = json!({"choices": [{
        "delta": {}, "finish_reason": "stop", "native_finish_reason": "MALFORMED_FUNCTION_CALL"
    }]});
    assert_eq!(
        reason_of(&read(&[&malformed.to_string(), "[DONE]"])),
        "generation_failed"
    );
}

/// A piece that says nothing is no call.
#[test]
fn pieces_that_say_nothing() {
    for odd in [
        json!(null),
        json!([]),
        json!([null, 7, {}]),
        json!([{"index": 0}]),
        json!([{"index": 0, "function": null}]),
        json!({}),
    ] {
        let chunk =
            delta(&json!({"content": "a", "tool_calls": odd, "function_call": {"name": ""}}));
        let response = answer(&[chunk], "stop");
        assert!(response.tool_calls().is_empty(), "{odd}");
        assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    }
}
