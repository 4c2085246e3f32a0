//! Laws of the machine over random runs.

use allm_core::run::{
    Budgets, DeadlineScope, Deadlines, Finalize, HaltWhen, Input, Planning, Repair, RunKind,
    RunOptions, RunSetup, ToolOutcome, UnknownTools,
};
use allm_core::{Event, FinishReason, Fold, Mode, ResponseFormat, Usage};
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

use super::script::*;
use super::sim::*;

fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn a_call() -> impl Strategy<Value = Called> {
    let id = prop::sample::select(vec!["", "c", "d", "allm-0-0", "allm-1-1"]);
    let name = prop::sample::select(vec![
        "a",
        "a",
        "b",
        "m",
        "u",
        "get.weather",
        "tool_help",
        "",
    ]);
    let raw = prop::sample::select(vec!["{}", "{\"x\":1}", "", "null", "[1]", "{\"x\":"]);
    (id, name, raw).prop_map(|(id, name, raw)| Called {
        raw: raw.into(),
        ..called(id, name)
    })
}

fn a_reply() -> impl Strategy<Value = Reply> {
    let finish = prop::sample::select(vec![
        None,
        Some(FinishReason::Stop),
        Some(FinishReason::ToolCalls),
        Some(FinishReason::ToolCalls),
        Some(FinishReason::Length),
        Some(FinishReason::ContentFilter),
        Some(FinishReason::Other),
    ]);
    let text = prop::sample::select(vec!["", "text"]);
    let calls = prop::collection::vec(a_call(), 0..4);
    (text, calls, finish, any::<bool>()).prop_map(|(text, calls, finish, used)| Reply {
        text: text.into(),
        calls,
        finish,
        raw_finish: None,
        usage: if used {
            Usage::io(3, 4)
        } else {
            Usage::default()
        },
    })
}

fn an_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        10 => a_reply().prop_map(Answer::Message),
        1 => a_reply().prop_map(Answer::Breaks),
        1 => a_reply().prop_map(Answer::JustEnds),
        1 => Just(Answer::Refused),
    ]
}

fn an_outcome() -> impl Strategy<Value = ToolOutcome> {
    prop_oneof![
        6 => Just(ok("done")),
        3 => Just(fails()),
        1 => Just(fails_and_halts(Some("panic"))),
        1 => Just(asks_with("q", json!({"a": 1}))),
        1 => Just(asks_to_go_on("q")),
        1 => Just(halts("custom", json!({"v": [1]}))),
    ]
}

fn some_options() -> impl Strategy<Value = RunOptions> {
    let flags = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let budgets = (
        prop::option::of(0..6_u64),
        prop::option::of(0..30_u64),
        prop::option::of(Just(0.5)),
    );
    (1..4_u32, flags, budgets).prop_map(|(max_turns, flags, budgets)| {
        let (manual, step, tell, asks, finalize) = flags;
        let second = Some(Duration::from_secs(1));
        RunOptions {
            kind: if step && manual {
                RunKind::Step
            } else {
                RunKind::Chat
            },
            mode: if manual && !tell {
                Mode::Manual
            } else {
                Mode::Auto
            },
            max_turns,
            unknown_tools: if tell {
                UnknownTools::TellModel
            } else {
                UnknownTools::Refuse
            },
            planning: Planning::Machine,
            halt_when: if asks {
                HaltWhen::Set
            } else {
                HaltWhen::NotSet
            },
            structured_finalize: finalize.then(Finalize::default),
            deadlines: Deadlines {
                turn: second,
                run: second,
            },
            budgets: Budgets {
                tool_calls: budgets.0,
                tokens: budgets.1,
                cost: budgets.2.filter(|_| step),
            },
        }
    })
}

fn setup_of(options: RunOptions) -> RunSetup {
    let mut setup = options_for(options);
    setup.tools[1].compact = true;
    setup.request.response_format = Some(ResponseFormat::JsonObject);
    setup
}

fn options_for(options: RunOptions) -> RunSetup {
    super::sim::options(options, tools(&["a", "b", "m"]))
}

#[derive(Clone, Debug)]
struct Plan {
    options: RunOptions,
    answers: Vec<Answer>,
    outcomes: Vec<ToolOutcome>,
    order: Vec<usize>,
    /// After how many steps of the driver which stop comes.
    stop: Option<(usize, u8)>,
    halts: bool,
}

fn a_plan() -> impl Strategy<Value = Plan> {
    (
        some_options(),
        prop::collection::vec(an_answer(), 1..6),
        prop::collection::vec(an_outcome(), 1..6),
        Just(vec![0, 1, 2]).prop_shuffle(),
        prop::option::of((0..8_usize, 0..3_u8)),
        any::<bool>(),
    )
        .prop_map(|(options, answers, outcomes, order, stop, halts)| Plan {
            options,
            answers,
            outcomes,
            order,
            stop,
            halts,
        })
}

/// Runs the plan; the simulation checks every law after every input and at the end.
fn run(plan: Plan) -> Ran {
    let mut outcomes = plan.outcomes.into_iter().cycle();
    let mut sim = Sim::new(setup_of(plan.options), plan.answers)
        .order(&plan.order)
        .tools(move |_| outcomes.next().expect("a cycle"));
    if plan.halts {
        sim = sim.halting();
    }
    for number in 0.. {
        assert!(number < 100, "the machine always ends");
        if sim.run.end().is_some() {
            break;
        }
        if let Some((at, kind)) = plan.stop
            && at == number
        {
            sim.apply(match kind {
                0 => Input::Cancel,
                1 => Input::DeadlinePassed(DeadlineScope::Turn),
                _ => Input::DeadlinePassed(DeadlineScope::Run),
            });
        }
        if sim.run.end().is_none() {
            sim.step();
        }
    }
    sim.ran()
}

proptest! {
    #![proptest_config(cases())]

    /// The machine ends within its budgets; after any input the thread is sendable or the open calls are told; every
    /// call has exactly one outcome; the fold of the events is the result; storing and restoring changes nothing.
    #[test]
    fn every_run_keeps_the_laws(plan in a_plan()) {
        let most = plan.options.max_turns as usize + 1;
        let budget = plan.options.budgets.tool_calls;
        let ran = run(plan);
        prop_assert!(ran.requests.len() <= most);
        prop_assert!(ran.run.steps().len() <= most);
        let started = ran.events.iter().filter(|event| match event {
            Event::ToolExecutionStarted(event) => event.name != "tool_help",
            _ => false,
        });
        if let Some(budget) = budget {
            prop_assert!(started.count() as u64 <= budget);
        }
    }

    /// L225, L284 in small: equal scripts give equal results, equal events and equal stored bytes.
    #[test]
    fn a_run_is_a_function_of_its_inputs(plan in a_plan()) {
        let (one, two) = (run(plan.clone()), run(plan));
        prop_assert_eq!(&one.events, &two.events);
        prop_assert_eq!(bytes(&one.run), bytes(&two.run));
    }

    /// L215: without deltas the folded answer is the same, if the provider completed it.
    #[test]
    fn filters_never_change_an_answer(reply in a_reply(), turn in 0..3_u32) {
        let mut repair = Repair::new(turn);
        let mut events: Vec<Event> = pieces(&reply).into_iter().map(|event| repair.event(event)).collect();
        events.push(repair.event(completed(&reply)));
        let (mut all, mut filtered) = (Fold::new(), Fold::new());
        for event in &events {
            all.push(event);
            if !matches!(event, Event::TextDelta(_) | Event::ToolCallDelta(_) | Event::RawChunk(_)) {
                filtered.push(event);
            }
            if all.is_terminated() {
                break;
            }
        }
        let failed = all.response().error.is_some();
        prop_assert!(failed || all.response() == filtered.response());
    }

    /// Repairing what is repaired changes nothing.
    #[test]
    fn repair_is_idempotent(reply in a_reply(), turn in 0..3_u32) {
        let mut once = Repair::new(turn);
        let mut events: Vec<Event> = pieces(&reply).into_iter().map(|event| once.event(event)).collect();
        events.push(once.event(completed(&reply)));
        let mut again = Repair::new(turn);
        for event in events {
            prop_assert_eq!(again.event(event.clone()), event);
        }
    }
}
