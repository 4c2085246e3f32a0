//! Messages, calls and threads.

use allm_core::{
    Detail, File, FilePart, FinishReason, Image, ImagePart, Message, Opaque, Origin, Part,
    ReasoningKind, ReasoningPart, TextPart, Thread, ToolCall,
};
use serde_json::json;

use super::Named;
use crate::support::{map, raw};

pub(super) fn opaque(kind: &str) -> Opaque {
    Opaque {
        provider: "anthropic".into(),
        wire: "messages".into(),
        kind: kind.to_owned(),
        data: raw("{\"z\": 1.0, \"a\":1e2, \"u\":\"\\u00e9\"}"),
    }
}

pub(super) fn messages() -> Vec<Named<Message>> {
    vec![
        ("system", Message::system("Be brief.")),
        ("user", Message::user("Zoë says \"hi\" \\ \u{1f}\n日本 🦀")),
        ("user_empty", Message::user(Vec::new())),
        ("user_media", user_media()),
        ("assistant", assistant()),
        ("tool_result", Message::tool_result("c1", "72 °F")),
        (
            "tool_error",
            Message::tool_error("c1", r#"{"error":{"reason":"timeout","message":"…"}}"#),
        ),
    ]
}

fn user_media() -> Message {
    let image = |image: Image, detail: Detail| {
        Part::Image(ImagePart {
            image: image.into(),
            detail,
        })
    };
    let sized = Image {
        width: Some(640),
        height: Some(480),
        metadata: map(json!({"alt": "a cat"})),
        ..Image::from_bytes(vec![0, 159, 146, 150, 255], "image/png")
    };
    let noted = File {
        metadata: map(json!({"pages": 3})),
        ..File::from_base64("JVBERi0=", "application/pdf")
    };
    Message {
        name: Some("zoe".to_owned()),
        metadata: map(json!({"trace": {"ids": [1, 2.5, null, true, "x"]}})),
        ..Message::user([
            Part::text("Compare."),
            image(sized, Detail::High),
            image(Image::from_url("https://example.org/a.png"), Detail::Auto),
            image(Image::from_provider("openai", "file-1"), Detail::Low),
            Part::File(FilePart {
                file: noted.into(),
                name: Some("report.pdf".to_owned()),
            }),
            Part::file(File::from_url("https://example.org/b.csv")),
        ])
    }
}

/// An assistant message that uses every part and field that one can have.
pub(super) fn assistant() -> Message {
    let reasoning = |text: Option<&str>, kind, opaque| {
        Part::Reasoning(ReasoningPart {
            text: text.map(str::to_owned),
            kind,
            opaque,
        })
    };
    Message {
        name: Some("planner".to_owned()),
        finish_reason: Some(FinishReason::ToolCalls),
        origin: Some(
            Origin {
                provider: "anthropic".into(),
                wire: "messages".to_owned(),
                model: Some("claude-sonnet-4-5-20250929".to_owned()),
                response_id: Some("msg_1".into()),
            }
            .into(),
        ),
        metadata: map(json!({"kept": -0.0})),
        ..Message::assistant([
            reasoning(
                Some("Let me see."),
                ReasoningKind::Raw,
                Some(opaque("thinking").into()),
            ),
            reasoning(Some("It looked."), ReasoningKind::Summary, None),
            reasoning(
                Some(""),
                ReasoningKind::Redacted,
                Some(opaque("redacted_thinking").into()),
            ),
            reasoning(None, ReasoningKind::Redacted, None),
            Part::Text(TextPart {
                text: "I will ask.".to_owned(),
                opaque: Some(opaque("citations").into()),
            }),
            Part::opaque(opaque("server_tool_use")),
            Part::refusal("I cannot say more."),
        ])
        .with_tool_calls(vec![call(), ToolCall::new("c2", "get_time", "")])
    }
}

/// A call that uses every field.
pub(super) fn call() -> ToolCall {
    ToolCall {
        wire_id: Some("toolu_01".into()),
        at: Some(5),
        opaque: Some(opaque("thought_signature").into()),
        metadata: map(json!({"original_id": "", "original_name": "get weather"})),
        ..ToolCall::new(
            "allm-0-0",
            "get_weather",
            "{\"unit\": \"F\", \"city\":\"Boston\", \"n\": 1.0}",
        )
    }
}

pub(super) fn calls() -> Vec<Named<ToolCall>> {
    vec![
        (
            "plain",
            ToolCall::new("c1", "get_weather", r#"{"city":"Boston"}"#),
        ),
        ("full", call()),
        ("without_arguments", ToolCall::new("c1", "get_time", "null")),
        (
            "not_an_object",
            ToolCall::new("c1", "add", "9223372036854775808"),
        ),
        (
            "numbers",
            ToolCall::new(
                "c1",
                "add",
                r#"{"a":9223372036854775808,"b":18446744073709551615,"c":1e300,"d":0.1,"e":-0.0,"f":1.0}"#,
            ),
        ),
        (
            "malformed",
            ToolCall::new("c1", "get_weather", "{\"city\": \"Bos"),
        ),
        ("cut_off", ToolCall::cut_off("c1", "get_weather", "{\"ci")),
    ]
}

/// A conversation with a block of two answers.
pub(super) fn answered() -> Thread {
    let calls = vec![
        ToolCall::new("c1", "get_weather", r#"{"city":"Boston"}"#),
        ToolCall::new("c2", "get_time", ""),
    ];
    Thread::new()
        .with(Message::system("Be brief."))
        .with(Message::user("Weather and time?"))
        .with(Message::assistant("Let me look.").with_tool_calls(calls))
        .with(Message::tool_result("c1", "72 °F"))
        .with(Message::tool_error("c2", "no clock"))
        .with(Message::assistant("72 °F; I have no clock."))
}

pub(super) fn threads() -> Vec<Named<Thread>> {
    vec![
        ("empty", Thread::new()),
        ("answered", answered()),
        (
            "waiting",
            Thread {
                metadata: map(json!({"topic": "weather"})),
                ..Thread::from("hi").with(assistant())
            },
        ),
    ]
}
