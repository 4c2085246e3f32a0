//! Model strings, messages and what they are made of (core.md, C1, C2, C5, C9 to C11, C16, C21).

use std::collections::BTreeMap;

use allm_core::{
    Content, EngineReason, Image, Message, ModelRef, ModelText, Opaque, Part, RawJson,
    ReasoningKind, ReasoningPart, Response, Role, Source, TextPart, Thread, ToolCall,
};
use serde_json::json;

#[test]
fn c1_a_model_string_parses_and_prints_back() {
    let text = "openai:gpt-4.1-mini";
    let model: ModelRef = text.parse().unwrap();
    let expected = ModelRef {
        provider: "openai".into(),
        model: "gpt-4.1-mini".to_owned(),
    };
    assert_eq!(model, expected);
    assert_eq!(model.to_string(), text);
    assert_eq!(ModelRef::parse(text), Ok(ModelText::Full(expected)));
}

#[test]
fn c2_only_the_first_colon_splits() {
    for (text, provider, name) in [
        ("ollama:llama3.1:8b", "ollama", "llama3.1:8b"),
        ("openrouter:a/b:free", "openrouter", "a/b:free"),
        ("a::", "a", ":"),
    ] {
        let model: ModelRef = text.parse().unwrap();
        assert_eq!(
            (model.provider.as_str(), model.model.as_str()),
            (provider, name)
        );
        assert_eq!(model.to_string(), text);
    }
}

#[test]
fn c5_a_string_that_is_no_model_is_invalid_model() {
    let longest = "a".repeat(32);
    assert!(ModelRef::parse(&format!("{longest}:x")).is_ok());
    let too_long = format!("{longest}a:x");
    let invalid = [
        ":gpt",
        "openai:",
        "open ai:x",
        "OpenAI:x",
        "openai:a\nb",
        "openai:a b",
        "openai:\u{7f}",
        "openai:a\u{85}",
        "",
        ":",
        "1a:x",
        "-a:x",
        "é:x",
        "openai:\u{a0}",
        "gpt 4",
        &too_long,
    ];
    for text in invalid {
        let reason = ModelRef::parse(text).map_err(|error| error.reason);
        assert_eq!(reason, Err(EngineReason::InvalidModel), "{text:?}");
        let reason = text.parse::<ModelRef>().map_err(|error| error.reason);
        assert_eq!(reason, Err(EngineReason::InvalidModel), "{text:?}");
    }
}

#[test]
fn c5_a_model_without_a_provider_is_told_apart_from_an_invalid_one() {
    assert_eq!(
        ModelRef::parse("gpt-4.1"),
        Ok(ModelText::Bare("gpt-4.1".to_owned()))
    );
    let reason = "gpt-4.1".parse::<ModelRef>().map_err(|error| error.reason);
    assert_eq!(reason, Err(EngineReason::InvalidModel));
}

#[test]
fn c9_a_text_makes_one_text_part() {
    let message = Message::user("hi");
    assert_eq!(message.role, Role::User);
    assert_eq!(
        message.content,
        [Part::Text(TextPart {
            text: "hi".to_owned(),
            opaque: None
        })]
    );
    assert_eq!(message.text(), "hi");
}

#[test]
fn c10_text_is_the_text_parts_joined_with_nothing_between() {
    let reasoning = Part::Reasoning(ReasoningPart {
        text: Some("hm".to_owned()),
        kind: ReasoningKind::Raw,
        opaque: None,
    });
    let message = Message::assistant([
        Part::text("a "),
        reasoning,
        Part::refusal("no"),
        Part::image(Image::from_url("https://example.org")),
        Part::text("b"),
    ]);
    assert_eq!(message.text(), "a b");
    assert_eq!(Message::assistant(Vec::new()).text(), "");
}

#[test]
fn c11_a_value_becomes_compact_json_text() {
    let content = Content::json(&json!({"a": "ü", "b": [1, 2.5]})).unwrap();
    let message = Message::tool_result("c1", content);
    assert_eq!(message.text(), r#"{"a":"ü","b":[1,2.5]}"#);
    assert_eq!(
        message.tool_call_id.as_ref().map(|id| id.as_str()),
        Some("c1")
    );
    assert!(!message.is_error);
    assert!(Message::tool_error("c1", "x").is_error);
}

#[test]
fn c11_a_value_that_is_no_json_is_an_error() {
    assert!(Content::json(&f64::NAN).is_err());
    assert!(Content::json(&BTreeMap::from([(vec![1], 1)])).is_err());
}

#[test]
fn c16_at_rebuilds_the_order_of_parts_and_calls() {
    let call = |id: &str, at| ToolCall {
        at,
        ..ToolCall::new(id, "look", "")
    };
    let message = Message::assistant([Part::text("one"), Part::text("two")])
        .with_tool_calls(vec![call("c1", Some(1)), call("c2", None)]);
    let message: Message =
        allm_core::json::from_str(&allm_core::json::to_string(&message).unwrap()).unwrap();
    let places = message
        .tool_calls
        .iter()
        .map(|call| call.at.unwrap_or(u32::MAX));
    let mut calls: Vec<_> = places.zip(&message.tool_calls).collect();
    let mut order = Vec::new();
    for (part, before) in message.content.iter().zip(0..) {
        let due = calls.extract_if(.., |(at, _)| *at <= before);
        order.extend(due.map(|(_, call)| call.id.to_string()));
        order.extend(part.as_text().map(str::to_owned));
    }
    order.extend(calls.into_iter().map(|(_, call)| call.id.to_string()));
    assert_eq!(order, ["one", "c1", "two", "c2"]);
}

#[test]
fn c21_debug_prints_empty_huge_and_odd_content() {
    let huge = "日".repeat(100_000);
    let odd = "\0\u{1b}[31m\u{fffd}\u{10ffff}\"\\";
    for text in ["", odd, &huge] {
        let raw = RawJson::from_value(&json!(text)).unwrap();
        let opaque = Opaque {
            provider: text.into(),
            wire: text.into(),
            kind: text.into(),
            data: raw,
        };
        let bytes = Image::new(Source::Bytes(vec![0xff, 0xfe, 0x00].into()));
        let message = Message {
            name: Some(text.to_owned()),
            ..Message::assistant([Part::text(text), Part::opaque(opaque), Part::image(bytes)])
                .with_tool_calls(vec![ToolCall::new(text, text, text)])
        };
        let shown = format!("{:?}", Thread::from(message.clone()));
        assert!(shown.contains("RawJson("));
        assert!(format!("{:?}", Response::new(message)).len() >= text.len());
    }
    assert_eq!(
        format!("{:?}", Thread::new()),
        "Thread { messages: [], metadata: {} }"
    );
}
