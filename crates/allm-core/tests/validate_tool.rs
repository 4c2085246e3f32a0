//! Tools: L1, L2, L8 to L12, and the settings of a run.

mod support;

use std::time::Duration;

use allm_core::validate::{self, SettingFaults};
use allm_core::{Effect, Fault, FaultCode, Map, ResponseFormat, Tool, ToolSpec};
use serde_json::{Value, json};
use support::told;

fn named(name: &str) -> Tool {
    Tool::new(name, "", json!({}))
}

fn told_of_schema(schema: Value) -> Vec<String> {
    told(validate::tool(&Tool::new("f", "", schema)))
}

#[test]
fn l1_a_tool_with_nothing_but_a_name() {
    let tool = Tool::new("echo", "", json!({}));
    assert_eq!(validate::tool(&tool), Ok(()));
    assert!(!tool.manual);
    assert!(!tool.compact);
    assert_eq!(tool.summary, None);
    assert!(tool.handler.is_none());
    assert_eq!(tool.effect, Effect::AtMostOnce);
    assert_eq!(tool.timeout, None);
    assert_eq!(tool.metadata, Map::new());
}

#[test]
fn l2_manual_is_kept_through_json() {
    let tool = named("f").manual();
    assert!(tool.manual);
    let text = serde_json::to_string(&tool).unwrap();
    let read: Tool = serde_json::from_str(&text).unwrap();
    assert_eq!(read, tool);
    assert_eq!(validate::tool(&read), Ok(()));
}

#[test]
fn l8_names() {
    let told_of = |name: &str| told(validate::tool(&named(name)));
    assert_eq!(told_of(""), ["invalid_tool", "name: empty"]);
    for name in ["auto", "none", "required"] {
        assert_eq!(
            told_of(name),
            ["invalid_tool", "name: reserved_tool_name"],
            "{name}"
        );
    }
    for name in [&"x".repeat(65), "a b", "ä", "a.b", "a\n"] {
        assert_eq!(
            told_of(name),
            ["invalid_tool", "name: invalid_format"],
            "{name:?}"
        );
    }
    for name in [&"x".repeat(64), "A-z_9", "Auto"] {
        assert_eq!(told_of(name), [""; 0], "{name}");
    }
}

#[test]
fn l9_schemas() {
    for schema in [json!(null), json!(true), json!([]), json!("object")] {
        assert_eq!(
            told_of_schema(schema),
            ["invalid_tool", "schema: not_an_object"]
        );
    }
    assert_eq!(
        told_of_schema(json!({"type": 5})),
        [
            "invalid_tool",
            "schema: invalid_schema (#/type: must be a type or a list of different types)"
        ]
    );
    assert_eq!(
        told_of_schema(json!({"$ref": "https://example.com/x.json"})),
        ["invalid_tool", "schema: remote_reference (#/$ref)"]
    );
}

#[test]
fn l10_a_summary_that_is_no_text_and_a_timeout_of_zero() {
    let tool = json!({"name": "f", "description": "", "schema": {}, "summary": 5});
    assert!(serde_json::from_value::<Tool>(tool).is_err());
    assert_eq!(
        told(validate::tool(&named("f").timeout(Duration::ZERO))),
        ["invalid_tool", "timeout: must_be_positive"]
    );
    let tool = named("f").summary("short").timeout(Duration::MAX);
    assert_eq!(validate::tool(&tool), Ok(()));
}

#[test]
fn l11_three_faults_give_one_error_with_three_entries() {
    let tool = Tool::new("a b", "", json!(1)).timeout(Duration::ZERO);
    let error = validate::tool(&tool).unwrap_err();
    assert_eq!(
        error.faults,
        [
            Fault::new("name", FaultCode::InvalidFormat),
            Fault::new("schema", FaultCode::NotAnObject),
            Fault::new("timeout", FaultCode::MustBePositive),
        ]
    );
}

#[test]
fn l12_two_tools_of_one_name_are_one_fault_of_the_list() {
    let expected = [
        "invalid_tool",
        "tools: duplicate_name (tools[2] has the name of tools[0])",
    ];
    let tools = ["a", "b", "a", "b", "a"].map(named);
    assert_eq!(told(validate::tools(&tools)), expected);
    assert_eq!(
        told(validate::tool_specs(&tools.map(|tool| tool.spec()))),
        expected
    );
}

#[test]
fn l12_faults_of_a_list_are_told_with_the_place_of_the_tool() {
    let tools = [
        named("a"),
        Tool::new("", "", json!(1)).timeout(Duration::ZERO),
        named(""),
    ];
    assert_eq!(
        told(validate::tools(&tools)),
        [
            "invalid_tool",
            "tools[1].name: empty",
            "tools[2].name: empty",
            "tools[1].schema: not_an_object",
            "tools[1].timeout: must_be_positive",
        ]
    );
    assert_eq!(validate::tools(&[]), Ok(()));
}

#[test]
fn c50_very_many_tools() {
    let name = |number: usize| format!("f{number}");
    let specs: Vec<ToolSpec> = (0..100_000)
        .map(|number| ToolSpec::function(name(number), "", json!({"type": "object"})))
        .collect();
    assert_eq!(validate::tool_specs(&specs), Ok(()));
}

#[test]
fn l191_wrong_settings_come_in_one_error() {
    let mut faults = SettingFaults::default();
    faults.positive("max_turns", 0_u32);
    faults.positive("max_concurrency", Some(4_usize));
    faults.positive("max_tool_output", None::<u64>);
    faults.positive("tool_timeout", Duration::ZERO);
    faults.structured_finalize(None);
    assert_eq!(
        told(faults.finish()),
        [
            "invalid_request",
            "max_turns: must_be_positive",
            "tool_timeout: must_be_positive",
            "structured_finalize: requires_json_schema",
        ]
    );
}

#[test]
fn structured_finalize_needs_a_form_other_than_text() {
    let told_of = |format: Option<&ResponseFormat>| {
        let mut faults = SettingFaults::default();
        faults.structured_finalize(format);
        told(faults.finish())
    };
    let refused = [
        "invalid_request",
        "structured_finalize: requires_json_schema",
    ];
    assert_eq!(told_of(None), refused);
    assert_eq!(told_of(Some(&ResponseFormat::Text)), refused);
    assert_eq!(told_of(Some(&ResponseFormat::JsonObject)), [""; 0]);
    let schema = ResponseFormat::json_schema("a", json!({}));
    assert_eq!(told_of(Some(&schema)), [""; 0]);
}
