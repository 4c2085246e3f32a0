//! Random conversations, on every form.

use allm::session::Delivery;
use allm::{
    ApprovalRule, Engine, Fake, FinishReason, OnToolError, Request, Role, Script, StreamReason,
    validate,
};
use proptest::prelude::*;
use serde_json::json;

use crate::form::{Op, Talk, on_every_form, reply};
use crate::support::{asking, failing, giving, halting, key, manual, map};

#[derive(Clone, Debug)]
enum Answer {
    Text,
    Calls(Vec<&'static str>),
    Broken,
    Refused,
    Cut,
}

#[derive(Clone, Debug)]
enum Action {
    Reply,
    Resume,
    OneTurn,
    Halting,
    Step,
    Retry,
    Send(Delivery),
    Answer(u32),
    Submit(u32),
    Fail(u32),
    Approve(u32),
    Edit(u32),
    Deny(u32),
    Cancel,
}

const TOOLS: [&str; 7] = ["a", "fails", "ask", "gated", "m", "halts", "nobody"];

fn answers() -> impl Strategy<Value = Vec<Answer>> {
    let names = proptest::sample::select(TOOLS.to_vec());
    let answer = prop_oneof![
        2 => Just(Answer::Text),
        6 => proptest::collection::vec(names, 1..4).prop_map(Answer::Calls),
        1 => Just(Answer::Broken),
        1 => Just(Answer::Refused),
        1 => Just(Answer::Cut),
    ];
    proptest::collection::vec(answer, 1..6)
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let delivery = prop_oneof![
        Just(Delivery::NextTurn),
        Just(Delivery::NextRun),
        Just(Delivery::Interrupt)
    ];
    let action = prop_oneof![
        4 => Just(Action::Reply),
        4 => Just(Action::Resume),
        1 => Just(Action::OneTurn),
        1 => Just(Action::Halting),
        1 => Just(Action::Step),
        2 => Just(Action::Retry),
        1 => delivery.prop_map(Action::Send),
        2 => (0..3u32).prop_map(Action::Answer),
        3 => (0..3u32).prop_map(Action::Submit),
        1 => (0..3u32).prop_map(Action::Fail),
        3 => (0..3u32).prop_map(Action::Approve),
        1 => (0..3u32).prop_map(Action::Edit),
        1 => (0..3u32).prop_map(Action::Deny),
        1 => Just(Action::Cancel),
    ];
    proptest::collection::vec(action, 1..16)
}

fn script(answer: &Answer) -> Script {
    match answer {
        Answer::Text => Script::from("text"),
        Answer::Calls(names) => names.iter().fold(Script::new(), |script, name| {
            script.call(*name, json!({"of": name}))
        }),
        Answer::Broken => Script::new()
            .text("half")
            .call("a", json!({}))
            .stream_fail(StreamReason::Interrupted),
        Answer::Refused => Script::new().fail(allm::AdapterReason::InvalidRequest),
        Answer::Cut => Script::new()
            .call_cut_off("a", ["{"])
            .finish(FinishReason::Length),
    }
}

async fn act(talk: &mut Talk, engine: &Engine, action: &Action) {
    let turn = talk.turn();
    // Whatever is refused is refused in the same way by every form.
    let _ = match action {
        Action::Reply => talk.reply(engine, "go").await.map(drop),
        Action::Resume => talk.resume(engine).await.map(drop),
        Action::OneTurn => {
            let one = talk.drive(engine, Op::Resume, |call| call.max_turns(1));
            one.await.map(drop)
        }
        Action::Halting => {
            let halting = talk.drive(engine, reply("go"), |call| {
                call.on_tool_error(OnToolError::Halt)
            });
            halting.await.map(drop)
        }
        Action::Step => talk.step(engine).await.map(drop),
        Action::Retry => talk.retry(engine).await.map(drop),
        Action::Send(delivery) => talk.send("more", *delivery).await,
        Action::Answer(index) => talk.answer(key(turn, *index), "answer").await,
        Action::Submit(index) => talk.submit(key(turn, *index), json!({"n": index})).await,
        Action::Fail(index) => talk.submit_error(key(turn, *index), "no").await,
        Action::Approve(index) => talk.approve(key(turn, *index)).await,
        Action::Edit(index) => {
            let edited = map(json!({"edited": true}));
            talk.approve_with(engine, key(turn, *index), edited).await
        }
        Action::Deny(index) => talk.deny(key(turn, *index), "no").await,
        Action::Cancel => talk.cancel().await,
    };
}

/// S10, S13: each call of a closed turn has one result, directly after its message.
fn holds(talk: &Talk) {
    let thread = talk.thread();
    let closed = talk.open_turn().is_none_or(|turn| turn.is_closed());
    if closed && !thread.is_empty() && talk.run().is_none() {
        let request = Request::new(thread.clone());
        validate::request(&request).unwrap_or_else(|error| panic!("{error}: {thread:?}"));
        let calls: usize = thread.messages.iter().map(|m| m.tool_calls.len()).sum();
        let results = thread.messages.iter().filter(|m| m.role == Role::Tool);
        assert_eq!(calls, results.count());
    }
    assert_eq!(talk.context(), &map(json!({})));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 400, ..ProptestConfig::default() })]

    /// S10, S11, S13, S43, S53: whatever is done, all forms are the same after it.
    #[test]
    fn s10_s43_s53_random_operations_give_equal_sessions(answers in answers(), actions in actions()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(on_every_form(async |talk| {
            let replies = answers.iter().fold(Fake::new(), |fake, answer| fake.reply(script(answer)));
            let fake = replies.always("text");
            talk.watch(&fake);
            let engine = Engine::builder()
                .provider(fake)
                .model("fake:any")
                .retry(allm::RetryPolicy::none())
                .tools(vec![
                    giving("a", json!(1)),
                    failing("fails"),
                    asking("ask", "Sure?"),
                    giving("gated", json!(2)).approval(ApprovalRule::Always),
                    manual("m"),
                    halting("halts", "closed"),
                ])
                .build()
                .unwrap();
            for action in &actions {
                act(talk, &engine, action).await;
                holds(talk);
            }
        }));
    }
}
