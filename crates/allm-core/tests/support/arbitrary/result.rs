//! Steps and results.

use std::sync::Arc;

use allm_core::{ChatResult, HaltReason, Mode, StepResult, Thread};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::message::{any_call, any_messages, any_thread};
use super::response::any_response;
use super::text::{any_map, any_text, maybe_named, maybe_text};

/// Any step, consistent or not.
pub(crate) fn any_step_result() -> BoxedStrategy<StepResult> {
    let mode = select(vec![Mode::Auto, Mode::Manual]);
    let turn = (any::<u32>(), any_response(), any_thread(), mode);
    let rest = (
        vec(any_call(), 0..2),
        any_messages(),
        any::<bool>(),
        any_map(),
    );
    (turn, rest)
        .prop_map(
            |(
                (step_index, response, thread, mode),
                (manual_tool_calls, tool_results, done, metadata),
            )| {
                StepResult {
                    step_index,
                    response: Arc::new(response),
                    thread,
                    mode,
                    manual_tool_calls,
                    tool_results,
                    done,
                    metadata,
                }
            },
        )
        .boxed()
}

/// A reason of the loop's, or any other text.
pub(super) fn any_halt() -> BoxedStrategy<HaltReason> {
    let texts = vec![
        "completed",
        "max_turns",
        "halt_when",
        "ask_user",
        "tool_error",
        "cancelled",
        "manual_tool_calls",
        "error",
        "truncated",
        "deadline_exceeded",
        "budget_exhausted",
        "Completed",
        "plan_submitted",
    ];
    prop_oneof![select(texts).prop_map(str::to_owned), any_text()]
        .prop_filter_map("a halt reason is not empty", |text| {
            HaltReason::from_text(&text)
        })
        .boxed()
}

/// Any result. The threads of its steps are the beginning of its own, its own, or another one.
pub(crate) fn any_chat_result() -> BoxedStrategy<ChatResult> {
    let step = (any_step_result(), any::<(bool, bool)>(), 0..4_usize);
    let rest = (
        of(any_response()),
        any_halt(),
        maybe_text(),
        maybe_named(),
        any_map(),
    );
    (any_thread(), vec(step, 0..3), rest)
        .prop_map(|(thread, steps, rest)| {
            let (final_response, halted_reason, pending_question, pending_tool_call_id, metadata) =
                rest;
            let steps = steps
                .into_iter()
                .map(|(step, (shares, same_metadata), length)| {
                    let own = if shares {
                        beginning(&thread, length, same_metadata)
                    } else {
                        step.thread.clone()
                    };
                    Arc::new(StepResult {
                        thread: own,
                        ..step
                    })
                });
            ChatResult {
                steps: steps.collect(),
                thread,
                final_response: final_response.map(Arc::new),
                halted_reason,
                pending_question,
                pending_tool_call_id,
                metadata,
            }
        })
        .boxed()
}

fn beginning(thread: &Thread, length: usize, same_metadata: bool) -> Thread {
    let mut beginning = thread.clone();
    beginning.messages.truncate(length);
    if !same_metadata {
        beginning.metadata.clear();
    }
    beginning
}
