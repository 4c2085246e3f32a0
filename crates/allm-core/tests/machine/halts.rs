//! Handler halts and the error policy, as far as the machine sees them: L129–L141, L143–L149.

use allm_core::run::ToolOutcome;
use allm_core::{Event, ExecutionResult, FailureReason, HaltReason, json as documents};
use serde_json::json;

use super::script::*;
use super::sim::*;

fn one(outcome: fn() -> ToolOutcome) -> Ran {
    Sim::new(setup(tools(&["a"])), [calls(&["a"]), text("x")])
        .tools(move |_| outcome())
        .ran()
}

/// The outcomes of the calls by index.
fn batch(outcomes: Vec<ToolOutcome>, order: &[usize]) -> Ran {
    let names: Vec<&str> = outcomes.iter().map(|_| "a").collect();
    Sim::new(setup(tools(&["a"])), [calls(&names), text("x")])
        .order(order)
        .tools(move |call| outcomes[call.index as usize].clone())
        .ran()
}

#[test]
fn l127_l128_a_failure_under_continue_becomes_content_and_the_run_goes_on() {
    for reason in [
        FailureReason::Reported,
        FailureReason::HandlerRaised,
        FailureReason::HandlerExit,
        FailureReason::Timeout,
        FailureReason::InvalidReturn,
        FailureReason::EncodingFailed,
        FailureReason::NotFound,
        FailureReason::InvalidArguments,
    ] {
        let ran = Sim::new(setup(tools(&["a"])), [calls(&["a"]), text("x")])
            .tools(move |_| ToolOutcome::failed(failure(reason)))
            .ran();
        assert_eq!((ran.reason(), ran.requests.len()), ("completed", 2));
        let message = ran.step(0).tool_results.get(0).expect("a message").clone();
        let content: serde_json::Value = serde_json::from_str(&message.text()).expect("JSON");
        assert_eq!(content["error"]["reason"], reason.as_str());
        assert!(message.is_error);
    }
}

#[test]
fn l129_l130_halt_on_failure() {
    let ran = one(|| fails_and_halts(None));
    assert_eq!((ran.reason(), ran.requests.len()), ("tool_error", 1));
    assert_eq!(
        ran.result().metadata,
        object(json!({"halt_tool_call_id": "c0"}))
    );
    assert_eq!(ran.step(0).tool_results.len(), 1);
    let closing = ran.events.iter().find_map(|event| match event {
        Event::ToolHalt(halt) => Some(halt),
        _ => None,
    });
    let halt = closing.expect("a tool_halt");
    assert_eq!(halt.reason, "tool_error");
    assert!(halt.content.contains("\"error\""));
    assert_eq!(halt.result["reason"], "handler_raised");
    let completed = ran.events.iter().any(|event| {
        matches!(event, Event::ToolExecutionCompleted(done)
            if matches!(done.result, ExecutionResult::Error(_)))
    });
    assert!(completed);
}

#[test]
fn l132_a_replacement_shows_only_in_the_content() {
    let ran = one(|| ToolOutcome::Failed {
        failure: failure(FailureReason::Reported),
        content: "instead".into(),
        decision: allm_core::run::PolicyDecision::Continue,
    });
    assert_eq!(ran.reason(), "completed");
    assert_eq!(
        ran.step(0).tool_results.get(0).expect("one").text(),
        "instead"
    );
}

#[test]
fn l134_l139_the_exception_of_the_lower_index_is_reported() {
    let outcomes = vec![
        fails_and_halts(Some("first")),
        fails_and_halts(Some("second")),
    ];
    let ran = batch(outcomes, &[1, 0]);
    let expected = json!({"halt_tool_call_id": "c0", "on_tool_error_exception": "first"});
    assert_eq!(ran.result().metadata, object(expected));
    assert_eq!(ran.step(0).tool_results.len(), 2);
}

#[test]
fn l143_a_custom_halt() {
    let ran = one(|| halts("plan_submitted", json!({"ok": 1})));
    assert_eq!(ran.reason(), "plan_submitted");
    let expected = json!({"halt_tool_call_id": "c0", "halt_result": {"ok": 1}});
    assert_eq!(ran.result().metadata, object(expected));
    assert_eq!(ran.result().halt_result(), Some(&json!({"ok": 1})));
    assert_eq!(ran.step(0).halt_result(), Some(&json!({"ok": 1})));
    assert_eq!(ran.result().ask_user_opts(), None);
    assert_eq!(ran.result().steps.len(), 1);
    assert!(ran.step(0).done);
    assert_eq!(
        ran.step(0).tool_results.get(0).expect("one").text(),
        "{\"ok\":1}"
    );
}

#[test]
fn l146_of_two_halts_the_lower_index_wins_whoever_finished_first() {
    for order in [[0, 1], [1, 0]] {
        let outcomes = vec![halts("first", json!(0)), halts("second", json!(1))];
        let ran = batch(outcomes, &order);
        assert_eq!(ran.reason(), "first");
        assert_eq!(ran.result().metadata["halt_result"], json!(0));
        let halts = ran.tags().iter().filter(|tag| **tag == "tool_halt").count();
        assert_eq!((halts, ran.step(0).tool_results.len()), (2, 2));
    }
}

#[test]
fn l147_question_halt_and_failure_by_index() {
    let cases = [
        (vec![asks("q"), halts("h", json!(1))], "ask_user"),
        (vec![halts("h", json!(1)), asks("q")], "h"),
        (
            vec![fails_and_halts(None), asks("q"), halts("h", json!(1))],
            "tool_error",
        ),
    ];
    for (outcomes, reason) in cases {
        assert_eq!(batch(outcomes, &[1, 0]).reason(), reason);
    }
}

#[test]
fn l141_l148_siblings_of_a_halting_call_finish_and_keep_call_order() {
    let outcomes = vec![ok("one"), halts("h", json!(1)), fails(), ok("four")];
    let ran = batch(outcomes, &[1, 3, 2, 0]);
    let ids: Vec<String> = ran
        .thread()
        .split_off(2)
        .iter()
        .map(|line| line[..7].to_owned())
        .collect();
    assert_eq!(ids, ["tool c0", "tool c1", "tool c2", "tool c3"]);
    let errors: Vec<bool> = ran
        .step(0)
        .tool_results
        .iter()
        .map(|m| m.is_error)
        .collect();
    assert_eq!(errors, [false, false, true, false]);
}

#[test]
fn l149_a_custom_reason_survives_json_and_a_reserved_one_stays_itself() {
    let ran = one(|| halts("plan_submitted", json!(null)));
    let text = documents::to_string(ran.result()).expect("written");
    let read: allm_core::ChatResult = documents::from_str(&text).expect("read");
    assert_eq!(read.halted_reason.as_str(), "plan_submitted");
    assert_eq!(
        HaltReason::from_text("max_turns"),
        Some(HaltReason::MaxTurns)
    );
    assert_eq!(allm_core::CustomHalt::new("max_turns"), None);
}
