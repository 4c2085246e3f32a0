//! Steps and results.

use std::sync::Arc;

use allm_core::{
    ChatResult, FinishReason, HaltReason, Message, Messages, Mode, Response, StepResult, Thread,
    ToolCall,
};
use serde_json::json;

use super::Named;
use super::messages::answered;
use super::responses::{failure, stopped, usage};
use crate::support::map;

/// A turn with two answered calls.
pub(super) fn tool_step() -> StepResult {
    let mut thread = answered();
    thread.messages.truncate(5);
    let message = thread
        .messages
        .get(2)
        .expect("the assistant message")
        .as_ref()
        .clone();
    StepResult {
        step_index: 0,
        response: Arc::new(Response {
            finish_reason: Some(FinishReason::ToolCalls),
            usage: usage(),
            ..Response::new(message)
        }),
        tool_results: thread.messages.iter_from(3).cloned().collect(),
        thread,
        mode: Mode::Auto,
        manual_tool_calls: Vec::new(),
        done: false,
        metadata: map(json!({})),
    }
}

fn final_step() -> StepResult {
    StepResult {
        step_index: 1,
        response: Arc::new(stopped("72 °F; I have no clock.")),
        thread: answered(),
        mode: Mode::Auto,
        manual_tool_calls: Vec::new(),
        tool_results: Messages::new(),
        done: true,
        metadata: map(json!({})),
    }
}

fn manual_step() -> StepResult {
    let calls = vec![ToolCall::new("c1", "approve", "{\"n\": 1.0}")];
    let message = Message::assistant("May I?").with_tool_calls(calls.clone());
    StepResult {
        step_index: 0,
        response: Arc::new(Response {
            finish_reason: Some(FinishReason::ToolCalls),
            ..Response::new(message.clone())
        }),
        thread: Thread::from("hi").with(message),
        mode: Mode::Manual,
        manual_tool_calls: calls,
        tool_results: Messages::new(),
        done: false,
        metadata: map(json!({"mode": "manual"})),
    }
}

fn failed_step() -> StepResult {
    StepResult {
        response: Arc::new(Response {
            finish_reason: Some(FinishReason::Error),
            error: Some(failure()),
            ..Response::new(Message::assistant("I thi"))
        }),
        metadata: map(json!({"halted_reason": "error", "error": failure()})),
        ..final_step()
    }
}

pub(super) fn steps() -> Vec<Named<StepResult>> {
    vec![
        ("tools", tool_step()),
        ("final", final_step()),
        ("manual", manual_step()),
        ("failed", failed_step()),
    ]
}

fn ended(thread: Thread, steps: Vec<StepResult>, reason: &str) -> ChatResult {
    ChatResult {
        thread,
        final_response: steps.last().map(|step| step.response.clone()),
        steps: steps.into_iter().map(Arc::new).collect(),
        halted_reason: HaltReason::from_text(reason).expect("a reason"),
        pending_question: None,
        pending_tool_call_id: None,
        metadata: map(json!({})),
    }
}

/// A run that a question stopped.
pub(super) fn asked() -> ChatResult {
    let question = Message {
        metadata: map(json!({"ask_user": true, "tool_call_id": "c2"})),
        ..Message::assistant("Which Boston?")
    };
    let step = tool_step();
    ChatResult {
        pending_question: Some("Which Boston?".to_owned()),
        pending_tool_call_id: Some("c2".into()),
        metadata: map(json!({"ask_user_opts": {}})),
        ..ended(step.thread.clone().with(question), vec![step], "ask_user")
    }
}

pub(super) fn chats() -> Vec<Named<ChatResult>> {
    let elsewhere = StepResult {
        thread: Thread::from("another beginning"),
        ..final_step()
    };
    let failed = ChatResult {
        metadata: map(json!({"error": failure()})),
        ..ended(answered(), vec![tool_step(), failed_step()], "error")
    };
    vec![
        (
            "completed",
            ended(answered(), vec![tool_step(), final_step()], "completed"),
        ),
        ("asked", asked()),
        (
            "manual",
            ended(
                manual_step().thread,
                vec![manual_step()],
                "manual_tool_calls",
            ),
        ),
        ("failed", failed),
        (
            "custom_reason",
            ended(answered(), vec![final_step()], "plan_submitted"),
        ),
        (
            "without_steps",
            ended(Thread::from("hi"), Vec::new(), "cancelled"),
        ),
        (
            "step_with_its_own_thread",
            ended(answered(), vec![tool_step(), elsewhere], "max_turns"),
        ),
    ]
}
