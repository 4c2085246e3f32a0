//! Any events in any order: the fold takes them all, and repairing them twice is repairing them once.

#![no_main]

use std::sync::Arc;

use allm_core::json::{self, Limits};
use allm_core::run::Repair;
use allm_core::{
    AnswerTo, AskUserRequested, Error, Event, FinishReason, Fold, Map, Message, MessageCompleted,
    MessageStarted, ReasoningDelta, StreamError, TextCompleted, TextDelta, Thread, ToolCall,
    ToolCallCompleted, ToolCallDelta, ToolCallStarted, ToolHalt, ToolResultEncoded, Usage,
};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    let events = if kind % 2 == 0 {
        match json::value_from_slice::<Vec<Event>>(rest, Limits::default()) {
            Ok(events) => events,
            Err(_) => return,
        }
    } else {
        let mut bytes = Unstructured::new(rest);
        let mut events = Vec::new();
        while !bytes.is_empty() && events.len() < 200 {
            match event(&mut bytes) {
                Ok(event) => events.push(event),
                Err(_) => break,
            }
        }
        events
    };
    let mut fold = if kind % 4 < 2 {
        Fold::new()
    } else {
        Fold::with_thread(Thread::from("hi"))
    };
    events.iter().for_each(|event| take(&mut fold, event));
    look(&fold);

    let mut repaired = Fold::with_thread(Thread::from("hi"));
    let (mut once, mut twice) = (Repair::new(7), Repair::new(7));
    for event in events {
        let event = once.event(event);
        assert_eq!(twice.event(event.clone()), event);
        repaired.push(&event);
    }
    look(&repaired);
});

fn take(fold: &mut Fold, event: &Event) {
    let written = json::to_vec(event).expect("an event can be written");
    let again: Event = json::from_slice(&written).expect("a written event can be read");
    assert_eq!(&again, event);
    fold.push(event);
    let _ = (fold.is_terminated(), fold.missing_end());
}

/// Everything that can be asked of a fold, and its way through JSON.
fn look(fold: &Fold) {
    let response = fold.response();
    let written = json::to_vec(&response).expect("a response can be written");
    assert_eq!(
        json::from_slice::<allm_core::Response>(&written).ok(),
        Some(response)
    );
    if let Ok(step) = fold.step_result() {
        let written = json::to_vec(&*step).expect("a step can be written");
        assert_eq!(json::from_slice(&written).ok(), Some((*step).clone()));
    }
    if let Ok(result) = fold.chat_result() {
        let written = json::to_vec(&*result).expect("a result can be written");
        assert_eq!(json::from_slice(&written).ok(), Some((*result).clone()));
    }
}

const TEXTS: [&str; 8] = ["", "a", "{", "{\"a\":1}", "}", "öß", "\u{0}\"\\", "null"];
const IDS: [&str; 5] = ["", "a", "b", "allm-7-0", "allm-7-0-2"];

fn text(bytes: &mut Unstructured<'_>) -> Result<&'static str> {
    bytes.choose(&TEXTS).copied()
}

fn id(bytes: &mut Unstructured<'_>) -> Result<&'static str> {
    bytes.choose(&IDS).copied()
}

fn call(bytes: &mut Unstructured<'_>) -> Result<ToolCall> {
    let (id, name, raw) = (id(bytes)?, text(bytes)?, text(bytes)?);
    Ok(match bytes.arbitrary()? {
        true => ToolCall::new(id, name, raw),
        false => ToolCall::cut_off(id, name, raw),
    })
}

fn message(bytes: &mut Unstructured<'_>) -> Result<Message> {
    let mut calls = Vec::new();
    for _ in 0..bytes.int_in_range(0..=3)? {
        calls.push(call(bytes)?);
    }
    Ok(Message::assistant(text(bytes)?).with_tool_calls(calls))
}

fn event(bytes: &mut Unstructured<'_>) -> Result<Event> {
    let index = bytes.int_in_range(0..=4)?;
    Ok(match bytes.int_in_range(0..=12)? {
        0 => Event::text_delta(text(bytes)?),
        1 => Event::TextDelta(TextDelta {
            id: Some(id(bytes)?.into()),
            delta: text(bytes)?.into(),
        }),
        2 => Event::ReasoningDelta(ReasoningDelta {
            id: Some(id(bytes)?.into()),
            delta: text(bytes)?.into(),
        }),
        3 => Event::TextCompleted(TextCompleted {
            id: None,
            text: text(bytes)?.into(),
        }),
        4 => Event::ToolCallStarted(ToolCallStarted {
            index,
            id: id(bytes)?.into(),
            name: text(bytes)?.into(),
        }),
        5 => Event::ToolCallDelta(ToolCallDelta {
            index,
            id: id(bytes)?.into(),
            arguments_delta: text(bytes)?.into(),
        }),
        6 => {
            let call = call(bytes)?;
            Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
                index,
                id: call.id,
                name: call.name,
                arguments: call.arguments,
                raw_arguments: call.raw_arguments,
                metadata: Map::new(),
            }))
        }
        7 => Event::MessageStarted(Box::new(MessageStarted {
            message: Message::assistant(""),
            request_id: id(bytes)?.into(),
            response_id: Some(id(bytes)?.into()),
            model: None,
        })),
        8 => {
            let mut completed = MessageCompleted::new(message(bytes)?);
            let reasons = [
                None,
                Some(FinishReason::Stop),
                Some(FinishReason::Length),
                Some(FinishReason::ToolCalls),
                Some(FinishReason::Error),
            ];
            completed.finish_reason = *bytes.choose(&reasons)?;
            completed.usage = bytes.arbitrary::<bool>()?.then(|| Usage::io(1, 2));
            Event::MessageCompleted(Arc::new(completed))
        }
        9 => Event::error(Error::from(StreamError::interrupted())),
        10 => Event::ToolResultEncoded(ToolResultEncoded {
            index,
            id: id(bytes)?.into(),
            content: text(bytes)?.into(),
            media: Vec::new(),
            is_error: bytes.arbitrary()?,
        }),
        11 => Event::AskUserRequested(Box::new(AskUserRequested {
            index,
            tool_call_id: id(bytes)?.into(),
            tool_name: text(bytes)?.into(),
            question: text(bytes)?.into(),
            opts: Map::new(),
            answer_to: if bytes.arbitrary()? {
                AnswerTo::Tool
            } else {
                AnswerTo::Model
            },
        })),
        _ => Event::ToolHalt(Box::new(ToolHalt {
            index,
            tool_call_id: id(bytes)?.into(),
            reason: text(bytes)?.into(),
            result: json!({"a": text(bytes)?}),
            content: text(bytes)?.into(),
            is_error: bytes.arbitrary()?,
        })),
    })
}
