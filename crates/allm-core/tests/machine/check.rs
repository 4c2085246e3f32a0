//! What must hold in every test of the machine.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use allm_core::json::{self, Document};
use allm_core::run::Run;
use allm_core::{AnswerTo, Event, Fold, HaltReason, Messages, Role, StepResult, Thread};

use super::sim::bytes;

/// Stored and restored in any state, a run is the same: same value, same command, same hash.
pub(crate) fn stored_and_restored(run: &Run) -> Run {
    let stored = bytes(run);
    let mut restored: Run = json::from_slice(&stored).expect("a run can be restored");
    assert_eq!(&restored, run);
    assert_eq!(restored.command(), run.command());
    assert_eq!(restored.state_hash(), run.clone().state_hash());
    assert_eq!(bytes(&restored), stored);
    restored
}

/// L284, C83.
pub(crate) fn survives_json<T: Document + PartialEq + Debug>(value: &T) {
    let text = json::to_string(value).expect("it can be written");
    assert_eq!(&json::from_str::<T>(&text).expect("it can be read"), value);
}

/// The thread is sendable, or the machine says which calls are open.
pub(crate) fn thread_is_sendable_or_told(run: &Run) {
    let told: Vec<String> = run
        .open_calls()
        .iter()
        .map(|call| call.id.to_string())
        .collect();
    let open = unanswered(&run.thread().messages);
    if run.end().is_some() {
        assert_eq!(open, told, "pending calls are named");
    } else {
        assert_eq!(
            open,
            Vec::<String>::new(),
            "an open turn is not in the thread"
        );
    }
}

/// The ids of the calls without an answer; panics if anything else is wrong with the thread.
pub(crate) fn unanswered(messages: &Messages) -> Vec<String> {
    let mut open = Vec::new();
    let list: Vec<_> = messages.iter().collect();
    let mut at = 0;
    while at < list.len() {
        let message = list[at];
        at += 1;
        assert_ne!(message.role, Role::Tool, "a tool message without its call");
        let mut answers = Vec::new();
        while at < list.len() && list[at].role == Role::Tool {
            answers.push(list[at].tool_call_id.clone().expect("an id"));
            at += 1;
        }
        let mut expected: Vec<_> = message
            .tool_calls
            .iter()
            .map(|call| call.id.clone())
            .collect();
        expected.retain(|id| {
            let answered = answers.contains(id);
            if !answered {
                open.push(id.to_string());
            }
            answered
        });
        assert_eq!(answers, expected, "one answer for each call, in call order");
    }
    open
}

/// L281: each call has exactly one tool message in call order, or is pending and named in the result.
pub(crate) fn every_call_has_one_message_or_is_pending(run: &Run) {
    let Some(result) = run.result() else { return };
    let open = unanswered(&result.thread.messages);
    let named: Vec<String> = match result.metadata.get("manual_tool_calls") {
        Some(calls) => {
            let calls = calls.as_array().expect("a list").iter();
            calls
                .map(|call| call["id"].as_str().expect("an id").to_owned())
                .collect()
        }
        None if result.halted_reason == HaltReason::ManualToolCalls => {
            let response = result.final_response.as_ref().expect("a response");
            response
                .tool_calls()
                .iter()
                .map(|call| call.id.to_string())
                .collect()
        }
        None => Vec::new(),
    };
    assert_eq!(open, named);
    let given = result.open_calls().iter().map(|call| call.id.to_string());
    assert_eq!(open, given.collect::<Vec<_>>(), "open calls are given");
    for step in &result.steps {
        assert_eq!(
            step.tool_results,
            results_of(step),
            "results are those of the thread"
        );
    }
}

fn results_of(step: &StepResult) -> Messages {
    let last = step
        .thread
        .messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let after = step
        .thread
        .messages
        .iter_from(last.map_or(step.thread.len(), |last| last + 1));
    let tools = after.filter(|message| message.role == Role::Tool);
    if step.tool_results.is_empty() {
        return Messages::new();
    }
    tools.cloned().collect()
}

/// A step is what the events before it told.
pub(crate) fn step_is_what_was_folded(fold: &Fold, step: &Arc<StepResult>) {
    assert_eq!(
        fold.response(),
        *step.response,
        "response = fold of its events"
    );
    let mut events_only = fold.clone();
    // A fold that never saw a step makes one of the pieces.
    if events_only.steps().is_empty() {
        let made = events_only.step_result().expect("a thread");
        assert_eq!(
            made.tool_results, step.tool_results,
            "results = fold of their events"
        );
        for (key, value) in &made.metadata {
            let told = step.metadata.get(key);
            assert!(
                told == Some(value) || key == "halted_reason",
                "{key}: {told:?}"
            );
        }
        events_only.push(&Event::StepCompleted(Arc::clone(step)));
        assert_eq!(events_only.step_result().as_ref(), Ok(step));
    }
}

/// L207: the order of events, as far as it can be seen from outside.
pub(crate) fn events_are_well_formed(events: &[Event]) {
    let mut phase = 0; // 0 provider, 1 tools
    let mut calls: BTreeMap<u32, &'static str> = BTreeMap::new();
    let mut steps = 0;
    let mut terminal = false;
    for (position, event) in events.iter().enumerate() {
        let last = position + 1 == events.len();
        match event {
            Event::MessageStarted(_)
            | Event::TextDelta(_)
            | Event::TextCompleted(_)
            | Event::ToolCallStarted(_)
            | Event::ToolCallDelta(_)
            | Event::ToolCallCompleted(_)
            | Event::RawChunk(_)
            | Event::ReasoningDelta(_) => {
                assert_eq!(phase, 0, "provider events precede tool events: {event:?}");
                assert!(
                    !terminal,
                    "nothing of the provider after its terminal event"
                );
            }
            Event::MessageCompleted(_) => {
                assert!(phase == 0 && !terminal);
                terminal = true;
            }
            Event::Error(_) => terminal = true,
            Event::ToolExecutionStarted(event) => {
                phase = 1;
                assert_eq!(calls.insert(event.index, "started"), None);
            }
            Event::ToolProgress(event) => assert_eq!(calls.get(&event.index), Some(&"started")),
            Event::ToolExecutionCompleted(event) => {
                phase = 1;
                calls.insert(event.index, "completed");
                let next = events.get(position + 1).map(Event::tag);
                let closing = ["tool_result_encoded", "ask_user_requested", "tool_halt"];
                assert!(next.is_some_and(|next| closing.contains(&next)), "adjacent");
            }
            Event::ToolResultEncoded(event) => {
                phase = 1;
                let before = calls.insert(event.index, "closed");
                let open = matches!(before, None | Some("completed" | "asking"));
                assert!(open, "closed once");
            }
            Event::AskUserRequested(event) => {
                let now = match event.answer_to {
                    AnswerTo::Model => "closed",
                    AnswerTo::Tool => "asking",
                };
                assert_eq!(calls.insert(event.index, now), Some("completed"));
            }
            Event::ToolHalt(event) => {
                assert_eq!(calls.insert(event.index, "closed"), Some("completed"));
            }
            Event::StepCompleted(step) => {
                assert_eq!(step.step_index, steps, "steps are numbered");
                let over = |state: &&str| matches!(*state, "closed" | "asking");
                assert!(calls.values().all(over));
                steps += 1;
                phase = 0;
                terminal = false;
                calls.clear();
            }
            Event::ChatCompleted(completed) => {
                assert!(last, "nothing after chat_completed");
                assert_eq!(completed.result.steps.len(), steps as usize);
            }
            Event::AttemptReset(_) => {}
        }
    }
}

/// With a new user message the thread is good for another run (L257).
pub(crate) fn can_go_on(thread: &Thread) {
    let next = thread.clone().with_user("go on");
    assert_eq!(unanswered(&next.messages), Vec::<String>::new());
}
