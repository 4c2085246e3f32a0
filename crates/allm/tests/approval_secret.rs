//! Approvals that leave the process as signed tokens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use std::sync::Arc;

use allm::session::ApprovalToken;
use allm::{
    ApprovalRule, ApprovalSecret, DurableSession, Engine, Fake, Script, SessionReason,
    SessionStatus, Sessions, SessionsOptions, Tool,
};
use allm_store::MemoryStore;
use serde_json::{Value, json};

fn engine(fake: Fake) -> Engine {
    let pay = Tool::new("pay", "Pays.", json!({"type": "object"}))
        .approval(ApprovalRule::Always)
        .handler(|value: Value| async move { Ok::<_, std::fmt::Error>(value) });
    let engine = Engine::builder().provider(fake).model("fake:any").tool(pay);
    engine.build().unwrap()
}

async fn waiting(sessions: &Sessions, id: &str) -> DurableSession {
    let mut session = sessions.create(id.to_owned()).await.unwrap();
    let pays = Fake::new().reply(Script::new().call("pay", json!({"euros": 5})));
    let _ = session.reply(&engine(pays), "Pay").await.unwrap();
    assert_eq!(session.status(), SessionStatus::AwaitingApproval);
    session
}

fn signing() -> Sessions {
    let mut options = SessionsOptions::default();
    options.approval_secret =
        Some(ApprovalSecret::new(*b"0123456789abcdef0123456789abcdef").unwrap());
    Sessions::with(Arc::new(MemoryStore::new()), options)
}

/// S148: with a secret nothing but a good token decides.
#[tokio::test]
async fn s148_a_decision_needs_a_good_token() {
    let sessions = signing();
    let mut session = waiting(&sessions, "a").await;
    let mut other = waiting(&sessions, "b").await;
    let before = session.version();
    let approval = session.approvals().remove(0);
    let token = session.approval_tokens().unwrap().remove(0);

    let refused = session.approve(&approval).await.unwrap_err();
    assert_eq!(refused.reason, SessionReason::ApprovalMismatch);
    let call = approval.call;
    let refused = session.deny(call, "no").await.unwrap_err();
    assert_eq!(refused.reason, SessionReason::ApprovalMismatch);
    let foreign = other.approval_tokens().unwrap().remove(0);
    let refused = session.approve(&foreign).await.unwrap_err();
    assert_eq!(refused.reason, SessionReason::ApprovalMismatch);
    assert_eq!(session.version(), before, "nothing was recorded");

    session.approve(&token).await.unwrap();
    let done = Fake::new().always("done");
    let _ = session.resume(&engine(done)).await.unwrap();
    assert_eq!(session.status(), SessionStatus::Completed);
    other.deny(&foreign, "no").await.unwrap();
}

/// S148: each field of a token is covered by its signature.
#[tokio::test]
async fn s148_a_changed_field_is_found() {
    let sessions = signing();
    let mut session = waiting(&sessions, "a").await;
    let token = session.approval_tokens().unwrap().remove(0);
    let text = allm::json::to_string(&token).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut changed = 0;
    for (pointer, value) in [
        ("/data/session", json!("b")),
        ("/data/approval/tool", json!("other")),
        ("/data/approval/arguments/euros", json!(5_000)),
        ("/data/approval/call", json!("t1.c7")),
        (
            "/data/approval/requested_at",
            json!("2020-01-01T00:00:00.000Z"),
        ),
        (
            "/data/approval/expires_at",
            json!("2990-01-01T00:00:00.000Z"),
        ),
    ] {
        let mut document = document.clone();
        *document
            .pointer_mut(pointer)
            .unwrap_or_else(|| panic!("{pointer} is not in {text}")) = value;
        // Some changes are found at reading already.
        if let Ok(token) = allm::json::from_str::<ApprovalToken>(&document.to_string()) {
            let refused = session.approve(&token).await.unwrap_err();
            assert_eq!(refused.reason, SessionReason::ApprovalMismatch, "{pointer}");
        }
        changed += 1;
    }
    assert_eq!(changed, 6);
    assert_eq!(session.status(), SessionStatus::AwaitingApproval);
}

#[test]
fn a_short_secret_is_refused_and_none_is_shown() {
    assert!(ApprovalSecret::new(*b"short").is_err());
    let secret = ApprovalSecret::new(*b"0123456789abcdef0123456789abcdef").unwrap();
    assert!(!format!("{secret:?}").contains("0123"));
}
