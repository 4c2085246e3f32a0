#![expect(
    clippy::expect_used,
    reason = "what a test makes is there, also in functions that several tests use"
)]

use std::sync::Arc;

use allm_core::{
    ApiKey, Image, Message, ModelCall, ModelRef, Opaque, Origin, Part, ProviderName, RawJson,
    ReasoningKind, ReasoningPart, Request, TextPart, Thread, ToolCall, Warning,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::providers::anthropic::Anthropic;
use crate::providers::compat::profile::{
    EmptyContent, Profile, ReasoningBack, ReasoningBackField, ToolResultImages,
};
use crate::providers::connection::{Connection, Outgoing};
use crate::providers::gemini::Gemini;
use crate::providers::openai::chat::{self, Rules};
use crate::providers::openai::model::Family;
use crate::providers::openai::responses;
use crate::{Auth, IdRule};

const WIRES: [(&str, &str); 4] = [
    ("chat", "openai.chat"),
    ("openai", "openai.responses"),
    ("anthropic", "anthropic.messages"),
    ("gemini", "gemini.generate_content"),
];

/// Who is asked.
#[derive(Clone, Copy, Debug)]
enum Who {
    Chat(usize),
    Responses,
    Anthropic,
    Gemini(&'static str),
}

const EVERYBODY: [Who; 9] = [
    Who::Chat(0),
    Who::Chat(1),
    Who::Chat(2),
    Who::Chat(3),
    Who::Chat(4),
    Who::Responses,
    Who::Anthropic,
    Who::Gemini("gemini-2.5-flash"),
    Who::Gemini("gemini-3-pro"),
];

fn profiles() -> [Profile; 5] {
    let plain = Profile::default();
    let nine = Profile {
        id_rule: IdRule::Alphanumeric { length: 9 },
        reasoning_back_field: ReasoningBackField::Content,
        reasoning_back: ReasoningBack::Always { fill_empty: false },
        ..plain.clone()
    };
    let recent = Profile {
        reasoning_back: ReasoningBack::SinceLastUser,
        empty_content: EmptyContent::Null,
        ..plain.clone()
    };
    let filled = Profile {
        reasoning_back: ReasoningBack::Always { fill_empty: true },
        tool_result_images: ToolResultImages::Inline,
        ..plain.clone()
    };
    let details = Profile {
        reasoning_back: ReasoningBack::Always { fill_empty: false },
        reasoning_back_field: ReasoningBackField::Details,
        empty_content: EmptyContent::EmptyString,
        ..plain.clone()
    };
    [plain, nine, recent, filled, details]
}

/// What is sent, and what is told of it.
fn sent(who: Who, messages: &Messages, temperature: Option<f64>) -> (Body, Vec<Warning>) {
    let request = Request {
        messages: messages.clone(),
        temperature,
        ..Request::default()
    };
    let model = match who {
        Who::Gemini(model) => model,
        Who::Anthropic => "claude-sonnet-4-5",
        _ => "gpt-4.1",
    };
    let model = ModelRef {
        provider: "p".into(),
        model: model.to_owned(),
    };
    let call = ModelCall::new(request, model, "r");
    let connection = |name| Connection::new(name, "https://h/v1", Auth::Bearer);
    let outgoing: Outgoing = match who {
        Who::Chat(profile) => {
            let [a, b, c, d, e] = profiles();
            let profile = match profile {
                0 => a,
                1 => b,
                2 => c,
                3 => d,
                _ => e,
            };
            let rules = Rules {
                profile: Arc::new(profile),
                family: None,
            };
            chat::outgoing(&connection("chat"), &call, &rules).expect("a body")
        }
        Who::Responses => {
            let family = Family::of("gpt-4.1");
            responses::outgoing(&connection("openai"), &call, family).expect("a body")
        }
        Who::Anthropic => Anthropic::new().outgoing(&call).expect("a body"),
        Who::Gemini(_) => Gemini::new().outgoing(&call).expect("a body"),
    };
    (outgoing.body, outgoing.warnings)
}

/// What happens to a conversation between two requests.
#[derive(Clone, Debug)]
enum Change {
    Says(Message),
    /// Calls of these ids, answered in this order; an id beyond the calls leaves the last one open.
    Calls(Message, Vec<usize>),
    /// A call of an earlier turn is answered late.
    Answers(String),
    Cuts(usize),
    Edits(usize),
    /// Goes on where it stood so many changes ago.
    GoesBack(usize),
}

fn opaque() -> impl Strategy<Value = Option<Box<Opaque>>> {
    let kinds = prop::sample::select(vec!["signature", "reasoning_details", "reasoning", "call"]);
    let data = prop::sample::select(vec![r#"{"type":"x","b": 1.0}"#, r#""text""#, "[1]"]);
    let made = (prop::sample::select(WIRES.to_vec()), kinds, data);
    prop::option::of(made.prop_map(|((provider, wire), kind, data)| {
        Box::new(Opaque {
            provider: provider.into(),
            wire: wire.to_owned(),
            kind: kind.to_owned(),
            data: RawJson::new(data).expect("JSON"),
        })
    }))
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        " ",
        "yes",
        "line\n\"two\"",
        "é\u{1f600}\u{7}",
        "[",
        "]}",
    ])
    .prop_map(str::to_owned)
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        4 => (text(), opaque()).prop_map(|(text, opaque)| Part::Text(TextPart { text, opaque })),
        2 => (prop::option::of(text()), opaque()).prop_map(|(text, opaque)| {
            let kind = ReasoningKind::Raw;
            Part::Reasoning(ReasoningPart { text, kind, opaque })
        }),
        1 => text().prop_map(Part::refusal),
        1 => Just(Part::image(Image::from_bytes(vec![1, 2], "image/png"))),
        1 => opaque().prop_filter_map("an opaque part", |opaque| opaque.map(|it| Part::opaque(*it))),
    ]
}

fn shown() -> impl Strategy<Value = Vec<Part>> {
    let part = prop_oneof![
        4 => text().prop_map(Part::text),
        1 => Just(Part::image(Image::from_bytes(vec![1, 2], "image/png"))),
    ];
    prop::collection::vec(part, 1..3)
}

fn origin() -> impl Strategy<Value = Option<Arc<Origin>>> {
    let made = prop::sample::select(WIRES.to_vec()).prop_map(|(provider, wire)| {
        Arc::new(Origin {
            provider: ProviderName::from(provider),
            wire: wire.to_owned(),
            model: None,
            response_id: None,
        })
    });
    prop::option::of(made)
}

fn id() -> impl Strategy<Value = String> {
    // Some are refused by some wires.
    let ids = vec!["call_1", "abcdefgh1", "functions.add:0", "a b", "call_2"];
    prop_oneof![
        4 => prop::sample::select(ids).prop_map(str::to_owned),
        1 => Just("long-".repeat(20)),
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    let arguments = prop::sample::select(vec!["{}", r#"{"b": 1, "a": [2]}"#, "", "{broken"]);
    let at = prop::option::of(0_u32..2);
    (id(), arguments, at, any::<bool>(), opaque()).prop_map(|(id, arguments, at, own, opaque)| {
        ToolCall {
            wire_id: own.then(|| id.clone().into()),
            at,
            opaque,
            ..ToolCall::new(id, "look", arguments)
        }
    })
}

fn assistant() -> impl Strategy<Value = Message> {
    (prop::collection::vec(part(), 0..3), origin()).prop_map(|(content, origin)| Message {
        content,
        origin,
        ..Message::assistant("")
    })
}

fn change() -> impl Strategy<Value = Change> {
    let calls = (assistant(), prop::collection::vec(call(), 1..4));
    let order = prop::collection::vec(0_usize..4, 0..5);
    prop_oneof![
        3 => shown().prop_map(|parts| Change::Says(Message::user(parts))),
        1 => text().prop_map(|text| Change::Says(Message::system(text))),
        2 => assistant().prop_map(Change::Says),
        4 => (calls, order).prop_map(|((message, calls), order)| {
            Change::Calls(message.with_tool_calls(calls), order)
        }),
        1 => id().prop_map(Change::Answers),
        1 => (0_usize..4).prop_map(Change::Cuts),
        1 => (0_usize..8).prop_map(Change::Edits),
        1 => (0_usize..4).prop_map(Change::GoesBack),
    ]
}

fn changed(thread: &mut Thread, past: &[Thread], change: Change) {
    match change {
        Change::Says(message) => thread.push(message),
        Change::Calls(message, order) => {
            let ids: Vec<_> = message
                .tool_calls
                .iter()
                .map(|call| call.id.clone())
                .collect();
            thread.push(message);
            for (number, place) in order.into_iter().enumerate() {
                if let Some(id) = ids.get(place) {
                    let value = format!("{{\"n\":{number}}}");
                    thread
                        .messages
                        .push(Message::tool_result(id.clone(), value));
                }
            }
        }
        Change::Answers(id) => thread.push(Message::tool_error(id, "late")),
        Change::Cuts(count) => thread.messages.truncate(thread.len().saturating_sub(count)),
        Change::Edits(place) => {
            let edited = thread.messages.iter().enumerate().map(|(at, message)| {
                if at != place {
                    return Arc::clone(message);
                }
                let mut message = Message::clone(message);
                message.content.push(Part::text("edited"));
                Arc::new(message)
            });
            thread.messages = edited.collect();
        }
        Change::GoesBack(count) => {
            if let Some(place) = past.len().checked_sub(count + 1)
                && let Some(before) = past.get(place)
            {
                *thread = before.clone();
            }
        }
    }
}

fn afresh(messages: &Messages) -> Messages {
    messages.iter().cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// P91: whatever was sent before, to whomever and with whatever settings, a body has the bytes and the warnings of
    /// one that is written from its beginning.
    #[test]
    fn a_body_is_the_same_whatever_was_sent_before(
        changes in prop::collection::vec((change(), prop::sample::subsequence(EVERYBODY.to_vec(), 0..9)), 1..12),
    ) {
        let mut thread = Thread::from("go");
        let mut past = Vec::new();
        for (number, (change, asked)) in changes.into_iter().enumerate() {
            changed(&mut thread, &past, change);
            past.push(thread.clone());
            let temperature = (number % 3 == 0).then_some(0.5);
            for who in asked {
                let (kept, told) = sent(who, &thread.messages, temperature);
                let (new, told_new) = sent(who, &afresh(&thread.messages), temperature);
                prop_assert_eq!(
                    std::str::from_utf8(&kept).expect("text"),
                    std::str::from_utf8(&new).expect("text"),
                    "{:?}", who
                );
                prop_assert_eq!(told, told_new, "{:?}", who);
                let read: Result<Value, _> = serde_json::from_slice(&kept);
                prop_assert!(read.is_ok(), "{:?}", who);
            }
        }
    }
}

/// A conversation with a text in each of its messages.
fn said(texts: &[&str]) -> Messages {
    texts.iter().map(|text| Message::user(*text)).collect()
}

/// P91, P103: an id that a wire would refuse is taken back by whoever gave it, and only for as long as that message stands
/// there.
#[test]
fn an_id_is_right_only_with_the_message_that_gave_it() {
    let asks = |origin: Option<Arc<Origin>>| {
        let mut call = ToolCall::new("functions.add:0", "look", "{}");
        call.wire_id = origin.as_ref().map(|_| call.id.clone());
        let mut message = Message::assistant("").with_tool_calls(vec![call]);
        message.origin = origin;
        message
    };
    let own = Origin {
        provider: "anthropic".into(),
        wire: "anthropic.messages".to_owned(),
        model: None,
        response_id: None,
    };
    let mut messages = said(&["go"]);
    messages.push(asks(None));
    messages.push(Message::tool_result("functions.add:0", "1"));
    messages.push(asks(Some(Arc::new(own))));
    let (whole, _) = sent(Who::Anthropic, &messages, None);
    assert!(whole.windows(15).any(|part| part == b"functions.add:0"));
    messages.truncate(3);
    let (kept, _) = sent(Who::Anthropic, &messages, None);
    let (new, _) = sent(Who::Anthropic, &afresh(&messages), None);
    assert_eq!(kept[..], new[..]);
    assert!(!new.windows(15).any(|part| part == b"functions.add:0"));
}

#[test]
fn what_was_sent_before_is_taken_over() {
    for who in EVERYBODY {
        let mut messages = said(&["one", "two"]);
        let (first, _) = sent(who, &messages, None);
        assert!(first.old.is_none(), "{who:?}");
        messages.push(Message::assistant("three"));
        let (second, _) = sent(who, &messages, None);
        let (old, _) = second.old.clone().expect("something known");
        let text = std::str::from_utf8(&second).expect("text");
        let old = text.get(old).expect("a part");
        assert!(old.contains("one") && old.contains("two"), "{who:?}: {old}");
        assert!(!old.contains("three"), "{who:?}: {old}");
    }
}

/// A key is found wherever it stands, also where a body before had passed with another one.
#[test]
fn a_key_is_looked_for_in_all_that_is_new() {
    let key = |text: &str| ApiKey::new(text).expect("valid").expect("a key");
    let (one, two) = (key("secret-number-one"), key("secret-number-two"));
    for who in EVERYBODY {
        let mut messages = said(&["hello", "secret-number-two"]);
        let (first, _) = sent(who, &messages, None);
        assert!(!first.holds(&one), "{who:?}");
        assert!(first.holds(&two), "{who:?}");
        messages.push(Message::user("more"));
        let (second, _) = sent(who, &messages, None);
        assert!(!second.holds(&one), "{who:?}");
        assert!(second.holds(&two), "{who:?}");
        messages.push(Message::user("secret-number-one"));
        let (third, _) = sent(who, &messages, None);
        assert!(third.holds(&one), "{who:?}");
        // The same key anew has not been looked for.
        let (fourth, _) = sent(who, &messages, None);
        assert!(fourth.holds(&key("secret-number-one")), "{who:?}");
    }
}

/// A key that holds what stands between two messages.
#[test]
fn a_key_is_found_across_the_border_of_what_is_known() {
    let key = ApiKey::new(r#"two"},{"role":"user","content":"thr"#)
        .expect("valid")
        .expect("a key");
    let mut messages = said(&["one", "two"]);
    let (first, _) = sent(Who::Chat(0), &messages, None);
    assert!(!first.holds(&key));
    messages.push(Message::user("three"));
    let (second, _) = sent(Who::Chat(0), &messages, None);
    assert!(second.old.is_some() && second.holds(&key));
}

#[test]
fn the_conversation_comes_last_and_once() {
    let Value::Object(settings) = json!({"a": 1, "z": 2}) else {
        panic!("an object")
    };
    let head = Head {
        settings: &settings,
        tools: None,
        name: "messages",
    };
    let text = String::from_utf8(head.write().expect("JSON")).expect("text");
    assert_eq!(text, r#"{"a":1,"z":2,"messages":["#);
    let twice = Head { name: "a", ..head };
    assert!(twice.write().is_err());
    let bare = Head {
        settings: &Map::new(),
        tools: None,
        name: "input",
    };
    assert_eq!(bare.write().expect("JSON"), br#"{"input":["#);
}

/// Tools stand where they would stand among the settings, and not at all beside the caller's own.
#[test]
fn tools_stand_among_the_settings() {
    for (settings, expected) in [
        (
            json!({"a": 1, "z": 2}),
            r#"{"a":1,"tools":[7],"z":2,"input":["#,
        ),
        (json!({"a": 1}), r#"{"a":1,"tools":[7],"input":["#),
        (
            json!({"tool_choice": 1}),
            r#"{"tool_choice":1,"tools":[7],"input":["#,
        ),
        (json!({"z": 1}), r#"{"tools":[7],"z":1,"input":["#),
        (json!({}), r#"{"tools":[7],"input":["#),
        (json!({"tools": [8]}), r#"{"tools":[8],"input":["#),
    ] {
        let head = Head {
            settings: settings.as_object().expect("an object"),
            tools: Some(b"[7]"),
            name: "input",
        };
        let text = String::from_utf8(head.write().expect("JSON")).expect("text");
        assert_eq!(text, expected);
    }
}
