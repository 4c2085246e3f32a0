//! Calls and their argument text (core.md, C12 to C14; loop.md, L53, L57 to L60).

use std::sync::Arc;

use allm_core::run::{Input, Repair, Run, RunSetup};
use allm_core::{
    ArgumentLimits, Event, Failure, FinishReason, JsonReason, MalformedArguments, Map, Message,
    MessageCompleted, Path, Response, Thread, ToolCall, ToolCallCompleted, json,
};
use serde::Deserialize;
use serde_json::json;

const MIB: usize = 1_048_576;

fn call(text: impl Into<bytestring::ByteString>) -> ToolCall {
    ToolCall::new("c1", "look", text)
}

/// `levels` objects, one inside the other.
fn nested(levels: usize) -> String {
    let open = "{\"a\":".repeat(levels - 1);
    format!("{open}{{}}{}", "}".repeat(levels - 1))
}

/// An object of exactly this many bytes.
fn sized(bytes: usize) -> String {
    format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8))
}

#[test]
fn c12_l53_nothing_blank_and_null_mean_no_arguments() {
    for text in ["", "   ", " \n\t\r", "null", " null\n", "{}"] {
        let call = call(text);
        assert_eq!(call.arguments, Some(Arc::default()), "{text:?}");
        assert_eq!(call.raw_arguments, "{}", "{text:?}");
        assert_eq!(call.fault(), None, "{text:?}");
    }
}

#[test]
fn c12_an_empty_object_with_spaces_keeps_its_text() {
    let call = call("{ }");
    assert_eq!(
        (call.arguments, &*call.raw_arguments),
        (Some(Arc::default()), "{ }")
    );
}

/// The calls of an answer that ended this way, as everybody sees them.
fn recorded(calls: Vec<ToolCall>, reason: FinishReason) -> Vec<ToolCall> {
    let whole = MessageCompleted {
        finish_reason: Some(reason),
        ..MessageCompleted::new(Message::assistant("").with_tool_calls(calls))
    };
    match Repair::new(0).event(Event::MessageCompleted(Arc::new(whole))) {
        Event::MessageCompleted(whole) => whole.message.tool_calls.clone(),
        event => panic!("another event: {event:?}"),
    }
}

/// A call whose text an adapter has not looked at.
fn unread(id: &str, text: &str) -> ToolCall {
    ToolCall {
        arguments: None,
        raw_arguments: text.into(),
        ..ToolCall::new(id, "look", "")
    }
}

#[test]
fn c12_an_empty_last_call_of_a_cut_answer_is_malformed() {
    for reason in [
        FinishReason::Length,
        FinishReason::ContentFilter,
        FinishReason::Error,
    ] {
        for text in ["", "  ", "null"] {
            let calls = recorded(vec![unread("c1", text), unread("c2", text)], reason);
            assert_eq!(calls[0], ToolCall::new("c1", "look", ""), "{text:?}");
            assert_eq!(calls[1], ToolCall::cut_off("c2", "look", ""), "{text:?}");
        }
    }
}

#[test]
fn c12_an_answer_that_failed_without_a_finish_reason_is_cut_too() {
    let message = Message::assistant("").with_tool_calls(vec![unread("c1", "")]);
    let mut run = Run::start(RunSetup::new(Thread::from("hi"))).unwrap().run;
    let response = Response {
        error: Some(Failure::interrupted()),
        ..Response::new(message)
    };
    run.apply(Input::responded(response)).unwrap();
    let calls = run.steps()[0].response.tool_calls();
    assert_eq!(calls, [ToolCall::cut_off("c1", "look", "")]);
}

#[test]
fn c12_a_last_call_with_text_is_read_in_a_cut_answer_too() {
    for text in ["{}", "{ }", "{\"a\":1}"] {
        let calls = recorded(vec![unread("c1", text)], FinishReason::Length);
        assert_eq!(calls, [ToolCall::new("c1", "look", text)], "{text:?}");
    }
}

#[test]
fn c12_an_empty_call_of_a_whole_answer_has_no_arguments() {
    let calls = recorded(vec![unread("c1", "")], FinishReason::Stop);
    assert_eq!(calls, [ToolCall::new("c1", "look", "{}")]);
}

fn completed(text: &str) -> Event {
    Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
        index: 0,
        id: "c1".into(),
        name: "look".into(),
        arguments: None,
        raw_arguments: text.into(),
        metadata: Map::new(),
    }))
}

#[test]
fn c12_an_event_with_empty_text_is_remembered_until_the_answer_was_cut() {
    for (text, expected) in [
        ("", ToolCall::cut_off("c1", "look", "")),
        ("{}", ToolCall::new("c1", "look", "{}")),
    ] {
        let mut repair = Repair::new(0);
        let Event::ToolCallCompleted(call) = repair.event(completed(text)) else {
            panic!("another event");
        };
        assert_eq!(
            (call.arguments.clone(), &*call.raw_arguments),
            (Some(Arc::default()), "{}")
        );
        let message =
            Message::assistant("").with_tool_calls(vec![ToolCall::new("c1", "look", text)]);
        let whole = MessageCompleted {
            finish_reason: Some(FinishReason::Length),
            ..MessageCompleted::new(message)
        };
        let Event::MessageCompleted(whole) = repair.event(Event::MessageCompleted(Arc::new(whole)))
        else {
            panic!("another event");
        };
        assert_eq!(whole.message.tool_calls, [expected]);
    }
}

#[test]
fn c13_l58_what_is_no_object_is_malformed_and_keeps_its_text() {
    for (text, found) in [
        ("[1]", "an array"),
        ("[]", "an array"),
        ("3", "a number"),
        ("\"x\"", "a string"),
        ("true", "a boolean"),
        ("\"null\"", "a string"),
    ] {
        let call = call(text);
        assert_eq!(call.arguments, None, "{text}");
        assert_eq!(call.raw_arguments, text);
        assert_eq!(
            call.fault(),
            Some(MalformedArguments::NotObject { found }),
            "{text}"
        );
    }
}

#[test]
fn c13_l57_what_is_no_json_is_malformed_at_its_offset() {
    for (text, offset) in [
        ("{\"a\":", 5),
        ("{\"city\": \"Bos", 13),
        ("{\"a\":1} x", 8),
        ("nul", 0),
        ("{'a':1}", 1),
        ("{\"a\":01}", 6),
        ("{\"é\":}", 6),
    ] {
        let call = call(text);
        assert_eq!(call.arguments, None, "{text}");
        assert_eq!(call.raw_arguments, text);
        assert_eq!(
            call.fault(),
            Some(MalformedArguments::NotJson { offset }),
            "{text}"
        );
    }
}

#[test]
fn c13_a_call_that_was_cut_off_is_incomplete() {
    let cut = ToolCall::cut_off("c1", "look", "{\"a\":1}");
    assert_eq!(cut.arguments, None);
    assert_eq!(cut.raw_arguments, "{\"a\":1}");
    assert_eq!(cut.fault(), Some(MalformedArguments::Incomplete));
}

#[test]
fn c13_of_a_key_that_stands_twice_the_last_one_counts() {
    let call = call("{\"a\":1,\"a\":2}");
    assert_eq!(
        call.arguments
            .map(Arc::unwrap_or_clone)
            .map(serde_json::Value::Object),
        Some(json!({"a": 2}))
    );
}

#[test]
fn c14_the_text_is_kept_to_the_byte() {
    let text = "{ \"z\":1.0,\n\t\"a\" : 1e2, \"n\":10000000000000000000000, \"u\":\"\\u00e9\" } ";
    let call = call(text);
    assert_eq!(call.raw_arguments, text);
    assert!(call.arguments.is_some());
}

#[test]
fn l59_one_mebibyte_passes_and_one_byte_more_does_not() {
    assert_eq!(call(sized(MIB)).fault(), None);
    let long = call(sized(MIB + 1));
    assert_eq!(long.arguments, None);
    assert_eq!(long.raw_arguments.len(), MIB + 1);
    assert_eq!(
        long.fault(),
        Some(MalformedArguments::TooLong { bytes: MIB + 1 })
    );
    let two = call(sized(2 * MIB));
    assert_eq!(
        two.fault(),
        Some(MalformedArguments::TooLong { bytes: 2 * MIB })
    );
}

#[test]
fn l59_blank_text_over_the_limit_is_too_long_and_kept() {
    let blank = call(" ".repeat(MIB + 1));
    assert_eq!(blank.arguments, None);
    assert_eq!(blank.raw_arguments.len(), MIB + 1);
    assert_eq!(
        blank.fault(),
        Some(MalformedArguments::TooLong { bytes: MIB + 1 })
    );
}

#[test]
fn l59_the_limit_can_be_set() {
    let limits = ArgumentLimits {
        max_bytes: 8,
        max_depth: 2,
    };
    let parsed = |text: &str| ToolCall::parsed("c1", "look", text, limits);
    assert!(parsed("{\"a\":12}").arguments.is_some());
    assert_eq!(
        parsed("{\"a\":123}").fault(),
        Some(MalformedArguments::TooLong { bytes: 9 })
    );
    assert_eq!(parsed("{\"a\":[]}").fault(), None);
}

#[test]
fn l60_128_levels_pass_and_more_do_not() {
    assert_eq!(call(nested(128)).fault(), None);
    assert_eq!(call(nested(129)).fault(), Some(MalformedArguments::TooDeep));
    let deep = nested(100_000);
    let deep = call(deep);
    assert_eq!(
        (deep.arguments.clone(), deep.fault()),
        (None, Some(MalformedArguments::TooDeep))
    );
    assert_eq!(
        call("[".repeat(100_000)).fault(),
        Some(MalformedArguments::TooDeep)
    );
}

#[test]
fn l60_what_was_accepted_can_be_stored() {
    let message = Message::assistant("").with_tool_calls(vec![call(nested(128))]);
    let bytes = json::to_vec(&message).unwrap();
    assert_eq!(json::from_slice::<Message>(&bytes).unwrap(), message);
}

#[derive(Debug, Deserialize, PartialEq)]
struct Address {
    city: String,
    zip: u32,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Order {
    addresses: Vec<Address>,
}

#[test]
fn c13_parse_names_the_path_of_the_first_fault() {
    let good = call("{\"addresses\":[{\"city\":\"Boston\",\"zip\":2108}]}");
    let address = Address {
        city: "Boston".to_owned(),
        zip: 2108,
    };
    assert_eq!(
        good.parse::<Order>(),
        Ok(Order {
            addresses: vec![address]
        })
    );
    let bad = call("{\"addresses\":[{\"city\":\"Boston\",\"zip\":\"x\"}]}")
        .parse::<Order>()
        .unwrap_err();
    let path = Path::from("addresses").index(0).field("zip");
    assert_eq!((bad.reason, bad.path), (JsonReason::InvalidValue, path));
    let missing = call("{\"addresses\":[{\"zip\":1}]}")
        .parse::<Order>()
        .unwrap_err();
    let path = Path::from("addresses").index(0).field("city");
    assert_eq!(
        (missing.reason, missing.path),
        (JsonReason::MissingField, path)
    );
}

#[test]
fn c13_malformed_arguments_do_not_parse() {
    let error = call("{\"addresses\":").parse::<Order>().unwrap_err();
    assert_eq!(
        (error.reason, error.path),
        (JsonReason::Malformed, Path::root())
    );
    assert!(
        ToolCall::cut_off("c1", "look", "{}")
            .parse::<Map>()
            .is_err()
    );
}
