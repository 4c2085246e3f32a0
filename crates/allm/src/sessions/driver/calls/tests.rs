use std::sync::Arc;

use allm_core::session::{CallState, EntryBody, EntryFacts, RunFailed, Session as Data, TurnCall};
use allm_core::{ApprovalRule, HaltReason, SessionStatus, Tool, ToolCall};
use serde_json::json;

use super::is_as_approved;
use crate::{Engine, Fake, Script, Session};

fn engine(fake: &Fake) -> Engine {
    let tool = Tool::new("act", "Acts.", json!({"type": "object"}))
        .approval(ApprovalRule::Always)
        .handler(|_: serde_json::Value| async { Ok::<_, std::fmt::Error>(1) });
    let builder = Engine::builder().provider(fake.clone()).model("fake:any");
    builder.tool(tool).build().unwrap()
}

async fn approved() -> (Session, Engine) {
    let script = Script::new().call("act", json!({"x": 1}));
    let engine = engine(&Fake::new().reply(script).always(Script::new().hang()));
    let mut session = Session::new("s").unwrap();
    let result = session.reply(&engine, "Go").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    let approval = session.approvals().remove(0);
    session.approve(&approval).unwrap();
    (session, engine)
}

/// S146: a call whose arguments were altered after the approval is not what was approved.
#[tokio::test(start_paused = true)]
async fn s146_altered_arguments_are_not_as_approved() {
    let (session, _) = approved().await;
    let call: TurnCall = session.open_turn().unwrap().calls().next().unwrap().clone();
    let CallState::Ready {
        approval: Some(approval),
    } = &call.state
    else {
        panic!("{call:?}")
    };
    assert!(is_as_approved(&call, approval));
    let mut altered = call.clone();
    altered.call = Arc::new(ToolCall::new("call_1", "act", r#"{"x":2}"#));
    assert!(!is_as_approved(&altered, approval));
}

/// S146: what the driver then writes ends the run and runs nothing.
#[tokio::test(start_paused = true)]
async fn s146_a_mismatch_is_an_error_of_the_session() {
    let (mut session, engine) = approved().await;
    let mut stream = session.resume(&engine).stream();
    while let Some(event) = stream.next().await {
        if matches!(event, crate::Event::ToolExecutionStarted(_)) {
            break;
        }
    }
    drop(stream);
    let mut data: Data = session.into();
    let failed = RunFailed {
        kind: "approval_mismatch".to_owned(),
        message: "not as approved".to_owned(),
    };
    let at = EntryFacts::at(data.updated_at().unwrap());
    data.apply(&EntryBody::RunFailed(failed), &at).unwrap();
    assert_eq!(data.status(), SessionStatus::Error);
    assert_eq!(data.failure().unwrap().kind, "approval_mismatch");
    assert!(data.run().is_none());
}
