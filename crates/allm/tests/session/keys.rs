//! Section H: the keys by which a far side recognises a repetition, as handlers see them.

use allm::{ApprovalRule, DeleteIf, Fake, Script};
use serde_json::json;

use crate::form::{on_durable, on_every_form};
use crate::support::{World, engine, key, map};

#[tokio::test(start_paused = true)]
async fn s104_two_equal_calls_have_different_keys() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("act", json!({"x": 1}))
            .call("act", json!({"x": 1}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![world.tool("act")]);
        talk.reply(&engine, "Go").await.unwrap();
        let keys = world.keys("act");
        assert_eq!(keys.len(), 2);
        assert_ne!(keys[0], keys[1]);
        let uid = talk.uid().unwrap();
        let arguments = map(json!({"x": 1}));
        let expected = |index| allm::idempotency_key(uid.as_bytes(), 1, index, "act", &arguments);
        let mut keys = keys;
        keys.sort();
        let mut both = [expected(0), expected(1)];
        both.sort();
        assert_eq!(keys, both);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s105_a_session_made_again_has_other_keys() {
    on_durable(async |talk| {
        let sessions = talk.sessions();
        let mut keys = Vec::new();
        for _ in 0..2 {
            let script = Script::new().call("act", json!({}));
            let fake = Fake::new().reply(script).reply("done");
            let world = World::default();
            let engine = engine(&fake, vec![world.tool("act")]);
            let mut session = sessions.create("again").await.unwrap();
            session.reply(&engine, "Go").await.unwrap();
            sessions.delete(session.id(), DeleteIf::Any).await.unwrap();
            keys.extend(world.keys("act"));
        }
        assert_eq!(keys.len(), 2);
        assert_ne!(keys[0], keys[1]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s106_edited_arguments_have_their_own_key() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().call("act", json!({"x": 1})))
            .reply("done");
        let world = World::default();
        let gated = world.tool("act").approval(ApprovalRule::Always);
        let engine = talk.engine(&fake, vec![gated]);
        talk.reply(&engine, "Go").await.unwrap();
        let edited = map(json!({"x": 2}));
        talk.approve_with(&engine, key(1, 0), edited.clone())
            .await
            .unwrap();
        talk.resume(&engine).await.unwrap();
        let uid = talk.uid().unwrap();
        let of = |arguments| allm::idempotency_key(uid.as_bytes(), 1, 0, "act", arguments);
        assert_eq!(world.keys("act"), [of(&edited)]);
        assert_eq!(world.entered()[0].arguments, edited);
    })
    .await;
}
