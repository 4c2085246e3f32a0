//! Events of all nineteen tags.

use std::sync::Arc;

use allm_core::{
    AnswerTo, AskUserRequested, AttemptReset, ChatCompleted, ErrorEvent, Event, ExecutionResult,
    MessageCompleted, MessageStarted, RawChunk, ReasoningDelta, TextCompleted, TextDelta,
    ToolCallCompleted, ToolCallDelta, ToolCallStarted, ToolExecutionCompleted,
    ToolExecutionStarted, ToolHalt, ToolProgress, ToolResultEncoded,
};
use proptest::option::of;
use proptest::prelude::*;

use super::message::{any_call, any_finish, any_message};
use super::response::{any_failure, any_rate_limit, any_usage, any_warnings};
use super::result::{any_chat_result, any_step_result};
use super::text::{
    any_map, any_raw_json, any_text, any_tree, maybe_float, maybe_named, maybe_text, named,
};
use super::tool::any_call_failure;

/// An event of any tag.
pub(crate) fn any_event() -> BoxedStrategy<Event> {
    prop_oneof![
        4 => of_the_answer(),
        2 => completion(),
        4 => of_a_call(),
        2 => of_the_run(),
    ]
    .boxed()
}

fn of_the_answer() -> BoxedStrategy<Event> {
    let started = (any_message(), named(), maybe_named(), maybe_text());
    prop_oneof![
        started.prop_map(|(message, request_id, response_id, model)| {
            Event::MessageStarted(Box::new(MessageStarted {
                message,
                request_id,
                response_id,
                model,
            }))
        }),
        (maybe_named(), any_text()).prop_map(|(id, delta)| Event::TextDelta(TextDelta {
            id,
            delta: delta.into()
        })),
        (maybe_named(), any_text())
            .prop_map(|(id, text)| Event::TextCompleted(TextCompleted { id, text })),
        (maybe_named(), any_text()).prop_map(|(id, delta)| Event::ReasoningDelta(ReasoningDelta {
            id,
            delta: delta.into()
        })),
        (any::<u32>(), named(), any_text()).prop_map(|(index, id, name)| Event::ToolCallStarted(
            ToolCallStarted {
                index,
                id,
                name: name.into()
            }
        )),
        (any::<u32>(), named(), any_text()).prop_map(|(index, id, delta)| {
            Event::ToolCallDelta(ToolCallDelta {
                index,
                id,
                arguments_delta: delta.into(),
            })
        }),
        (any::<u32>(), any_call()).prop_map(|(index, call)| {
            Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
                index,
                id: call.id,
                name: call.name,
                arguments: call.arguments,
                raw_arguments: call.raw_arguments,
                metadata: call.metadata,
            }))
        }),
        (any_raw_json(), of(any_usage()))
            .prop_map(|(chunk, usage)| Event::RawChunk(Box::new(RawChunk { chunk, usage }))),
        any_failure().prop_map(|error| Event::Error(Box::new(ErrorEvent { error }))),
        any::<(u32, u32)>()
            .prop_map(|(turn, attempt)| Event::AttemptReset(AttemptReset { turn, attempt })),
    ]
    .boxed()
}

fn completion() -> BoxedStrategy<Event> {
    let answer = (any_message(), any_finish(), maybe_text(), of(any_usage()));
    let ids = (maybe_named(), maybe_text(), maybe_text());
    let rest = (
        any_warnings(),
        of(any_rate_limit()),
        any_map(),
        any_map(),
        of(any_raw_json()),
    );
    (answer, ids, rest)
        .prop_map(|(answer, ids, rest)| {
            let (message, finish_reason, raw_finish_reason, usage) = answer;
            let (response_id, model, provider_request_id) = ids;
            let (warnings, rate_limit, extra, metadata, raw) = rest;
            Event::MessageCompleted(Arc::new(MessageCompleted {
                message,
                finish_reason,
                raw_finish_reason,
                usage,
                response_id,
                model,
                provider_request_id,
                warnings,
                rate_limit,
                extra,
                metadata,
                raw,
            }))
        })
        .boxed()
}

fn any_answer_to() -> impl Strategy<Value = AnswerTo> {
    prop::sample::select(vec![AnswerTo::Model, AnswerTo::Tool])
}

fn any_execution_result() -> BoxedStrategy<ExecutionResult> {
    prop_oneof![
        any_tree().prop_map(ExecutionResult::Ok),
        any_call_failure().prop_map(ExecutionResult::Error),
        (any_text(), any_map(), any_answer_to()).prop_map(|(question, opts, answer_to)| {
            ExecutionResult::AskUser {
                question,
                opts,
                answer_to,
            }
        }),
        (any_text(), any_tree())
            .prop_map(|(reason, value)| ExecutionResult::Halt { reason, value }),
    ]
    .boxed()
}

fn of_a_call() -> BoxedStrategy<Event> {
    let call = || (any::<u32>(), named(), any_text());
    let halt = (
        any::<u32>(),
        named(),
        any_text(),
        any_tree(),
        any_text(),
        any::<bool>(),
    );
    prop_oneof![
        (call(), any_map()).prop_map(|((index, id, name), arguments)| {
            Event::ToolExecutionStarted(Box::new(ToolExecutionStarted {
                index,
                id,
                name: name.into(),
                arguments: arguments.into(),
            }))
        }),
        (call(), any_execution_result()).prop_map(|((index, id, name), result)| {
            Event::ToolExecutionCompleted(Box::new(ToolExecutionCompleted {
                index,
                id,
                name: name.into(),
                result,
            }))
        }),
        (call(), any::<bool>()).prop_map(|((index, id, content), is_error)| {
            Event::ToolResultEncoded(ToolResultEncoded {
                index,
                id,
                content,
                media: Vec::new(),
                is_error,
            })
        }),
        (call(), any_text(), any_map(), any_answer_to()).prop_map(
            |((index, tool_call_id, tool_name), question, opts, answer_to)| {
                Event::AskUserRequested(Box::new(AskUserRequested {
                    index,
                    tool_call_id,
                    tool_name: tool_name.into(),
                    question,
                    opts,
                    answer_to,
                }))
            }
        ),
        halt.prop_map(|(index, tool_call_id, reason, result, content, is_error)| {
            Event::ToolHalt(Box::new(ToolHalt {
                index,
                tool_call_id,
                reason,
                result,
                content,
                is_error,
            }))
        }),
        (
            any::<u32>(),
            named(),
            maybe_float(),
            maybe_float(),
            maybe_text()
        )
            .prop_map(|(index, id, progress, total, message)| {
                Event::ToolProgress(Box::new(ToolProgress {
                    index,
                    id,
                    progress,
                    total,
                    message,
                }))
            }),
    ]
    .boxed()
}

fn of_the_run() -> BoxedStrategy<Event> {
    prop_oneof![
        any_step_result().prop_map(|step| Event::StepCompleted(Arc::new(step))),
        any_chat_result().prop_map(|result| Event::ChatCompleted(ChatCompleted {
            result: Arc::new(result)
        })),
    ]
    .boxed()
}
