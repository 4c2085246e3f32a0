//! Approvals (section K): what can be decided without a driver.

use allm_core::session::{
    ApprovalRef, ApprovalToken, ApprovePlan, CallPlan, CallState, CallsPlanned, Decision, Denied,
    Edited, EntryBody, Input, Operation, Outcome, PlanOfCall, RunFailed, Session, Wait,
    arguments_hash, tool_fingerprint,
};
use allm_core::{
    ApprovalId, Effect, HaltReason, Hash, SessionReason, SessionStatus, SessionUid, Tool, json,
};
use serde_json::json;

use super::script::*;
use super::sim::*;
use super::status::said;

fn gated(raw: &str) -> Sim {
    Sim::after([Answer::Whole(call_response(&["gate"], raw))])
}

fn deny(reason: &str) -> Decision {
    Decision::Denied(Denied {
        reason: reason.to_owned(),
    })
}

/// S134, S137: stored, read elsewhere, decided there; only what was approved runs.
#[test]
fn s134_s137_one_of_two_is_approved_elsewhere() {
    let mut sim = Sim::after([calls(&["gate", "gate_b"])]);
    sim.session = Session::from_json(&sim.bytes()).unwrap();
    sim.decide("c1", Decision::Approved).unwrap();
    sim.session = Session::from_json(&sim.bytes()).unwrap();
    let requests = sim.requests.len();
    assert_eq!(
        sim.operate(Operation::Resume),
        Ok(HaltReason::ManualToolCalls)
    );
    assert_eq!(sim.ran, [("gate_b".to_owned(), map(json!({})))]);
    assert_eq!(sim.status(), SessionStatus::AwaitingApproval);
    assert_eq!(sim.requests.len(), requests, "the model is not asked");
    let result = match sim.ended.as_ref().unwrap() {
        allm_core::run::RunEnd::Result(result) => result.clone(),
        end => panic!("{end:?}"),
    };
    assert!(
        result.steps.is_empty(),
        "the step was told by the run before"
    );
}

#[test]
fn s135_safe_siblings_have_run() {
    let sim = Sim::after([calls(&["a", "gate", "b"])]);
    assert_eq!(sim.status(), SessionStatus::AwaitingApproval);
    assert_eq!(sim.ran.len(), 2);
    assert_eq!(said(&sim.session)[2..].len(), 2);
}

#[test]
fn s136_three_approvals_in_every_order() {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let mut threads = Vec::new();
    for order in orders {
        for resumes in [false, true] {
            let mut sim = Sim::after([calls(&["gate_a", "gate_b", "gate_c"])]);
            for index in order {
                sim.decide(sim.key(index), Decision::Approved).unwrap();
                sim.session = Session::from_json(&sim.bytes()).unwrap();
                if resumes {
                    sim.operate(Operation::Resume).unwrap();
                }
            }
            if !resumes {
                sim.operate(Operation::Resume).unwrap();
            }
            assert_eq!(sim.status(), SessionStatus::Completed);
            assert_eq!((sim.ran.len(), sim.requests.len()), (3, 2));
            threads.push(sim.session.thread());
        }
    }
    assert!(
        threads.iter().all(|thread| *thread == threads[0]),
        "messages in call order"
    );
}

#[test]
fn s138_a_denied_call_is_not_run_and_the_model_reads_why() {
    let mut sim = gated("{}");
    sim.decide("c0", deny("too much money")).unwrap();
    assert_eq!(sim.call(sim.key(0)).outcome(), Some(Outcome::Denied));
    assert_eq!(sim.operate(Operation::Resume), Ok(HaltReason::Completed));
    assert_eq!(sim.ran, []);
    let told = sim.requests[1].messages.last().unwrap().clone();
    assert!(told.is_error && told.text().contains("too much money"));
}

#[test]
fn s140_s106_an_edit_reaches_the_handler_and_is_told() {
    let mut sim = gated(r#"{"amount": 5}"#);
    let asked = sim.session.thread().messages.get(1).unwrap().clone();
    let edited = map(json!({"amount": 7}));
    let decision = Decision::Edited(Edited {
        arguments: edited.clone(),
    });
    sim.decide("c0", decision).unwrap();
    let CallState::Ready { approval } = &sim.call(sim.key(0)).state else {
        panic!("the call is ready")
    };
    assert_eq!(
        approval.as_ref().unwrap().arguments_hash,
        arguments_hash(&edited)
    );
    sim.operate(Operation::Resume).unwrap();
    assert_eq!(sim.ran, [("gate".to_owned(), edited.clone())]);
    let thread = sim.session.thread();
    assert_eq!(*thread.messages.get(1).unwrap(), asked, "byte for byte");
    let result = thread.messages.get(2).unwrap();
    assert_eq!(
        result
            .content
            .iter()
            .filter_map(|part| part.as_text())
            .collect::<Vec<_>>(),
        [r#"{"edited_arguments":{"amount":7}}"#, "done"]
    );
    // The journal has both, and the key is that of the edited arguments.
    let intent = sim.bodies.iter().find_map(|body| match body {
        EntryBody::ToolIntent(intent) => Some(intent.clone()),
        _ => None,
    });
    let uid = sim.session.uid().unwrap();
    let key = |arguments| allm_core::idempotency_key(uid.as_bytes(), 1, 0, "gate", arguments);
    assert_eq!(intent.unwrap().key, key(&edited));
    assert_ne!(key(&edited), key(&map(json!({"amount": 5}))));
}

#[test]
fn s141_an_approval_is_good_for_one_call_of_one_session() {
    let mut sim = Sim::after([calls(&["gate", "gate_b", "ask"])]);
    let [first, second] = &sim.session.approvals()[..] else {
        panic!("two approvals")
    };
    let seen = |id: ApprovalId, call, arguments_hash| ApprovalRef::Seen {
        id,
        call,
        arguments_hash,
    };
    let hash = first.arguments_hash;
    let (one, two) = (first.approval_id, second.approval_id);
    let other = allm_core::session::CallKey { turn: 7, index: 0 };
    let wrong = [
        seen(one, first.call, Hash::of_bytes(b"other")),
        seen(one, second.call, hash),
        seen(two, first.call, hash),
        seen(one, sim.key(2), hash),
        seen(one, other, hash),
        seen(ApprovalId::from_bytes([7; 16]), first.call, hash),
    ];
    let good = ApprovalRef::from(first);
    let before = sim.session.clone();
    for approval in wrong {
        let error = sim.decide(approval, Decision::Approved).unwrap_err();
        assert_eq!(error.reason, SessionReason::ApprovalMismatch);
    }
    assert_eq!(sim.session, before);
    // Another session has other approvals, also one that was created again under the same id.
    let mut created_again = Sim::new();
    created_again
        .answers
        .extend([calls(&["a"]), calls(&["gate"])]);
    created_again.reply("hi").unwrap();
    let error = created_again
        .decide(good.clone(), Decision::Approved)
        .unwrap_err();
    assert_eq!(error.reason, SessionReason::ApprovalMismatch);
    assert_eq!(sim.decide(good, Decision::Approved), Ok(Input::New));
}

#[test]
fn s142_key_order_and_spacing_make_no_other_arguments() {
    let (one, two) = (gated(r#"{"a":1,"b":2.0}"#), gated(r#"{ "b": 2, "a": 1 }"#));
    let hash = |sim: &Sim| sim.session.approvals()[0].arguments_hash;
    assert_eq!(hash(&one), hash(&two));
    assert_ne!(hash(&one), hash(&gated(r#"{"a":1,"b":3}"#)));
}

#[test]
fn s143_a_decision_is_made_once() {
    let mut sim = gated("{}");
    let approval = sim.session.approvals().remove(0);
    assert_eq!(sim.decide(&approval, Decision::Approved), Ok(Input::New));
    let entries = sim.bodies.len();
    assert_eq!(sim.decide(&approval, Decision::Approved), Ok(Input::Known));
    let error = sim.decide(&approval, deny("no")).unwrap_err();
    assert_eq!(error.reason, SessionReason::AlreadyDecided);
    assert_eq!(sim.bodies.len(), entries);
    sim.operate(Operation::Resume).unwrap();
    assert_eq!(sim.ran.len(), 1);
    // The model has answered since, so the call is no longer known.
    let error = sim.decide(&approval, Decision::Approved).unwrap_err();
    assert_eq!(error.reason, SessionReason::ApprovalMismatch);
}

/// S143: after the tool has run, while its turn is still the last one.
#[test]
fn s143_approving_again_does_not_run_again() {
    let mut sim = Sim::after([calls(&["gate", "manual"])]);
    let approval = sim.session.approvals().remove(0);
    sim.decide(&approval, Decision::Approved).unwrap();
    sim.operate(Operation::Resume).unwrap();
    assert_eq!(sim.decide(&approval, Decision::Approved), Ok(Input::Known));
    assert!(!sim.session.has_ready_call());
    assert_eq!(sim.ran.len(), 1);
}

#[test]
fn s144_s145_an_approval_expires() {
    let expiring = || {
        let mut sim = Sim::new();
        sim.expiry = Some(1_000);
        sim.answers.extend([calls(&["gate"])]);
        sim.reply("hi").unwrap();
        let limit = sim.session.next_expiry().unwrap().as_millis() - START;
        (sim, limit)
    };
    let (mut sim, limit) = expiring();
    sim.now = limit;
    let error = sim.decide("c0", Decision::Approved).unwrap_err();
    assert_eq!(error.reason, SessionReason::ApprovalExpired);
    let bodies = sim.session.expired_entries(at(sim.now));
    assert_eq!(bodies.len(), 1);
    sim.sweep();
    assert_eq!(sim.call(sim.key(0)).outcome(), Some(Outcome::Expired));
    // Another machine sweeps with the same entry.
    assert_eq!(sim.input(bodies[0].clone()), Ok(Input::Known));
    let error = sim.decide("c0", Decision::Approved).unwrap_err();
    assert_eq!(error.reason, SessionReason::ApprovalExpired);
    assert!(sim.session.is_runnable(), "the model is told");

    let (mut sim, limit) = expiring();
    sim.now = limit - 1;
    sim.decide("c0", Decision::Approved).unwrap();
    sim.now += 86_400_000;
    sim.sweep();
    sim.operate(Operation::Resume).unwrap();
    assert_eq!(sim.ran.len(), 1);
}

/// S146: the driver finds that what it is about to run is not what was approved, and says so.
#[test]
fn s146_other_arguments_than_approved_are_not_run() {
    let mut sim = gated(r#"{"amount": 5}"#);
    sim.decide("c0", Decision::Approved).unwrap();
    sim.start(Operation::Resume);
    sim.seal(EntryBody::RunFailed(RunFailed {
        kind: "approval_mismatch".into(),
        message: "these arguments were not approved".into(),
    }));
    assert_eq!(sim.status(), SessionStatus::Error);
    let failure = sim.session.failure().unwrap();
    assert_eq!(
        (failure.kind.as_str(), failure.retryable),
        ("approval_mismatch", false)
    );
    assert_eq!(sim.ran, []);
    sim.cancel().unwrap();
    assert_eq!(sim.status(), SessionStatus::Idle);
}

/// S147: the fingerprint covers name, description, schema and effect, and a second plan voids the approval.
#[test]
fn s147_a_changed_tool_needs_a_new_approval() {
    let tool = || {
        Tool::new(
            "gate",
            "Opens.",
            json!({"type": "object", "required": ["a"]}),
        )
    };
    let fingerprint = tool_fingerprint(&tool());
    let reordered = Tool::new(
        "gate",
        "Opens.",
        json!({"required": ["a"], "type": "object"}),
    );
    assert_eq!(tool_fingerprint(&reordered), fingerprint);
    assert_eq!(
        tool_fingerprint(&tool().manual().metadata(map(json!({"a": 1})))),
        fingerprint
    );
    for changed in [
        Tool::new("gate_b", "Opens.", tool().schema),
        Tool::new("gate", "Shuts.", tool().schema),
        Tool::new("gate", "Opens.", json!({"type": "object"})),
        tool().effect(Effect::Idempotent),
    ] {
        assert_ne!(tool_fingerprint(&changed), fingerprint);
    }

    let mut sim = gated("{}");
    let old = sim.session.approvals().remove(0);
    sim.decide(&old, Decision::Approved).unwrap();
    sim.start(Operation::Resume);
    let new = ApprovalId::from_bytes([0xee; 16]);
    let applied = sim.seal(EntryBody::CallsPlanned(CallsPlanned {
        turn: 1,
        calls: vec![PlanOfCall {
            index: 0,
            plan: CallPlan::Approve(ApprovePlan {
                approval_id: new,
                tool_fingerprint: fingerprint,
                expires_at: None,
                reason: None,
            }),
        }],
    }));
    assert!(applied.ended.is_some(), "nothing else is to be done");
    assert_eq!(sim.status(), SessionStatus::AwaitingApproval);
    assert_eq!(sim.session.approvals()[0].approval_id, new);
    let error = sim.decide(&old, Decision::Approved).unwrap_err();
    assert_eq!(error.reason, SessionReason::ApprovalMismatch);
    assert_eq!(sim.decide("c0", Decision::Approved), Ok(Input::New));
    sim.operate(Operation::Resume).unwrap();
    assert_eq!(sim.ran.len(), 1);
}

#[test]
fn s148_a_token_that_was_changed_is_refused() {
    let secret = b"a secret of the application";
    let mut sim = gated(r#"{"amount": 5}"#);
    let token = sim.session.approval_tokens(secret).unwrap().remove(0);
    let read: ApprovalToken = json::from_slice(&json::to_vec(&token).unwrap()).unwrap();
    assert_eq!(read, token);
    let refused = |token: &ApprovalToken, secret: &[u8]| {
        let error = token.open(&sim.session, secret).unwrap_err();
        assert_eq!(error.reason, SessionReason::ApprovalMismatch);
    };
    refused(&token, b"another secret");
    refused(&token, b"");

    let value: serde_json::Value = serde_json::from_slice(&json::to_vec(&token).unwrap()).unwrap();
    let changes = [
        ("session", json!("order-43")),
        ("uid", json!("00".repeat(16))),
        ("mac", json!(format!("hmac-sha256:{}", "00".repeat(32)))),
    ];
    let inner = [
        ("approval_id", json!(format!("apr_{}", "00".repeat(16)))),
        ("call", json!("t1.c1")),
        ("tool", json!("other")),
        ("arguments", json!({"amount": 6})),
        ("arguments_hash", json!(Hash::of_bytes(b"other"))),
        ("tool_fingerprint", json!(Hash::of_bytes(b"other"))),
        ("requested_at", json!("2026-08-22T09:00:00.999Z")),
        ("expires_at", json!("2036-08-22T09:00:00.000Z")),
        ("reason", json!("because")),
    ];
    let changes = changes.into_iter().map(|(key, new)| (None, key, new));
    let inner = inner
        .into_iter()
        .map(|(key, new)| (Some("approval"), key, new));
    for (parent, key, new) in changes.chain(inner) {
        let mut changed = value.clone();
        let fields = match parent {
            None => &mut changed["data"],
            Some(parent) => &mut changed["data"][parent],
        };
        assert_ne!(fields[key], new, "{key}");
        fields[key] = new;
        let changed: ApprovalToken = json::from_str(&changed.to_string()).unwrap();
        refused(&changed, secret);
    }

    // A token is for the session that gave it out, not for one with its id.
    let mut created = Session::new("order-42").unwrap();
    let body = Session::created(
        SessionUid::from_bytes([1; 16]),
        Default::default(),
        Default::default(),
        Default::default(),
        Default::default(),
    );
    created
        .apply(&body, &allm_core::session::EntryFacts::at(at(0)))
        .unwrap();
    assert!(token.open(&created, secret).is_err());

    let approval = token.open(&sim.session, secret).unwrap();
    assert_eq!(sim.decide(approval, Decision::Approved), Ok(Input::New));
}

/// Section 12: an approval given while others still run is run at once.
#[test]
fn an_approved_call_runs_while_the_driver_is_on_the_turn() {
    let mut sim = Sim::started([calls(&["gate", "a", "b"])]);
    sim.until(|command| matches!(command, allm_core::run::Command::RunTools(_)));
    sim.step();
    assert!(matches!(
        sim.call(sim.key(0)).wait(),
        Some(Wait::Approval(_))
    ));
    sim.decide("c0", Decision::Approved).unwrap();
    assert_eq!(sim.drive(), HaltReason::Completed);
    assert_eq!(sim.ran.len(), 3);
}
