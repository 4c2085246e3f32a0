//! I: sessions that were stored under released schemas, opened and gone on with.

use allm::session::CallKey;
use allm::{
    ApprovalRule, Effect, Engine, Fake, HaltReason, Script, SessionReason, SessionStatus, Tool,
    ToolReply,
};
use serde_json::{Value, json};

use crate::owners::tool;
use crate::support::journal::Journal;
use crate::support::stores::sessions;
use crate::support::tables::databases;

fn tools() -> [Tool; 4] {
    let giving = |name: &str, value: Value| {
        tool(name).handler(move |_: Value| {
            let value = value.clone();
            async move { Ok::<_, std::fmt::Error>(value) }
        })
    };
    [
        giving("find_order", json!({"state": "paid"})).effect(Effect::Pure),
        giving("send_letter", json!({"sent": true})),
        tool("ask").handler(|_: Value| async { ToolReply::ask("Really?") }),
        giving("cancel_order", json!({"cancelled": true})).approval(ApprovalRule::Always),
    ]
}

fn engine(fake: Fake) -> Engine {
    let engine = Engine::builder().provider(fake).model("fake:any");
    engine.tools(tools()).build().expect("an engine")
}

/// S119: the entries lead where they say, from the first one and from the snapshot, and the run goes on.
#[tokio::test(flavor = "multi_thread")]
async fn s119_a_session_of_schema_1_is_opened_and_goes_on() {
    for database in databases() {
        let name = database.name();
        let rows = match name {
            "sqlite" => concat!(
                include_str!("../../../allm-store/migrations/sqlite/0001_sessions.sql"),
                include_str!("../../../allm-store/tests/golden/sqlite-1-session.sql"),
            ),
            _ => concat!(
                "CREATE SCHEMA allm; SET search_path TO allm, pg_temp; ",
                include_str!("../../../allm-store/migrations/postgres/0001_sessions.sql"),
                include_str!("../../../allm-store/tests/golden/postgres-1-session.sql"),
            ),
        };
        database.create(rows);
        let store = database.store().await;
        let journal = Journal::read(&store, "order-42").await;
        let mut session = sessions(&store).open("order-42").await.expect("opened");
        assert_eq!(*session, journal.session, "{name}");
        assert_eq!(session.status(), SessionStatus::AwaitingApproval, "{name}");
        assert_eq!(session.tags()["team"], "support");
        let written = [
            "User: Hello",
            "Assistant: Hi there",
            "User: Cancel my order",
            "Assistant: Let me see",
            "Tool: {\"state\":\"paid\"}",
            "Tool: {\"sent\":true}",
            "Tool: <awaiting user response>",
            "Assistant: Really?",
            "User: Yes",
            "Assistant: Well then",
        ];
        assert_eq!(journal.texts(), written, "{name}");

        // It was open until the day after it was written.
        let approval = session.approvals().remove(0);
        assert_eq!(approval.call, CallKey { turn: 3, index: 0 });
        let late = session.approve(&approval).await.unwrap_err();
        assert_eq!(late.reason, SessionReason::ApprovalExpired, "{name}");
        session.expire().await.expect("closed");
        let done = engine(Fake::new().reply(Script::new().text("Done")));
        let result = session.resume(&done).await.expect("it goes on");
        assert_eq!(result.halted_reason, HaltReason::Completed, "{name}");
        let after = Journal::read(&store, "order-42").await;
        let said = after.texts();
        let [told, end] = &said[written.len()..] else {
            panic!("{name}: {said:?}");
        };
        assert!(
            told.starts_with("Tool: ") && told.contains("expired"),
            "{name}: {told}"
        );
        assert_eq!(end, "Assistant: Done", "{name}");
        let before = journal.entries.len();
        assert_eq!(after.entries[..before], journal.entries, "{name}");
    }
}
