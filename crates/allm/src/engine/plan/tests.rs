use serde_json::json;

use super::*;
use crate::Fake;

fn tool(name: &str) -> Tool {
    Tool::new(name, "", json!({"type": "object"}))
}

#[test]
fn a_call_without_tools_of_its_own_compiles_nothing() {
    let engine = Engine::builder()
        .provider(Fake::new())
        .model("fake:any")
        .tools([tool("a"), tool("b")])
        .build()
        .unwrap();
    let plan = |call: &Settings| {
        let kind = CallKind::Run(RunKind::Chat);
        Plan::new(&engine, "hi".into(), call, kind).unwrap()
    };
    assert!(plan(&Settings::default()).tool_set.is(&engine.0.tools));
    let mut more = Settings::default();
    more.tools.push(tool("c"));
    let plan = plan(&more);
    assert!(!plan.tool_set.is(&engine.0.tools));
    assert_eq!(plan.tool_set.list().len(), 3);
    // An engine derived without tools keeps what was compiled for each of them.
    let derived = engine.with(|builder| builder.max_turns(1)).unwrap();
    assert_eq!(derived.0.tools.list(), engine.0.tools.list());
}
