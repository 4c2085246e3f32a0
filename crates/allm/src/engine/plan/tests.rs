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

#[cfg(feature = "openai")]
#[test]
fn a_providers_limits_stand_between_the_engines_and_the_calls() {
    use std::time::Duration;

    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let own = Timeouts {
        idle: seconds(2),
        stall: None,
        ..Timeouts::default()
    };
    let provider = crate::OpenAi::new().timeouts(own);
    let engine = Engine::builder().provider(provider).model("openai:any");
    let engine = engine.idle_timeout(Duration::from_secs(1)).build().unwrap();
    let limits = |call: &Settings| {
        let kind = CallKind::Run(RunKind::Chat);
        Plan::new(&engine, "hi".into(), call, kind)
            .unwrap()
            .timeouts
    };
    assert_eq!(limits(&Settings::default()), own);
    let mut call = Settings::default();
    call.set_timeouts(Timeouts {
        idle: seconds(3),
        ..own
    });
    assert_eq!(limits(&call).idle, seconds(3));

    let zero = Timeouts {
        idle: Some(Duration::ZERO),
        ..own
    };
    let provider = crate::OpenAi::new().timeouts(zero);
    let error = Engine::builder().provider(provider).build().unwrap_err();
    assert_eq!(error.reason, EngineReason::InvalidConfig);
}
