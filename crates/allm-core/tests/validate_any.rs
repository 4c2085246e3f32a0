//! Any request at all.

use allm_core::{
    Capabilities, Image, Message, Part, Passes, Request, ResponseFormat, Strict, Thread, ToolCall,
    ToolChoice, ToolSpec, validate,
};
use proptest::prelude::*;
use serde_json::Value;

/// JSON that is often nearly a schema.
fn near_schema() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "object",
        "string",
        "a",
        "",
        "#",
        "#/$defs/a",
        "https://example.com/x",
        "ä\n/~",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let keyword = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "$ref",
        "$id",
        "$defs",
        "not",
        "additionalProperties",
        "dependencies",
        "enum",
        "minLength",
        "multipleOf",
        "x",
    ]);
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keyword.clone(), inner, 0..5).prop_map(|entries| {
                let entries = entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(entries.collect())
            }),
        ]
    })
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        ".{0,3}".prop_map(Part::text),
        ".{0,3}".prop_map(Part::refusal),
        ".{0,8}".prop_map(|text| Part::image(Image::from_base64(text, ""))),
        "(https?://)?.{0,8}".prop_map(|url| Part::image(Image::from_url(url))),
        Just(Part::image(Image::from_provider("a", "1"))),
    ]
}

prop_compose! {
    fn any_message()(
        role in 0..5_u8,
        parts in prop::collection::vec(any_part(), 0..3),
        calls in prop::collection::vec(("[ab]?", any::<Option<u32>>()), 0..3),
        id in "[ab]?",
        is_error in any::<bool>(),
    ) -> Message {
        let calls = calls.into_iter().map(|(id, at)| ToolCall { at, ..ToolCall::new(id, "f", "") });
        let calls = calls.collect();
        match role {
            0 => Message::system(parts),
            1 => Message::user(parts),
            2 => Message::assistant(parts).with_tool_calls(calls),
            3 => Message::tool_result(id, parts),
            _ => Message { is_error, ..Message::user(parts).with_tool_calls(calls) },
        }
    }
}

prop_compose! {
    fn any_request()(
        messages in prop::collection::vec(any_message(), 0..6),
        tools in prop::collection::vec((".{0,2}", near_schema()), 0..3),
        choice in prop::option::of(".{0,2}"),
        schema in near_schema(),
        numbers in any::<[Option<f64>; 4]>(),
        max_tokens in any::<Option<u32>>(),
        extra in near_schema(),
    ) -> Request {
        let [temperature, top_p, presence_penalty, frequency_penalty] = numbers;
        let mut format = ResponseFormat::json_schema("a", schema);
        if let ResponseFormat::JsonSchema(format) = &mut format {
            format.strict = Strict::Yes;
        }
        let tools = tools.into_iter().map(|(name, schema)| ToolSpec::function(name, "", schema));
        Request {
            tools: tools.collect(),
            tool_choice: choice.map(|name| ToolChoice::Tool(name.into())),
            response_format: Some(format),
            temperature, top_p, presence_penalty, frequency_penalty, max_tokens,
            extra: extra.as_object().cloned().unwrap_or_default(),
            ..Request::new(Thread::from(messages))
        }
    }
}

proptest! {
    #[test]
    fn validation_never_panics_and_says_the_same_twice(request in any_request()) {
        let found = validate::request(&request);
        prop_assert_eq!(&found, &validate::request(&request));
        if let Err(error) = found {
            prop_assert!(!error.faults.is_empty());
            // The provider's own checks come on top.
            let for_other = validate::request_for(&request, &"b".into());
            let faults = for_other.map_or_else(|error| error.faults, |()| Vec::new());
            prop_assert!(error.faults.iter().all(|fault| faults.contains(fault)));
        }
        let _ = Capabilities::default().check(&request, Passes::One);
        for message in &request.messages {
            let _ = validate::message(message);
        }
    }
}
