//! Calls, whole and in fragments.

use super::*;

#[test]
fn p194_equal_calls_without_ids_are_two() {
    let call = json!({"functionCall": {"name": "f", "args": {"x": 1}}});
    let read = stream(&[last(json!([call, call]), "STOP")]);
    assert_eq!(
        read.tags(),
        [
            "message_started",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_completed",
            "tool_call_started",
            "tool_call_delta",
            "tool_call_completed",
            "message_completed"
        ]
    );
    let message = read.message();
    assert_eq!(calls(&message), [("f", "{\"x\":1}"), ("f", "{\"x\":1}")]);
    for call in &message.tool_calls {
        assert_eq!((call.id.as_str(), &call.wire_id), ("", &None));
    }
}

#[test]
fn p195_a_call_with_an_id() {
    let call = json!({"functionCall": {"id": "c7", "name": "f", "args": {}}});
    let message = stream(&[last(json!([call]), "STOP")]).message();
    assert_eq!(message.tool_calls[0].id.as_str(), "c7");
    assert_eq!(message.tool_calls[0].wire_id.as_deref(), Some("c7"));
}

fn fragment(path: &str, text: &str) -> Value {
    json!({"functionCall": {"willContinue": true,
        "partialArgs": [{"jsonPath": path, "stringValue": text, "willContinue": true}]}})
}

#[test]
fn p208_arguments_in_fragments() {
    let read = stream(&[
        parts(
            json!([{"functionCall": {"name": "f", "willContinue": true}, "thoughtSignature": "S"}]),
        ),
        parts(json!([fragment("$.list[0].city", "Bos")])),
        parts(json!([fragment("$.list[0].city", "t\"on")])),
        parts(json!([fragment("$.list[0].city", "")])),
        parts(
            json!([{"functionCall": {"willContinue": true, "partialArgs": [
            {"jsonPath": "$.list[0].n", "numberValue": 0.50},
            {"jsonPath": "$.list[1].city", "stringValue": "Rome"},
            {"jsonPath": "$['a b']", "boolValue": true},
            {"jsonPath": "$.none", "nullValue": null}]}}]),
        ),
        parts(json!([{"functionCall": {}}])),
        parts(json!([{"functionCall": {"name": "g"}}])),
        last(
            json!([{"functionCall": {"name": "h", "willContinue": true}}]),
            "STOP",
        ),
    ]);
    let message = read.message();
    let wanted = r#"{"list":[{"city":"Bost\"on","n":0.5},{"city":"Rome"}],"a b":true,"none":null}"#;
    assert_eq!(calls(&message), [("f", wanted), ("g", "{}"), ("h", "{}")]);
    assert!(message.tool_calls[0].opaque.is_some());
    let pieces: Vec<&str> = read
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolCallDelta(delta) if delta.index == 0 => Some(&*delta.arguments_delta),
            _ => None,
        })
        .collect();
    assert_eq!(pieces.concat(), wanted);
    assert_eq!(pieces[0], r#"{"list":[{"city":"Bos"#);
    assert_eq!(pieces[1], r#"t\"on"#);
}

#[test]
fn p208_fragments_out_of_order() {
    let message = stream(&[
        parts(json!([{"functionCall": {"name": "f", "willContinue": true}}])),
        parts(json!([
            fragment("$.a.x", "1"),
            fragment("$.b", "2"),
            fragment("$.a.y", "3")
        ])),
        last(json!([fragment("$.b", "4"), {"functionCall": {}}]), "STOP"),
    ])
    .message();
    assert_eq!(
        calls(&message),
        [("f", r#"{"a":{"x":"1","y":"3"},"b":"24"}"#)]
    );
}

/// What has no place makes the call malformed, never `{}`.
#[test]
fn p208_fragments_without_a_place() {
    let deep = format!("$.a{}", "[0]".repeat(100_000));
    for path in [
        "",
        "x",
        "$",
        "$[0]",
        "$.a[1]",
        "$.a[-1]",
        "$.a[99999999999]",
        "$..a",
        "$.a[",
        &deep,
    ] {
        let message = stream(&[
            parts(json!([{"functionCall": {"name": "f", "willContinue": true}}])),
            last(json!([fragment(path, "v"), {"functionCall": {}}]), "STOP"),
        ])
        .message();
        assert_eq!(message.tool_calls[0].arguments, None, "{path:.20}");
    }
}

/// A cut call is incomplete; whole arguments at the end beat their fragments.
#[test]
fn p208_how_fragments_end() {
    let chunks = [
        parts(json!([{"functionCall": {"name": "f", "willContinue": true, "args": {"k": 1}}}])),
        parts(json!([fragment("$.a", "x")])),
    ];
    let mut cut = chunks.to_vec();
    cut.push(last(json!([]), "MAX_TOKENS"));
    let call = stream(&cut).message().tool_calls.remove(0);
    assert!(call.incomplete);
    let mut open = chunks.to_vec();
    open.push(last(json!([]), "STOP"));
    assert_eq!(
        calls(&stream(&open).message()),
        [("f", r#"{"k":1,"a":"x"}"#)]
    );
    let mut whole = chunks.to_vec();
    whole.push(last(json!([{"functionCall": {"args": {"b": 2}}}]), "STOP"));
    assert_eq!(calls(&stream(&whole).message()), [("f", r#"{"b":2}"#)]);
}

#[test]
fn c14_the_argument_text_is_kept() {
    let body = concat!(
        r#"data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "#,
        r#""args": {"b" : 1.0, "a":1e2}}}]}, "finishReason": "STOP"}]}"#,
        "\n\n"
    );
    assert_eq!(
        calls(&read(body).message()),
        [("f", r#"{"b" : 1.0, "a":1e2}"#)]
    );
}
