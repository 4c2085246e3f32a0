//! Section B: what each operation does.

use allm::session::{CallRef, Delivery, Outcome};
use allm::{
    ApprovalRule, Engine, Fake, HaltReason, Part, Script, SessionReason, SessionStatus,
    StreamReason, SubmittedResult,
};
use serde_json::json;

use crate::form::{Op, Talk, on_every_form, reply};
use crate::support::{
    api_key, asking, failing, giving, halting, key, manual, message, outcomes, sent, texts,
};

pub(crate) fn broken() -> Script {
    Script::new()
        .text("half")
        .stream_fail(StreamReason::Interrupted)
}

#[tokio::test(start_paused = true)]
async fn s14_reply_in_idle_completed_and_error() {
    on_every_form(async |talk| {
        let fake = Fake::new().reply("one").reply(broken()).reply("three");
        let engine = talk.engine(&fake, vec![]);
        assert_eq!(talk.status(), SessionStatus::Idle);
        talk.reply(&engine, "1").await.unwrap();
        fake.assert_calls(1);
        assert_eq!(talk.status(), SessionStatus::Completed);
        talk.reply(&engine, "2").await.unwrap();
        fake.assert_calls(2);
        assert_eq!(talk.status(), SessionStatus::Error);
        talk.reply(&engine, "3").await.unwrap();
        fake.assert_calls(3);
        fake.assert_last_user("3");
        assert!(talk.failure().is_none());
    })
    .await;
}

/// S16
#[tokio::test(start_paused = true)]
async fn s16_an_answer_while_something_else_waits_asks_no_model() {
    on_every_form(async |talk| {
        let script = Script::new().call("ask", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script);
        let engine = talk.engine(&fake, vec![asking("ask", "Sure?"), manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        let result = talk.reply(&engine, "Yes").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
        assert!(result.steps.is_empty());
        assert_eq!(result.thread, talk.thread());
        assert_eq!(outcomes(talk), [Some(Outcome::Asked), None]);
        fake.assert_calls(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s17_resume_after_max_turns_has_fresh_turns() {
    on_every_form(async |talk| {
        let call = || Script::new().call("a", json!({}));
        let fake = Fake::new()
            .reply(call())
            .reply(call())
            .reply(call())
            .reply("done");
        let engine = talk.engine(&fake, vec![giving("a", json!(1))]);
        let first = talk
            .drive(&engine, reply("Go"), |call| call.max_turns(2))
            .await
            .unwrap();
        assert_eq!(first.halted_reason, HaltReason::MaxTurns);
        assert_eq!(talk.status(), SessionStatus::Idle);
        let second = talk
            .drive(&engine, Op::Resume, |call| call.max_turns(2))
            .await
            .unwrap();
        assert_eq!(second.halted_reason, HaltReason::Completed);
        assert_eq!(second.steps.len(), 2);
        assert_eq!(sent(&fake, 2).last().unwrap(), "tool: 1");
        assert_eq!(talk.turn(), 4);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s18_a_step_is_one_model_call() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().call("a", json!({})))
            .reply("done");
        let engine = talk.engine(&fake, vec![giving("a", json!(1))]);
        talk.send("Go", Delivery::NextTurn).await.unwrap();
        let first = talk.step(&engine).await.unwrap();
        fake.assert_calls(1);
        assert_eq!(first.steps.len(), 1);
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert_eq!(texts(talk), ["user: Go", "assistant: ", "tool: 1"]);
        let second = talk.step(&engine).await.unwrap();
        fake.assert_calls(2);
        assert_eq!(second.halted_reason, HaltReason::Completed);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s19_retry_sends_what_the_failed_attempt_sent() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().call("a", json!({})))
            .reply(broken())
            .reply("whole");
        let engine = talk.engine(&fake, vec![giving("a", json!(1))]);
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Error);
        talk.retry(&engine).await.unwrap();
        let bytes = |place: usize| allm::json::canonical(&*fake.calls()[place].request).unwrap();
        assert_eq!(bytes(1), bytes(2));
        let end = ["user: Go", "assistant: ", "tool: 1", "assistant: whole"];
        assert_eq!(texts(talk), end);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s20_reply_after_a_failure_keeps_what_was_seen() {
    on_every_form(async |talk| {
        let fake = Fake::new().reply(broken()).reply("whole");
        let engine = talk.engine(&fake, vec![]);
        talk.reply(&engine, "Hi").await.unwrap();
        talk.reply(&engine, "And?").await.unwrap();
        assert_eq!(
            sent(&fake, 1),
            ["user: Hi", "assistant: half", "user: And?"]
        );
        assert_eq!(message(talk, 1).metadata["partial"], json!(true));
    })
    .await;
}

/// S21
#[tokio::test(start_paused = true)]
async fn s21_a_message_that_cannot_be_sent_is_kept() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .with_key_use(allm::KeyUse::Required)
            .reply("Hello");
        let engine = talk.engine(&fake, vec![]);
        let error = talk.reply(&engine, "Hi").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::Engine);
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(texts(talk), ["user: Hi"]);
        fake.assert_calls(0);
        talk.drive(&engine, Op::Retry, |call| call.api_key(api_key()))
            .await
            .unwrap();
        assert_eq!(texts(talk), ["user: Hi", "assistant: Hello"]);
    })
    .await;
}

pub(crate) async fn three_manual(talk: &mut Talk) -> (Fake, Engine) {
    let script = Script::new()
        .call("m", json!({}))
        .call("m", json!({}))
        .call("m", json!({}));
    let fake = Fake::new().reply(script).reply("done");
    let engine = talk.engine(&fake, vec![manual("m")]);
    talk.reply(&engine, "Go").await.unwrap();
    (fake, engine)
}

#[tokio::test(start_paused = true)]
async fn s22_a_result_is_put_in_as_it_is_or_as_compact_json() {
    on_every_form(async |talk| {
        let (_, engine) = three_manual(talk).await;
        let image = || Part::image(allm::Image::from_url("https://example.com/a.png"));
        let parts = vec![Part::text("{ \"as\": \"it is\" }"), image()];
        talk.submit(key(1, 0), "  { a text }\n").await.unwrap();
        talk.submit(key(1, 1), allm::Content::from(parts.clone()))
            .await
            .unwrap();
        talk.submit(key(1, 2), json!({"a": [1, null, "x y"]}))
            .await
            .unwrap();
        let content = |place: usize| message(talk, place).content.clone();
        assert_eq!(content(2), [Part::text("  { a text }\n")]);
        assert_eq!(content(3), parts);
        assert_eq!(content(4), [Part::text(r#"{"a":[1,null,"x y"]}"#)]);
        talk.resume(&engine).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s22_an_error_is_a_failed_outcome() {
    on_every_form(async |talk| {
        let (fake, engine) = three_manual(talk).await;
        for index in 0..3 {
            talk.submit_error(key(1, index), "no luck").await.unwrap();
        }
        assert_eq!(outcomes(talk), [Some(Outcome::Failed); 3]);
        talk.resume(&engine).await.unwrap();
        let last = sent(&fake, 1).pop().unwrap();
        assert!(last.contains("no luck"), "{last}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s23_several_results_are_all_or_none() {
    on_every_form(async |talk| {
        let nothing = Vec::new();
        talk.submit_all(nothing.clone()).await.unwrap();
        let (_, _) = three_manual(talk).await;
        let version = talk.version();
        let of = |index: u32, text: &str| -> (CallRef, SubmittedResult) {
            (key(1, index).into(), text.into())
        };
        let bad = vec![of(0, "a"), of(7, "x"), of(1, "b")];
        let error = talk.submit_all(bad).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::UnknownCall);
        talk.submit_all(nothing).await.unwrap();
        assert_eq!((talk.version(), talk.waits().len()), (version, 3));
        talk.submit_all(vec![of(0, "a"), of(1, "b"), of(2, "c")])
            .await
            .unwrap();
        let all = texts(talk);
        assert_eq!(all[2..], ["tool: a", "tool: b", "tool: c"]);
    })
    .await;
    on_every_form(async |talk| {
        let (_, _) = three_manual(talk).await;
        let twice = vec![
            (CallRef::from(key(1, 0)), SubmittedResult::from("a")),
            (CallRef::from(key(1, 0)), SubmittedResult::from("b")),
        ];
        // The sequence would be refused at its second.
        let error = talk.submit_all(twice).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::AlreadyAnswered);
        assert_eq!(talk.waits().len(), 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s24_the_last_result_starts_nothing() {
    on_every_form(async |talk| {
        let (fake, engine) = three_manual(talk).await;
        for index in 0..3 {
            assert!(!talk.is_runnable());
            talk.submit(key(1, index), "x").await.unwrap();
        }
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert!(talk.is_runnable());
        fake.assert_calls(1);
        talk.resume(&engine).await.unwrap();
        fake.assert_calls(2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s25_a_manual_call_beside_a_custom_halt() {
    on_every_form(async |talk| {
        let script = Script::new().call("m", json!({})).call("halts", json!({}));
        let fake = Fake::new().reply(script);
        let engine = talk.engine(&fake, vec![manual("m"), halting("halts", "closed")]);
        let result = talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(result.halted_reason.as_str(), "closed");
        assert_eq!(talk.status(), SessionStatus::AwaitingTools);
        talk.submit(key(1, 0), "x").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
        assert_eq!(talk.last_halt().unwrap().as_str(), "closed");
        assert!(!talk.is_runnable());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s26_a_manual_call_beside_a_tool_error() {
    on_every_form(async |talk| {
        let script = Script::new().call("m", json!({})).call("fails", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = talk.engine(&fake, vec![manual("m"), failing("fails")]);
        let result = talk
            .drive(&engine, reply("Go"), |call| {
                call.on_tool_error(allm::OnToolError::Halt)
            })
            .await
            .unwrap();
        assert_eq!(result.halted_reason, HaltReason::ToolError);
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(talk.waits()[0].call, key(1, 0));
        for op in [Op::Retry, reply("Hm")] {
            let error = talk.drive(&engine, op, |call| call).await.unwrap_err();
            assert_eq!(error.reason, SessionReason::InvalidState);
            assert_eq!(error.waits, [key(1, 0)]);
        }
        talk.submit(key(1, 0), "x").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Error);
        talk.retry(&engine).await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
        assert_eq!(sent(&fake, 1)[2], "tool: x");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s27_a_call_that_is_not_there_or_has_run() {
    on_every_form(async |talk| {
        let script = Script::new().call("a", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script);
        let engine = talk.engine(&fake, vec![giving("a", json!(1)), manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        for unknown in [CallRef::from("nobody"), key(1, 2).into(), key(2, 1).into()] {
            let error = talk.submit(unknown, "x").await.unwrap_err();
            assert_eq!(error.reason, SessionReason::UnknownCall);
        }
        let error = talk.submit(key(1, 0), "x").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::NotWaiting);
        assert_eq!(error.outcome, Some(Outcome::Ok));
        let error = talk.answer("call_1", "x").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::NotWaiting);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s28_an_answer_of_the_wrong_kind() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("ask", json!({}))
            .call("gated", json!({}))
            .call("m", json!({}));
        let fake = Fake::new().reply(script);
        let gated = giving("gated", json!(1)).approval(ApprovalRule::Always);
        let engine = talk.engine(&fake, vec![asking("ask", "Sure?"), gated, manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        let version = talk.version();
        let wrong = [
            talk.approve(key(1, 0)).await,
            talk.approve(key(1, 2)).await,
            talk.deny(key(1, 0), "no").await,
            talk.answer(key(1, 1), "x").await,
            talk.answer(key(1, 2), "x").await,
            talk.submit(key(1, 0), "x").await,
            talk.submit(key(1, 1), "x").await,
            talk.rerun(key(1, 0)).await,
        ];
        for result in wrong {
            assert_eq!(result.unwrap_err().reason, SessionReason::WrongWait);
        }
        assert_eq!((talk.version(), talk.waits().len()), (version, 3));
    })
    .await;
}
