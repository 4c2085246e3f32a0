//! Random schemas, values and texts.

mod broken;
mod formats;
mod linked;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};

pub(crate) use broken::broken_document;
pub(crate) use formats::formats;
pub(crate) use linked::linked_document;

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

const NAMES: [&str; 6] = ["a", "b", "ab", "c", "é", "a/b~"];

/// Few different values, so that they meet.
pub(crate) fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        number(),
        number(),
        select(
            &[
                "",
                "a",
                "b",
                "ab",
                "abc",
                "é",
                "𝒳y",
                "1",
                "2020-01-31",
                "base64==",
                "eyJ9"
            ][..]
        )
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..10).prop_map(Value::from),
            prop::collection::vec((select(&NAMES[..]), inner), 0..5).prop_map(|entries| {
                let entries = entries
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(entries.collect())
            }),
        ]
    })
    .boxed()
}

fn number() -> BoxedStrategy<Value> {
    prop_oneof![
        (-3_i64..8).prop_map(Value::from),
        (-3_i64..8).prop_map(|integer| Value::from(integer as f64)),
        (-30_i64..80).prop_map(|tenths| Value::from(tenths as f64 / 10.0)),
        select(vec![
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992.0),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(i64::MAX),
            json!(18_446_744_073_709_551_616.0),
            json!(9_223_372_036_854_775_808.0),
            json!(1e308),
            json!(-1e308),
            json!(5e-324),
            json!(1e-7),
            json!(0.1),
            json!(0.3),
            json!(1e22),
            json!(-0.0),
            json!(12_345_678_910_111_213_141_516.0),
        ]),
    ]
    .boxed()
}

fn count() -> BoxedStrategy<Value> {
    prop_oneof![
        8 => (0_u64..4).prop_map(Value::from),
        1 => (0_u64..4).prop_map(|count| Value::from(count as f64)),
        1 => select(vec![json!(u64::MAX), json!(1e30)]),
    ]
    .boxed()
}

fn names() -> BoxedStrategy<Value> {
    prop::collection::btree_set(select(&NAMES[..]), 1..4)
        .prop_map(|names| json!(names))
        .boxed()
}

fn type_name() -> impl Strategy<Value = &'static str> {
    select(
        &[
            "array", "boolean", "integer", "null", "number", "object", "string",
        ][..],
    )
}

fn types() -> BoxedStrategy<Value> {
    prop_oneof![
        type_name().prop_map(Value::from),
        prop::collection::btree_set(type_name(), 1..4).prop_map(|types| json!(types)),
    ]
    .boxed()
}

fn pattern() -> impl Strategy<Value = &'static str> {
    select(&["^a", "b$", "^[a-z]+$", "a|é", "^.$", "\\d", "^$"][..])
}

fn map_of(
    name: impl Strategy<Value = &'static str> + 'static,
    value: BoxedStrategy<Value>,
) -> BoxedStrategy<Value> {
    prop::collection::vec((name, value), 1..4)
        .prop_map(|entries| {
            let entries = entries
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value));
            Value::Object(entries.collect())
        })
        .boxed()
}

type Entry = (&'static str, BoxedStrategy<Value>);

/// Keywords without schemas in them.
fn simple_keywords(draft: usize) -> Vec<Entry> {
    let mut keywords: Vec<Entry> = vec![
        ("type", types()),
        ("type", types()),
        (
            "enum",
            prop::collection::vec(value(), 1..4)
                .prop_map(Value::from)
                .boxed(),
        ),
        ("minimum", number()),
        ("maximum", number()),
        (
            "minLength",
            if draft == 0 {
                (0_u64..4).prop_map(Value::from).boxed()
            } else {
                count()
            },
        ),
        ("maxLength", (0_u64..4).prop_map(Value::from).boxed()),
        ("pattern", pattern().prop_map(Value::from).boxed()),
        ("minItems", (0_u64..4).prop_map(Value::from).boxed()),
        ("maxItems", (0_u64..4).prop_map(Value::from).boxed()),
        ("uniqueItems", any::<bool>().prop_map(Value::from).boxed()),
        ("minProperties", (0_u64..4).prop_map(Value::from).boxed()),
        ("maxProperties", (0_u64..4).prop_map(Value::from).boxed()),
        ("required", names()),
        (
            "multipleOf",
            select(vec![
                json!(1),
                json!(2),
                json!(0.1),
                json!(0.5),
                json!(0.25),
                json!(3),
                json!(1e-8),
                json!(0.01),
                json!(2.0),
                json!(7),
                json!(1e20),
            ])
            .boxed(),
        ),
    ];
    if draft > 0 {
        keywords.push(("const", value()));
        keywords.push(("exclusiveMinimum", number()));
        keywords.push(("exclusiveMaximum", number()));
    }
    if draft == 1 || draft == 2 {
        let encodings = vec![
            "base64",
            "base64url",
            "base32",
            "base32hex",
            "base16",
            "other",
        ];
        keywords.push((
            "contentEncoding",
            select(encodings).prop_map(Value::from).boxed(),
        ));
        let types = vec!["application/json", "text/plain"];
        keywords.push((
            "contentMediaType",
            select(types).prop_map(Value::from).boxed(),
        ));
    }
    if draft >= 3 {
        keywords.push(("minContains", count()));
        keywords.push(("maxContains", count()));
        keywords.push(("dependentRequired", map_of(select(&NAMES[..]), names())));
    }
    keywords
}

/// Keywords with schemas in them.
fn nesting_keywords(draft: usize, schema: BoxedStrategy<Value>) -> Vec<Entry> {
    let one = || schema.clone();
    let list = || {
        prop::collection::vec(schema.clone(), 1..4)
            .prop_map(Value::from)
            .boxed()
    };
    let map = || map_of(select(&NAMES[..]), schema.clone());
    let boolean = || any::<bool>().prop_map(Value::from).boxed();
    let mut keywords: Vec<Entry> = vec![
        ("properties", map()),
        ("properties", map()),
        ("patternProperties", map_of(pattern(), one())),
        ("additionalProperties", one()),
        ("additionalProperties", boolean()),
        ("allOf", list()),
        ("anyOf", list()),
        ("oneOf", list()),
        ("not", one()),
        ("items", one()),
        ("definitions", map()),
        (
            "dependencies",
            map_of(select(&NAMES[..]), prop_oneof![one(), names()].boxed()),
        ),
    ];
    if draft < 4 {
        keywords.push(("items", list()));
        keywords.push(("additionalItems", one()));
        keywords.push(("additionalItems", boolean()));
    }
    if draft > 0 {
        keywords.push(("contains", one()));
        keywords.push(("propertyNames", one()));
    }
    if draft >= 2 {
        keywords.push(("if", one()));
        keywords.push(("then", one()));
        keywords.push(("else", one()));
    }
    if draft >= 3 {
        keywords.push(("$defs", map()));
        keywords.push(("dependentSchemas", map()));
        keywords.push(("unevaluatedProperties", one()));
        keywords.push(("unevaluatedProperties", Just(json!(false)).boxed()));
        keywords.push(("unevaluatedItems", one()));
        keywords.push(("unevaluatedItems", Just(json!(false)).boxed()));
    }
    if draft == 4 {
        keywords.push(("prefixItems", list()));
    }
    keywords
}

fn object_of(keywords: Vec<Entry>) -> BoxedStrategy<Value> {
    let entries = keywords
        .into_iter()
        .map(|(name, value)| value.prop_map(move |value| (name, value)).boxed());
    prop::collection::vec(Union::new(entries), 0..4)
        .prop_map(|entries| {
            let mut object = Map::new();
            for (name, value) in entries {
                object.insert(name.to_owned(), value);
            }
            Value::Object(object)
        })
        .boxed()
}

fn schema(draft: usize) -> BoxedStrategy<Value> {
    let leaf = if draft == 0 {
        object_of(simple_keywords(draft))
    } else {
        prop_oneof![
            8 => object_of(simple_keywords(draft)),
            1 => any::<bool>().prop_map(Value::from),
        ]
        .boxed()
    };
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let mut keywords = simple_keywords(draft);
        keywords.extend(nesting_keywords(draft, inner.boxed()));
        keywords.extend(exclusive_keywords(draft));
        object_of(keywords)
    })
    .boxed()
}

/// The forms of draft 4 that need each other.
fn exclusive_keywords(draft: usize) -> Vec<Entry> {
    if draft > 0 {
        return Vec::new();
    }
    let exclusive = |limit: &'static str, flag: &'static str| {
        (number(), any::<bool>())
            .prop_map(move |(number, exclusive)| json!([{limit: number, flag: exclusive}]))
            .boxed()
    };
    vec![
        ("allOf", exclusive("minimum", "exclusiveMinimum")),
        ("allOf", exclusive("maximum", "exclusiveMaximum")),
    ]
}

fn with_draft(schema: Value, draft: usize) -> Value {
    match schema {
        Value::Object(mut object) => {
            object.insert("$schema".to_owned(), json!(DRAFTS[draft]));
            Value::Object(object)
        }
        other => other,
    }
}

/// A schema of any draft.
pub(crate) fn document() -> BoxedStrategy<Value> {
    (0..DRAFTS.len())
        .prop_flat_map(|draft| schema(draft).prop_map(move |schema| with_draft(schema, draft)))
        .boxed()
}
