//! What holds for the events and the result of every run.

use std::collections::BTreeSet;
use std::sync::Arc;

use allm::{
    ChatResult, Event, Fake, FakeOutcome, Fold, HaltReason, Message, Messages, Mode, Role,
    StepResult, Thread, ToolCallId, validate,
};

/// Every turn told by its single events is the turn told by its `step_completed`; each call has one outcome.
///
/// Without deltas a part of a failed answer is told by the step alone, so only whole streams are folded turn by turn.
pub(super) fn turns(events: &[Event], filtered: bool) {
    let mut thread = Thread::from("go");
    for turn in events.split_inclusive(|event| matches!(event, Event::StepCompleted(_))) {
        let Some((Event::StepCompleted(step), before)) = turn.split_last() else {
            continue;
        };
        // The nudge of a second pass has no event, and a pass that failed at once has no answer.
        let told = step.thread.len() - step.tool_results.len();
        let is_answer = |message: &Arc<Message>| message.role == Role::Assistant;
        let answered =
            told > thread.len() && step.thread.messages.get(told - 1).is_some_and(is_answer);
        while thread.len() + usize::from(answered) < told {
            let next = step.thread.messages.get(thread.len()).unwrap();
            thread.messages.push(next.clone());
        }
        if !filtered {
            let mut fold = Fold::with_thread(thread.clone());
            before.iter().for_each(|event| fold.push(event));
            let folded = fold.step_result().unwrap();
            assert_eq!(folded.response, step.response);
            assert_eq!(folded.tool_results, step.tool_results);
            assert_eq!(folded.thread, step.thread);
        }
        one_outcome_a_call(step, before);
        thread = step.thread.clone();
    }
}

/// Every call is closed once or left to the caller, never both.
fn one_outcome_a_call(step: &StepResult, events: &[Event]) {
    let mut closed = BTreeSet::new();
    let mut completed = BTreeSet::new();
    for event in events {
        let index = match event {
            Event::ToolResultEncoded(event) => event.index,
            Event::AskUserRequested(event) => event.index,
            Event::ToolHalt(event) => event.index,
            Event::ToolExecutionCompleted(event) => {
                assert!(completed.insert(event.index), "completed twice: {event:?}");
                continue;
            }
            _ => continue,
        };
        assert!(closed.insert(index), "closed twice: {event:?}");
    }
    assert!(completed.is_subset(&closed));
    let pending = left_to_caller(step);
    for (call, index) in step.response.tool_calls().iter().zip(0..) {
        let is_closed = closed.remove(&index);
        let is_pending = pending.contains(&call.id);
        assert!(is_closed != is_pending, "{call:?} of {step:?}");
    }
    assert_eq!(closed, BTreeSet::new(), "outcomes of no call");
}

fn left_to_caller(step: &StepResult) -> Vec<ToolCallId> {
    let manual = step.mode == Mode::Manual && !step.done;
    let calls = if manual {
        step.response.tool_calls()
    } else {
        &step.manual_tool_calls
    };
    calls.iter().map(|call| call.id.clone()).collect()
}

/// The thread can be sent, or exactly the calls that the result tells of are open; once answered it can be sent.
pub(super) fn sendable_or_told(result: &ChatResult) {
    let last = result.steps.last();
    let told = match result.halted_reason {
        HaltReason::ManualToolCalls => left_to_caller(last.unwrap()),
        _ if result.metadata.contains_key("manual_tool_calls") => left_to_caller(last.unwrap()),
        _ => Vec::new(),
    };
    assert_eq!(open(&result.thread.messages), told);
    let mut thread = result.thread.clone();
    for id in told {
        thread.push(Message::tool_result(id, "by hand"));
    }
    validate::sendable(&thread.messages).unwrap();
}

pub(super) fn open(messages: &Messages) -> Vec<ToolCallId> {
    let calls = validate::open_calls(messages);
    calls.into_iter().map(|call| call.id).collect()
}

/// No request had a history that a provider would refuse, and no stream is left.
pub(super) fn provider_side(fake: &Fake) {
    for call in fake.calls() {
        if let FakeOutcome::Failed(failure) = &call.outcome {
            assert_ne!(failure.reason, "invalid_request", "{failure:?}");
        }
        assert_ne!(call.outcome, FakeOutcome::Open);
    }
    assert_eq!(fake.open_streams(), 0);
    assert_eq!(fake.cleanups(), fake.calls().len());
}
