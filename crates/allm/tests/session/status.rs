//! Section A: data and status, as operations make them.

use allm::session::{Outcome, WaitKind};
use allm::{
    ApprovalRule, Fake, HaltReason, Request, Script, SessionStatus, StreamReason, ToolReply,
    validate,
};
use serde_json::{Value, json};

use crate::form::{Op, Talk, on_every_form, reply};
use crate::support::{asking, giving, halting, key, manual, outcomes, texts, tool};

fn kinds(talk: &Talk) -> Vec<(u32, WaitKind)> {
    let waits = talk.waits().into_iter();
    waits.map(|w| (w.call.index, w.wait.kind())).collect()
}

/// S4
#[tokio::test(start_paused = true)]
async fn s4_a_question_an_approval_and_a_manual_call_are_three_waits() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("ask", json!({}))
            .call("gated", json!({}))
            .call("manual", json!({}));
        let fake = Fake::new().reply(script);
        let gated = giving("gated", json!(1)).approval(ApprovalRule::Always);
        let tools = vec![asking("ask", "Sure?"), gated, manual("manual")];
        let engine = talk.engine(&fake, tools);
        talk.reply(&engine, "Go").await.unwrap();
        let (question, approval, result) =
            (WaitKind::Question, WaitKind::Approval, WaitKind::Result);
        assert_eq!(kinds(talk), [(0, question), (1, approval), (2, result)]);
        assert_eq!(talk.status(), SessionStatus::AwaitingUser);
        talk.answer(key(1, 0), "Yes").await.unwrap();
        assert_eq!(kinds(talk), [(1, approval), (2, result)]);
        assert_eq!(talk.status(), SessionStatus::AwaitingApproval);
        talk.deny(key(1, 1), "no").await.unwrap();
        assert_eq!(kinds(talk), [(2, result)]);
        assert_eq!(talk.status(), SessionStatus::AwaitingTools);
        fake.assert_calls(1);
    })
    .await;
}

/// Two askers and what their answers are in.
async fn two_questions(talk: &mut Talk) -> allm::Engine {
    let script = Script::new().call("a", json!({})).call("b", json!({}));
    let fake = Fake::new().reply(script).reply("done");
    let engine = talk.engine(&fake, vec![asking("a", "A?"), asking("b", "B?")]);
    let result = talk.reply(&engine, "Go").await.unwrap();
    assert_eq!(result.pending_question.as_deref(), Some("A?"));
    assert_eq!(result.thread, talk.thread());
    engine
}

const ASKED: [&str; 4] = [
    "user: Go",
    "assistant: ",
    "tool: <awaiting user response>",
    "tool: <awaiting user response>",
];

#[tokio::test(start_paused = true)]
async fn s5_of_two_questions_the_lower_is_asked_first() {
    on_every_form(async |talk| {
        let engine = two_questions(talk).await;
        assert_eq!(talk.waits().len(), 2);
        assert_eq!(talk.question().unwrap().call, key(1, 0));
        assert_eq!(texts(talk), [&ASKED[..], &["assistant: A?"]].concat());
        talk.answer(key(1, 0), "a").await.unwrap();
        assert_eq!(talk.question().unwrap().call, key(1, 1));
        let now = ["assistant: A?", "user: a", "assistant: B?"];
        assert_eq!(texts(talk), [&ASKED[..], &now].concat());
        let result = talk.reply(&engine, "b").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Completed);
        let end = [
            "assistant: A?",
            "user: a",
            "assistant: B?",
            "user: b",
            "assistant: done",
        ];
        assert_eq!(texts(talk), [&ASKED[..], &end].concat());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s6_answers_in_reverse_order_stand_in_call_order() {
    on_every_form(async |talk| {
        let engine = two_questions(talk).await;
        talk.answer(key(1, 1), "b").await.unwrap();
        assert_eq!(talk.question().unwrap().call, key(1, 0));
        let now = ["assistant: B?", "user: b", "assistant: A?"];
        assert_eq!(texts(talk), [&ASKED[..], &now].concat());
        talk.answer(key(1, 0), "a").await.unwrap();
        let end = ["assistant: A?", "user: a", "assistant: B?", "user: b"];
        assert_eq!(texts(talk), [&ASKED[..], &end].concat());
        assert_eq!(outcomes(talk), [Some(Outcome::Asked); 2]);
        talk.resume(&engine).await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s7_a_late_result_takes_its_place_before_the_question() {
    on_every_form(async |talk| {
        let script = Script::new().call("ask", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = talk.engine(&fake, vec![asking("ask", "Sure?"), manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        let waiting = "tool: <awaiting user response>";
        let before = ["user: Go", "assistant: ", waiting, "assistant: Sure?"];
        assert_eq!(texts(talk), before);
        talk.submit(key(1, 1), "given").await.unwrap();
        let after = [
            "user: Go",
            "assistant: ",
            waiting,
            "tool: given",
            "assistant: Sure?",
        ];
        assert_eq!(texts(talk), after);
        talk.reply(&engine, "Yes").await.unwrap();
        let end = [&after[..], &["user: Yes", "assistant: done"]].concat();
        assert_eq!(texts(talk), end);
    })
    .await;
}

/// S8: what expires is in `void.rs`.
#[tokio::test(start_paused = true)]
async fn s8_a_question_that_is_cancelled_leaves_an_error_and_no_question() {
    on_every_form(async |talk| {
        let engine = two_questions(talk).await;
        talk.answer(key(1, 1), "b").await.unwrap();
        talk.cancel().await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert_eq!(
            outcomes(talk),
            [Some(Outcome::Cancelled), Some(Outcome::Asked)]
        );
        let texts = texts(talk);
        assert!(texts[2].contains("cancelled"), "{texts:?}");
        assert_eq!(
            texts[3..],
            ["tool: <awaiting user response>", "assistant: B?", "user: b"]
        );
        sendable(talk);
        talk.reply(&engine, "Go on").await.unwrap();
    })
    .await;
}

fn sendable(talk: &Talk) {
    let request = Request::new(talk.thread());
    validate::request(&request).unwrap();
}

#[tokio::test(start_paused = true)]
async fn s9_turns_are_counted_over_the_whole_life() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().call("a", json!({})))
            .reply("one")
            .reply(
                Script::new()
                    .text("half")
                    .stream_fail(StreamReason::Interrupted),
            )
            .reply("two")
            .reply(Script::new().call("ask", json!({})))
            .reply("three");
        let engine = talk.engine(&fake, vec![giving("a", json!(1)), asking("ask", "?")]);
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(talk.turn(), 2);
        talk.reply(&engine, "On").await.unwrap();
        // A failed answer is none that was accepted.
        assert_eq!((talk.status(), talk.turn()), (SessionStatus::Error, 2));
        talk.retry(&engine).await.unwrap();
        assert_eq!(talk.turn(), 3);
        talk.reply(&engine, "Ask").await.unwrap();
        talk.cancel().await.unwrap();
        assert_eq!(talk.turn(), 4);
        talk.reply(&engine, "End").await.unwrap();
        assert_eq!(talk.turn(), 5);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s12_only_the_last_halt_is_kept() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().call("a", json!({})))
            .reply("done");
        let engine = talk.engine(&fake, vec![giving("a", json!(1))]);
        let one = talk
            .drive(&engine, reply("Go"), |call| call.max_turns(1))
            .await;
        assert_eq!(one.unwrap().halted_reason, HaltReason::MaxTurns);
        assert_eq!(talk.last_halt(), Some(&HaltReason::MaxTurns));
        talk.reply(&engine, "On").await.unwrap();
        assert_eq!(talk.last_halt(), Some(&HaltReason::Completed));
        let text = serde_json::to_string(&**talk).unwrap();
        assert!(!text.contains("max_turns"), "{text}");
    })
    .await;
}

/// S13: the thread of each status with no open turn passes the validator of requests.
#[tokio::test(start_paused = true)]
async fn s13_a_thread_without_an_open_turn_can_be_sent_in_every_status() {
    on_every_form(async |talk| {
        let broken = Script::new()
            .text("half")
            .call("a", json!({}))
            .stream_fail(StreamReason::Interrupted);
        let fake = Fake::new()
            .reply("completed")
            .reply(broken)
            .reply(Script::new().call("a", json!({})).call("fails", json!({})))
            .reply(Script::new().call("halts", json!({})))
            .reply(
                Script::new()
                    .call_cut_off("a", ["{"])
                    .finish(allm::FinishReason::Length),
            );
        let tools = vec![
            giving("a", json!(1)),
            tool("fails").handler(|_: Value| async { ToolReply::error("no") }),
            halting("halts", "closed"),
        ];
        let engine = talk.engine(&fake, tools);
        talk.reply(&engine, "1").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
        sendable(talk);
        talk.reply(&engine, "2").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Error);
        sendable(talk);
        talk.drive(&engine, Op::Retry, |call| {
            call.on_tool_error(allm::OnToolError::Halt)
        })
        .await
        .unwrap();
        assert_eq!(talk.last_halt(), Some(&HaltReason::ToolError));
        assert_eq!(talk.status(), SessionStatus::Error);
        sendable(talk);
        talk.retry(&engine).await.unwrap();
        assert_eq!(talk.last_halt().unwrap().as_str(), "closed");
        sendable(talk);
        talk.reply(&engine, "5").await.unwrap();
        assert_eq!(talk.last_halt(), Some(&HaltReason::Truncated));
        assert_eq!(talk.status(), SessionStatus::Idle);
        sendable(talk);
    })
    .await;
}
