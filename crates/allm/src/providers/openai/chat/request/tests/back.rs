//! What goes back: calls, results, thinking.

use allm_core::{Opaque, Origin, Part, ReasoningKind, ReasoningPart, Role};

use super::super::super::WIRE;
use super::*;
use crate::providers::compat::profile::{
    EmptyContent, MalformedBack, ReasoningBack, ReasoningBackField,
};

fn request(messages: Vec<Message>) -> Request {
    Request::new(Thread::from(messages))
}

fn thought(provider: &str, text: &str, details: Option<&str>) -> Part {
    Part::Reasoning(ReasoningPart {
        text: Some(text.to_owned()),
        kind: ReasoningKind::Raw,
        opaque: details.map(|details| {
            Box::new(Opaque {
                provider: provider.into(),
                wire: WIRE.to_owned(),
                kind: "reasoning_details".to_owned(),
                data: RawJson::new(details).expect("JSON"),
            })
        }),
    })
}

fn from(provider: &str, parts: Vec<Part>) -> Message {
    Message {
        origin: Some(
            Origin {
                provider: provider.into(),
                wire: WIRE.to_owned(),
                model: None,
                response_id: None,
            }
            .into(),
        ),
        ..Message::new(Role::Assistant, parts)
    }
}

/// P96, P97, P162
#[test]
fn p96_p97_p162_calls_and_results() {
    let long = "\"quoted\"\n\\ü".repeat(20_000);
    let sent = messages(
        request(vec![
            Message::system("Be brief."),
            Message::user("hi"),
            Message::assistant("").with_tool_calls(looked(&["a", "b", "c"])),
            Message::tool_result("c", "3"),
            Message::tool_error("b", long.as_str()),
            Message::tool_result("a", ""),
            Message::assistant("done"),
        ]),
        &Profile::default(),
    );
    let call = |id: &str| {
        let function = json!({"name": "look", "arguments": format!("{{\"at\":\"{id}\"}}")});
        json!({"id": id, "type": "function", "function": function})
    };
    assert_eq!(
        sent,
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [call("a"), call("b"), call("c")]},
            {"role": "tool", "tool_call_id": "a", "content": ""},
            {"role": "tool", "tool_call_id": "b", "content": long},
            {"role": "tool", "tool_call_id": "c", "content": "3"},
            {"role": "assistant", "content": "done"}
        ])
    );
}

/// P99, and an assistant that said nothing.
#[test]
fn p99_text_is_one_string() {
    let parts = vec![Part::text("a"), Part::text("b")];
    let named = Message {
        name: Some("Ann".to_owned()),
        ..Message::user(parts.clone())
    };
    let refused = Message::assistant(vec![Part::refusal("no")]);
    let sent = messages(
        request(vec![
            named,
            Message::new(Role::Assistant, parts),
            Message::assistant(""),
            refused,
        ]),
        &Profile::default(),
    );
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": "a\nb", "name": "Ann"},
            {"role": "assistant", "content": "a\nb"},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "refusal": "no"}
        ])
    );
}

/// P101, P102
#[test]
fn p101_p102_arguments_go_back() {
    let mut empty = ToolCall::new("c", "f", "{}");
    empty.raw_arguments = "".into();
    let calls = vec![
        ToolCall::new("a", "f", "{\"x\":"),
        ToolCall::new("b", "f", "{ \"n\": 1.0 }"),
        empty,
        ToolCall::cut_off("d", "f", ""),
    ];
    let thread = || {
        request(vec![
            Message::assistant("").with_tool_calls(calls.clone()),
            Message::tool_error("a", "bad"),
            Message::tool_result("b", "1"),
            Message::tool_result("c", "1"),
            Message::tool_error("d", "bad"),
        ])
    };
    let arguments = |profile: &Profile| -> Vec<String> {
        let sent = messages(thread(), profile);
        let calls = sent[0]["tool_calls"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        calls
            .iter()
            .filter_map(|call| call["function"]["arguments"].as_str().map(str::to_owned))
            .collect()
    };
    let mut profile = Profile::default();
    assert_eq!(
        arguments(&profile),
        ["{\"x\":", "{ \"n\": 1.0 }", "{}", "{}"]
    );
    profile.malformed_back = MalformedBack::EmptyObject;
    assert_eq!(arguments(&profile), ["{}", "{ \"n\": 1.0 }", "{}", "{}"]);
    for (empty, expected) in [
        (EmptyContent::Omit, None),
        (EmptyContent::Null, Some(json!(null))),
        (EmptyContent::EmptyString, Some(json!(""))),
    ] {
        profile.empty_content = empty;
        let sent = messages(thread(), &profile);
        assert_eq!(sent[0].get("content"), expected.as_ref());
    }
}

/// P103, P104
#[test]
fn p103_p104_ids() {
    let long = "x".repeat(70);
    let sent = messages(
        request(vec![
            Message::assistant("").with_tool_calls(looked(&["functions.add:0", &long])),
            Message::tool_result("functions.add:0", "1"),
            Message::tool_result(long.as_str(), "2"),
        ]),
        &Profile::default(),
    );
    assert_eq!(sent[0]["tool_calls"][0]["id"], json!("functions.add:0"));
    assert_eq!(sent[1]["tool_call_id"], json!("functions.add:0"));
    let replaced = sent[0]["tool_calls"][1]["id"].as_str().unwrap_or_default();
    assert!((1..=40).contains(&replaced.len()) && replaced != long);
    assert_eq!(sent[2]["tool_call_id"], json!(replaced));
}

/// P98: nothing of another provider but its words.
#[test]
fn p98_a_thread_that_began_elsewhere() {
    let mut calls = looked(&["toolu_1"]);
    calls[0].opaque = Some(
        Opaque {
            provider: "gemini".into(),
            wire: "gemini.generate_content".to_owned(),
            kind: "signature".to_owned(),
            data: RawJson::new("\"s\"").expect("JSON"),
        }
        .into(),
    );
    let messages: allm_core::Messages = vec![
        Message::user("hi"),
        from(
            "anthropic",
            vec![thought("anthropic", "hm", Some("[1]")), Part::text("so")],
        )
        .with_tool_calls(calls),
        Message::tool_result("toolu_1", "1"),
    ]
    .into();
    for profile in [
        crate::Compat::openrouter(),
        crate::Compat::deepseek(),
        crate::Compat::mistral(),
    ] {
        let provider = allm_core::Adapter::provider(&profile).clone();
        let request = Request {
            messages: messages.clone(),
            ..Request::default()
        };
        let rules = compat(profile.known_profile());
        let (bytes, warnings) =
            body(&connection(provider.as_str()), &call(request, "m"), &rules).expect("a body");
        let mut sent: Value = serde_json::from_slice(&bytes).expect("JSON");
        let sent = sent["messages"].take();
        let text = sent.to_string();
        assert!(
            !text.contains("hm") && !text.contains("reasoning"),
            "{text}"
        );
        assert_eq!(sent[1]["content"], json!("so"));
        assert_eq!(sent[1]["tool_calls"][0]["id"], sent[2]["tool_call_id"]);
        let told: Vec<_> = warnings.into_iter().map(|w| w.detail).collect();
        let told: Vec<&str> = told.iter().flatten().map(String::as_str).collect();
        assert_eq!(told, ["1 of anthropic", "1 of gemini"]);
    }
}

#[test]
fn p218_details_go_back_as_they_came() {
    let details = r#"[{"type": "reasoning.text", "n": 1.0, "text": "a\u0062"}]"#;
    let request = request(vec![
        Message::user("hi"),
        from("p", vec![thought("p", "ab", Some(details))])
            .with_tool_calls(looked(&["functions.look:0"])),
        Message::tool_result("functions.look:0", "1"),
    ]);
    let openrouter = crate::Compat::openrouter();
    let rules = compat(openrouter.known_profile());
    let (bytes, _) = body(&connection("p"), &call(request, "m"), &rules).expect("a body");
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    assert!(
        text.contains(&format!("\"reasoning_details\":{details}")),
        "{text}"
    );
    assert!(text.contains("\"id\":\"functions.look:0\""));
    assert!(!text.contains("\"reasoning\":"));
}

#[test]
fn p219_deepseek_wants_thinking_of_the_current_turn() {
    let turn = |id: &str, text: &str| {
        [
            from("p", vec![thought("p", text, None)]).with_tool_calls(looked(&[id])),
            Message::tool_result(id, "1"),
        ]
    };
    let mut list = vec![Message::user("one")];
    list.extend(turn("a", "old"));
    list.push(from(
        "p",
        vec![thought("p", "older", None), Part::text("so")],
    ));
    list.push(Message::user("two"));
    list.extend(turn("b", "new"));
    list.extend(turn("c", "newer"));
    let deepseek = crate::Compat::deepseek();
    let sent = messages(request(list), deepseek.known_profile());
    let back: Vec<Option<&str>> = sent
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message.get("reasoning_content").and_then(Value::as_str))
        .collect();
    assert_eq!(back, [None, None, Some("new"), Some("newer")]);
}

#[test]
fn mistral_gets_thinking_in_a_content_list() {
    let mistral = crate::Compat::mistral();
    let sent = messages(
        request(vec![
            Message::user("hi"),
            from("p", vec![thought("p", "hm", None), Part::text("yes")]),
            from("p", vec![Part::text("plain")]),
        ]),
        mistral.known_profile(),
    );
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    assert_eq!(
        sent[1]["content"],
        json!([thinking, {"type": "text", "text": "yes"}])
    );
    assert_eq!(sent[2]["content"], json!("plain"));
}

/// A profile that always wants the field.
#[test]
fn thinking_may_be_filled() {
    let profile = Profile {
        reasoning_back: ReasoningBack::Always { fill_empty: true },
        reasoning_back_field: ReasoningBackField::Text("thoughts".into()),
        ..Profile::default()
    };
    let sent = messages(
        request(vec![
            from("p", vec![thought("p", "hm", None)]),
            from("other", vec![thought("other", "hm", None), Part::text("a")]),
            Message::assistant("b"),
        ]),
        &profile,
    );
    let back: Vec<&Value> = (0..3).map(|at| &sent[at]["thoughts"]).collect();
    assert_eq!(back, [&json!("hm"), &json!(""), &json!("")]);
}
