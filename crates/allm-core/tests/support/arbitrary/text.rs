//! Text, numbers, free-form maps and what is written as text.

use std::time::Duration;

use allm_core::{Map, Path, RawJson, Segment};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

/// What tends to go wrong in texts: quotes, control characters, things that look like escapes.
const PIECES: &[&str] = &[
    "a",
    "Zoë",
    "日本",
    "🦀",
    "\"",
    "'",
    "\\",
    "\\u",
    "\\ud83d",
    "\\n",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\u{1f}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{10ffff}",
    "e\u{301}",
    "null",
    "{}",
    "[0]",
    ".",
    "$",
    "</script>",
    " ",
];

/// Texts of every kind, the empty one too.
pub(crate) fn any_text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => vec(select(PIECES), 0..4).prop_map(|pieces| pieces.concat()),
        2 => select(vec!["a", "b", "get_weather", "p0", "openai"]).prop_map(str::to_owned),
        1 => vec(any::<char>(), 0..6).prop_map(|characters| characters.into_iter().collect()),
    ]
    .boxed()
}

/// Maybe a text.
pub(super) fn maybe_text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(any_text())
}

/// Anything that is made of a text.
pub(super) fn named<T: From<String> + std::fmt::Debug>() -> impl Strategy<Value = T> {
    any_text().prop_map(T::from)
}

/// Maybe something that is made of a text.
pub(super) fn maybe_named<T: From<String> + std::fmt::Debug>() -> impl Strategy<Value = Option<T>> {
    proptest::option::of(named())
}

/// A number that is finite.
pub(super) fn any_float() -> BoxedStrategy<f64> {
    let odd = vec![
        0.0,
        -0.0,
        0.1,
        1.0,
        -1.5,
        2.0,
        1e16,
        1e300,
        1.5e-7,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
    ];
    prop_oneof![
        select(odd),
        any::<f64>().prop_filter("finite", |float| float.is_finite())
    ]
    .boxed()
}

pub(super) fn maybe_float() -> impl Strategy<Value = Option<f64>> {
    proptest::option::of(any_float())
}

/// A duration that JSON can hold: whole milliseconds, or "no limit".
pub(super) fn maybe_millis() -> impl Strategy<Value = Option<Duration>> {
    let odd = vec![
        None,
        Some(Duration::ZERO),
        Some(Duration::from_millis(1)),
        Some(Duration::from_millis(u64::MAX - 1)),
        Some(Duration::MAX),
    ];
    prop_oneof![
        select(odd),
        (0..u64::MAX).prop_map(|millis| Some(Duration::from_millis(millis)))
    ]
}

pub(super) fn maybe_u64() -> impl Strategy<Value = Option<u64>> {
    let odd = vec![
        None,
        Some(0),
        Some(1),
        Some(1 << 53),
        Some((1 << 63) - 1),
        Some(1 << 63),
        Some(u64::MAX),
    ];
    prop_oneof![select(odd), any::<Option<u64>>()]
}

/// Any JSON value, two levels deep at most.
pub(crate) fn any_tree() -> BoxedStrategy<Value> {
    let integers = vec![
        Value::from(0),
        Value::from(-1),
        Value::from(i64::MIN),
        Value::from(1_u64 << 63),
        Value::from(u64::MAX),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        select(integers),
        any_float().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            btree_map(any_text(), inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
    .boxed()
}

/// A free-form map, more often empty than not.
pub(crate) fn any_map() -> BoxedStrategy<Map> {
    prop_oneof![
        2 => Just(Map::new()),
        1 => btree_map(any_text(), any_tree(), 1..3).prop_map(|fields| fields.into_iter().collect()),
    ]
    .boxed()
}

/// JSON text as a provider may send it: odd order, spaces, number spellings, escapes, a key twice.
pub(crate) fn any_raw_json() -> BoxedStrategy<RawJson> {
    let odd = vec![
        r#"{"z": 1.0, "a":1e2,"m":[ ]}"#,
        r#"{"a":1,"a":2}"#,
        " \n{\"\\u00e9\":\"\\ud83e\\udd80\"}\t",
        "-0.0",
        "1E+2",
        "123456789012345678901234567890",
        "\"\\/\"",
        "null",
    ];
    let written = any_tree().prop_map(|tree| tree.to_string());
    prop_oneof![select(odd).prop_map(str::to_owned), written]
        .prop_map(|text| RawJson::new(text).expect("the text is JSON"))
        .boxed()
}

/// Any path, with names that have to be quoted too.
pub(crate) fn any_path() -> BoxedStrategy<Path> {
    let segment = prop_oneof![
        any_text().prop_map(Segment::from),
        (0..usize::MAX).prop_map(Segment::from),
    ];
    vec(segment, 0..4)
        .prop_map(|segments| segments.into_iter().collect())
        .boxed()
}
