//! Every input sequence of the machine up to a size, with the invariants checked in every state.
//!
//! Up to three calls a turn, of auto, manual and unknown tools in every arrangement; every outcome of every call in
//! every order, calls that asked a person and go on among them; three turns; a stop of each kind at every point; answers that are cut, broken, refused or stopped.
//! States that differ only in the closed history are merged: what the machine does next does not depend on it, which the
//! walk checks wherever two meet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use allm_core::run::{
    Budgets, CallToRun, Command, DeadlineScope, Deadlines, Finalize, HaltAnswer, HaltWhen, Input,
    Run, RunOptions, RunSetup, ToolOutcome, UnknownTools,
};
use allm_core::{
    Event, FailureReason, FinishReason, Fold, Hash, Message, Mode, Response, ResponseFormat,
    Thread, ToolCall, Usage,
};
use serde_json::{Value, json};

use super::check;
use super::script::{
    asks, asks_to_go_on, fails, fails_and_halts, failure, halts, ok, refusal, tools,
};

const TOOLS: [&str; 3] = ["a", "m", "u"];

/// A state of the walk, with the fold of the events that led there first.
struct State {
    run: Run,
    fold: Fold,
}

/// What the walk saw.
#[derive(Debug, Default)]
struct Seen {
    states: usize,
    transitions: usize,
    ends: usize,
}

/// All sequences of one to three calls.
fn shapes() -> Vec<Vec<&'static str>> {
    let mut shapes: Vec<Vec<&str>> = vec![vec![]];
    let mut all = Vec::new();
    for _ in 0..3 {
        shapes = shapes
            .iter()
            .flat_map(|shape| {
                TOOLS.map(|tool| shape.iter().copied().chain([tool]).collect::<Vec<_>>())
            })
            .collect();
        all.extend(shapes.clone());
    }
    all
}

fn answer(names: &[&str], finish: FinishReason) -> Response {
    let calls = (0..).zip(names);
    let calls = calls.map(|(index, name)| ToolCall::new(format!("c{index}"), *name, "{}"));
    let text = if names.is_empty() { "text" } else { "" };
    let mut response = Response::new(Message::assistant(text).with_tool_calls(calls.collect()));
    response.finish_reason = Some(finish);
    response.usage = Usage::io(1, 1);
    if finish == FinishReason::Error {
        response.error = Some(refusal());
    }
    response
}

fn answers() -> Vec<Response> {
    let whole = shapes()
        .into_iter()
        .map(|shape| answer(&shape, FinishReason::ToolCalls));
    let cut = [
        FinishReason::Length,
        FinishReason::ContentFilter,
        FinishReason::Error,
    ];
    let cut = cut.into_iter().flat_map(|finish| {
        let shapes: [&[&str]; 3] = [&[], &["a"], &["a", "m", "u"]];
        shapes.map(|shape| answer(shape, finish))
    });
    let text = answer(&[], FinishReason::Stop);
    whole.chain(cut).chain([text]).collect()
}

/// What may have come of an answer that was stopped.
fn partials() -> Vec<Option<Response>> {
    let mut half = answer(&["a", "m"], FinishReason::Stop);
    half.message.tool_calls[1] = ToolCall::cut_off("c1", "m", "{\"x\"");
    let text = answer(&[], FinishReason::Stop);
    [half, text]
        .into_iter()
        .map(|mut partial| {
            partial.finish_reason = None;
            Some(partial)
        })
        .chain([None])
        .collect()
}

fn outcomes() -> Vec<ToolOutcome> {
    vec![
        ok("done"),
        fails(),
        fails_and_halts(None),
        asks("q"),
        asks_to_go_on("q"),
        halts("custom", json!(1)),
    ]
}

fn stops(options: &RunOptions) -> Vec<Input> {
    let mut stops = vec![Input::Cancel];
    if options.deadlines.turn.is_some() {
        stops.push(Input::DeadlinePassed(DeadlineScope::Turn));
    }
    if options.deadlines.run.is_some() {
        stops.push(Input::DeadlinePassed(DeadlineScope::Run));
    }
    stops
}

/// Every input that is legal in this state.
fn inputs(run: &Run) -> Vec<Input> {
    let mut inputs = stops(run.options());
    let done = |calls: &[CallToRun], outcomes: &[ToolOutcome]| -> Vec<Input> {
        let pairs = calls
            .iter()
            .flat_map(|call| outcomes.iter().map(move |outcome| (call, outcome)));
        pairs
            .map(|(call, outcome)| Input::tool_done(call.index, outcome.clone()))
            .collect()
    };
    match run.command() {
        Command::CallModel(_) => {
            inputs.extend(answers().into_iter().map(Input::responded));
            inputs.push(Input::refused(refusal()));
        }
        Command::StopModel => {
            inputs.extend(partials().into_iter().map(Input::stopped));
            inputs.push(Input::refused(refusal()));
            inputs.push(Input::responded(answer(&[], FinishReason::Stop)));
            inputs.push(Input::responded(answer(
                &["a", "m", "u"],
                FinishReason::ToolCalls,
            )));
        }
        Command::RunTools(calls) => {
            inputs.extend(done(&calls, &outcomes()));
            inputs.extend(from_outside(run));
        }
        Command::StopTools(calls) => {
            let stopped = ToolOutcome::failed(failure(FailureReason::HandlerExit));
            inputs.extend(done(
                &calls,
                &[
                    ok("done"),
                    asks("q"),
                    asks_to_go_on("q"),
                    stopped,
                    ToolOutcome::NotStarted,
                ],
            ));
        }
        Command::AskHaltWhen(_) => {
            inputs.extend([HaltAnswer::Halt, HaltAnswer::GoOn].map(Input::HaltWhen));
        }
        _ => {}
    }
    inputs
}

/// A call that asked a person goes on, or is closed, while others run.
fn from_outside(run: &Run) -> Vec<Input> {
    let response = run.open_response().expect("an open turn");
    let is_asking = |index: u32| response.tool_calls()[index as usize].name == "a";
    let calls = run.open_calls().into_iter();
    let asking = calls.filter(|call| call.manual && is_asking(call.index));
    asking
        .flat_map(|call| {
            let message = Message::tool_error(call.id.clone(), "too late");
            [
                Input::CallReady { index: call.index },
                Input::CallClosed {
                    index: call.index,
                    message: Arc::new(message),
                    tail: Vec::new(),
                },
            ]
        })
        .collect()
}

/// Inputs that no state may take: whatever this state does not wait for.
fn refuses_the_rest(run: &Run) {
    let mut illegal = vec![
        Input::tool_done(7, ok("x")),
        Input::tool_done(0, ToolOutcome::NotStarted),
    ];
    let command = run.command();
    if !matches!(command, Command::CallModel(_) | Command::StopModel) {
        illegal.push(Input::responded(answer(&[], FinishReason::Stop)));
        illegal.push(Input::refused(refusal()));
    }
    if !matches!(command, Command::StopModel) {
        illegal.push(Input::stopped(None));
    }
    if !matches!(command, Command::AskHaltWhen(_)) {
        illegal.push(Input::HaltWhen(HaltAnswer::Halt));
    }
    if matches!(command, Command::StopTools(_)) {
        illegal.remove(1);
    }
    for input in illegal {
        let mut tried = run.clone();
        tried.apply(input).expect_err("refused");
        assert_eq!(&tried, run, "a refused input changes nothing");
    }
}

/// The state without its closed history.
fn key(run: &mut Run) -> Hash {
    let mut value = serde_json::to_value(&*run).expect("JSON");
    let data = value.as_object_mut().expect("an object");
    let length = run.thread().len();
    data.remove("state_hash");
    data.remove("setup");
    data.remove("given");
    data.remove("thread");
    let steps = data
        .remove("steps")
        .map_or(0, |steps| steps.as_array().map_or(0, Vec::len));
    data.insert("steps".into(), json!(steps));
    if let Some(first) = data.get_mut("second_pass") {
        let kept = first["messages"].as_u64().expect("a count");
        first["messages"] = json!(length as u64 - kept);
    }
    if run.options().budgets.tool_calls.is_none() {
        data["counters"]["tool_calls"] = Value::Null;
    }
    // How the run ended matters, what was said does not.
    if let Some(metadata) = data["phase"].get_mut("metadata") {
        metadata["structured_finalize"] = Value::Null;
    }
    Hash::of_bytes(&allm_core::json::canonical_value(&value))
}

/// What the machine wants, without the conversation.
fn wish(run: &Run) -> Command {
    let mut command = run.command();
    match &mut command {
        Command::CallModel(call) => call.request.messages = Default::default(),
        Command::AskHaltWhen(_) => return Command::Finish,
        _ => {}
    }
    command
}

/// The events of the driver and its tools that go with an input.
fn events_of(run: &Run, input: &Input) -> Vec<Event> {
    let Input::ToolDone { index, outcome, .. } = input else {
        return Vec::new();
    };
    let response = run.open_response().expect("an open turn");
    outcome.events(*index, &response.tool_calls()[*index as usize])
}

fn holds_in(state: &State) -> Run {
    let restored = check::stored_and_restored(&state.run);
    check::thread_is_sendable_or_told(&state.run);
    refuses_the_rest(&state.run);
    let turns = state.run.steps().len();
    let most = state.run.options().max_turns as usize + 1;
    assert!(turns <= most, "it ends within its turns");
    match state.run.end() {
        Some(_) => {
            assert_eq!(state.run.command(), Command::Finish);
            check::every_call_has_one_message_or_is_pending(&state.run);
            if let Some(result) = state.run.result() {
                assert_eq!(
                    state.fold.chat_result().as_ref(),
                    Ok(result),
                    "fold = result"
                );
            }
        }
        None => assert_ne!(state.run.command(), Command::Finish),
    }
    restored
}

fn explore(name: &str, setup: RunSetup) -> Seen {
    explore_by(name, setup, key)
}

/// Walks all states, merging those of one key.
fn explore_by(name: &str, setup: RunSetup, key: fn(&mut Run) -> Hash) -> Seen {
    let thread = setup.thread.clone();
    let mut first = State {
        run: Run::start(setup).expect("valid").run,
        fold: Fold::with_thread(thread),
    };
    let mut known: HashMap<Hash, Command> = HashMap::new();
    known.insert(key(&mut first.run), wish(&first.run));
    let mut seen = Seen::default();
    let mut open = vec![first];
    while let Some(state) = open.pop() {
        seen.states += 1;
        // The walk goes on from the restored run: what it does next is what the stored one would have done.
        let run = holds_in(&state);
        seen.ends += usize::from(run.end().is_some());
        for input in inputs(&run) {
            seen.transitions += 1;
            let mut next = run.clone();
            let mut fold = state.fold.clone();
            let told = events_of(&run, &input);
            let caused = next.apply(input).expect("legal");
            told.iter()
                .chain(&caused)
                .for_each(|event| fold.push(event));
            match known.entry(key(&mut next)) {
                Entry::Occupied(known) => {
                    assert_eq!(*known.get(), wish(&next), "merged states agree")
                }
                Entry::Vacant(place) => {
                    place.insert(wish(&next));
                    open.push(State { run: next, fold });
                }
            }
        }
    }
    println!("{name}: {seen:?}");
    seen
}

fn with(options: RunOptions) -> RunSetup {
    let mut setup = RunSetup::new(Thread::from("hi"));
    // `u` is not among them.
    setup.tools = tools(&["a", "m"]);
    setup.options = RunOptions {
        max_turns: 3,
        ..options
    };
    if setup.options.structured_finalize.is_some() {
        setup.request.response_format = Some(ResponseFormat::JsonObject);
    }
    setup
}

fn second() -> Option<Duration> {
    Some(Duration::from_secs(1))
}

#[test]
fn every_sequence_that_refuses_unknown_tools() {
    let seen = explore(
        "refuse",
        with(RunOptions {
            halt_when: HaltWhen::Set,
            deadlines: Deadlines {
                turn: second(),
                run: second(),
            },
            ..RunOptions::default()
        }),
    );
    assert!(seen.states > 1_000 && seen.ends > 100, "{seen:?}");
}

#[test]
fn every_sequence_that_tells_the_model_of_unknown_tools() {
    let seen = explore(
        "tell",
        with(RunOptions {
            unknown_tools: UnknownTools::TellModel,
            ..RunOptions::default()
        }),
    );
    assert!(seen.states > 1_000 && seen.ends > 50, "{seen:?}");
}

#[test]
fn every_sequence_with_a_second_pass() {
    let seen = explore(
        "finalize",
        with(RunOptions {
            structured_finalize: Some(Finalize::default()),
            halt_when: HaltWhen::Set,
            ..RunOptions::default()
        }),
    );
    assert!(seen.states > 1_000 && seen.ends > 100, "{seen:?}");
}

#[test]
fn every_sequence_within_budgets() {
    let seen = explore(
        "budgets",
        with(RunOptions {
            unknown_tools: UnknownTools::TellModel,
            budgets: Budgets {
                tool_calls: Some(4),
                tokens: Some(5),
                cost: None,
            },
            ..RunOptions::default()
        }),
    );
    assert!(seen.states > 1_000 && seen.ends > 50, "{seen:?}");
}

#[test]
fn every_sequence_of_a_manual_run() {
    let seen = explore(
        "manual",
        with(RunOptions {
            mode: Mode::Manual,
            deadlines: Deadlines {
                turn: second(),
                run: second(),
            },
            ..RunOptions::default()
        }),
    );
    assert!(seen.states > 10 && seen.ends > 5, "{seen:?}");
}

/// Nothing merged but equal states: two turns, so that merging by the open part can be trusted above.
#[test]
fn every_sequence_of_two_turns_with_their_history() {
    let mut setup = with(RunOptions {
        unknown_tools: UnknownTools::TellModel,
        ..RunOptions::default()
    });
    setup.options.max_turns = 2;
    let whole = |run: &mut Run| run.state_hash().expect("a hash");
    let seen = explore_by("two turns, unmerged", setup, whole);
    assert!(seen.states > 10_000, "{seen:?}");
}
