//! Sessions in their statuses.

use allm_core::run::ToolOutcome;
use allm_core::session::{
    ApprovePlan, CallKey, CallPlan, CallsPlanned, Delivery, EntryBody, EntryFacts, ManualPlan,
    ModelEnd, ModelFailed, ModelResponded, Operation, OutcomeSource, PlanOfCall, RunPlan, Session,
    ToolIntent, ToolOutcomeEntry, WentOn, arguments_hash,
};
use allm_core::{
    Effect, FinishReason, Hash, InputId, Map, Message, Response, Thread, ToolCall, idempotency_key,
};
use serde_json::json;

use super::Named;
use super::entries::{APPROVAL, UID, at, started};
use super::responses::{failure, usage};
use crate::support::map;

/// The session after these entries, one each 20 milliseconds.
fn after(bodies: impl IntoIterator<Item = EntryBody>) -> Session {
    let mut session = Session::new("order-42").expect("an id");
    for (body, number) in bodies.into_iter().zip(0_i64..) {
        let facts = EntryFacts {
            input_id: matches!(body, EntryBody::UserMessage(_))
                .then(|| InputId::new(format!("mail-{number}")).expect("an id")),
            ..EntryFacts::at(at(number * 20))
        };
        session.apply(&body, &facts).expect("the entry fits");
    }
    session
}

fn begun() -> Vec<EntryBody> {
    vec![
        Session::created(
            UID,
            Thread::new().with(Message::system("Be brief.")),
            map(json!({"tenant": "acme"})),
            map(json!({"n": u64::MAX, "f": 0.1})),
            [("team".to_owned(), "support".to_owned())].into(),
        ),
        Session::message_entry(Message::user("Cancel my order"), Delivery::NextTurn),
        started(Operation::Reply),
    ]
}

fn responded(turn: u32, response: Response) -> EntryBody {
    EntryBody::ModelResponded(Box::new(ModelResponded {
        turn,
        attempt: 1,
        request_hash: Hash::of_bytes(b"request"),
        response: Response {
            usage: usage(),
            ..response
        },
    }))
}

fn text(text: &str) -> Response {
    Response {
        finish_reason: Some(FinishReason::Stop),
        ..Response::new(Message::assistant(text))
    }
}

fn calls(names: &[&str]) -> Response {
    let call = |(number, name): (usize, &&str)| {
        ToolCall::new(format!("c{number}"), *name, "{\"order\": 42}")
    };
    let calls = names.iter().enumerate().map(call).collect();
    Response {
        finish_reason: Some(FinishReason::ToolCalls),
        ..Response::new(Message::assistant("I will look it up.").with_tool_calls(calls))
    }
}

/// find_order is run, cancel_order is approved, ask_user asks, ship_order is manual.
fn batch() -> Vec<EntryBody> {
    let run = CallPlan::Run(RunPlan::default());
    let approve = CallPlan::Approve(ApprovePlan {
        approval_id: APPROVAL,
        tool_fingerprint: Hash::of_bytes(b"tool"),
        expires_at: Some(at(86_400_000)),
        reason: None,
    });
    let manual = CallPlan::Manual(ManualPlan::default());
    let plans = [run.clone(), approve, run, manual].into_iter().zip(0..);
    let mut bodies = begun();
    bodies.extend([
        responded(
            1,
            calls(&["find_order", "cancel_order", "ask_user", "ship_order"]),
        ),
        EntryBody::CallsPlanned(CallsPlanned {
            turn: 1,
            calls: plans
                .map(|(plan, index)| PlanOfCall { index, plan })
                .collect(),
        }),
    ]);
    bodies
}

fn intent() -> EntryBody {
    let arguments = map(json!({"order": 42}));
    EntryBody::ToolIntent(Box::new(ToolIntent {
        call: CallKey { turn: 1, index: 0 },
        attempt: 1,
        tool: "find_order".into(),
        effect: Effect::Idempotent,
        key: idempotency_key(UID.as_bytes(), 1, 0, "find_order", &arguments),
        arguments_hash: arguments_hash(&arguments),
        deadline: at(60_000),
        approval_id: None,
    }))
}

fn outcome(index: u32, outcome: ToolOutcome) -> EntryBody {
    EntryBody::ToolOutcome(Box::new(ToolOutcomeEntry::new(
        CallKey { turn: 1, index },
        1,
        outcome,
        OutcomeSource::Handler,
    )))
}

fn found() -> EntryBody {
    outcome(
        0,
        ToolOutcome::replied(json!({"state": "paid"}), "{\"state\":\"paid\"}"),
    )
}

fn asked() -> EntryBody {
    let question = "All of it?".to_owned();
    outcome(
        2,
        ToolOutcome::Asked {
            question,
            opts: Map::new(),
        },
    )
}

fn failed(turn: u32, end: ModelEnd) -> EntryBody {
    EntryBody::ModelFailed(Box::new(ModelFailed {
        turn,
        attempt: 1,
        end,
        error: failure(),
        partial: Some(text("I thi")),
        usage: usage(),
    }))
}

fn with(mut bodies: Vec<EntryBody>, more: impl IntoIterator<Item = EntryBody>) -> Session {
    bodies.extend(more);
    after(bodies)
}

pub(super) fn sessions() -> Vec<Named<Session>> {
    let mail = || Session::message_entry(Message::user("Hurry"), Delivery::NextRun);
    let waiting = || with(batch(), [intent(), found(), asked(), mail()]);
    let answer = EntryBody::Answered(allm_core::session::Answered {
        call: CallKey { turn: 1, index: 2 },
        content: vec![allm_core::Part::text("Yes.")],
        by: None,
    });
    let decided = waiting().decision_entry(
        &"c1".into(),
        allm_core::session::Decision::Edited(allm_core::session::Edited {
            arguments: map(json!({"order": 43})),
        }),
        None,
    );
    let decided = decided.expect("the approval is open");
    let open = || vec![intent(), found(), asked(), answer.clone()];
    let to_go_on = |index| {
        let outcome_of = ToolOutcome::AskedToGoOn {
            question: "All of it?".to_owned(),
            opts: map(json!({"schema": {"type": "boolean"}})),
            state: Some(json!({"order": 42})),
        };
        outcome(index, outcome_of)
    };
    // Call 1 is the gated one: it goes on under its approval.
    let approved = || {
        let mut bodies = batch();
        bodies.extend([found(), asked(), answer.clone()]);
        bodies.push(decided.clone());
        bodies
    };
    vec![
        ("new", Session::new("order-42").expect("an id")),
        ("created", after(begun().into_iter().take(2))),
        ("in_progress", after(begun())),
        (
            "in_progress_interrupted",
            with(begun(), [failed(1, ModelEnd::Interrupted)]),
        ),
        (
            "in_progress_planning",
            with(begun(), [responded(1, calls(&["find_order"]))]),
        ),
        ("in_progress_mid_batch", with(batch(), [asked(), intent()])),
        ("awaiting_user", waiting()),
        ("awaiting_approval", with(batch(), open())),
        (
            "awaiting_tools_with_a_ready_call",
            with(batch(), open().into_iter().chain([decided.clone()])),
        ),
        (
            "awaiting_user_to_go_on",
            with(batch(), [found(), to_go_on(2)]),
        ),
        (
            "awaiting_approval_with_an_answered_call",
            with(batch(), [found(), to_go_on(2), answer.clone()]),
        ),
        (
            "awaiting_user_to_go_on_under_an_approval",
            with(approved(), [started(Operation::Resume), to_go_on(1)]),
        ),
        (
            "error_with_partial",
            with(begun(), [failed(1, ModelEnd::Failed)]),
        ),
        (
            "completed",
            with(begun(), [responded(1, text("It is done."))]),
        ),
        (
            "cancelled",
            with(
                batch(),
                [
                    intent(),
                    found(),
                    asked(),
                    Session::stop_entry("the user left", None),
                ],
            ),
        ),
        (
            "in_progress_after_a_turn",
            with(
                begun(),
                [
                    responded(1, calls(&["find_order"])),
                    EntryBody::CallsPlanned(CallsPlanned {
                        turn: 1,
                        calls: vec![PlanOfCall {
                            index: 0,
                            plan: CallPlan::Run(RunPlan::default()),
                        }],
                    }),
                    found(),
                    EntryBody::WentOn(WentOn { turn: 1 }),
                ],
            ),
        ),
    ]
}
