//! Sections E and F: what is written, and what reading it again gives.

use std::sync::Arc;
use std::time::Duration;

use allm::session::{Delivery, EntryBody};
use allm::{
    AppendId, ApprovalRule, BoxFuture, DeleteIf, Effect, Entry, Event, Fake, Fence, Head,
    HeadUpdate, Lease, LoadFrom, Loaded, NewSession, Page, PageRequest, Position, Script,
    SessionFilter, SessionId, SessionStatus, SessionStore, Sessions, SessionsOptions, Snapshot,
    StoreError, StreamReason, Takeover, Timestamp, Version, WriterId,
};
use serde_json::{Value, json};

use crate::form::{Talk, blank, on_durable, on_every_form, reply};
use crate::support::{World, asking, giving, key, manual, message, texts};

/// S53, S56: what only its provider can read comes back byte for byte, and the next request has it.
#[tokio::test(start_paused = true)]
async fn s56_opaque_parts_and_raw_arguments_come_back_byte_for_byte() {
    on_every_form(async |talk| {
        let opaque = r#"{ "signature":"a\u00e9b",  "n": 1.0, "n2": 18446744073709551615 }"#;
        let raw = "{ \"b\" : 1.0,\n \"a\":0.1e1 }";
        let script = Script::new()
            .reasoning_opaque("Hm.", opaque)
            .call_raw("a", raw);
        let fake = Fake::new().reply(script).reply("done");
        let engine = talk.engine(&fake, vec![manual("a")]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.submit(key(1, 0), "x").await.unwrap();
        talk.resume(&engine).await.unwrap();
        let message = message(talk, 1);
        assert_eq!(message.tool_calls[0].raw_arguments, raw);
        let calls = fake.calls();
        let sent = calls[1].request.messages.get(1).unwrap();
        assert_eq!(sent.content, message.content);
        let text = serde_json::to_string(&*message).unwrap();
        let exact = serde_json::to_string(opaque).unwrap();
        assert!(text.contains(&exact), "{text}");
    })
    .await;
}

/// S66: the scenario, as it stands in the journal. Ids, keys, hashes and times are left out.
#[tokio::test(start_paused = true)]
async fn s66_a_whole_scenario_entry_by_entry() {
    on_durable(async |talk| {
        let calling = Script::new()
            .text("Let me look.")
            .call("look", json!({"x": 1}))
            .call("act", json!({}))
            .call("ask", json!({}))
            .call("gated", json!({"y": 2}))
            .call("m", json!({}));
        let broken = Script::new()
            .text("half")
            .stream_fail(StreamReason::Interrupted);
        let fake = Fake::new()
            .reply("Hello.")
            .reply(calling)
            .reply(broken)
            .reply("whole")
            .reply(Script::new().call("m", json!({})));
        let tools = vec![
            giving("look", json!("seen")).effect(Effect::Pure),
            giving("act", json!({"done": true})),
            asking("ask", "Sure?"),
            giving("gated", json!(2)).approval(ApprovalRule::Always),
            manual("m"),
        ];
        talk.watch(&fake);
        let engine = allm::Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .tools(tools)
            .max_concurrency(1)
            .build()
            .unwrap();
        talk.reply(&engine, "Hi").await.unwrap();
        talk.reply(&engine, "Go").await.unwrap();
        talk.reply(&engine, "Yes").await.unwrap();
        talk.approve(key(2, 3)).await.unwrap();
        talk.resume(&engine).await.unwrap();
        talk.submit(key(2, 4), json!({"ok": true})).await.unwrap();
        talk.resume(&engine).await.unwrap();
        talk.retry(&engine).await.unwrap();
        talk.send("later", Delivery::NextRun).await.unwrap();
        talk.resume(&engine).await.unwrap();
        talk.cancel().await.unwrap();
        let entries = talk.entries().await.into_iter().map(|body| {
            let mut body = serde_json::to_value(body).unwrap();
            blank(&mut body);
            body
        });
        let found: Vec<Value> = entries.collect();
        let expected = include_str!("expected/s66.jsonl").lines();
        let expected: Vec<Value> = expected.map(|l| serde_json::from_str(l).unwrap()).collect();
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(
                found == expected,
                "{}:\n{found}\nexpected:\n{expected}",
                place + 1
            );
        }
        let rest: Vec<_> = found
            .iter()
            .skip(expected.len())
            .map(Value::to_string)
            .collect();
        assert!(rest.is_empty(), "more than expected:\n{}", rest.join("\n"));
        assert_eq!(found.len(), expected.len());
    })
    .await;
}

/// A store that can be read and nothing else.
struct ReadOnly(Arc<dyn SessionStore>);

impl SessionStore for ReadOnly {
    fn create<'a>(&'a self, _: &'a NewSession) -> BoxFuture<'a, Result<Head, StoreError>> {
        panic!("create")
    }

    fn load<'a>(
        &'a self,
        id: &'a SessionId,
        from: LoadFrom,
    ) -> BoxFuture<'a, Result<Loaded, StoreError>> {
        self.0.load(id, from)
    }

    fn append<'a>(
        &'a self,
        _: &'a Position,
        _: Option<Fence>,
        _: AppendId,
        _: &'a [Entry],
        _: &'a HeadUpdate,
    ) -> BoxFuture<'a, Result<Version, StoreError>> {
        panic!("append")
    }

    fn list<'a>(
        &'a self,
        _: &'a SessionFilter,
        _: PageRequest,
    ) -> BoxFuture<'a, Result<Page<Head>, StoreError>> {
        panic!("list")
    }

    fn delete<'a>(
        &'a self,
        _: &'a SessionId,
        _: DeleteIf,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("delete")
    }

    fn acquire<'a>(
        &'a self,
        _: &'a SessionId,
        _: &'a WriterId,
        _: Duration,
        _: Takeover,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        panic!("acquire")
    }

    fn renew<'a>(&'a self, _: &'a Lease) -> BoxFuture<'a, Result<Lease, StoreError>> {
        panic!("renew")
    }

    fn release(&self, _: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        panic!("release")
    }

    fn put_snapshot<'a>(
        &'a self,
        _: &'a Position,
        _: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("put_snapshot")
    }

    fn trim<'a>(&'a self, _: &'a Position, _: Version) -> BoxFuture<'a, Result<(), StoreError>> {
        panic!("trim")
    }

    fn now(&self) -> BoxFuture<'_, Result<Timestamp, StoreError>> {
        panic!("now")
    }
}

/// S68, S76: who opens a session has no engine to call, and a store that panics when it is written to or asked the time.
async fn opens_quietly(talk: &Talk, status: SessionStatus) {
    assert_eq!(talk.status(), status);
    let store = Arc::new(ReadOnly(talk.store.clone()));
    let sessions = Sessions::with(store, SessionsOptions::default());
    let opened = sessions.open(talk.id().as_str()).await.unwrap();
    assert_eq!(*opened, **talk);
}

#[tokio::test(start_paused = true)]
async fn s68_s76_opening_in_every_status_does_nothing() {
    on_durable(async |talk| {
        let broken = Script::new()
            .text("half")
            .stream_fail(StreamReason::Interrupted);
        let calling = Script::new()
            .call("ask", json!({}))
            .call("gated", json!({}))
            .call("m", json!({}))
            .call("act", json!({}));
        let fake = Fake::new()
            .reply("done")
            .reply(calling)
            .reply(broken)
            .reply(Script::new().text("half").hang());
        let world = World::default();
        let engine = talk.engine(
            &fake,
            vec![
                asking("ask", "?"),
                giving("gated", json!(1)).approval(ApprovalRule::Always),
                manual("m"),
                world.tool("act"),
            ],
        );
        opens_quietly(talk, SessionStatus::Idle).await;
        talk.reply(&engine, "1").await.unwrap();
        opens_quietly(talk, SessionStatus::Completed).await;
        talk.reply(&engine, "2").await.unwrap();
        opens_quietly(talk, SessionStatus::AwaitingUser).await;
        talk.answer(key(2, 0), "x").await.unwrap();
        opens_quietly(talk, SessionStatus::AwaitingApproval).await;
        talk.approve(key(2, 1)).await.unwrap();
        opens_quietly(talk, SessionStatus::AwaitingTools).await;
        talk.submit(key(2, 2), "x").await.unwrap();
        opens_quietly(talk, SessionStatus::Idle).await;
        talk.resume(&engine).await.unwrap();
        opens_quietly(talk, SessionStatus::Error).await;
        let is_text = |event: &Event| matches!(event, Event::TextDelta(_));
        talk.crash(&engine, reply("3"), |events| events.iter().any(is_text))
            .await;
        opens_quietly(talk, SessionStatus::InProgress).await;
        fake.assert_calls(4);
        assert_eq!(world.count("act"), 1);
    })
    .await;
}

/// S69: every test with a stored session compares the live one with its journal; here a snapshot is in the middle.
#[tokio::test(start_paused = true)]
async fn s69_a_snapshot_and_the_rest_are_the_whole() {
    for every in 1..6 {
        let talk_id = "s";
        let store: Arc<dyn SessionStore> = Arc::new(allm_store::MemoryStore::new());
        let mut options = SessionsOptions::default();
        options.snapshot_every = every;
        let sessions = Sessions::with(Arc::clone(&store), options);
        let script = Script::new().call("a", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = crate::support::engine(&fake, vec![giving("a", json!(1)), manual("m")]);
        let mut session = sessions.create(talk_id).await.unwrap();
        session.reply(&engine, "Go").await.unwrap();
        session.submit_tool_result(key(1, 1), "x").await.unwrap();
        session.send("more", Delivery::NextRun).await.unwrap();
        let id = SessionId::new(talk_id).unwrap();
        let loaded = store.load(&id, LoadFrom::Snapshot).await.unwrap();
        assert!(loaded.snapshot.is_some() && !loaded.entries.is_empty());
        let whole = store.load(&id, LoadFrom::After(Version(0))).await.unwrap();
        let (from_snapshot, _) = allm::session::Session::from_journal(&loaded).unwrap();
        let (from_start, _) = allm::session::Session::from_journal(&whole).unwrap();
        assert_eq!(from_snapshot, from_start);
        assert_eq!(from_start, *session);
        session.resume(&engine).await.unwrap();
        assert_eq!(texts(&session).last().unwrap(), "assistant: done");
        let opened = sessions.open(talk_id).await.unwrap();
        assert_eq!(*opened, *session);
    }
}

/// Nothing is asked of a model before what it is to answer is in the journal.
#[tokio::test(start_paused = true)]
async fn s66_the_message_is_written_before_it_is_sent() {
    on_durable(async |talk| {
        let store = talk.store.clone();
        let moments = crate::moments::Moments::at(1, move || {
            let store = store.clone();
            async move {
                let there = Sessions::with(store, SessionsOptions::default());
                let session = there.open("order-42").await.unwrap();
                assert_eq!(session.status(), SessionStatus::InProgress);
                assert_eq!(texts(&session), ["user: Go"]);
            }
        });
        let fake = Fake::new().reply("done");
        let engine = allm::Engine::builder()
            .provider(moments.model(&fake))
            .model("fake:any")
            .build()
            .unwrap();
        talk.reply(&engine, "Go").await.unwrap();
        assert!(moments.passed() > 0);
        let entries = talk.entries().await;
        assert!(matches!(entries[1], EntryBody::UserMessage(_)));
    })
    .await;
}
