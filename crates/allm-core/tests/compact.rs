//! Which tools are sent and run when some are compact (loop.md, L234, L238, L239).

use allm_core::compact::{check, executed, is_tool_help, project, tool_help};
use allm_core::{Fault, FaultCode, Map, Tool, ToolChoice, ToolSpec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn tool(name: &str) -> Tool {
    Tool::new(
        name,
        format!("Does {name}. And more."),
        json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}),
    )
}

fn stub(name: &str) -> ToolSpec {
    let description = format!("Does {name}. Args: id [compact]");
    ToolSpec::function(name, description, json!({"type": "object"}))
}

fn mixed() -> [Tool; 3] {
    [tool("x").compact(), tool("full"), tool("y").compact()]
}

fn sent(tools: &[Tool]) -> Vec<ToolSpec> {
    project(tools, None, &Map::new())
}

fn extra(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[test]
fn l234_without_compact_tools_the_list_is_sent_as_it_is() {
    let tools = [tool("a"), tool("b").manual()];
    assert_eq!(sent(&tools), [tools[0].spec(), tools[1].spec()]);
    assert_eq!(executed(&tools), tools);
    assert_eq!(sent(&[]), []);
}

#[test]
fn l234_compact_tools_are_sent_as_stubs_with_the_help_tool() {
    let tools = mixed();
    assert_eq!(
        sent(&tools),
        [stub("x"), tools[1].spec(), stub("y"), tool_help().spec()]
    );
}

#[test]
fn l234_the_executed_list_holds_the_full_tools() {
    let [x, full, y] = mixed();
    let run = executed(&[x.clone(), full.clone(), y.clone()]);
    assert_eq!(run, [x, full, y, tool_help()]);
    // Once is enough, for both lists.
    assert_eq!(executed(&run), run);
    assert_eq!(sent(&run), sent(&mixed()));
}

#[test]
fn l234_the_help_tool_is_plain_data() {
    assert_eq!(
        serde_json::to_value(tool_help()).unwrap(),
        json!({
            "name": "tool_help",
            "description": "Explains the tools whose description ends with [compact]: gives the full description \
                            and the JSON schema of the arguments of each tool that is named. Call it before such a \
                            tool unless the short form says enough.",
            "schema": {
                "type": "object",
                "properties": {"names": {"type": "array", "items": {"type": "string"}}},
                "required": ["names"],
            },
            "effect": "pure",
            "metadata": {"allm_builtin": "tool_help"},
        })
    );
}

#[test]
fn l238_each_forcing_form_sends_that_tool_in_full() {
    let tools = mixed();
    let full = [
        tools[0].spec(),
        tools[1].spec(),
        stub("y"),
        tool_help().spec(),
    ];
    let typed = [
        ToolChoice::Tool("x".into()),
        ToolChoice::AnyOf(vec!["x".into()]),
    ];
    for choice in typed {
        assert_eq!(
            project(&tools, Some(&choice), &Map::new()),
            full,
            "{choice:?}"
        );
    }
    let config = json!({"mode": "ANY", "allowedFunctionNames": ["x"]});
    let snake = json!({"mode": "ANY", "allowed_function_names": ["x"]});
    let extras = [
        json!({"tool_choice": {"type": "tool", "name": "x"}}),
        json!({"tool_choice": {"type": "function", "function": {"name": "x"}}}),
        json!({"tool_choice": {"type": "function", "name": "x"}}),
        json!({"tool_choice": config}),
        json!({"tool_choice": snake}),
        json!({"toolConfig": {"functionCallingConfig": config}}),
        json!({"tool_config": {"function_calling_config": snake}}),
    ];
    for value in extras {
        let choice = ToolChoice::Tool("y".into());
        // It is merged into the body last, so it wins over the typed choice.
        for typed in [None, Some(&choice)] {
            assert_eq!(
                project(&tools, typed, &extra(value.clone())),
                full,
                "{value}"
            );
        }
    }
}

#[test]
fn l238_other_choices_leave_the_stubs() {
    let tools = mixed();
    let typed = [
        ToolChoice::Auto,
        ToolChoice::None,
        ToolChoice::Required,
        ToolChoice::Tool("unknown".into()),
        ToolChoice::AnyOf(vec![]),
        ToolChoice::AnyOf(vec!["x".into(), "y".into()]),
    ];
    for choice in typed {
        assert_eq!(
            project(&tools, Some(&choice), &Map::new()),
            sent(&tools),
            "{choice:?}"
        );
    }
    let extras = [
        json!({"tool_choice": "x"}),
        json!({"tool_choice": {"type": "any", "name": "x"}}),
        json!({"tool_choice": {"type": "function", "function": "x"}}),
        json!({"tool_choice": {"mode": "AUTO", "allowedFunctionNames": ["x"]}}),
        json!({"tool_choice": {"mode": "ANY", "allowedFunctionNames": ["x", "y"]}}),
        json!({"tool_choice": {"mode": "ANY", "allowedFunctionNames": ["x", 1]}}),
        json!({"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["x"]}}),
        json!({"other": {"type": "tool", "name": "x"}}),
    ];
    for value in extras {
        assert_eq!(
            project(&tools, None, &extra(value.clone())),
            sent(&tools),
            "{value}"
        );
    }
}

#[test]
fn l239_a_tool_help_beside_a_compact_tool_is_a_duplicate() {
    let fault = check(&[tool("x").compact(), tool("tool_help")]);
    let detail = "tool_help is the library's when a tool is compact";
    assert_eq!(
        fault,
        Some(Fault::new("tools", FaultCode::DuplicateName).detail(detail))
    );
    assert!(check(&[tool("tool_help").compact()]).is_some());
}

#[test]
fn l239_alone_it_is_an_ordinary_tool() {
    let tools = [tool("tool_help"), tool("x")];
    assert!(!is_tool_help(&tools[0]));
    assert_eq!(check(&tools), None);
    assert_eq!(executed(&tools), tools);
    assert_eq!(sent(&tools), tools.each_ref().map(Tool::spec));
}

#[test]
fn l239_the_librarys_own_is_known_by_its_marker_also_after_json() {
    let text = serde_json::to_string(&executed(&mixed())).unwrap();
    let tools: Vec<Tool> = serde_json::from_str(&text).unwrap();
    assert_eq!(
        tools.iter().map(is_tool_help).collect::<Vec<_>>(),
        [false, false, false, true]
    );
    assert_eq!(check(&tools), None);
}

proptest! {
    #[test]
    fn l238_the_projection_is_deterministic_and_keeps_names_and_order(
        given in prop::collection::vec(("[a-z_]{1,6}", "\\PC{0,30}", any::<bool>(), any::<bool>()), 0..6),
        forced in prop::option::of("[a-z_]{1,2}"),
    ) {
        let tools: Vec<Tool> = given
            .iter()
            .map(|(name, description, compact, args)| {
                let schema = if *args { json!({"properties": {"b": {}, "a": {}}}) } else { json!({}) };
                let tool = Tool::new(name.as_str(), description.as_str(), schema);
                if *compact { tool.compact() } else { tool }
            })
            .collect();
        let choice = forced.map(|name| ToolChoice::Tool(name.into()));
        let list = project(&tools, choice.as_ref(), &Map::new());
        let copy: Vec<Tool> =
            serde_json::from_str(&serde_json::to_string(&tools).unwrap()).unwrap();
        prop_assert_eq!(
            serde_json::to_string(&list).unwrap(),
            serde_json::to_string(&project(&copy, choice.as_ref(), &Map::new())).unwrap()
        );
        let names: Vec<_> = list.iter().filter_map(ToolSpec::name).cloned().collect();
        let run: Vec<_> = executed(&tools).into_iter().map(|tool| tool.name).collect();
        prop_assert_eq!(&names, &run);
        prop_assert!(names.iter().zip(&tools).all(|(name, tool)| *name == tool.name));
        let help = usize::from(tools.iter().any(|tool| tool.compact));
        prop_assert_eq!(names.len(), tools.len() + help);
    }
}
