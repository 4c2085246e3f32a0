//! What a handler can reply (loop.md, L19 to L28, L290, L291, L299, L300).

use allm_core::json::Sorted;
use allm_core::limits::{
    MAX_ARGUMENT_DEPTH, MAX_HANDLER_STATE, MAX_TOOL_MEDIA, MAX_TOOL_MEDIA_PARTS,
};
use allm_core::run::ToolOutcome;
use allm_core::{
    Effect, Event, File, Image, JsonEncoder, Map, Message, Part, ReplyValue, ReportedError, Source,
    ToolCall, ToolError, ToolFailure, ToolReason, ToolReply, ToolResultEncoded, ToolResultEncoder,
    encode,
};
use serde_json::{Value, json};

fn content(reply: &ToolReply) -> Option<String> {
    match reply {
        ToolReply::Ok(value) => JsonEncoder.encode(value.get().ok()?).ok(),
        _ => None,
    }
}

fn opts(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[test]
fn l19_a_number_is_its_own_content() {
    let reply = ToolReply::ok(&42);
    assert_eq!(reply, ToolReply::Ok(ReplyValue::from(json!(42))));
    assert_eq!(content(&reply).as_deref(), Some("42"));
}

#[test]
fn l20_a_string_is_content_without_quotes() {
    assert_eq!(content(&ToolReply::ok("hi")).as_deref(), Some("hi"));
    assert_eq!(content(&ToolReply::ok("")).as_deref(), Some(""));
}

#[test]
fn l21_a_reported_error_keeps_text_and_source() {
    let source = "x".parse::<u8>().unwrap_err();
    let error = ReportedError::of(source.clone());
    assert_eq!(error.message, source.to_string());
    assert_eq!(error.source_ref::<std::num::ParseIntError>(), Some(&source));
    assert_eq!(error.source_ref::<ToolError>(), None);
}

#[test]
fn l22_a_reported_tool_error_stays_reported() {
    let source = ToolError::new(ToolReason::Timeout, "the upstream was slow").cause("secret");
    let failure = ToolFailure::Reported(ReportedError::of(source.clone()));
    let ToolFailure::Reported(error) = &failure else {
        panic!("{failure:?}");
    };
    assert_eq!(error.source_ref::<ToolError>(), Some(&source));
    let report = encode::report(&failure, "fetch", &Effect::AtMostOnce);
    assert_eq!(report.reason.as_str(), "reported");
    assert_eq!(report.message, "timeout: the upstream was slow");
}

#[test]
fn l23_details_appear_only_when_given() {
    let shown = |error: ReportedError| {
        let failure = ToolFailure::Reported(error);
        encode::report(&failure, "pay", &Effect::Pure).to_content()
    };
    assert_eq!(
        shown(ReportedError::new("declined").details(json!({"code": 51}))),
        r#"{"error":{"reason":"reported","message":"declined","details":{"code":51}}}"#
    );
    assert_eq!(
        shown(ReportedError::new("declined")),
        r#"{"error":{"reason":"reported","message":"declined"}}"#
    );
}

#[test]
fn l24_a_question_keeps_its_options() {
    assert_eq!(
        ToolReply::ask("which?"),
        ToolReply::ask_with("which?", Map::new())
    );
    let given = opts(json!({"choices": ["a", "b"], "deep": {"x": null}}));
    let reply = ToolReply::ask_with("which?", given.clone()).checked();
    assert_eq!(
        reply,
        Ok(ToolReply::AskUser {
            question: "which?".to_owned(),
            opts: given
        })
    );
}

#[test]
fn l25_an_empty_question_is_invalid() {
    for question in ["", "  ", "\n\t"] {
        let error = ToolReply::ask(question).checked().unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn, "{question:?}");
        assert_eq!(error.metadata, Map::new());
    }
}

#[test]
fn l26_a_halt_needs_a_reason() {
    let legal = ToolReply::halt("plan_submitted", &json!({"plan": 1}));
    assert_eq!(legal.clone().checked(), Ok(legal));
    let error = ToolReply::halt("", &1).checked().unwrap_err();
    assert_eq!(error.reason, ToolReason::InvalidReturn);
    assert_eq!(error.metadata, Map::new());
}

#[test]
fn l27_the_reasons_of_the_loop_are_reserved() {
    let reserved = [
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
    ];
    for reason in reserved {
        let error = ToolReply::halt(reason, &()).checked().unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn, "{reason}");
        assert_eq!(
            error.metadata,
            opts(json!({"reserved_halt_atom": reason})),
            "{reason}"
        );
    }
    assert!(ToolReply::halt("Completed", &()).checked().is_ok());
}

#[test]
fn l28_an_untyped_reply_has_one_of_the_forms() {
    let forms = [
        (json!({"ok": {"a": 1}}), ToolReply::ok(&json!({"a": 1}))),
        (
            json!({"error": "no"}),
            ToolReply::Error(ReportedError::new("no")),
        ),
        (
            json!({"error": {"message": "no", "details": [1]}}),
            ToolReply::Error(ReportedError::new("no").details(json!([1]))),
        ),
        (
            json!({"error": {"message": "no"}}),
            ToolReply::Error(ReportedError::new("no")),
        ),
        (json!({"ask_user": {"question": "q"}}), ToolReply::ask("q")),
        (
            json!({"ask_user": {"question": "q", "opts": {"x": 1}}}),
            ToolReply::ask_with("q", opts(json!({"x": 1}))),
        ),
        (
            json!({"halt": {"reason": "done", "value": null}}),
            ToolReply::halt("done", &()),
        ),
    ];
    for (untyped, reply) in forms {
        assert_eq!(ToolReply::from_json(untyped), Ok(reply));
    }
}

#[test]
fn l28_anything_else_is_invalid_with_the_value_as_cause() {
    let others = [
        json!(42),
        json!({}),
        json!({"ok": 1, "error": "x"}),
        json!({"weather": 1}),
        json!({"ask_user": "q"}),
        json!({"ask_user": {"question": "q", "opts": [], }}),
        json!({"error": {"message": "no", "more": 1}}),
        json!({"halt": {"reason": "done"}}),
    ];
    for untyped in others {
        let text = Sorted(&untyped).to_string();
        let error = ToolReply::from_json(untyped).unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn, "{text}");
        assert_eq!(
            error.cause.map(|cause| cause.message),
            Some(text.clone()),
            "{text}"
        );
    }
}

#[test]
fn l290_a_question_to_go_on_with_keeps_its_options_and_its_state() {
    let bare = ToolReply::ask_and_go_on("which?");
    assert_eq!(
        bare,
        ToolReply::ask_and_go_on_with("which?", Map::new(), None)
    );
    let schema = opts(json!({"schema": {"type": "string"}}));
    let state = json!({"page": 2, "none": null});
    let full = ToolReply::ask_and_go_on_with("which?", schema.clone(), state.clone());
    let expected = ToolReply::AskAndGoOn {
        question: "which?".into(),
        opts: schema,
        state: Some(state),
    };
    assert_eq!(full.clone().checked(), Ok(expected));
    for empty in ["", " \n"] {
        let error = ToolReply::ask_and_go_on(empty).checked().unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn);
    }
}

#[test]
fn l290_a_state_is_bounded() {
    let most = MAX_HANDLER_STATE - 2;
    let text = |bytes: usize| Value::from("x".repeat(bytes));
    let nested = |levels: usize| (0..levels).fold(Value::Null, |inner, _| json!([inner]));
    let asks = |state: Value| ToolReply::ask_and_go_on_with("q", Map::new(), state).checked();
    asks(text(most)).unwrap();
    asks(nested(MAX_ARGUMENT_DEPTH)).unwrap();
    for state in [text(most + 1), nested(MAX_ARGUMENT_DEPTH + 1)] {
        assert_eq!(asks(state).unwrap_err().reason, ToolReason::InvalidReturn);
    }
}

#[test]
fn l291_an_untyped_question_says_who_gets_the_answer() {
    let ask = |inside: Value| ToolReply::from_json(json!({"ask_user": inside}));
    assert_eq!(
        ask(json!({"question": "q", "answer_to": "tool"})),
        Ok(ToolReply::ask_and_go_on("q"))
    );
    assert_eq!(
        ask(json!({"question": "q", "opts": {"a": 1}, "answer_to": "tool", "state": null})),
        Ok(ToolReply::ask_and_go_on_with(
            "q",
            opts(json!({"a": 1})),
            Value::Null
        ))
    );
    assert_eq!(
        ask(json!({"question": "q", "answer_to": "model"})),
        Ok(ToolReply::ask("q"))
    );
    let wrong = [
        json!({"question": "q", "state": 1}),
        json!({"question": "q", "answer_to": "model", "state": 1}),
        json!({"question": "q", "answer_to": "nobody"}),
        json!({"question": "q", "answer_to": null}),
        json!({"answer_to": "tool"}),
    ];
    for inside in wrong {
        let error = ask(inside.clone()).unwrap_err();
        assert_eq!(error.reason, ToolReason::InvalidReturn, "{inside}");
    }
}

fn picture(bytes: usize) -> Part {
    Part::image(Image::from_bytes(vec![7; bytes], "image/png"))
}

#[test]
fn l299_pictures_come_after_the_text() {
    let media = vec![picture(3)];
    assert_eq!(ToolReply::ok_with("see", []), ToolReply::ok("see"));
    let reply = ToolReply::ok_with("see", media.clone());
    let value = ReplyValue::from(json!("see"));
    let expected = ToolReply::OkWith {
        value,
        media: media.clone(),
    };
    assert_eq!(reply, expected);

    let outcome = |content: &str| ToolOutcome::Replied {
        value: json!(content),
        content: content.to_owned(),
        media: media.clone(),
    };
    let call = ToolCall::new("c", "t", "{}");
    let both = Message::tool_result("c", vec![Part::text("see"), picture(3)]);
    assert_eq!(outcome("see").message(&call), Some(both));
    let alone = Message::tool_result("c", vec![picture(3)]);
    assert_eq!(outcome("").message(&call), Some(alone));
    let encoded = ToolResultEncoded {
        index: 2,
        id: "c".into(),
        content: "see".to_owned(),
        media: media.clone(),
        is_error: false,
    };
    let events = outcome("see").events(2, &call);
    assert_eq!(events[1], Event::ToolResultEncoded(encoded));
}

#[test]
fn l300_media_is_here_named_and_bounded() {
    let checked = |media: Vec<Part>| {
        let checked = ToolReply::ok_with("see", media).checked();
        checked.map(|_| ()).map_err(|error| {
            assert_eq!(error.reason, ToolReason::InvalidReturn);
            error.message
        })
    };
    let base64 = |text: &str| Part::file(File::from_base64(text, "application/pdf"));
    assert_eq!(checked(vec![picture(MAX_TOOL_MEDIA)]), Ok(()));
    assert_eq!(checked(vec![picture(1); MAX_TOOL_MEDIA_PARTS]), Ok(()));
    assert_eq!(checked(vec![base64("AQI=")]), Ok(()));
    let large = "the tool replied with pictures and files that are too large";
    let elsewhere = "the tool replied with a picture or file that is not here";
    let nameless = "the tool replied with a picture or file without a MIME type";
    for (media, message) in [
        (vec![picture(MAX_TOOL_MEDIA), picture(1)], large),
        (vec![base64(&"AAAA".repeat(MAX_TOOL_MEDIA))], large),
        (
            vec![picture(1); MAX_TOOL_MEDIA_PARTS + 1],
            "the tool replied with too many pictures and files",
        ),
        (
            vec![Part::text("no")],
            "the tool replied with something that is no picture and no file",
        ),
        (
            vec![Part::image(Image {
                mime_type: Some("image/png".to_owned()),
                ..Image::from_url("https://h/x")
            })],
            elsewhere,
        ),
        (vec![base64("?")], elsewhere),
        (
            vec![Part::image(Image::new(Source::Bytes(vec![1].into())))],
            nameless,
        ),
    ] {
        assert_eq!(checked(media), Err(message.to_owned()));
    }
}
