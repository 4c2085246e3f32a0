//! Texts that may have a format.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{DRAFTS, with_draft};

/// A schema that checks one format, and texts that may have it.
pub(crate) fn formats() -> BoxedStrategy<(Value, Vec<Value>)> {
    let formats: Vec<(&'static str, BoxedStrategy<String>)> = vec![
        ("date", "[0-9]{3,4}-(0[0-9]|1[0-3])-([0-2][0-9]|3[0-2])[Z]?".boxed()),
        ("time", "([01][0-9]|2[0-4]):[0-6][0-9]:([0-5][0-9]|60|61)(\\.[0-9]{0,3})?([zZ]|[-+][0-2][0-9]:[0-6][0-9])?".boxed()),
        ("time", "23:59:60(Z|[-+]0[0-2]:[0-9][0-9])|[0-2][0-9]:[0-5]9:60[-+]([0-2][0-9]:[0-5][0-9])".boxed()),
        ("date-time", "20[0-2][0-9]-(0[0-9]|1[0-3])-([0-2][0-9]|3[0-2])[tT ](0[0-9]|2[0-4]):[0-6][0-9]:[0-6][0-9](Z|\\+01:00)".boxed()),
        ("email", "[a.\"\\\\ @!é]{0,6}@[a.\\-0\\[\\]:]{0,8}".boxed()),
        ("email", "(\"[a \\\\\"]{0,4}\"|[a-z.+]{1,5})@(a\\.b|\\[(1\\.2\\.3\\.4|ipv6:::1|IPv6:::|::1)\\]|-a|a-|a_b|ab--c|é)".boxed()),
        ("hostname", "[a-b0A.\\-_]{0,10}|(a{60,65}\\.){1,4}[a-z]{0,3}".boxed()),
        ("ipv4", "([0-2]?[0-9]{1,2}\\.){2,4}[0-9]{0,3}".boxed()),
        ("ipv6", "[0-9a-f:.]{0,12}|([0-9a-f]{1,4}:){5,8}[0-9a-f]{0,4}|::ffff:1\\.2\\.3\\.[0-9]{1,3}".boxed()),
        ("uri", uri_text()),
        ("uri-reference", uri_text()),
        ("uri-template", "[a-c{}%2:*,.+/ <é'|]{0,8}|a\\{[a-c.%2:*,+]{0,6}\\}".boxed()),
        ("json-pointer", "[/~01ab]{0,6}".boxed()),
        ("relative-json-pointer", "[0-9]{0,3}[#/~01a]{0,4}".boxed()),
        ("uuid", "[0-9a-f]{8}-x".boxed()),
        ("duration", "P[0-9YMWDT]{0,4}".boxed()),
        ("unknown", "[a-z]{0,3}".boxed()),
    ];
    (
        0..DRAFTS.len(),
        select((0..formats.len()).collect::<Vec<_>>()),
    )
        .prop_flat_map(move |(draft, which)| {
            let (name, text) = formats[which].clone();
            let texts = prop::collection::vec(text.prop_map(Value::from), 1..8);
            texts.prop_map(move |texts| (with_draft(json!({"format": name}), draft), texts))
        })
        .boxed()
}

fn uri_text() -> BoxedStrategy<String> {
    prop_oneof![
        "[a-c:/?#\\[\\]@%2 .é0]{0,10}",
        "(http:|a\\+b:|1a:|:)?(//)?(u@|u:p@|a@b@)?(host|\\[::1\\]|\\[v1\\.x\\]|\\[v\\.x\\]|\\[:\\]|h%2F|h%z|a:b)(:[0-9]{0,2}|:x)?(/[a%2 :]{0,3})?(\\?[?/a]{0,2})?(#[#a]{0,2})?",
    ]
    .boxed()
}
