//! After a turn: L167, L168, L179.

use std::time::Duration;

use allm_core::run::{
    Budgets, Command, DeadlineScope, Deadlines, HaltAnswer, HaltWhen, Input, InputReason,
    RunOptions, ToolOutcome, UnknownTools,
};
use allm_core::{FinishReason, Mode, Usage};
use serde_json::json;

use super::script::*;
use super::sim::*;

fn asking() -> RunOptions {
    RunOptions {
        halt_when: HaltWhen::Set,
        ..RunOptions::default()
    }
}

#[test]
fn l167_halt_when_halts_and_sees_the_results() {
    let mut sim = Sim::new(options(asking(), tools(&["a"])), [calls(&["a"])]).halting();
    sim.step();
    sim.step();
    let Command::AskHaltWhen(step) = sim.run.command() else {
        panic!()
    };
    assert_eq!(
        shown(&step.thread).last().map(String::as_str),
        Some("tool c0: done")
    );
    let ran = sim.ran();
    assert_eq!(ran.reason(), "halt_when");
    assert_eq!(
        ran.result().metadata,
        object(json!({"halt_when_step_index": 0}))
    );
}

#[test]
fn l168_halt_when_is_not_asked_about_final_halted_and_manual_turns() {
    let never = |answers: Vec<Answer>| {
        let mut sim = Sim::new(options(asking(), tools(&["a", "m"])), answers)
            .tools(|_| halts("h", json!(1)));
        while sim.run.end().is_none() {
            assert!(!matches!(sim.run.command(), Command::AskHaltWhen(_)));
            sim.step();
        }
    };
    never(vec![text("x")]);
    never(vec![calls(&["a"])]);
    never(vec![calls(&["m"])]);
    never(vec![calls(&["nope"])]);
    never(vec![calls_with(&["a"], Some(FinishReason::Length))]);
}

#[test]
fn l168_halt_when_beats_max_turns() {
    let setup = options(
        RunOptions {
            max_turns: 1,
            ..asking()
        },
        tools(&["a"]),
    );
    assert_eq!(
        Sim::new(setup, [calls(&["a"])]).halting().ran().reason(),
        "halt_when"
    );
}

/// The conditions of the table in its order, and how to make each hold in one tool turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    Cancelled,
    TurnDeadline,
    RunDeadline,
    ProviderError,
    Truncated,
    ManualMode,
    UnknownTool,
    ToolBudget,
    Asked,
    ToolError,
    Custom,
    ManualTool,
    HaltWhen,
    MaxTurns,
    Tokens,
    Cost,
}

use Condition::*;

const CONDITIONS: [(Condition, &str); 16] = [
    (Cancelled, "cancelled"),
    (TurnDeadline, "deadline_exceeded"),
    (RunDeadline, "deadline_exceeded"),
    (ProviderError, "error"),
    (Truncated, "truncated"),
    (ManualMode, "manual_tool_calls"),
    (UnknownTool, "error"),
    (ToolBudget, "budget_exhausted"),
    (Asked, "ask_user"),
    (ToolError, "tool_error"),
    (Custom, "custom"),
    (ManualTool, "manual_tool_calls"),
    (HaltWhen, "halt_when"),
    (MaxTurns, "max_turns"),
    (Tokens, "budget_exhausted"),
    (Cost, "budget_exhausted"),
];

/// A run of one tool turn in which these conditions hold.
fn reason_of(held: &[Condition]) -> String {
    let holds = |condition: Condition| held.contains(&condition);
    let second = Duration::from_secs(1);
    let run_options = RunOptions {
        mode: if holds(ManualMode) {
            Mode::Manual
        } else {
            Mode::Auto
        },
        max_turns: if holds(MaxTurns) { 1 } else { 5 },
        halt_when: if holds(Condition::HaltWhen) {
            allm_core::run::HaltWhen::Set
        } else {
            allm_core::run::HaltWhen::NotSet
        },
        unknown_tools: UnknownTools::Refuse,
        deadlines: Deadlines {
            turn: holds(TurnDeadline).then_some(second),
            run: holds(RunDeadline).then_some(second),
        },
        budgets: Budgets {
            tool_calls: holds(ToolBudget).then_some(0),
            tokens: holds(Tokens).then_some(1),
            cost: holds(Cost).then_some(1.0),
        },
        ..RunOptions::default()
    };
    let mut names = vec!["a0", "a1", "a2"];
    if holds(UnknownTool) {
        names.push("nope");
    }
    if holds(ManualTool) {
        names.push("m");
    }
    let reply = Reply {
        calls: call_list(&names),
        finish: Some(if holds(Truncated) {
            FinishReason::Length
        } else {
            FinishReason::ToolCalls
        }),
        usage: Usage::io(10, 10),
        ..Reply::default()
    };
    let answer = if holds(ProviderError) {
        Answer::Breaks(reply)
    } else {
        Answer::Message(reply)
    };
    let outcomes: Vec<ToolOutcome> = [
        holds(Asked).then(|| asks("q")),
        holds(ToolError).then(|| fails_and_halts(None)),
        holds(Custom).then(|| halts("custom", json!(1))),
    ]
    .into_iter()
    .map(|outcome| outcome.unwrap_or_else(|| ok("x")))
    .collect();
    let mut sim = Sim::new(
        options(run_options, tools(&["a0", "a1", "a2", "m"])),
        [answer, text("end")],
    )
    .tools(move |call| outcomes[call.index as usize].clone())
    .halting();
    // Stops come while the model answers, the last moment at which they hold with everything else.
    if holds(RunDeadline) {
        sim.apply(Input::DeadlinePassed(DeadlineScope::Run));
    }
    if holds(TurnDeadline) {
        sim.apply(Input::DeadlinePassed(DeadlineScope::Turn));
    }
    if holds(Cancelled) {
        sim.apply(Input::Cancel);
    }
    if sim.run.stop().is_some() {
        // The answer had come whole before the driver could stop it.
        sim.answer_now();
    }
    sim.ran().reason().to_owned()
}

#[test]
fn l179_of_two_conditions_that_hold_the_earlier_one_decides() {
    for (condition, reason) in CONDITIONS {
        assert_eq!(reason_of(&[condition]), reason, "{condition:?}");
    }
    for (position, (first, reason)) in CONDITIONS.iter().enumerate() {
        for (second, _) in &CONDITIONS[position + 1..] {
            // A provider's error and a cut-off answer cannot both be the finish reason.
            let found = reason_of(&[*first, *second]);
            assert_eq!(&found, reason, "{first:?} beats {second:?}");
        }
    }
}

#[test]
fn inputs_that_are_not_expected_change_nothing() {
    let mut sim = Sim::new(options(asking(), tools(&["a"])), [calls(&["a"])]);
    let refused = |sim: &mut Sim, input: Input, reason: InputReason| {
        let before = sim.run.clone();
        let error = sim.run.apply(input).expect_err("refused");
        assert_eq!((error.reason, &sim.run), (reason, &before));
        assert!(!error.to_string().is_empty());
    };
    refused(
        &mut sim,
        Input::tool_done(0, ok("x")),
        InputReason::NotExpected,
    );
    refused(
        &mut sim,
        Input::HaltWhen(HaltAnswer::Halt),
        InputReason::NotExpected,
    );
    refused(&mut sim, Input::stopped(None), InputReason::NotStopping);
    let deadline = Input::DeadlinePassed(DeadlineScope::Run);
    refused(&mut sim, deadline, InputReason::NoSuchDeadline);
    sim.step();
    refused(
        &mut sim,
        Input::tool_done(1, ok("x")),
        InputReason::UnknownCall,
    );
    refused(
        &mut sim,
        Input::tool_done(u32::MAX, ok("x")),
        InputReason::UnknownCall,
    );
    refused(
        &mut sim,
        Input::tool_done(0, ToolOutcome::NotStarted),
        InputReason::NotStopping,
    );
    refused(
        &mut sim,
        Input::refused(refusal()),
        InputReason::NotExpected,
    );
    refused(&mut sim, Input::stopped(None), InputReason::NotExpected);
}

#[test]
fn a_second_outcome_of_a_call_reaches_nobody() {
    let mut sim = Sim::new(setup(tools(&["a", "b"])), [calls(&["a", "b"])]);
    sim.step();
    let Command::RunTools(calls) = sim.run.command() else {
        panic!()
    };
    sim.finish(&calls[1], ok("first"));
    let late = sim
        .run
        .apply(Input::tool_done(1, ok("late")))
        .expect_err("refused");
    assert_eq!(late.reason, InputReason::AlreadyDone);
    sim.finish(&calls[0], ok("x"));
    let step = &sim.run.steps()[0];
    assert_eq!(step.tool_results.get(1).expect("one").text(), "first");
}
