//! What the help tool answers (loop.md, L236 and L240).

use allm_core::compact::{full_help, tool_help};
use allm_core::{Tool, ToolCall, tool_help_answer};
use proptest::prelude::*;
use serde_json::json;

fn tools() -> Vec<Tool> {
    let issue = Tool::new(
        "create_issue",
        "Creates an issue.\n\nReturns its address.",
        json!({"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}),
    );
    let lookup = Tool::new("lookup", "", json!({}));
    vec![
        issue.compact(),
        Tool::new("plain", "A plain tool.", json!({})),
        lookup.compact(),
        tool_help(),
    ]
}

const ISSUE: &str = r#"## create_issue
Creates an issue.

Returns its address.
Arguments (JSON Schema): {"properties":{"title":{"type":"string"}},"required":["title"],"type":"object"}"#;
const PLAIN: &str = "## plain\nA plain tool.\nArguments (JSON Schema): {}";
const USAGE: &str =
    r#"Usage: tool_help takes {"names": ["name of a tool"]}. Compact tools: create_issue, lookup"#;

fn answer(arguments: &str) -> String {
    tool_help_answer(&tools(), &ToolCall::new("c", "tool_help", arguments))
}

#[test]
fn l236_the_help_text_is_exact() {
    assert_eq!(answer(r#"{"names": ["create_issue"]}"#), ISSUE);
    assert_eq!(full_help(&tools()[0]), ISSUE);
}

#[test]
fn l236_sections_stand_in_the_order_asked() {
    assert_eq!(
        answer(r#"{"names": ["plain", "create_issue"]}"#),
        format!("{PLAIN}\n\n{ISSUE}")
    );
}

#[test]
fn l236_a_tool_without_description_has_no_empty_line() {
    assert_eq!(
        answer(r#"{"names": ["lookup"]}"#),
        "## lookup\nArguments (JSON Schema): {}"
    );
}

#[test]
fn l236_the_help_tool_explains_itself() {
    assert_eq!(
        answer(r#"{"names": ["tool_help"]}"#),
        full_help(&tool_help())
    );
}

#[test]
fn l240_one_string_is_one_name() {
    assert_eq!(answer(r#"{"names": "plain", "more": 1}"#), PLAIN);
}

#[test]
fn l240_repeated_names_have_one_section() {
    assert_eq!(
        answer(r#"{"names": ["plain", "create_issue", "plain"]}"#),
        format!("{PLAIN}\n\n{ISSUE}")
    );
}

#[test]
fn l240_an_unknown_name_is_told_the_compact_ones() {
    let note = "## no pe\nNo tool has this name. Compact tools: create_issue, lookup";
    assert_eq!(
        answer(r#"{"names": ["no\npe", "plain"]}"#),
        format!("{note}\n\n{PLAIN}")
    );
}

#[test]
fn l240_of_many_compact_tools_the_first_twenty_are_told() {
    let tool = |number| Tool::new(format!("t{number}"), "", json!({})).compact();
    let tools: Vec<Tool> = (0..25).map(tool).collect();
    let call = ToolCall::new("c", "tool_help", r#"{"names": ["x"]}"#);
    let answer = tool_help_answer(&tools, &call);
    assert!(answer.ends_with(", t18, t19 and 5 more"), "{answer}");
}

#[test]
fn l240_without_compact_tools_the_list_is_none() {
    let call = |arguments| ToolCall::new("c", "tool_help", arguments);
    assert_eq!(
        tool_help_answer(&[], &call(r#"{"names": ["x"]}"#)),
        "## x\nNo tool has this name. Compact tools: (none)"
    );
    assert!(tool_help_answer(&[], &call("{}")).ends_with("Compact tools: (none)"));
}

#[test]
fn l240_unusable_arguments_get_a_usage_line() {
    let unusable = [
        "",
        "{}",
        "[]",
        "3",
        r#"{"names": "#,
        r#"{"names": null}"#,
        r#"{"names": []}"#,
        r#"{"names": {}}"#,
        r#"{"names": ["plain", 1]}"#,
    ];
    for arguments in unusable {
        assert_eq!(answer(arguments), USAGE, "{arguments:?}");
    }
    let cut_off = ToolCall::cut_off("c", "tool_help", r#"{"names": ["plain"]}"#);
    assert_eq!(tool_help_answer(&tools(), &cut_off), USAGE);
}

#[test]
fn l240_very_many_unknown_names_are_counted() {
    let names: Vec<String> = (0..50_000).map(|number| format!("n{number}")).collect();
    let answer = answer(&json!({"names": names}).to_string());
    assert_eq!(answer.matches("No tool has this name").count(), 20);
    assert!(answer.ends_with("\n\nUnknown names not shown: 49980"));
}

proptest! {
    #[test]
    fn l240_no_arguments_make_it_fail(
        text in "\\PC{0,40}",
        names in prop::collection::vec("\\PC{0,8}", 0..5),
    ) {
        let forms = [
            text.clone(),
            json!({"names": names}).to_string(),
            json!({"names": text}).to_string(),
            format!(r#"{{"names": {text}}}"#),
        ];
        for arguments in forms {
            prop_assert_ne!(answer(&arguments), "");
        }
    }
}
