//! Section B: how calls and inputs are named, and what is given twice.

use allm::session::{CallRef, Delivery};
use allm::{Fake, Script, SessionReason, SubmittedResult};
use serde_json::json;

use crate::form::{on_every_form, reply};
use crate::operations::{broken, three_manual};
use crate::support::{asking, key, manual, sent, texts};

#[tokio::test(start_paused = true)]
async fn s29_two_calls_with_one_id_are_told_apart() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call_with_id("same", "m", json!({"n": 1}))
            .call_with_id("same", "m", json!({"n": 2}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = talk.engine(&fake, vec![manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        let ids: Vec<_> = talk
            .waits()
            .into_iter()
            .map(|wait| wait.tool_call_id)
            .collect();
        assert_ne!(ids[0], ids[1]);
        talk.submit(&ids[1], "second").await.unwrap();
        talk.submit(key(1, 0), "first").await.unwrap();
        assert_eq!(texts(talk)[2..], ["tool: first", "tool: second"]);
        talk.resume(&engine).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s30_an_id_that_comes_again_names_the_open_call() {
    on_every_form(async |talk| {
        let script = || Script::new().call_with_id("same", "m", json!({}));
        let fake = Fake::new().reply(script()).reply(script()).reply("done");
        let engine = talk.engine(&fake, vec![manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.submit("same", "first").await.unwrap();
        talk.resume(&engine).await.unwrap();
        let id = talk.waits()[0].tool_call_id.clone();
        talk.submit(&id, "second").await.unwrap();
        talk.resume(&engine).await.unwrap();
        let texts = texts(talk);
        assert_eq!((&*texts[2], &*texts[4]), ("tool: first", "tool: second"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s31_the_same_answer_twice() {
    on_every_form(async |talk| {
        let script = Script::new().call("ask", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script);
        let engine = talk.engine(&fake, vec![asking("ask", "Sure?"), manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.answer(key(1, 0), "Yes").await.unwrap();
        talk.submit(key(1, 1), json!({"a": 1})).await.unwrap();
        let version = talk.version();
        talk.answer(key(1, 0), "Yes").await.unwrap();
        talk.submit(key(1, 1), json!({"a": 1})).await.unwrap();
        let other = [
            talk.answer(key(1, 0), "No").await,
            talk.submit(key(1, 1), json!({"a": 2})).await,
            talk.submit_error(key(1, 1), "no").await,
        ];
        for result in other {
            assert_eq!(result.unwrap_err().reason, SessionReason::AlreadyAnswered);
        }
        assert_eq!(talk.version(), version);
        assert_eq!(
            texts(talk)[3..],
            [r#"tool: {"a":1}"#, "assistant: Sure?", "user: Yes"]
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s32_an_input_with_an_id_is_taken_once() {
    on_every_form(async |talk| {
        talk.name("i1")
            .send("Hello", Delivery::NextTurn)
            .await
            .unwrap();
        let version = talk.version();
        talk.name("i1")
            .send("Hello", Delivery::NextTurn)
            .await
            .unwrap();
        let error = talk
            .name("i1")
            .send("Other", Delivery::NextTurn)
            .await
            .unwrap_err();
        assert_eq!(error.reason, SessionReason::InputIdReused);
        assert_eq!((talk.version(), talk.inbox().len()), (version, 1));
        talk.name("i2")
            .send("Hello", Delivery::NextTurn)
            .await
            .unwrap();
        assert_eq!(talk.inbox().len(), 2);
    })
    .await;
}

/// S32: an id names all that is given with it, and nothing that comes after.
#[tokio::test(start_paused = true)]
async fn s32_an_id_names_results_that_are_given_together() {
    on_every_form(async |talk| {
        let (_, _) = three_manual(talk).await;
        let of = |index: u32, text: &str| -> (CallRef, SubmittedResult) {
            (key(1, index).into(), text.into())
        };
        let both = vec![of(0, "a"), of(1, "b")];
        talk.name("i1").submit_all(both.clone()).await.unwrap();
        let version = talk.version();
        talk.name("i1").submit_all(both).await.unwrap();
        assert_eq!(talk.version(), version);
        let error = talk.name("i1").submit(key(1, 2), "c").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::InputIdReused);
        let error = talk.name("i2").submit("nobody", "c").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::UnknownCall);
        talk.submit(key(1, 2), "c").await.unwrap();
        talk.name("i2")
            .send("More", Delivery::NextRun)
            .await
            .unwrap();
        assert_eq!(texts(talk)[2..], ["tool: a", "tool: b", "tool: c"]);
    })
    .await;
}

/// S32: a reply with an id that was taken is not a second message, and goes on.
#[tokio::test(start_paused = true)]
async fn s32_a_reply_with_an_id_is_taken_once() {
    on_every_form(async |talk| {
        let fake = Fake::new().reply(broken()).reply("whole");
        let engine = talk.engine(&fake, vec![]);
        let id = allm::InputId::new("i1").unwrap();
        let again = id.clone();
        talk.name("i1")
            .send("Hi", Delivery::NextTurn)
            .await
            .unwrap();
        talk.drive(&engine, reply("Hi"), move |call| call.input_id(id))
            .await
            .unwrap();
        assert_eq!(sent(&fake, 0), ["user: Hi"]);
        let error = talk
            .drive(&engine, reply("Bye"), move |call| call.input_id(again))
            .await
            .unwrap_err();
        assert_eq!(error.reason, SessionReason::InputIdReused);
    })
    .await;
}
