//! Any inputs, legal or not, into a run: it never panics, refuses without a trace, can be stored in every state and
//! comes to an end.

#![no_main]

use std::collections::BTreeSet;
use std::time::Duration;

use allm_core::run::{
    Budgets, Command, DeadlineScope, Deadlines, Finalize, HaltAnswer, HaltWhen, Input,
    PolicyDecision, Run, RunKind, RunOptions, RunSetup, ToolOutcome, UnknownTools,
};
use allm_core::{
    CallFailure, Cost, CustomHalt, Error, FailureReason, FinishReason, Fold, Map, Message, Mode,
    Request, Response, ResponseFormat, Role, StreamError, Thread, Tool, ToolCall, Usage, json,
};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// So many inputs are taken from the bytes; then the run is led to its end.
const INPUTS: usize = 32;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Unstructured::new(data);
    let _ = play(&mut bytes);
});

fn play(bytes: &mut Unstructured<'_>) -> Result<()> {
    let setup = setup(bytes)?;
    let thread = setup.thread.clone();
    let max_turns = setup.options.max_turns;
    let Ok(started) = Run::start(setup) else {
        return Ok(());
    };
    let mut run = started.run;
    let mut fold = Fold::with_thread(thread);
    started.events.iter().for_each(|event| fold.push(event));
    check(&mut run);
    for _ in 0..INPUTS {
        if bytes.is_empty() {
            break;
        }
        let input = input(bytes, &run)?;
        apply(&mut run, input, &mut fold);
    }
    // Each turn takes at most a few inputs, and a second pass is one turn more.
    let mut left = 100 * (max_turns + 2);
    while let Some(input) = next(&run) {
        apply(&mut run, input, &mut fold);
        left -= 1;
        assert!(left > 0, "the run does not come to its end");
    }
    assert!(run.end().is_some());
    check_thread(&run);
    if let Some(result) = run.result() {
        assert_eq!(fold.chat_result().ok().as_ref(), Some(result));
        let written = json::to_vec(&**result).expect("a result can be written");
        assert_eq!(json::from_slice(&written).ok(), Some((**result).clone()));
    }
    Ok(())
}

fn apply(run: &mut Run, input: Input, fold: &mut Fold) {
    let before = run.clone();
    match run.apply(input) {
        Ok(events) => {
            events.iter().for_each(|event| fold.push(event));
            check(run);
        }
        Err(error) => {
            let _ = error.to_string();
            assert_eq!(*run, before, "a refused input changed the state");
        }
    }
}

/// The state as JSON and back. The run goes on from what was read.
fn check(run: &mut Run) {
    let written = json::to_vec(run).expect("a run can be written");
    let mut again: Run = json::from_slice(&written).expect("a written run can be read");
    assert_eq!(again, *run);
    assert_eq!(again.command(), run.command());
    assert_eq!(again.open_calls(), run.open_calls());
    assert_eq!(again.state_hash().ok(), run.state_hash().ok());
    assert_eq!(json::to_vec(&again).ok(), Some(written));
    *run = again;
}

/// Every call has exactly one answer, in call order and right after its message, or is named as open.
fn check_thread(run: &Run) {
    let mut open: Vec<_> = run.open_calls().into_iter().map(|call| call.id).collect();
    let mut messages = run.thread().messages.iter().peekable();
    while let Some(message) = messages.next() {
        assert_ne!(message.role, Role::Tool, "an answer without a call");
        let mut seen = BTreeSet::new();
        for call in &message.tool_calls {
            assert!(!call.id.is_empty() && !call.name.is_empty());
            assert!(seen.insert(&call.id), "an id twice in one message");
            if messages
                .next_if(|answer| answer.tool_call_id.as_ref() == Some(&call.id))
                .is_none()
            {
                let place = open.iter().position(|id| *id == call.id);
                open.remove(place.expect("a call without an answer"));
            }
        }
    }
    assert!(open.is_empty(), "an open call that is not in the thread");
}

/// The plainest legal input.
fn next(run: &Run) -> Option<Input> {
    Some(match run.command() {
        Command::CallModel(_) => Input::responded(Response::new(Message::assistant("done"))),
        Command::StopModel => Input::stopped(None),
        Command::RunTools(calls) | Command::StopTools(calls) => {
            let call = calls.first().expect("calls to run");
            Input::tool_done(call.index, ToolOutcome::replied(1, "1"))
        }
        Command::AskHaltWhen(_) => Input::HaltWhen(HaltAnswer::GoOn),
        _ => return None,
    })
}

const NAMES: [&str; 6] = ["read", "ask", "hidden", "none of ours", "", "tool_help"];
const IDS: [&str; 4] = ["", "a", "b", "allm-0-0"];
const RAW: [&str; 5] = ["{}", "", "{\"a\":1.0}", "{\"a\":", "[]"];
const TEXTS: [&str; 4] = ["", "text", "\u{1}\"ö", "{\"error\":1}"];

fn setup(bytes: &mut Unstructured<'_>) -> Result<RunSetup> {
    let mut tools = Vec::new();
    let schema = json!({"type": "object"});
    if bytes.arbitrary()? {
        tools.push(Tool::new("read", "Reads.", schema.clone()));
    }
    if bytes.arbitrary()? {
        tools.push(Tool::new("ask", "Asks.", schema.clone()).manual());
    }
    if bytes.arbitrary()? {
        tools.push(Tool::new("hidden", "Hidden.", schema).compact());
    }
    let some = |bytes: &mut Unstructured<'_>| -> Result<bool> { bytes.ratio(1, 4) };
    let options = RunOptions {
        kind: match some(bytes)? {
            true => RunKind::Step,
            false => RunKind::Chat,
        },
        mode: match some(bytes)? {
            true => Mode::Manual,
            false => Mode::Auto,
        },
        max_turns: bytes.int_in_range(0..=6)?,
        unknown_tools: match bytes.arbitrary()? {
            true => UnknownTools::TellModel,
            false => UnknownTools::Refuse,
        },
        halt_when: match bytes.arbitrary()? {
            true => HaltWhen::Set,
            false => HaltWhen::NotSet,
        },
        structured_finalize: match bytes.int_in_range(0..=3)? {
            0 => Some(Finalize::default()),
            1 => Some(Finalize {
                nudge: String::new(),
            }),
            _ => None,
        },
        deadlines: Deadlines {
            turn: some(bytes)?.then_some(Duration::from_millis(10)),
            run: some(bytes)?.then_some(Duration::from_secs(10)),
        },
        budgets: Budgets {
            tool_calls: some(bytes)?.then_some(3),
            tokens: some(bytes)?.then_some(5),
            cost: some(bytes)?.then_some(0.5),
        },
    };
    Ok(RunSetup {
        tools,
        request: Request {
            response_format: bytes
                .arbitrary::<bool>()?
                .then_some(ResponseFormat::JsonObject),
            ..Request::default()
        },
        options,
        request_id: bytes.arbitrary::<bool>()?.then(|| "request".into()),
        ..RunSetup::new(match bytes.arbitrary()? {
            true => Thread::from("hi"),
            false => Thread::new(),
        })
    })
}

/// Mostly what the machine waits for, sometimes anything.
fn input(bytes: &mut Unstructured<'_>, run: &Run) -> Result<Input> {
    let kind = match bytes.int_in_range(0..=9)? {
        kind @ 0..=6 => kind,
        _ => match run.command() {
            Command::CallModel(_) => 0,
            Command::StopModel => 2,
            Command::RunTools(_) | Command::StopTools(_) => 3,
            Command::AskHaltWhen(_) => 4,
            _ => 5,
        },
    };
    Ok(match kind {
        0 => Input::responded(response(bytes)?),
        1 => Input::refused(Error::from(StreamError::interrupted())),
        2 => Input::stopped(match bytes.arbitrary()? {
            true => Some(response(bytes)?),
            false => None,
        }),
        3 => Input::tool_done(bytes.int_in_range(0..=4)?, outcome(bytes)?),
        4 => Input::HaltWhen(match bytes.ratio(1, 4)? {
            true => HaltAnswer::Halt,
            false => HaltAnswer::GoOn,
        }),
        5 => Input::Cancel,
        _ => Input::DeadlinePassed(match bytes.arbitrary()? {
            true => DeadlineScope::Run,
            false => DeadlineScope::Turn,
        }),
    })
}

fn response(bytes: &mut Unstructured<'_>) -> Result<Response> {
    let mut calls = Vec::new();
    for _ in 0..bytes.int_in_range(0..=4)? {
        let (id, name) = (*bytes.choose(&IDS)?, *bytes.choose(&NAMES)?);
        let raw = *bytes.choose(&RAW)?;
        calls.push(match bytes.ratio(1, 8)? {
            true => ToolCall::cut_off(id, name, raw),
            false => ToolCall::new(id, name, raw),
        });
    }
    let message = Message::assistant(*bytes.choose(&TEXTS)?).with_tool_calls(calls);
    let reasons = [
        None,
        Some(FinishReason::Stop),
        Some(FinishReason::ToolCalls),
        Some(FinishReason::Other),
        Some(FinishReason::Length),
        Some(FinishReason::ContentFilter),
        Some(FinishReason::Error),
    ];
    let cost = |total| Cost {
        input: None,
        output: None,
        total,
    };
    Ok(Response {
        finish_reason: *bytes.choose(&reasons)?,
        error: match bytes.ratio(1, 8)? {
            true => Some(Error::from(StreamError::interrupted()).into()),
            false => None,
        },
        usage: Usage {
            cost: *bytes.choose(&[
                None,
                Some(cost(0.2)),
                Some(cost(-0.0)),
                Some(cost(f64::MAX)),
            ])?,
            ..Usage::io(bytes.arbitrary::<u8>()?.into(), 1)
        },
        ..Response::new(message)
    })
}

fn outcome(bytes: &mut Unstructured<'_>) -> Result<ToolOutcome> {
    let content = (*bytes.choose(&TEXTS)?).to_owned();
    Ok(match bytes.int_in_range(0..=5)? {
        0 | 1 => ToolOutcome::replied(content.as_str(), content.clone()),
        2 => ToolOutcome::Failed {
            failure: failure(bytes)?,
            content,
            decision: match bytes.int_in_range(0..=3)? {
                0 => PolicyDecision::Halt { exception: None },
                1 => PolicyDecision::Halt {
                    exception: Some("it panicked".to_owned()),
                },
                _ => PolicyDecision::Continue,
            },
        },
        3 => ToolOutcome::Asked {
            question: content,
            opts: Map::new(),
        },
        4 => ToolOutcome::Halted {
            reason: CustomHalt::new("enough").expect("no reserved name"),
            value: json!({"a": [1, null, 2.5]}),
            content,
        },
        _ => ToolOutcome::NotStarted,
    })
}

fn failure(bytes: &mut Unstructured<'_>) -> Result<CallFailure> {
    let reasons = [FailureReason::Timeout, FailureReason::UnknownTool];
    Ok(CallFailure::new(
        bytes.choose(&reasons)?.clone(),
        "it failed",
    ))
}
