use allm_core::{
    Detail, File, FilePart, Image, ImagePart, Opaque, Part, RawJson, ReasoningKind, ReasoningPart,
    TextPart, ToolCall,
};

use super::*;

fn messages(messages: Vec<Message>) -> Value {
    body(request(messages))["messages"].clone()
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn opaque(kind: &str, data: &str) -> Opaque {
    Opaque {
        provider: "anthropic".into(),
        wire: WIRE.to_owned(),
        kind: kind.to_owned(),
        data: RawJson::new(data).expect("JSON"),
    }
}

fn thinking(data: &str) -> Part {
    Part::Reasoning(ReasoningPart {
        text: Some("t".to_owned()),
        kind: ReasoningKind::Raw,
        opaque: Some(opaque("thinking", data).into()),
    })
}

fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "look", "input": {}})
}

#[test]
fn p165_system_messages_are_one() {
    let body = body(request(vec![
        Message::system("One."),
        Message::user("hi"),
        Message::system("Two."),
        Message::system(" "),
        Message::system(vec![Part::text("Three."), Part::text("Four.")]),
    ]));
    assert_eq!(body["system"], "One.\n\nTwo.\n\nThree.\nFour.");
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": text("hi")}])
    );
    assert_eq!(super::body(hi()).get("system"), None);
}

/// P96, P166, P167: results in call order, first in one message of the user, failures with their flag.
#[test]
fn p96_p166_p167_results_are_one_message() {
    let calls = ["a", "b", "c"].map(|id| ToolCall::new(id, "look", "{}"));
    let sent = messages(vec![
        Message::user("hi"),
        Message::assistant("So").with_tool_calls(calls.to_vec()),
        Message::tool_result("c", "3"),
        Message::tool_error("a", "no"),
        Message::tool_result("b", ""),
        Message::user("and?"),
        Message::user("now"),
    ]);
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": text("hi")},
            {"role": "assistant", "content": [
                {"type": "text", "text": "So"}, tool_use("a"), tool_use("b"), tool_use("c")
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true},
                {"type": "tool_result", "tool_use_id": "b"},
                {"type": "tool_result", "tool_use_id": "c", "content": "3"},
                {"type": "text", "text": "and?"},
                {"type": "text", "text": "now"}
            ]}
        ])
    );
}

/// P97: a result's text arrives unchanged.
#[test]
fn p97_results_are_not_touched() {
    let long = format!("\"quoted\"\n\t{}", "é\\".repeat(70_000));
    let call = ToolCall::new("a", "look", "{}");
    let sent = messages(vec![
        Message::assistant("").with_tool_calls(vec![call]),
        Message::tool_result("a", long.as_str()),
    ]);
    assert_eq!(sent[1]["content"][0]["content"], long.as_str());
}

/// P171, P172, P173: in the received order, byte for byte.
#[test]
fn p171_p172_p173_what_came_goes_back() {
    let block = r#"{"type":"thinking","thinking":"","signature":"EqQB\/+=="}"#;
    let server = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q": 1.0}}"#;
    let mut first = ToolCall::new("a", "look", r#"{"x":1}"#);
    first.at = Some(2);
    first.opaque = Some(opaque("tool_use", r#"{"caller":{"type":"direct", "n":1.0}}"#).into());
    let message = Message {
        content: vec![
            thinking(block),
            Part::Reasoning(ReasoningPart {
                text: None,
                kind: ReasoningKind::Redacted,
                opaque: Some(
                    opaque(
                        "redacted_thinking",
                        r#"{"type":"redacted_thinking","data":"Em1C="}"#,
                    )
                    .into(),
                ),
            }),
            Part::opaque(opaque("server_tool_use", server)),
            Part::Text(TextPart {
                text: "wet".to_owned(),
                opaque: Some(opaque("text", r#"{"citations":[{"n":1.0}]}"#).into()),
            }),
        ],
        tool_calls: vec![first, ToolCall::new("b", "look", "")],
        ..Message::assistant("")
    };
    let request = request(vec![
        message,
        Message::tool_result("a", "1"),
        Message::tool_result("b", "2"),
    ]);
    let built = build(&call(request, MODEL), &"anthropic".into()).expect("a body");
    let text = String::from_utf8(built.body.to_vec()).expect("text");
    let expected = format!(
        concat!(
            r#""messages":[{{"role":"assistant","content":[{},"#,
            r#"{{"type":"redacted_thinking","data":"Em1C="}},"#,
            r#"{{"type":"tool_use","id":"a","name":"look","input":{{"x":1}},"caller":{{"type":"direct", "n":1.0}}}},"#,
            r#"{},{{"type":"text","text":"wet","citations":[{{"n":1.0}}]}},"#,
            r#"{{"type":"tool_use","id":"b","name":"look","input":{{}}}}]}}"#
        ),
        block, server
    );
    assert!(text.contains(&expected), "{text}\n{expected}");
    assert_eq!(built.warnings, []);
}

/// P98: what another provider attached stays here; visible text goes.
#[test]
fn p98_nothing_foreign_is_sent() {
    let foreign = |opaque: Opaque| Opaque {
        provider: "openai".into(),
        ..opaque
    };
    let mut call = ToolCall::new("call_1", "look", "{}");
    call.opaque = Some(foreign(opaque("x", r#"{"secret":1}"#)).into());
    let message = Message {
        content: vec![
            Part::Reasoning(ReasoningPart {
                text: Some("hidden".to_owned()),
                kind: ReasoningKind::Summary,
                opaque: Some(foreign(opaque("reasoning", "{}")).into()),
            }),
            Part::Text(TextPart {
                text: "seen".to_owned(),
                opaque: Some(foreign(opaque("text", "{}")).into()),
            }),
            Part::refusal("no"),
        ],
        tool_calls: vec![call],
        ..Message::assistant("")
    };
    let sent = sent(
        request(vec![message, Message::tool_result("call_1", "1")]),
        MODEL,
    );
    assert_eq!(
        sent.body["messages"][0]["content"],
        json!([
            {"type": "text", "text": "seen"},
            {"type": "text", "text": "no"},
            tool_use("call_1")
        ])
    );
    assert_eq!(
        sent.warnings,
        [(
            "opaque_dropped".to_owned(),
            "messages[0].content[0]".to_owned()
        )]
    );
}

/// P101: a malformed call goes back as an empty object beside its error.
#[test]
fn p101_p102_malformed_calls() {
    let calls = vec![
        ToolCall::new("a", "look", "{\"x\": half"),
        ToolCall::cut_off("b", "look", ""),
    ];
    let sent = messages(vec![
        Message::assistant("").with_tool_calls(calls),
        Message::tool_error("a", "bad"),
        Message::tool_error("b", "bad"),
    ]);
    assert_eq!(sent[0]["content"], json!([tool_use("a"), tool_use("b")]));
}

#[test]
fn p103_ids_are_replaced_alike() {
    let calls = ["functions.add:0", "functions.add:1"].map(|id| ToolCall::new(id, "look", "{}"));
    let sent = messages(vec![
        Message::assistant("").with_tool_calls(calls.to_vec()),
        Message::tool_result("functions.add:0", "0"),
        Message::tool_result("functions.add:1", "1"),
    ]);
    for at in [0, 1] {
        let id = sent[0]["content"][at]["id"].as_str().expect("an id");
        assert_eq!(sent[1]["content"][at]["tool_use_id"], id);
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
    assert_ne!(sent[0]["content"][0]["id"], sent[0]["content"][1]["id"]);
}

/// P183, P184: nothing without content is sent, and its neighbours are one.
#[test]
fn p183_p184_empty_messages_are_left_out() {
    let sent = messages(vec![
        Message::user("a"),
        Message::assistant(""),
        Message::user(vec![Part::text(" \n"), Part::text("b")]),
        Message::assistant(" "),
        Message::assistant("c"),
        Message::assistant("d"),
        Message::user("e"),
    ]);
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}]},
            {"role": "user", "content": text("e")}
        ])
    );
}

/// P105, P108: images and files.
#[test]
fn p105_p108_media() {
    let named = Part::File(FilePart {
        file: File::from_bytes("%PDF", "application/pdf").into(),
        name: Some("a.pdf".to_owned()),
    });
    let sent = messages(vec![Message::user(vec![
        Part::image(Image::from_bytes(vec![1, 2], "image/png")),
        Part::image(Image::from_base64("AQI=", "image/png")),
        Part::image(Image::from_url("https://h/x.png")),
        Part::image(Image::from_provider("anthropic", "file_1")),
        named,
        Part::file(File::from_bytes("a,b", "text/csv")),
        Part::file(File::from_base64("YSxi", "text/plain")),
        Part::file(File::from_url("https://h/x.pdf")),
        Part::file(File::from_provider("anthropic", "file_2")),
    ])]);
    let png = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQI="}});
    let plain = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}});
    assert_eq!(
        sent[0]["content"],
        json!([
            png,
            png,
            {"type": "image", "source": {"type": "url", "url": "https://h/x.png"}},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}, "title": "a.pdf"},
            plain,
            plain,
            {"type": "document", "source": {"type": "url", "url": "https://h/x.pdf"}},
            {"type": "document", "source": {"type": "file", "file_id": "file_2"}}
        ])
    );
}

/// P106, P107: bad media is refused, all of it at once.
#[test]
fn p106_p107_bad_media() {
    let sized = |bytes: usize| {
        let image = Image::from_bytes(vec![0; bytes], "image/png");
        request(vec![Message::user(vec![Part::image(image)])])
    };
    assert_eq!(refused(sized(20 << 20), MODEL), "");
    assert_eq!(
        refused(sized((20 << 20) + 1), MODEL),
        "invalid_message: messages[0].content[0]: too_large"
    );
    let svg = || {
        Message::user(vec![Part::image(Image::from_bytes(
            "<svg/>",
            "image/svg+xml",
        ))])
    };
    let zip = Part::file(File::from_bytes("PK", "application/zip"));
    let latin = Part::file(File::from_bytes(vec![0xE9], "text/plain"));
    assert_eq!(
        refused(
            request(vec![svg(), svg(), Message::user(vec![zip, latin])]),
            MODEL
        ),
        "invalid_message: messages[0].content[0]: unsupported_media_type; \
         messages[1].content[0]: unsupported_media_type; \
         messages[2].content[0]: unsupported_media_type; \
         messages[2].content[1]: unsupported_media_type (the text is not UTF-8)"
    );
}

#[test]
fn p109_a_detail_is_dropped_aloud() {
    let image = |detail| {
        let image = Image::from_url("https://h/x.png").into();
        Message::user(vec![Part::Image(ImagePart { image, detail })])
    };
    let high = sent(request(vec![image(Detail::High)]), MODEL);
    let path = "messages[0].content[0].detail".to_owned();
    assert_eq!(high.warnings, [("option_dropped".to_owned(), path)]);
    let auto = sent(request(vec![image(Detail::Auto)]), MODEL);
    assert_eq!(auto.warnings, []);
    assert_eq!(auto.body["messages"], high.body["messages"]);
}

#[test]
fn p110_an_image_in_a_result() {
    let call = ToolCall::new("a", "look", "{}");
    let parts = vec![
        Part::text("seen"),
        Part::image(Image::from_bytes(vec![1, 2], "image/png")),
    ];
    let sent = messages(vec![
        Message::assistant("").with_tool_calls(vec![call]),
        Message::tool_result("a", parts),
    ]);
    assert_eq!(
        sent[1]["content"],
        json!([{"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "text", "text": "seen"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQI="}}
        ]}])
    );
}

/// A model shows no images on this wire.
#[test]
fn an_image_of_an_assistant_is_left_out_aloud() {
    let image = Part::image(Image::from_url("https://h/x.png"));
    let sent = sent(
        request(vec![
            Message::user("a"),
            Message::assistant(vec![Part::text("b"), image]),
            Message::user("c"),
        ]),
        MODEL,
    );
    assert_eq!(sent.body["messages"][1]["content"], text("b"));
    let path = "messages[1].content[1]".to_owned();
    assert_eq!(sent.warnings, [("option_dropped".to_owned(), path)]);
}
