//! Inputs that are given again, because whoever gave them was not answered.

use std::sync::Arc;

use allm::{Fake, InputId, Script, SessionReason, Sessions, SessionsOptions, Tool};
use allm_store::MemoryStore;
use serde_json::json;

use crate::support::engine;

#[tokio::test]
async fn s32_a_reply_that_is_given_again_is_not_a_second_one() {
    let sessions = Sessions::with(Arc::new(MemoryStore::new()), SessionsOptions::default());
    let fake = Fake::new().reply("Hello");
    let engine = engine(&fake, vec![]);
    let mut session = sessions.create("s").await.unwrap();
    let id = || InputId::new("one").unwrap();
    drop(session.reply(&engine, "Hi").input_id(id()).await.unwrap());
    let error = session.reply(&engine, "Hi").input_id(id()).await;
    assert_eq!(error.unwrap_err().reason, SessionReason::NothingToResume);
    assert_eq!(session.thread().len(), 2);
    let error = session.reply(&engine, "Ho").input_id(id()).await;
    assert_eq!(error.unwrap_err().reason, SessionReason::InputIdReused);
    fake.assert_calls(1);
}

#[tokio::test]
async fn s32_results_that_are_given_again_together() {
    let sessions = Sessions::with(Arc::new(MemoryStore::new()), SessionsOptions::default());
    let tool = || Tool::new("manual", "A tool.", json!({"type": "object"})).manual();
    let script = Script::new()
        .call_with_id("a", "manual", json!({}))
        .call_with_id("b", "manual", json!({}));
    let engine = engine(&Fake::new().reply(script), vec![tool()]);
    let mut session = sessions.create("s").await.unwrap();
    drop(session.reply(&engine, "Go").await.unwrap());
    let calls: Vec<_> = session.waits().into_iter().map(|wait| wait.call).collect();
    let mut version = None;
    for _ in 0..2 {
        session.name_input(InputId::new("both").unwrap());
        let results = calls.iter().map(|call| (*call, "done"));
        session.submit_tool_results(results).await.unwrap();
        assert_eq!(*version.get_or_insert(session.version()), session.version());
    }
}
