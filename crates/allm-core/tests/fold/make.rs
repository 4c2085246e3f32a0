//! Events and answers in few words.

use std::sync::Arc;

use allm_core::{
    AdapterError, AdapterReason, AnswerTo, AskUserRequested, ChatResult, Error, Event, Failure,
    FinishReason, Fold, HaltReason, Map, Message, MessageCompleted, Messages, Mode, Part, RawChunk,
    RawJson, ReasoningDelta, Response, StepResult, TextCompleted, TextDelta, Thread, ToolCall,
    ToolCallCompleted, ToolCallDelta, ToolCallStarted, ToolHalt, ToolResultEncoded, Usage,
};
use serde_json::Value;

pub(crate) fn folded(events: &[Event]) -> Fold {
    folded_onto(Fold::new(), events)
}

pub(crate) fn folded_onto(mut fold: Fold, events: &[Event]) -> Fold {
    events.iter().for_each(|event| fold.push(event));
    fold
}

/// A fold of a run over one message of the person.
pub(crate) fn over_hi(events: &[Event]) -> Fold {
    folded_onto(Fold::with_thread(Thread::from("hi")), events)
}

pub(crate) fn text(delta: &str) -> Event {
    Event::text_delta(delta)
}

pub(crate) fn text_of(id: &str, delta: &str) -> Event {
    Event::TextDelta(TextDelta {
        id: Some(id.into()),
        delta: delta.into(),
    })
}

pub(crate) fn thought(id: Option<&str>, delta: &str) -> Event {
    Event::ReasoningDelta(ReasoningDelta {
        id: id.map(Into::into),
        delta: delta.into(),
    })
}

pub(crate) fn whole_text(text: &str) -> Event {
    Event::TextCompleted(TextCompleted {
        id: None,
        text: text.into(),
    })
}

pub(crate) fn call_started(index: u32, id: &str, name: &str) -> Event {
    Event::ToolCallStarted(ToolCallStarted {
        index,
        id: id.into(),
        name: name.into(),
    })
}

pub(crate) fn call_delta(index: u32, id: &str, piece: &str) -> Event {
    Event::ToolCallDelta(ToolCallDelta {
        index,
        id: id.into(),
        arguments_delta: piece.into(),
    })
}

pub(crate) fn call_completed(index: u32, call: &ToolCall) -> Event {
    Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
        index,
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        raw_arguments: call.raw_arguments.clone(),
        metadata: call.metadata.clone(),
    }))
}

pub(crate) fn completed(message: Message, finish: Option<FinishReason>) -> Event {
    Event::MessageCompleted(Arc::new(MessageCompleted {
        finish_reason: finish,
        ..MessageCompleted::new(message)
    }))
}

pub(crate) fn used(usage: Usage) -> Event {
    Event::RawChunk(Box::new(RawChunk {
        chunk: RawJson::new("{}").expect("JSON"),
        usage: Some(usage),
    }))
}

pub(crate) fn failure(message: &str) -> Failure {
    Error::from(AdapterError::new("p", AdapterReason::RateLimited, message)).into()
}

pub(crate) fn failed(message: &str) -> Event {
    Event::error(failure(message))
}

pub(crate) fn encoded(index: u32, id: &str, content: &str) -> Event {
    Event::ToolResultEncoded(ToolResultEncoded {
        index,
        id: id.into(),
        content: content.into(),
        media: Vec::new(),
        is_error: false,
    })
}

pub(crate) fn asked(index: u32, id: &str) -> Event {
    asked_for(index, id, AnswerTo::Model)
}

pub(crate) fn asked_for(index: u32, id: &str, answer_to: AnswerTo) -> Event {
    Event::AskUserRequested(Box::new(AskUserRequested {
        index,
        tool_call_id: id.into(),
        tool_name: "a".into(),
        question: "really?".into(),
        opts: Map::new(),
        answer_to,
    }))
}

pub(crate) fn halted(index: u32, id: &str, reason: &str, value: Value) -> Event {
    Event::ToolHalt(Box::new(ToolHalt {
        index,
        tool_call_id: id.into(),
        reason: reason.into(),
        content: value.to_string(),
        result: value,
        is_error: false,
    }))
}

pub(crate) fn object(value: Value) -> Map {
    value.as_object().expect("an object").clone()
}

/// An answer that has not ended.
pub(crate) fn open(content: Vec<Part>, calls: Vec<ToolCall>) -> Response {
    Response::new(Message::assistant(content).with_tool_calls(calls))
}

pub(crate) fn ended(message: Message, finish: Option<FinishReason>) -> Response {
    Response {
        finish_reason: finish,
        ..Response::new(message)
    }
}

pub(crate) fn broken(message: Message, failure: Failure) -> Response {
    Response {
        finish_reason: Some(FinishReason::Error),
        error: Some(failure),
        ..Response::new(message)
    }
}

pub(crate) fn step(index: u32, response: Response, thread: Thread) -> Arc<StepResult> {
    Arc::new(StepResult {
        step_index: index,
        response: Arc::new(response),
        thread,
        mode: Mode::Auto,
        manual_tool_calls: Vec::new(),
        tool_results: Messages::new(),
        done: true,
        metadata: Map::new(),
    })
}

pub(crate) fn result(
    steps: Vec<Arc<StepResult>>,
    reason: HaltReason,
    response: impl Into<Arc<Response>>,
) -> ChatResult {
    ChatResult {
        thread: steps
            .last()
            .map_or_else(|| Thread::from("hi"), |step| step.thread.clone()),
        final_response: Some(response.into()),
        steps,
        halted_reason: reason,
        pending_question: None,
        pending_tool_call_id: None,
        metadata: Map::new(),
    }
}
