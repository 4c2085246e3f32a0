use allm_core::Tool;
use serde_json::json;

use super::*;

fn tool(name: &str) -> Tool {
    Tool::new(name, "", json!({"type": "object"}))
}

fn names(set: &ToolSet) -> Vec<&str> {
    set.list().iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn a_schema_that_only_compiling_shows_to_be_wrong_is_a_fault_at_its_place() {
    let bad = Tool::new(
        "bad",
        "",
        json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
    );
    let worse = Tool::new("worse", "", json!({"type": 5}));
    let error = ToolSet::new(&[tool("good"), bad, worse]).unwrap_err();
    let told: Vec<_> = error
        .faults
        .iter()
        .map(|fault| (fault.path.to_string(), fault.code))
        .collect();
    assert_eq!(
        told,
        [
            ("tools[2].schema".to_owned(), FaultCode::InvalidSchema),
            ("tools[1].schema".to_owned(), FaultCode::InvalidSchema),
        ]
    );
}

/// L9: nothing is fetched.
#[test]
fn a_schema_that_points_elsewhere_is_refused() {
    let remote = Tool::new(
        "remote",
        "",
        json!({"$ref": "https://example.com/schema.json"}),
    );
    assert!(ToolSet::new(&[remote]).is_err());
    let odd = Tool::new(
        "odd",
        "",
        json!({"$schema": "https://example.com/own-meta-schema"}),
    );
    assert!(ToolSet::new(&[odd]).is_err());
}

#[test]
fn what_was_compiled_is_not_compiled_again() {
    let engine = ToolSet::new(&[tool("a"), tool("b").compact()]).unwrap();
    let other = Tool::new("b", "", json!({"type": "object", "required": ["x"]})).compact();
    let call = engine
        .compile(&[tool("a").summary("new"), other, tool("c")])
        .unwrap();
    let shared = |name: &str| {
        let (one, two) = (engine.get(name).unwrap(), call.get(name).unwrap());
        Arc::ptr_eq(&one.schema, &two.schema)
    };
    assert_eq!(names(&call), ["a", "b", "c", "tool_help"]);
    assert_eq!(call.get("a").unwrap().tool.summary.as_deref(), Some("new"));
    assert!(shared("a") && shared("tool_help"));
    assert!(!shared("b"), "an equal name with another schema");
}

/// L11 and L12 where a tool is compact, too.
#[test]
fn every_fault_of_the_list_comes_at_once() {
    let clash = [tool("a").compact(), tool("tool_help"), tool("")];
    let error = ToolSet::new(&clash).unwrap_err();
    let codes: Vec<_> = error.faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, [FaultCode::Empty, FaultCode::DuplicateName]);
}

/// L239, and the help tool only while a tool is compact.
#[test]
fn the_help_tool_comes_with_a_compact_one() {
    let set = ToolSet::new(&[tool("a").compact(), tool("b")]).unwrap();
    assert_eq!(names(&set), ["a", "b", "tool_help"]);
    assert_eq!(names(&set.compile(&[tool("a")]).unwrap()), ["a"]);
    let error = ToolSet::new(&[tool("a").compact(), tool("tool_help")]).unwrap_err();
    assert_eq!(error.faults[0].code, FaultCode::DuplicateName);
    assert_eq!(
        names(&ToolSet::new(&[tool("tool_help")]).unwrap()),
        ["tool_help"]
    );
}
