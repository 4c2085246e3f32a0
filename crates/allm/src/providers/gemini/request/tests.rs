mod media;
mod settings;

use allm_core::{
    Detail, Effort, File, Image, ImagePart, Message, Opaque, Origin, Part, PromptCache,
    ProviderTool, RawJson, ReasoningKind, ReasoningPart, Source, Summary, TextPart, ToolCall,
    Verbosity, Warning,
};
use serde_json::{Value, json};

use super::super::WIRE;
use super::*;

const NEW: &str = "gemini-3-pro";
const OLD: &str = "gemini-2.5-flash";

fn made(request: &Request, model: &str) -> (Value, Vec<Warning>) {
    made_in(request, model, SchemaMode::JsonSchema)
}

fn made_in(request: &Request, model: &str, schema_mode: SchemaMode) -> (Value, Vec<Warning>) {
    let mut warnings = Warnings::default();
    let target = Target {
        provider: &"gemini".into(),
        model,
        schema_mode,
    };
    let bytes = body(request, &target, &mut warnings).expect("a body");
    let value = serde_json::from_slice(&bytes).expect("JSON");
    (value, warnings.finish())
}

fn body_of(request: &Request, model: &str) -> Value {
    made(request, model).0
}

fn contents(messages: Vec<Message>, model: &str) -> Value {
    let request = Request {
        messages: messages.into(),
        ..Request::default()
    };
    body_of(&request, model)["contents"].take()
}

/// A person who says nothing still speaks: without anybody the wire refuses the request.
#[test]
fn an_empty_user_message_is_an_empty_text() {
    let sent = contents(
        vec![Message::system("Begin."), Message::user("")],
        "gemini-3-flash",
    );
    assert_eq!(sent, json!([{"role": "user", "parts": [{"text": ""}]}]));
}

fn faults(request: &Request) -> Vec<String> {
    let error = check(request, SchemaMode::JsonSchema).err();
    let faults = error.into_iter().flat_map(|error| error.faults);
    faults.map(|fault| fault.to_string()).collect()
}

fn own(kind: &str, data: &str) -> Opaque {
    Opaque {
        provider: "gemini".into(),
        wire: WIRE.to_owned(),
        kind: kind.to_owned(),
        data: RawJson::new(data).expect("JSON"),
    }
}

fn foreign() -> Opaque {
    Opaque {
        provider: "anthropic".into(),
        wire: "anthropic.messages".to_owned(),
        ..own("thinking", "{}")
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

/// An assistant message as this wire gave it.
fn own_message(content: Vec<Part>, calls: Vec<ToolCall>) -> Message {
    Message {
        content,
        origin: Some(
            Origin {
                provider: "gemini".into(),
                wire: WIRE.to_owned(),
                model: None,
                response_id: None,
            }
            .into(),
        ),
        ..Message::assistant("").with_tool_calls(calls)
    }
}

fn with_tool() -> Request {
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}},
        "$defs": {"X": {"type": "integer", "minimum": 1}}});
    Request {
        tools: vec![ToolSpec::function("look", "Looks.", schema)],
        ..Request::new("hi")
    }
}

/// P92: what is not set is not sent.
#[test]
fn p92_nothing_but_the_conversation() {
    assert_eq!(
        body_of(&Request::new("hi"), NEW),
        json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
    );
}

/// P96, P191, P195: results of one turn are one content, in call order, alone.
#[test]
fn p96_p191_results_in_call_order() {
    let mut with_id = call("c1", "a", "{\"x\": 1}");
    with_id.wire_id = Some("c1".into());
    let messages = vec![
        Message::user("hi"),
        own_message(
            Vec::new(),
            vec![
                with_id,
                call("allm-1-1", "b", ""),
                call("allm-1-2", "c", "{}"),
            ],
        ),
        Message::tool_result("allm-1-2", "three"),
        Message::tool_error("allm-1-1", "bad"),
        Message::tool_result("c1", "{\"a\":1}"),
        Message::user("so?"),
        Message::user("well?"),
    ];
    assert_eq!(
        contents(messages, OLD),
        json!([
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [
                {"functionCall": {"id": "c1", "name": "a", "args": {"x": 1}}},
                {"functionCall": {"name": "b", "args": {}}},
                {"functionCall": {"name": "c", "args": {}}}
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "a", "response": {"output": {"a": 1}}}},
                {"functionResponse": {"name": "b", "response": {"error": "bad"}}},
                {"functionResponse": {"name": "c", "response": {"output": "three"}}}
            ]},
            {"role": "user", "parts": [{"text": "so?"}, {"text": "well?"}]}
        ])
    );
}

fn result_of(text: &str, failed: bool) -> Value {
    let result = match failed {
        true => Message::tool_error("1", text),
        false => Message::tool_result("1", text),
    };
    let calls = vec![call("1", "f", "{}")];
    let messages = vec![Message::assistant("").with_tool_calls(calls), result];
    contents(messages, OLD)[1]["parts"][0]["functionResponse"]["response"].take()
}

#[test]
fn p192_results() {
    assert_eq!(result_of("{\"a\":1}", false), json!({"output": {"a": 1}}));
    assert_eq!(result_of("text", false), json!({"output": "text"}));
    assert_eq!(result_of("no", true), json!({"error": "no"}));
    assert_eq!(result_of("", false), json!({"output": ""}));
}

/// P97: a text arrives as it is, and JSON with the spelling of its numbers.
#[test]
fn p97_texts_are_unchanged() {
    let text = "\"quoted\"\n\\ \u{1F600}".repeat(20 * 1024);
    assert!(text.len() > 200 << 10);
    assert_eq!(result_of(&text, false), json!({"output": text}));
    let request = Request {
        messages: vec![
            Message::assistant("").with_tool_calls(vec![call("1", "f", "{}")]),
            Message::tool_result("1", " {\"b\": 1.10, \"a\": 123456789012345678901234567890}"),
        ]
        .into(),
        ..Request::default()
    };
    let target = Target {
        provider: &"gemini".into(),
        model: OLD,
        schema_mode: SchemaMode::JsonSchema,
    };
    let bytes = body(&request, &target, &mut Warnings::default()).expect("a body");
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    assert!(
        text.contains("{\"b\": 1.10, \"a\": 123456789012345678901234567890}"),
        "{text}"
    );
}

#[test]
fn p193_a_result_without_a_call() {
    let request = Request {
        messages: vec![Message::user("hi"), Message::tool_result("x", "y")].into(),
        ..Request::default()
    };
    assert_eq!(faults(&request), ["messages[1]: orphan_tool_result"]);
}

/// P194: ids that we gave are not sent.
#[test]
fn p194_repaired_ids_stay_here() {
    let calls = vec![call("allm-1-0", "f", "{}"), call("allm-1-1", "f", "{}")];
    let messages = vec![
        own_message(Vec::new(), calls),
        Message::tool_result("allm-1-0", "a"),
        Message::tool_result("allm-1-1", "b"),
    ];
    let text = contents(messages, OLD).to_string();
    assert!(
        !text.contains("allm-1") && !text.contains("\"id\""),
        "{text}"
    );
}

/// P196, P209: everything goes back where it stood, byte for byte.
#[test]
fn p196_p209_signatures_go_back() {
    let mut signed = call("1", "f", "{}");
    signed.opaque = Some(own("thoughtSignature", r#""CC\u003d""#).into());
    signed.at = Some(3);
    let text = |text: &str, signature: Option<&str>| {
        Part::Text(TextPart {
            text: text.to_owned(),
            opaque: signature.map(|data| own("thoughtSignature", data).into()),
        })
    };
    let thought = |signature: Option<&str>| {
        Part::Reasoning(ReasoningPart {
            text: Some("hm".to_owned()),
            kind: ReasoningKind::Summary,
            opaque: signature.map(|data| own("thoughtSignature", data).into()),
        })
    };
    let code = r#"{"executableCode": {"code":"1e2"}, "thoughtSignature": "X"}"#;
    let message = own_message(
        vec![
            thought(Some("\"AA\"")),
            thought(None),
            text("one", Some("\"BB\"")),
            text("", Some("\"DD\"")),
            text("", None),
            Part::opaque(own("executableCode", code)),
            Part::image(Image::from_base64("AAAA", "image/png")),
            Part::opaque(own("thoughtSignature", "\"EE\"")),
        ],
        vec![signed],
    );
    let request = Request {
        messages: vec![message, Message::tool_result("1", "x")].into(),
        ..Request::default()
    };
    let target = Target {
        provider: &"gemini".into(),
        model: NEW,
        schema_mode: SchemaMode::JsonSchema,
    };
    let mut warnings = Warnings::default();
    let bytes = body(&request, &target, &mut warnings).expect("a body");
    let sent = String::from_utf8(bytes.to_vec()).expect("text");
    let wanted = [
        r#"{"text":"hm","thought":true,"thoughtSignature":"AA"}"#,
        r#"{"text":"one","thoughtSignature":"BB"}"#,
        r#"{"functionCall":{"name":"f","args":{}},"thoughtSignature":"CC\u003d"}"#,
        r#"{"text":"","thoughtSignature":"DD"}"#,
        code,
        r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thoughtSignature":"EE"}"#,
    ]
    .join(",");
    let start = format!(r#"{{"contents":[{{"role":"model","parts":[{wanted}]}},"#);
    assert!(sent.starts_with(&start), "{sent}\n{start}");
    assert_eq!(warnings.finish(), []);
}

/// P98, P198: a thread of another provider.
#[test]
fn p98_p198_foreign_calls() {
    let mut first = call("toolu_1", "f", "{\"a\": 2}");
    first.wire_id = Some("toolu_1".into());
    first.opaque = Some(foreign().into());
    let thought = Part::Reasoning(ReasoningPart {
        text: Some("secret".to_owned()),
        kind: ReasoningKind::Raw,
        opaque: Some(foreign().into()),
    });
    let said = Message {
        content: vec![thought, Part::opaque(foreign()), Part::text("Let me look.")],
        origin: Some(
            Origin {
                provider: "anthropic".into(),
                wire: "anthropic.messages".to_owned(),
                model: None,
                response_id: None,
            }
            .into(),
        ),
        ..Message::assistant("").with_tool_calls(vec![first, call("toolu_2", "f", "{}")])
    };
    let request = Request {
        messages: vec![
            Message::user("hi"),
            said,
            Message::tool_result("toolu_2", "b"),
            Message::tool_result("toolu_1", "a"),
        ]
        .into(),
        ..Request::default()
    };
    let wanted = |skip: Value| {
        let mut first = json!({"functionCall": {"name": "f", "args": {"a": 2}}});
        if skip.is_string() {
            first["thoughtSignature"] = skip;
        }
        json!({"contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [
                {"text": "Let me look."}, first, {"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "a"}}},
                {"functionResponse": {"name": "f", "response": {"output": "b"}}}]}
        ]})
    };
    let (body, warnings) = made(&request, NEW);
    assert_eq!(body, wanted(json!("skip_thought_signature_validator")));
    let [warning] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    assert_eq!(warning.code, "opaque_dropped");
    assert_eq!(warning.detail.as_deref(), Some("3 of anthropic"));
    assert_eq!(body_of(&request, OLD), wanted(Value::Null));
}

/// P101, P102: a malformed call goes back as `{}`, with its error beside it.
#[test]
fn p101_p102_malformed_calls() {
    let calls = vec![call("1", "f", "{\"a\":"), ToolCall::cut_off("2", "g", "")];
    let messages = vec![
        Message::assistant("").with_tool_calls(calls),
        Message::tool_error("1", "not JSON"),
        Message::tool_error("2", "cut"),
    ];
    assert_eq!(
        contents(messages, OLD),
        json!([
            {"role": "model", "parts": [
                {"functionCall": {"name": "f", "args": {}}},
                {"functionCall": {"name": "g", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"error": "not JSON"}}},
                {"functionResponse": {"name": "g", "response": {"error": "cut"}}}]}
        ])
    );
}

/// An assistant message with nothing to send is left out, and its neighbours are one.
#[test]
fn empty_answers_are_left_out() {
    let messages = vec![
        Message::user("a"),
        Message::assistant(""),
        Message::user("b"),
        Message::assistant(vec![Part::refusal("no")]),
        Message::assistant("c"),
    ];
    assert_eq!(
        contents(messages, OLD),
        json!([
            {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
            {"role": "model", "parts": [{"text": "no"}, {"text": "c"}]}
        ])
    );
}
