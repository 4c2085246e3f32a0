//! Tools and events as data (loop.md, L1 to L6, L48, L203 to L205).

use std::sync::Arc;
use std::time::Duration;

use allm_core::{
    BoxFuture, Effect, Event, JsonError, JsonReason, Map, Strict, Tool, ToolContext, ToolError,
    ToolHandler, ToolReason, ToolReply, json,
};
use serde_json::json;

struct Echo;

impl ToolHandler for Echo {
    fn call(
        &self,
        arguments: Arc<Map>,
        _context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(async move { Ok(ToolReply::ok(&arguments)) })
    }
}

fn read(data: &str) -> Result<Tool, (JsonReason, String)> {
    json::from_str(&format!(r#"{{"v":1,"type":"tool","data":{data}}}"#)).map_err(place)
}

fn place(error: JsonError) -> (JsonReason, String) {
    (error.reason, error.path.to_string())
}

#[test]
fn l1_a_tool_of_three_parts_has_the_defaults() {
    let tool = Tool::new("echo", "", json!({}));
    let expected = Tool {
        name: "echo".into(),
        description: String::new(),
        schema: json!({}).into(),
        strict: Strict::No,
        manual: false,
        approval: allm_core::ApprovalRule::Never,
        compact: false,
        summary: None,
        effect: Effect::AtMostOnce,
        timeout: None,
        metadata: Map::new(),
        handler: None,
    };
    assert_eq!(tool, expected);
    assert!(tool.handler.is_none());
}

#[test]
fn l2_manual_survives_json() {
    let tool = Tool::new("approve", "", json!({})).manual();
    assert!(tool.manual);
    let text = json::to_string(&tool).unwrap();
    assert_eq!(
        text,
        r#"{"v":1,"type":"tool","data":{"name":"approve","description":"","schema":{},"manual":true}}"#
    );
    assert_eq!(json::from_str::<Tool>(&text), Ok(tool));
}

#[test]
fn l3_name_description_and_schema_are_required() {
    for (data, path) in [
        (r#"{"description":"","schema":{}}"#, "data.name"),
        (r#"{"name":"echo","schema":{}}"#, "data.description"),
        (r#"{"name":"echo","description":""}"#, "data.schema"),
    ] {
        assert_eq!(read(data), Err((JsonReason::MissingField, path.to_owned())));
    }
}

#[test]
fn l4_flags_are_booleans() {
    for (field, path) in [
        (r#""manual":null"#, "data.manual"),
        (r#""manual":1"#, "data.manual"),
        (r#""manual":"true""#, "data.manual"),
        (r#""compact":"yes""#, "data.compact"),
        (r#""compact":null"#, "data.compact"),
    ] {
        let data = format!(r#"{{"name":"echo","description":"","schema":{{}},{field}}}"#);
        assert_eq!(
            read(&data),
            Err((JsonReason::InvalidValue, path.to_owned())),
            "{field}"
        );
    }
}

#[test]
fn l5_an_unknown_field_is_refused() {
    let data = r#"{"name":"echo","description":"","schema":{},"handler":"echo"}"#;
    assert_eq!(
        read(data),
        Err((JsonReason::UnknownField, "data.handler".to_owned()))
    );
}

#[test]
fn l6_a_handler_is_no_part_of_the_data() {
    let bare = Tool::new("echo", "", json!({}));
    let tool = bare.clone().with_handler(Arc::new(Echo));
    let text = json::to_string(&tool).unwrap();
    assert_eq!(text, json::to_string(&bare).unwrap());
    assert!(json::from_str::<Tool>(&text).unwrap().handler.is_none());
    assert_eq!(tool, bare);
}

#[test]
fn l1_a_timeout_is_rounded_up_to_whole_milliseconds() {
    let largest = Duration::from_millis(u64::MAX - 1);
    for (given, kept) in [
        (Duration::ZERO, Duration::ZERO),
        (Duration::from_nanos(1), Duration::from_millis(1)),
        (Duration::from_micros(999), Duration::from_millis(1)),
        (Duration::from_millis(1), Duration::from_millis(1)),
        (
            Duration::from_micros(1_500_001),
            Duration::from_millis(1_501),
        ),
        (largest, largest),
        (largest + Duration::from_nanos(1), Duration::MAX),
        (Duration::from_millis(u64::MAX), Duration::MAX),
        (Duration::from_secs(u64::MAX), Duration::MAX),
        (Duration::MAX, Duration::MAX),
    ] {
        let tool = Tool::new("echo", "", json!({})).timeout(given);
        assert_eq!(tool.timeout, Some(kept), "{given:?}");
        let text = json::to_string(&tool).unwrap();
        assert_eq!(json::from_str::<Tool>(&text), Ok(tool), "{given:?}");
    }
}

#[test]
fn l48_a_tool_error_has_one_of_six_reasons() {
    let codes: Vec<&str> = ToolReason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .collect();
    assert_eq!(
        codes,
        [
            "handler_raised",
            "handler_exit",
            "invalid_return",
            "not_found",
            "timeout",
            "encoding_failed"
        ]
    );
    assert_eq!(ToolReason::from_code("other"), None);
    let read = |reason: &str| {
        let text = format!(
            r#"{{"v":1,"type":"error","data":{{"type":"tool","reason":"{reason}","message":"x"}}}}"#
        );
        json::from_str::<allm_core::Error>(&text).map_err(place)
    };
    assert_eq!(
        read("timeout"),
        Ok(ToolError::new(ToolReason::Timeout, "x").into())
    );
    assert_eq!(
        read("other"),
        Err((JsonReason::InvalidValue, "data.reason".to_owned()))
    );
}

fn event(data: &str) -> Result<Event, (JsonReason, String)> {
    json::from_str(&format!(r#"{{"v":1,"type":"event","data":{data}}}"#)).map_err(place)
}

/// One event of each tag with nothing but what it must have, in the order of the contract.
const BARE: [&str; 19] = [
    r#"{"type":"message_started","message":{"role":"assistant"},"request_id":"r1"}"#,
    r#"{"type":"text_delta","delta":"a"}"#,
    r#"{"type":"text_completed","text":"a"}"#,
    r#"{"type":"tool_call_started","index":0,"id":"c1","name":"f"}"#,
    r#"{"type":"tool_call_delta","index":0,"id":"c1","arguments_delta":"{"}"#,
    r#"{"type":"tool_call_completed","index":0,"id":"c1","name":"f","arguments":null,"raw_arguments":"{"}"#,
    r#"{"type":"message_completed","message":{"role":"assistant"}}"#,
    r#"{"type":"raw_chunk","chunk":"{ }"}"#,
    r#"{"type":"error","error":{"kind":"stream","reason":"interrupted","message":"x"}}"#,
    r#"{"type":"tool_execution_started","index":0,"id":"c1","name":"f","arguments":{}}"#,
    r#"{"type":"tool_execution_completed","index":0,"id":"c1","name":"f","result":{"ok":null}}"#,
    r#"{"type":"tool_result_encoded","index":0,"id":"c1","content":"x"}"#,
    r#"{"type":"ask_user_requested","index":0,"tool_call_id":"c1","tool_name":"f","question":"q","opts":{}}"#,
    r#"{"type":"tool_halt","index":0,"tool_call_id":"c1","reason":"r","result":null,"content":"x"}"#,
    r#"{"type":"step_completed","step_index":0,"response":{"message":{"role":"assistant"}},"thread":{},"mode":"auto","done":true}"#,
    r#"{"type":"chat_completed","result":{"thread":{},"halted_reason":"completed"}}"#,
    r#"{"type":"tool_progress","index":0,"id":"c1"}"#,
    r#"{"type":"reasoning_delta","delta":"a"}"#,
    r#"{"type":"attempt_reset","turn":0,"attempt":1}"#,
];

#[test]
fn l203_l204_each_tag_writes_its_type_and_leaves_out_what_is_not_there() {
    for (text, tag) in BARE.into_iter().zip(Event::TAGS) {
        let event = event(text).unwrap();
        assert_eq!(event.tag(), tag);
        assert_eq!(json::value_to_string(&event).as_deref(), Ok(text));
    }
}

#[test]
fn l204_each_field_of_a_bare_event_is_required() {
    for text in BARE {
        let whole: Map = serde_json::from_str(text).unwrap();
        for field in whole.keys() {
            let mut rest = whole.clone();
            rest.remove(field);
            let rest = serde_json::Value::Object(rest).to_string();
            let expected = Err((JsonReason::MissingField, format!("data.{field}")));
            assert_eq!(event(&rest), expected, "{text} without {field}");
        }
    }
}

#[test]
fn l205_an_unknown_type_does_not_decode() {
    let expected = Err((JsonReason::InvalidValue, "data.type".to_owned()));
    assert_eq!(event(r#"{"type":"text_started","delta":"a"}"#), expected);
    assert_eq!(event(r#"{"type":"","delta":"a"}"#), expected);
    assert_eq!(
        event(r#"{"delta":"a"}"#),
        Err((JsonReason::MissingField, "data.type".to_owned()))
    );
}

#[test]
fn l205_an_unknown_field_does_not_decode() {
    for text in BARE {
        let more = text.replacen('{', r#"{"surprise":1,"#, 1);
        assert_eq!(
            event(&more),
            Err((JsonReason::UnknownField, "data.surprise".to_owned())),
            "{text}"
        );
    }
}
