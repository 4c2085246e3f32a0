//! A journal entry of every kind, with every field.

use std::collections::BTreeMap;
use std::time::Duration;

use allm_core::run::{
    Budgets, DeadlineScope, Deadlines, HaltWhen, Planning, PolicyDecision, RunOptions, ToolOutcome,
};
use allm_core::session::{
    Annotated, Answered, Approval, ApprovalDecided, ApprovalToken, ApprovePlan, CallKey, CallPlan,
    CallsPlanned, Created, Decision, Delivery, Denied, Edited, EntryBody, Expired, Halted, Hooks,
    JournalEntry, LateOutcome, ManualPlan, ModelEnd, ModelFailed, ModelResponded, Operation,
    Outcome, OutcomePolicy, OutcomeSource, PlanOfCall, RecordedTool, Recovered, RefusePlan,
    RerunAllowed, ResultSubmitted, RunFailed, RunPlan, RunStarted, StopRequested, ToolIntent,
    ToolOutcomeEntry, UserMessage, WentOn, arguments_hash,
};
use allm_core::{
    AppendId, ApprovalId, CallFailure, CustomHalt, Effect, FailureReason, HaltReason, Hash, Image,
    InputId, Message, ModelRef, Part, Request, RunId, SessionId, SessionUid, Thread, Timestamp,
    Version,
};
use serde_json::json;

use super::Named;
use super::responses::{failure, responses, stopped, usage};
use crate::support::map;

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_787_389_200_000 + millis).expect("a time")
}

pub(super) const UID: SessionUid = SessionUid::from_bytes([0x9f; 16]);
pub(super) const RUN: RunId = RunId::from_bytes([0x11; 16]);
pub(super) const APPROVAL: ApprovalId = ApprovalId::from_bytes([0x6d; 16]);

fn key(index: u32) -> CallKey {
    CallKey { turn: 3, index }
}

fn entry(number: u64, body: EntryBody) -> JournalEntry {
    JournalEntry {
        version: Version(number),
        at: at(4_120),
        writer: "host-1/4711".into(),
        machine: 1,
        append_id: AppendId::from_bytes([0x22; 16]),
        input_id: number
            .is_multiple_of(2)
            .then(|| InputId::new("mail-7").expect("an id")),
        state_hash: Hash::of_bytes(b"state"),
        body,
    }
}

pub(super) fn entries() -> Vec<Named<JournalEntry>> {
    let bodies = inputs().into_iter().chain(progress()).chain(later());
    let numbered = bodies.zip(1..);
    numbered
        .map(|((name, body), number)| (name, entry(number, body)))
        .collect()
}

fn by() -> Option<String> {
    Some("ann@example.com".to_owned())
}

fn decided(decision: Decision) -> EntryBody {
    EntryBody::ApprovalDecided(Box::new(ApprovalDecided {
        approval_id: APPROVAL,
        call: key(1),
        decision,
        arguments_hash: arguments_hash(&map(json!({"order": 42}))),
        by: by(),
    }))
}

fn inputs() -> Vec<Named<EntryBody>> {
    vec![
        (
            "created",
            EntryBody::Created(Box::new(Created {
                uid: UID,
                thread: Thread::new().with(Message::system("Be brief.")),
                context: map(json!({"tenant": "acme"})),
                metadata: map(json!({"n": u64::MAX})),
                tags: BTreeMap::from([("team".to_owned(), "support".to_owned())]),
            })),
        ),
        (
            "user_message",
            EntryBody::UserMessage(Box::new(UserMessage {
                message: Message::user("Cancel my order"),
                delivery: Delivery::Interrupt,
            })),
        ),
        (
            "answered",
            EntryBody::Answered(Answered {
                call: key(0),
                content: vec![Part::text("The red one.")],
                by: by(),
            }),
        ),
        (
            "result_submitted",
            EntryBody::ResultSubmitted(ResultSubmitted {
                call: key(2),
                outcome: Outcome::Failed,
                content: vec![Part::text("out of stock")],
                by: None,
            }),
        ),
        ("approved", decided(Decision::Approved)),
        (
            "approved_with_an_edit",
            decided(Decision::Edited(Edited {
                arguments: map(json!({"order": 43})),
            })),
        ),
        (
            "denied",
            decided(Decision::Denied(Denied {
                reason: "not that one".to_owned(),
            })),
        ),
        (
            "rerun_allowed",
            EntryBody::RerunAllowed(RerunAllowed {
                call: key(1),
                by: by(),
            }),
        ),
        (
            "stop_requested",
            EntryBody::StopRequested(StopRequested {
                reason: "the user left".to_owned(),
                by: by(),
            }),
        ),
        (
            "annotated",
            EntryBody::Annotated(Box::new(Annotated {
                context: Some(map(json!({}))),
                metadata: Some(map(json!({"seen": true}))),
                tags: Some(BTreeMap::new()),
            })),
        ),
        (
            "late_outcome",
            EntryBody::LateOutcome(LateOutcome {
                call: key(1),
                attempt: 2,
                outcome: Outcome::Ok,
                content: "done after all".to_owned(),
            }),
        ),
        (
            "expired",
            EntryBody::Expired(Expired {
                call: key(1),
                deadline: at(86_400_000),
            }),
        ),
    ]
}

pub(super) fn started(op: Operation) -> EntryBody {
    let second = Some(Duration::from_secs(1));
    EntryBody::RunStarted(Box::new(RunStarted {
        run: RUN,
        op,
        options: RunOptions {
            planning: Planning::Driver,
            halt_when: HaltWhen::Set,
            deadlines: Deadlines {
                turn: second,
                run: second,
            },
            budgets: Budgets {
                tool_calls: Some(10),
                ..Budgets::default()
            },
            ..RunOptions::default()
        },
        request: Request {
            temperature: Some(0.5),
            ..Request::default()
        },
        model: Some("openai:gpt-5".parse::<ModelRef>().expect("a model")),
        request_id: Some("r1".into()),
        hooks: Hooks {
            halt_when: true,
            on_tool_error: true,
            approval_policy: true,
        },
        tools: vec![RecordedTool {
            name: "cancel_order".into(),
            fingerprint: Hash::of_bytes(b"tool"),
            effect: Effect::AtMostOnce,
        }],
    }))
}

fn planned() -> EntryBody {
    let plans = [
        CallPlan::Run(RunPlan { free: true }),
        CallPlan::Run(RunPlan::default()),
        CallPlan::Manual(ManualPlan {
            expires_at: Some(at(1)),
        }),
        CallPlan::Approve(ApprovePlan {
            approval_id: APPROVAL,
            tool_fingerprint: Hash::of_bytes(b"tool"),
            expires_at: Some(at(86_400_000)),
            reason: Some("it cannot be undone".to_owned()),
        }),
        CallPlan::Refuse(RefusePlan {
            failure: CallFailure::new(FailureReason::InvalidArguments, "no such order"),
        }),
        CallPlan::Unknown,
    ];
    let calls = plans.into_iter().zip(0..);
    EntryBody::CallsPlanned(CallsPlanned {
        turn: 3,
        calls: calls
            .map(|(plan, index)| PlanOfCall { index, plan })
            .collect(),
    })
}

fn outcome(outcome: ToolOutcome, source: OutcomeSource) -> ToolOutcomeEntry {
    ToolOutcomeEntry::new(key(1), 1, outcome, source)
}

fn outcomes() -> Vec<Named<EntryBody>> {
    let replied = ToolOutcome::replied(json!({"state": "paid"}), "{\"state\":\"paid\"}");
    let failed = CallFailure::new(FailureReason::HandlerRaised, "the tool crashed");
    let unknown = CallFailure::new(FailureReason::UnknownOutcome, "it may have acted");
    let mut asked = outcome(
        ToolOutcome::Asked {
            question: "Which one?".to_owned(),
            opts: map(json!({"choices": ["red", "blue"]})),
        },
        OutcomeSource::Handler,
    );
    if let Some(question) = &mut asked.question {
        question.expires_at = Some(at(1_000));
    }
    let halted = ToolOutcome::Halted {
        reason: CustomHalt::new("plan_submitted").expect("a reason"),
        value: json!({"plan": 1}),
        content: "{\"plan\":1}".to_owned(),
    };
    let mut ask_person = outcome(ToolOutcome::failed(unknown), OutcomeSource::Recovery);
    ask_person.policy = OutcomePolicy::AskPerson;
    let halting = ToolOutcome::Failed {
        content: failed.to_content(),
        failure: failed.clone(),
        decision: PolicyDecision::Halt {
            exception: Some("the policy crashed".to_owned()),
        },
    };
    let replaced = ToolOutcome::Failed {
        content: "try again later".to_owned(),
        failure: failed,
        decision: PolicyDecision::Continue,
    };
    let to_go_on = ToolOutcome::AskedToGoOn {
        question: "Which one?".to_owned(),
        opts: map(json!({"schema": {"type": "string"}})),
        state: Some(json!({"page": 2, "cursor": null})),
    };
    let handler = OutcomeSource::Handler;
    [
        ("tool_replied", outcome(replied, OutcomeSource::Probe)),
        ("tool_asked", asked),
        ("tool_halted", outcome(halted, handler)),
        ("tool_failed_and_halted", outcome(halting, handler)),
        ("tool_failed_and_was_replaced", outcome(replaced, handler)),
        (
            "tool_not_started",
            outcome(ToolOutcome::NotStarted, handler),
        ),
        ("tool_unknown_to_a_person", ask_person),
        ("tool_asked_to_go_on", outcome(to_go_on, handler)),
    ]
    .into_iter()
    .map(|(name, entry)| (name, EntryBody::ToolOutcome(Box::new(entry))))
    .collect()
}

fn progress() -> Vec<Named<EntryBody>> {
    let failed = |end| {
        EntryBody::ModelFailed(Box::new(ModelFailed {
            turn: 3,
            attempt: 2,
            end,
            error: failure(),
            partial: Some(stopped("I thi")),
            usage: usage(),
        }))
    };
    let mut all = vec![
        ("run_started", started(Operation::Reply)),
        (
            "model_responded",
            EntryBody::ModelResponded(Box::new(ModelResponded {
                turn: 3,
                attempt: 1,
                request_hash: Hash::of_bytes(b"request"),
                response: responses().swap_remove(0).1,
            })),
        ),
        ("model_failed", failed(ModelEnd::Failed)),
        ("model_stopped", failed(ModelEnd::Stopped)),
        ("model_interrupted", failed(ModelEnd::Interrupted)),
        ("calls_planned", planned()),
        (
            "tool_intent",
            EntryBody::ToolIntent(Box::new(ToolIntent {
                call: key(1),
                attempt: 2,
                tool: "cancel_order".into(),
                effect: Effect::Idempotent,
                key: format!("allm1-{}", "0f".repeat(32)),
                arguments_hash: Hash::of_bytes(b"arguments"),
                deadline: at(60_000),
                approval_id: Some(APPROVAL),
            })),
        ),
        (
            "halted",
            EntryBody::Halted(Halted {
                turn: 3,
                reason: HaltReason::DeadlineExceeded,
                scope: Some(DeadlineScope::Turn),
            }),
        ),
        ("went_on", EntryBody::WentOn(WentOn { turn: 3 })),
        (
            "run_failed",
            EntryBody::RunFailed(RunFailed {
                kind: "approval_mismatch".to_owned(),
                message: "the arguments are not those that were approved".to_owned(),
            }),
        ),
        (
            "recovered",
            EntryBody::Recovered(Recovered {
                run: RUN,
                previous_writer: Some("host-2/1".into()),
                open_intents: vec![key(0), key(1)],
                lost_model_call: true,
                limit: 3,
            }),
        ),
    ];
    all.extend(outcomes());
    all
}

fn approval() -> Approval {
    let arguments = map(json!({"order": 42, "refund": 12.5}));
    Approval {
        approval_id: APPROVAL,
        call: key(1),
        tool: "cancel_order".into(),
        arguments_hash: arguments_hash(&arguments),
        arguments,
        tool_fingerprint: Hash::of_bytes(b"tool"),
        requested_at: at(4_120),
        expires_at: Some(at(86_404_120)),
        reason: Some("it cannot be undone".to_owned()),
    }
}

/// What came later than the others, so that their numbers stay.
fn later() -> Vec<Named<EntryBody>> {
    let with_a_picture = ToolOutcome::Replied {
        value: json!("a house"),
        content: "a house".to_owned(),
        media: vec![Part::image(Image::from_bytes(vec![1, 2, 3], "image/png"))],
    };
    let entry = outcome(with_a_picture, OutcomeSource::Handler);
    let body = EntryBody::ToolOutcome(Box::new(entry));
    vec![("tool_replied_with_a_picture", body)]
}

pub(super) fn approvals() -> Vec<Named<Approval>> {
    let bare = Approval {
        expires_at: None,
        reason: None,
        ..approval()
    };
    vec![("full", approval()), ("bare", bare)]
}

pub(super) fn tokens() -> Vec<Named<ApprovalToken>> {
    let id = SessionId::new("order-42").expect("an id");
    let token = ApprovalToken::sign(id, UID, approval(), b"secret").expect("it can be written");
    vec![("full", token)]
}
