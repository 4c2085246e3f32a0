//! The settings that sessions added, where a session or a chat shows what they do.

use std::time::Duration;

use allm::{ApprovalAnswer, Engine, Fake, HaltReason, Script, SessionStatus};
use serde_json::json;

use crate::form::{Op, on_every_form, reply};
use crate::support::{World, engine, giving, key, sent, texts};

/// Asks about large amounts.
fn policy(request: &allm::ApprovalRequest<'_>) -> ApprovalAnswer {
    match request.arguments.get("amount").and_then(|n| n.as_u64()) {
        Some(amount) if amount > 100 => ApprovalAnswer::ask(format!("{amount} is much")),
        _ => ApprovalAnswer::Run,
    }
}

fn paying() -> Fake {
    let script = Script::new()
        .call("pay", json!({"amount": 5}))
        .call("pay", json!({"amount": 500}));
    Fake::new().reply(script).reply("done")
}

/// S135: a policy over the call gates it; the reason reaches the person.
#[tokio::test(start_paused = true)]
async fn s135_a_policy_gates_by_arguments() {
    on_every_form(async |talk| {
        let (fake, world) = (paying(), World::default());
        let engine = talk.engine(&fake, vec![world.tool("pay")]);
        talk.drive(&engine, reply("Go"), |call| call.approval_policy(policy))
            .await
            .unwrap();
        assert_eq!(talk.status(), SessionStatus::AwaitingApproval);
        assert_eq!(world.count("pay"), 1);
        let approval = talk.approvals().remove(0);
        assert_eq!(approval.call, key(1, 1));
        assert_eq!(approval.reason.as_deref(), Some("500 is much"));
        talk.approve(&approval).await.unwrap();
        // It was decided about: a policy that would ask again is not asked.
        talk.drive(&engine, Op::Resume, |call| call.approval_policy(policy))
            .await
            .unwrap();
        assert_eq!(world.count("pay"), 2);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// S135: a policy that panics leaves the call to a person.
#[tokio::test(start_paused = true)]
async fn s135_a_policy_that_panics_asks() {
    on_every_form(async |talk| {
        let (fake, world) = (paying(), World::default());
        let engine = talk.engine(&fake, vec![world.tool("pay")]);
        talk.drive(&engine, reply("Go"), |call| {
            call.approval_policy(|_| panic!("the policy broke"))
        })
        .await
        .unwrap();
        assert_eq!(talk.approvals().len(), 2);
        assert_eq!(world.count("pay"), 0);
    })
    .await;
}

/// S135: in a chat without a session a gated call is left to the caller.
#[tokio::test(start_paused = true)]
async fn s135_a_stateless_chat_leaves_a_gated_call_to_the_caller() {
    let (fake, world) = (paying(), World::default());
    let engine = engine(&fake, vec![world.tool("pay")]);
    let result = engine.chat("Go").approval_policy(policy).await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    assert_eq!(world.count("pay"), 1);
    let step = result.steps.last().unwrap();
    assert_eq!(step.manual_tool_calls.len(), 1);
    assert_eq!(step.manual_tool_calls[0].id.as_str(), "call_2");
    assert_eq!(step.tool_results.len(), 1);
    fake.assert_calls(1);
}

/// S135: so is a call of a gated tool.
#[tokio::test(start_paused = true)]
async fn s135_a_stateless_chat_leaves_a_gated_tool_to_the_caller() {
    let (fake, world) = (paying(), World::default());
    let gated = world.tool("pay").approval(allm::ApprovalRule::Always);
    let engine = engine(&fake, vec![gated]);
    let result = engine.chat("Go").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    assert_eq!(world.count("pay"), 0);
    assert_eq!(result.steps[0].manual_tool_calls.len(), 2);
}

/// S144, S145: the call beats the engine; off and the longest duration are for ever; nothing is a day.
#[tokio::test(start_paused = true)]
async fn s144_how_long_an_approval_is_open() {
    let day = Duration::from_secs(24 * 60 * 60);
    let hour = Duration::from_secs(60 * 60);
    type Build = fn(allm::EngineBuilder) -> allm::EngineBuilder;
    type Set = for<'a> fn(allm::SessionCall<'a>) -> allm::SessionCall<'a>;
    let cases: [(Build, Set, Option<Duration>); 6] = [
        (|b| b, |c| c, Some(day)),
        (
            |b| b.approval_expiry(Duration::from_secs(60)),
            |c| c,
            Some(Duration::from_secs(60)),
        ),
        (
            |b| b.approval_expiry(Duration::from_secs(60)),
            |c| c.approval_expiry(Duration::from_secs(60 * 60)),
            Some(hour),
        ),
        (|b| b.approval_expiry(Duration::MAX), |c| c, None),
        (|b| b, |c| c.off(allm::Setting::ApprovalExpiry), None),
        (
            |b| b.approval_expiry(Duration::from_secs(60)),
            |c| c.off(allm::Setting::ApprovalExpiry),
            None,
        ),
    ];
    for (build, set, expected) in cases {
        on_every_form(async |talk| {
            let (fake, world) = (paying(), World::default());
            let gated = world.tool("pay").approval(allm::ApprovalRule::Always);
            let engine: Engine = talk.engine(&fake, vec![gated]).with(build).unwrap();
            talk.drive(&engine, reply("Go"), set).await.unwrap();
            let approval = talk.approvals().remove(0);
            let open = approval.expires_at.map(|at| {
                let millis = at.as_millis() - approval.requested_at.as_millis();
                Duration::from_millis(u64::try_from(millis).unwrap())
                    .as_secs_f64()
                    .round()
            });
            assert_eq!(open, expected.map(|time| time.as_secs_f64()));
        })
        .await;
    }
}

/// S134: what a gated call was approved with is what the model sees answered, beside what ran at once.
#[tokio::test(start_paused = true)]
async fn s134_the_results_stand_in_call_order() {
    on_every_form(async |talk| {
        let script = Script::new().call("gated", json!({})).call("a", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let gated = giving("gated", json!("g")).approval(allm::ApprovalRule::Always);
        let engine = talk.engine(&fake, vec![gated, giving("a", json!("a"))]);
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(texts(talk)[2..], ["tool: a"]);
        talk.approve(key(1, 0)).await.unwrap();
        talk.resume(&engine).await.unwrap();
        assert_eq!(sent(&fake, 1)[2..], ["tool: g", "tool: a"]);
    })
    .await;
}
