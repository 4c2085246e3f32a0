use super::*;

fn tool(index: u64, id: &str) -> String {
    start(
        index,
        &format!(r#"{{"type":"tool_use","id":"{id}","name":"look","input":{{}}}}"#),
    )
}

#[test]
fn p177_arguments_come_in_three_ways() {
    let body = stream_of(
        &[
            tool(0, "none"),
            stop(0),
            tool(1, "empty"),
            json(1, ""),
            stop(1),
            start(
                2,
                r#"{"type":"tool_use","id":"at_start","name":"look","input":{"a": 1.0}}"#,
            ),
            stop(2),
            start(
                3,
                r#"{"type":"tool_use","id":"both","name":"look","input":{"a":1}}"#,
            ),
            json(3, r#"{"b":"#),
            json(3, "2}"),
            stop(3),
        ],
        "tool_use",
    );
    let response = read(&body).whole();
    let calls: Vec<_> = response.tool_calls().iter().map(call).collect();
    assert_eq!(
        calls,
        [
            ("none", "look", "{}", true),
            ("empty", "look", "{}", true),
            ("at_start", "look", r#"{"a": 1.0}"#, true),
            ("both", "look", r#"{"b":2}"#, true),
        ]
    );
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
}

#[test]
fn p178_interleaved_calls_are_kept_apart() {
    let body = stream_of(
        &[
            tool(0, "a"),
            tool(1, "b"),
            json(1, r#"{"x""#),
            json(0, r#"{"y""#),
            json(1, ":1}"),
            stop(1),
            json(0, ":2}"),
            stop(0),
        ],
        "tool_use",
    );
    let response = read(&body).whole();
    let calls: Vec<_> = response.tool_calls().iter().map(call).collect();
    assert_eq!(
        calls,
        [
            ("a", "look", r#"{"y":2}"#, true),
            ("b", "look", r#"{"x":1}"#, true)
        ]
    );
}

/// P171: thinking, text and calls keep their order.
#[test]
fn p171_order_is_kept() {
    let body = stream_of(
        &[
            start(0, r#"{"type":"thinking","thinking":"t","signature":"s"}"#),
            stop(0),
            tool(1, "a"),
            stop(1),
            start(2, r#"{"type":"text","text":"x"}"#),
            stop(2),
            tool(3, "b"),
            stop(3),
        ],
        "tool_use",
    );
    let message = read(&body).whole().message;
    let places: Vec<_> = message.tool_calls.iter().map(|call| call.at).collect();
    assert_eq!(places, [Some(1), None]);
}

/// P173: what stands beside a call's own fields is kept.
#[test]
fn p173_the_caller_is_kept() {
    let body = stream_of(
        &[
            start(
                0,
                r#"{"type":"tool_use","id":"a","name":"look","input":{},"caller":{"type":"direct", "n":1.0},"more":null}"#,
            ),
            stop(0),
        ],
        "tool_use",
    );
    let response = read(&body).whole();
    let opaque = response.tool_calls()[0].opaque.clone().expect("a caller");
    assert_eq!(opaque.kind, "tool_use");
    assert_eq!(
        opaque.data.as_str(),
        r#"{"caller":{"type":"direct", "n":1.0}}"#
    );
}

#[test]
fn p185_a_start_that_holds_everything() {
    let body = sse(&[
        r#"{"type":"message_start","message":{"id":"m","model":"c","content":[{"type":"tool_use","id":"t","name":"roll","input":{"player": "two"},"caller":{"type":"code_execution_20250825","tool_id":"s"}}],"container":{"id":"box"},"stop_reason":"tool_use","usage":{"input_tokens":0,"output_tokens":0}}}"#,
        STOP,
    ]);
    let read = read(&body);
    assert_eq!(
        read.tags(),
        [
            "message_started",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_completed",
            "message_completed"
        ]
    );
    let response = read.whole();
    assert_eq!(
        call(&response.tool_calls()[0]),
        ("t", "roll", r#"{"player": "two"}"#, true)
    );
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(response.extra["container"]["id"], "box");
}

/// A call that the end of the answer cut is malformed, also when nothing of its arguments had come.
#[test]
fn a_cut_call_is_never_an_empty_object() {
    for (piece, raw) in [("", ""), (r#"{"x": "half"#, r#"{"x": "half"#)] {
        let body = stream_of(
            &[
                tool(0, "whole"),
                json(0, "{}"),
                stop(0),
                tool(1, "cut"),
                json(1, piece),
                stop(1),
            ],
            "max_tokens",
        );
        let response = read(&body).whole();
        let calls: Vec<_> = response.tool_calls().iter().map(call).collect();
        assert_eq!(
            calls,
            [("whole", "look", "{}", true), ("cut", "look", raw, false)]
        );
        assert!(response.tool_calls()[1].incomplete);
        assert_eq!(response.finish_reason, Some(FinishReason::Length));
    }
}

fn asked() -> Asked {
    Asked {
        answer_tool: Some("respond_with_json".to_owned()),
        ..Asked::default()
    }
}

fn respond(index: u64) -> String {
    start(
        index,
        r#"{"type":"tool_use","id":"t","name":"respond_with_json","input":{}}"#,
    )
}

#[test]
fn p121_the_answer_tool_streams_as_text() {
    let body = stream_of(
        &[
            respond(0),
            json(0, ""),
            json(0, "{\"a\" :"),
            json(0, " \"é\\n\"}"),
            stop(0),
        ],
        "tool_use",
    );
    let read = read_as(asked(), &body);
    assert_eq!(
        read.tags(),
        [
            "message_started",
            "text_delta",
            "text_delta",
            "text_completed",
            "message_completed"
        ]
    );
    let response = read.whole();
    assert_eq!(response.text(), "{\"a\" : \"é\\n\"}");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("tool_use"));
    assert_eq!(response.tool_calls(), []);
    // Nothing but an object can be the answer of a tool.
    let body = stream_of(&[respond(0), stop(0)], "tool_use");
    assert_eq!(read_as(asked(), &body).whole().text(), "{}");
}

#[test]
fn p123_a_cut_answer_is_its_fragment() {
    for (piece, text) in [("", ""), ("{\"a\": ", "{\"a\": ")] {
        let body = stream_of(&[respond(0), json(0, piece), stop(0)], "max_tokens");
        let response = read_as(asked(), &body).whole();
        assert_eq!(response.text(), text);
        assert_eq!(response.finish_reason, Some(FinishReason::Length));
        assert_eq!(response.tool_calls(), []);
    }
}

/// A second call, or one of another name, is a call.
#[test]
fn p122_other_calls_are_calls() {
    let body = stream_of(
        &[
            tool(0, "a"),
            stop(0),
            respond(1),
            stop(1),
            respond(2),
            stop(2),
        ],
        "tool_use",
    );
    let response = read_as(asked(), &body).whole();
    let names: Vec<_> = response
        .tool_calls()
        .iter()
        .map(|call| &call.name)
        .collect();
    assert_eq!(names, ["look", "respond_with_json"]);
    assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
}
