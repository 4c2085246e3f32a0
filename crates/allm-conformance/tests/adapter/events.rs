//! For each rule about events, events that break it alone.

use std::sync::Arc;

use allm_conformance::adapter::{KEY, Scenario};
use allm_core::{
    AdapterReason, Cost, Event, FinishReason, Message, MessageCompleted, MessageStarted, Part,
    RawChunk, RawJson, TextCompleted, ToolProgress, Usage,
};
use serde_json::json;

use super::broken::{Change, with};

fn raw(usage: Option<Usage>) -> Event {
    Event::RawChunk(Box::new(RawChunk {
        chunk: RawJson::new("{}".to_owned()).unwrap(),
        usage,
    }))
}

fn started() -> Event {
    Event::MessageStarted(Box::new(MessageStarted {
        message: Message::assistant(""),
        request_id: "conformance-request-0001".into(),
        response_id: None,
        model: None,
    }))
}

fn one(event: Option<Event>) -> Vec<Event> {
    event.into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn a_panic() {
    let change: Change = |scenario, event| {
        assert_ne!(scenario, Scenario::MalformedCall, "what is this?");
        one(event)
    };
    assert_eq!(with(change).await, ["no_panic"]);
}

#[tokio::test(start_paused = true)]
async fn c78_terminal_events() {
    let twice: Change = |_, event| match event {
        Some(Event::MessageCompleted(done)) => vec![Event::MessageCompleted(done); 2],
        event => one(event),
    };
    assert_eq!(with(twice).await, ["one_terminal_event"]);
    let none: Change = |scenario, event| match event {
        Some(Event::MessageCompleted(_)) if scenario == Scenario::Empty => Vec::new(),
        event => one(event),
    };
    assert_eq!(with(none).await, ["one_terminal_event", "held_back"]);
    let after: Change = |scenario, event| match event {
        None if scenario == Scenario::FailsMidway => vec![Event::text_delta("")],
        event => one(event),
    };
    assert_eq!(with(after).await, ["nothing_after_the_end"]);
}

#[tokio::test(start_paused = true)]
async fn a_tag_of_others() {
    let change: Change = |_, event| match event {
        Some(Event::TextDelta(delta)) => vec![
            Event::TextDelta(delta),
            Event::ToolProgress(Box::new(ToolProgress {
                index: 0,
                id: "1".into(),
                progress: None,
                total: None,
                message: None,
            })),
        ],
        event => one(event),
    };
    assert_eq!(with(change).await, ["tags"]);
}

#[tokio::test(start_paused = true)]
async fn the_beginning_of_an_answer() {
    let twice: Change = |_, event| match event {
        Some(Event::MessageStarted(start)) => vec![Event::MessageStarted(start); 2],
        event => one(event),
    };
    assert_eq!(with(twice).await, ["message_started"]);
    let missing: Change = |scenario, event| match event {
        Some(Event::MessageStarted(_)) if scenario == Scenario::OneCall => Vec::new(),
        event => one(event),
    };
    assert_eq!(with(missing).await, ["message_started"]);
}

#[tokio::test(start_paused = true)]
async fn c77_something_before_an_early_error() {
    let change: Change = |scenario, event| match event {
        Some(Event::Error(error)) if scenario == Scenario::Unavailable => {
            vec![started(), Event::Error(error)]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["held_back"]);
}

#[tokio::test(start_paused = true)]
async fn c80_a_raw_chunk_that_nobody_asked_for() {
    let change: Change = |_, event| match event {
        Some(Event::TextDelta(delta)) => vec![Event::TextDelta(delta), raw(None)],
        event => one(event),
    };
    assert_eq!(with(change).await, ["raw_chunks"]);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_not_ours() {
    let change = changed!(MessageStarted, |event| event.request_id = "other".into());
    assert_eq!(with(change).await, ["request_id"]);
}

#[tokio::test(start_paused = true)]
async fn c83_an_event_that_does_not_survive_json() {
    let change = completed!(Text, MessageCompleted, |event| {
        let usage = event.usage.get_or_insert_default();
        usage.cost = Some(Cost {
            input: None,
            output: None,
            total: f64::INFINITY,
        });
    });
    assert_eq!(with(change).await, ["json"]);
}

#[tokio::test(start_paused = true)]
async fn c71_a_text_that_is_not_all() {
    let wrong = changed!(TextAroundCall, TextCompleted, |event| {
        event.text = "Done.".to_owned();
    });
    assert_eq!(with(wrong).await, ["text_completed"]);
    let early: Change = |scenario, event| match event {
        Some(Event::TextDelta(delta)) if scenario == Scenario::Text => {
            let text = delta.delta.to_string();
            let whole = Event::TextCompleted(TextCompleted { id: None, text });
            vec![Event::TextDelta(delta), whole]
        }
        event => one(event),
    };
    assert_eq!(with(early).await, ["text_completed"]);
}

#[tokio::test(start_paused = true)]
async fn l217_a_piece_that_is_lost() {
    let change: Change = |scenario, event| match event {
        Some(Event::TextDelta(delta))
            if scenario == Scenario::TextInPieces && &*delta.delta == "Hel" =>
        {
            Vec::new()
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["text_pieces"]);
}

#[tokio::test(start_paused = true)]
async fn c72_blocks_with_one_id() {
    let change = changed!(TextDelta, |event| event.id = Some("p0".into()));
    assert_eq!(with(change).await, ["part_ids"]);
    let change = changed!(TextDelta, |event| event.id = None);
    assert_eq!(with(change).await, ["part_ids"]);
}

#[tokio::test(start_paused = true)]
async fn c70_a_completion_that_leans_on_its_deltas() {
    let change: Change = |scenario, event| match event {
        Some(Event::TextCompleted(_)) if scenario == Scenario::Text => Vec::new(),
        Some(Event::MessageCompleted(done)) if scenario == Scenario::Text => {
            let mut done = Arc::unwrap_or_clone(done);
            done.message.content.clear();
            vec![Event::MessageCompleted(done.into())]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["without_deltas"]);
}

#[tokio::test(start_paused = true)]
async fn c81_thinking_that_is_not_streamed() {
    let change: Change = |_, event| match event {
        Some(Event::ReasoningDelta(_)) => Vec::new(),
        event => one(event),
    };
    assert_eq!(with(change).await, ["reasoning"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_starts_twice() {
    let change: Change = |_, event| match event {
        Some(Event::ToolCallStarted(start)) => vec![Event::ToolCallStarted(start); 2],
        event => one(event),
    };
    assert_eq!(with(change).await, ["call_order"]);
    let change: Change = |_, event| match event {
        Some(Event::ToolCallStarted(_)) => Vec::new(),
        event => one(event),
    };
    assert_eq!(with(change).await, ["call_order"]);
}

#[tokio::test(start_paused = true)]
async fn l280_calls_that_are_counted_from_elsewhere() {
    let change: Change = |_, event| match event {
        Some(Event::ToolCallStarted(mut call)) => {
            call.index += 1;
            vec![Event::ToolCallStarted(call)]
        }
        Some(Event::ToolCallDelta(mut call)) => {
            call.index += 1;
            vec![Event::ToolCallDelta(call)]
        }
        Some(Event::ToolCallCompleted(call)) => {
            let mut call = Arc::unwrap_or_clone(call);
            call.index += 1;
            vec![Event::ToolCallCompleted(call.into())]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["call_indexes"]);
}

#[tokio::test(start_paused = true)]
async fn l277_a_call_with_two_ids() {
    let change = changed!(ToolCallStarted, |event| event.id = "other".into());
    assert_eq!(with(change).await, ["call_names"]);
}

#[tokio::test(start_paused = true)]
async fn l218_a_piece_of_arguments_that_is_lost() {
    let change: Change = |scenario, event| match event {
        Some(Event::ToolCallDelta(delta))
            if scenario == Scenario::CallInPieces && delta.arguments_delta.starts_with("ty") =>
        {
            Vec::new()
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["call_pieces"]);
}

#[tokio::test(start_paused = true)]
async fn c13_malformed_arguments_that_become_none() {
    let change = completed!(MalformedCall, ToolCallCompleted, |event| {
        event.arguments = Some(Arc::default());
    });
    assert_eq!(with(change).await, ["call_arguments"]);
    let change = completed!(MalformedCall, MessageCompleted, |event| {
        event.message.tool_calls[0].arguments = Some(Arc::default());
    });
    assert_eq!(with(change).await, ["call_arguments"]);
}

#[tokio::test(start_paused = true)]
async fn a_completion_without_its_calls() {
    let change = completed!(OneCall, MessageCompleted, |event| {
        event.message.tool_calls.clear();
    });
    assert_eq!(with(change).await, ["calls_in_completion"]);
}

#[tokio::test(start_paused = true)]
async fn c15_calls_with_one_id() {
    let change: Change = |_, event| match event {
        Some(Event::ToolCallStarted(mut call)) => {
            call.id = "same".into();
            vec![Event::ToolCallStarted(call)]
        }
        Some(Event::ToolCallDelta(mut call)) => {
            call.id = "same".into();
            vec![Event::ToolCallDelta(call)]
        }
        Some(Event::ToolCallCompleted(call)) => {
            let mut call = Arc::unwrap_or_clone(call);
            call.id = "same".into();
            vec![Event::ToolCallCompleted(call.into())]
        }
        Some(Event::MessageCompleted(done)) => {
            let mut done = Arc::unwrap_or_clone(done);
            for call in &mut done.message.tool_calls {
                call.id = "same".into();
                call.wire_id = Some("same".into());
            }
            vec![Event::MessageCompleted(done.into())]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["call_ids"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_the_id_of_its_wire() {
    let change = completed!(OneCall, MessageCompleted, |event| {
        event.message.tool_calls[0].wire_id = None;
    });
    assert_eq!(with(change).await, ["wire_ids"]);
}

#[tokio::test(start_paused = true)]
async fn c16_a_call_beyond_the_content() {
    let change = completed!(OneCall, MessageCompleted, |event| {
        event.message.tool_calls[0].at = Some(9);
    });
    assert_eq!(with(change).await, ["call_places"]);
}

#[tokio::test(start_paused = true)]
async fn c12_c76_a_cut_call_with_arguments() {
    let change = completed!(LengthInCall, MessageCompleted, |event| {
        let call = &mut event.message.tool_calls[0];
        call.arguments = Some(Arc::default());
    });
    assert_eq!(with(change).await, ["cut_call"]);
}

#[tokio::test(start_paused = true)]
async fn another_answer() {
    let change: Change = |scenario, event| match event {
        Some(Event::MessageCompleted(done)) if scenario == Scenario::Empty => {
            let mut done = Arc::unwrap_or_clone(done);
            done.message = Message {
                origin: done.message.origin,
                ..Message::assistant("not empty")
            };
            vec![Event::MessageCompleted(done.into())]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["content"]);
    let change: Change = |scenario, event| match event {
        Some(Event::ToolCallCompleted(call)) if scenario == Scenario::OneCall => {
            let mut call = Arc::unwrap_or_clone(call);
            call.raw_arguments = r#"{"city": "Paris"}"#.into();
            call.arguments = json!({"city": "Paris"}).as_object().cloned().map(Arc::new);
            vec![Event::ToolCallCompleted(call.into())]
        }
        Some(Event::MessageCompleted(done)) if scenario == Scenario::OneCall => {
            let mut done = Arc::unwrap_or_clone(done);
            let call = &mut done.message.tool_calls[0];
            call.raw_arguments = r#"{"city": "Paris"}"#.into();
            call.arguments = json!({"city": "Paris"}).as_object().cloned().map(Arc::new);
            vec![Event::MessageCompleted(done.into())]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["content"]);
}

#[tokio::test(start_paused = true)]
async fn c55_another_finish_reason() {
    let change = completed!(Length, MessageCompleted, |event| {
        event.finish_reason = Some(FinishReason::Stop);
    });
    assert_eq!(with(change).await, ["finish_reason"]);
}

#[tokio::test(start_paused = true)]
async fn c57_a_refusal_that_is_lost() {
    let change = completed!(Refusal, MessageCompleted, |event| {
        let content = &mut event.message.content;
        content.retain(|part| !matches!(part, Part::Refusal(_)));
    });
    assert_eq!(with(change).await, ["refusal"]);
}

#[tokio::test(start_paused = true)]
async fn c60_c61_c82_usage_that_is_wrong() {
    let change = completed!(Usage, MessageCompleted, |event| event.usage = None);
    assert_eq!(with(change).await, ["usage"]);
    let change = completed!(Usage, MessageCompleted, |event| {
        event.usage.as_mut().unwrap().cached_input_tokens = Some(6);
    });
    assert_eq!(with(change).await, ["usage"]);
    let change = changed!(RawChunk, |event| event.usage = Some(Usage::io(1, 1)));
    assert_eq!(with(change).await, ["usage_once"]);
    let change = completed!(Text, MessageCompleted, |event| {
        event.usage.as_mut().unwrap().reasoning_tokens = Some(5);
    });
    assert_eq!(with(change).await, ["usage_consistent"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_of_nobody() {
    let change: Change = |_, event| match event {
        Some(Event::MessageStarted(mut start)) => {
            start.message.origin = None;
            vec![Event::MessageStarted(start)]
        }
        Some(Event::MessageCompleted(done)) => {
            let mut done = Arc::unwrap_or_clone(done);
            done.message.origin = None;
            vec![Event::MessageCompleted(done.into())]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["origin"]);
}

#[tokio::test(start_paused = true)]
async fn c139_c142_c143_c145_errors_that_are_wrong() {
    let change = changed!(Unauthorized, Error, |event| {
        event.error.reason = AdapterReason::PermissionDenied.as_str().to_owned();
    });
    assert_eq!(with(change).await, ["classified"]);
    let change = changed!(RateLimited, Error, |event| {
        event.error.metadata.remove("retry_after");
    });
    assert_eq!(with(change).await, ["retry_after"]);
    let change = changed!(Unavailable, Error, |event| {
        let one_second = json!(1_000);
        event
            .error
            .metadata
            .insert("retry_after".to_owned(), one_second);
    });
    assert_eq!(with(change).await, ["retry_after"]);
    let change = changed!(FailsMidway, Error, |event| {
        event.error.reason = "went_wrong".to_owned();
    });
    assert_eq!(with(change).await, ["error_reasons"]);
    let change = changed!(Unavailable, Error, |event| {
        event
            .error
            .metadata
            .insert("provider".to_owned(), "other".into());
    });
    assert_eq!(with(change).await, ["errors_say_who"]);
    let change = changed!(Unavailable, Error, |event| {
        event.error.message = "<html>".repeat(1_000);
    });
    assert_eq!(with(change).await, ["errors_bounded"]);
}

#[tokio::test(start_paused = true)]
async fn c52_c74_a_partial_answer_that_is_lost() {
    let change = changed!(FailsMidway, TextDelta, |event| event.delta = "".into());
    assert_eq!(with(change).await, ["partial_kept"]);
}

#[tokio::test(start_paused = true)]
async fn c75_a_cut_answer_that_looks_whole() {
    let change: Change = |scenario, event| match event {
        Some(Event::Error(_)) if scenario == Scenario::Cut => {
            let message = Message::assistant("Hel");
            vec![Event::MessageCompleted(Arc::new(MessageCompleted {
                finish_reason: Some(FinishReason::Stop),
                ..MessageCompleted::new(message)
            }))]
        }
        event => one(event),
    };
    assert_eq!(with(change).await, ["cut"]);
}

#[tokio::test(start_paused = true)]
async fn c129_a_silence_that_is_told_as_something_else() {
    let change = changed!(Silent, Error, |event| {
        event.error.reason = AdapterReason::NetworkError.as_str().to_owned();
    });
    assert_eq!(with(change).await, ["silence"]);
}

#[tokio::test(start_paused = true)]
async fn c104_c105_a_key_that_is_shown() {
    let change = changed!(Unauthorized, Error, |event| {
        event.error.message = format!("the key {KEY} is not accepted");
    });
    assert_eq!(with(change).await, ["key_not_shown"]);
}
