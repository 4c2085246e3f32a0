//! Budgets: L242, L265–L269.

use allm_core::run::{Budgets, Finalize, RunKind, RunOptions, RunSetup, UnknownTools};
use allm_core::{Cost, ErrorKind, ExhaustedBudget, FailureReason, ResponseFormat, Tool, Usage};
use serde_json::json;

use super::script::*;
use super::sim::*;

fn with(budgets: Budgets, names: &[&str]) -> RunSetup {
    let run_options = RunOptions {
        budgets,
        ..RunOptions::default()
    };
    options(run_options, tools(names))
}

fn used(answer: Answer, usage: Usage) -> Answer {
    match answer {
        Answer::Message(reply) => Answer::Message(Reply { usage, ..reply }),
        answer => answer,
    }
}

fn costing(total: f64) -> Usage {
    Usage {
        cost: Some(Cost {
            input: None,
            output: None,
            total,
        }),
        ..Usage::default()
    }
}

#[test]
fn l265_a_batch_that_does_not_fit_does_not_run_at_all() {
    let budgets = Budgets {
        tool_calls: Some(3),
        ..Budgets::default()
    };
    let ran = ran(
        with(budgets, &["a"]),
        [calls(&["a", "a"]), calls(&["a", "a"])],
    );
    assert_eq!(ran.reason(), "budget_exhausted");
    let expected = json!({"budget": "tool_calls", "limit": 3, "used": 2});
    assert_eq!(ran.result().metadata, object(expected));
    assert_eq!(
        ran.result().exhausted_budget(),
        Some(ExhaustedBudget::ToolCalls { limit: 3, used: 2 })
    );
    let results: Vec<String> = ran.step(1).tool_results.iter().map(|m| m.text()).collect();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|text| text.contains("budget_exhausted")));
    assert_eq!(
        ran.step(1).metadata,
        object(json!({"halted_reason": "budget_exhausted"}))
    );
    super::check::can_go_on(&ran.result().thread);
}

#[test]
fn l266_what_counts_and_what_does_not() {
    let budgets = Budgets {
        tool_calls: Some(2),
        ..Budgets::default()
    };
    // Exactly full; refused arguments count.
    let full = Sim::new(with(budgets, &["a"]), [calls(&["a", "a"]), text("x")])
        .tools(|_| allm_core::run::ToolOutcome::failed(failure(FailureReason::InvalidArguments)))
        .ran();
    assert_eq!(full.reason(), "completed");
    // Manual calls do not.
    let manual = ran(with(budgets, &["a", "m"]), [calls(&["a", "m", "m", "a"])]);
    assert_eq!(manual.reason(), "manual_tool_calls");
    // Closed calls do not.
    let mut telling = with(budgets, &["a"]);
    telling.options.unknown_tools = UnknownTools::TellModel;
    let closed = ran(
        telling,
        [calls(&["x", "x", "x"]), calls(&["a", "a"]), text("x")],
    );
    assert_eq!(closed.reason(), "completed");
}

#[test]
fn l242_tool_help_costs_a_turn_and_no_tool_call() {
    let budgets = Budgets {
        tool_calls: Some(1),
        ..Budgets::default()
    };
    let mut setup = with(budgets, &[]);
    setup.tools = vec![Tool::new("x", "Does x.", json!({"type": "object"})).compact()];
    setup.options.max_turns = 2;
    let answers = [calls(&["tool_help", "tool_help"]), calls(&["x"])];
    let ran = ran(setup, answers);
    assert_eq!((ran.reason(), ran.result().steps.len()), ("max_turns", 2));
}

#[test]
fn l267_tokens_used_up_stop_before_the_next_call() {
    let budgets = Budgets {
        tokens: Some(20),
        ..Budgets::default()
    };
    let first = used(calls(&["a"]), Usage::io(15, 5));
    let stopped = ran(with(budgets, &["a"]), [first]);
    assert_eq!(
        (stopped.reason(), stopped.requests.len()),
        ("budget_exhausted", 1)
    );
    assert_eq!(stopped.step(0).tool_results.len(), 1, "its tools ran");
    let expected = json!({"budget": "tokens", "limit": 20, "used": 20});
    assert_eq!(stopped.result().metadata, object(expected));
    assert_eq!(
        stopped.result().exhausted_budget(),
        Some(ExhaustedBudget::Tokens {
            limit: 20,
            used: 20
        })
    );
    let last = used(text("x"), Usage::io(100, 100));
    assert_eq!(ran(with(budgets, &["a"]), [last]).reason(), "completed");
    // Unknown counts are 0.
    let unknown = ran(
        with(budgets, &["a"]),
        [calls(&["a"]), calls(&["a"]), text("x")],
    );
    assert_eq!(unknown.reason(), "completed");
}

#[test]
fn l268_cost_used_up_or_unknown_stops() {
    let budgets = Budgets {
        cost: Some(0.5),
        ..Budgets::default()
    };
    let spent = ran(with(budgets, &["a"]), [used(calls(&["a"]), costing(0.5))]);
    assert_eq!(spent.reason(), "budget_exhausted");
    let expected = json!({"budget": "cost", "limit": 0.5, "used": 0.5});
    assert_eq!(spent.result().metadata, object(expected));
    let told = |used| Some(ExhaustedBudget::Cost { limit: 0.5, used });
    assert_eq!(spent.result().exhausted_budget(), told(Some(0.5)));
    let unknown = ran(with(budgets, &["a"]), [calls(&["a"])]);
    let expected = json!({"budget": "cost", "limit": 0.5, "used": null});
    assert_eq!(unknown.result().metadata, object(expected));
    assert_eq!(unknown.result().exhausted_budget(), told(None));
    let left = [
        used(calls(&["a"]), costing(0.25)),
        used(text("x"), costing(9.0)),
    ];
    assert_eq!(ran(with(budgets, &["a"]), left).reason(), "completed");
}

#[test]
fn l269_a_used_up_budget_stops_the_second_pass() {
    let budgets = Budgets {
        tokens: Some(10),
        ..Budgets::default()
    };
    let mut setup = with(budgets, &[]);
    setup.options.structured_finalize = Some(Finalize::default());
    setup.request.response_format = Some(ResponseFormat::JsonObject);
    let ran = ran(setup, [used(text("x"), Usage::io(10, 0))]);
    assert_eq!((ran.reason(), ran.requests.len()), ("budget_exhausted", 1));
    assert_eq!(
        ran.result().metadata["structured_finalize"]["pass_1_halted"],
        "completed"
    );
    assert_eq!(ran.thread(), ["user: hi", "assistant: x"], "no nudge");
}

#[test]
fn a_budget_of_nothing_stops_before_the_first_turn() {
    let budgets = Budgets {
        tokens: Some(0),
        ..Budgets::default()
    };
    let ran = ran(with(budgets, &[]), []);
    assert_eq!((ran.reason(), ran.requests.len()), ("budget_exhausted", 0));
    assert_eq!(ran.tags(), ["chat_completed"]);
    assert_eq!(ran.result().final_response, None);
}

#[test]
fn l216_a_step_without_a_budget_is_refused_and_has_no_chat_completed() {
    let budgets = Budgets {
        tokens: Some(0),
        ..Budgets::default()
    };
    let mut setup = with(budgets, &[]);
    setup.options.kind = RunKind::Step;
    let ran = ran(setup, []);
    assert_eq!((ran.tags(), ran.requests.len()), (vec!["error"], 0));
    let failure = ran.refused();
    assert_eq!(
        (failure.kind, failure.reason.as_str()),
        (ErrorKind::Engine, "invalid_config")
    );
    let expected = json!({"budget": "tokens", "limit": 0, "used": 0});
    assert_eq!(failure.metadata, object(expected));
}
