//! Random schemas and values: the verdict is that of the `jsonschema` crate, on values and on schemas.
//!
//! More cases: `PROPTEST_CASES=200000 cargo test -p allm-schema --test oracle`. These differences are meant:
//!
//! - A `$schema` that is no draft is refused, also if it is a fragment, which `jsonschema` takes for 2020-12.
//! - A reference to the meta-schema of another draft than that of the document is followed; `jsonschema` refuses it.
//! - `{"not": {"$ref": "#"}}` and other schemas that contradict themselves have no right verdict.
//! - Integers of more than 53 bits are compared exactly with a `multipleOf` that has a fraction.
//! - In draft 4 a length of 2^63 as a float is an integer, as it is in values; `jsonschema` wants 2^64 there.
//! - `iri` and `iri-reference`, and what "xn--" in a host name stands for, are not checked.

#![expect(clippy::indexing_slicing, reason = "helpers of tests may fail")]

mod grammar;

use allm_schema::Schema;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

/// Whether one of the differences that are meant can show.
fn may_differ(schema: &Value) -> bool {
    let draft = schema
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let text = schema.to_string();
    let meta_schemas = text
        .matches("https://json-schema.org/draft/2020-12/schema")
        .count();
    let contradicts = ["$ref", "$dynamicRef", "$recursiveRef"]
        .iter()
        .any(|keyword| schema.pointer(&format!("/not/{keyword}")).is_some());
    !draft.contains("json-schema.org") && !draft.is_empty()
        || draft.is_empty() && schema.get("$schema").is_some()
        || meta_schemas > usize::from(draft.contains("2020-12"))
        || draft.contains("draft-04") && text.contains("9.223372036854776e+18")
        || contradicts
}

fn oracle(schema: &Value) -> Option<jsonschema::Validator> {
    jsonschema::options().offline().build(schema).ok()
}

/// Whether anything inside a value is so.
fn has(value: &Value, is: fn(&str, &Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| is("", item) || has(item, is)),
        Value::Object(object) => {
            let mut entries = object.iter();
            entries.any(|(name, value)| is(name, value) || has(value, is))
        }
        other => is("", other),
    }
}

fn has_fraction_to_divide_by(schema: &Value) -> bool {
    has(schema, |name, value| {
        let divisor = value.as_f64().filter(|_| name == "multipleOf");
        divisor.is_some_and(|divisor| divisor.fract() != 0.0)
    })
}

fn has_integer_beyond_floats(value: &Value) -> bool {
    has(&json!([value]), |_, value| {
        let integer = value.as_i64().map(i128::from);
        let integer = integer.or(value.as_u64().map(i128::from));
        integer.is_some_and(|integer| integer.abs() > 1 << 53)
    })
}

/// Compares both on one schema and some values.
fn agree(schema: &Value, values: &[Value]) -> Result<(), TestCaseError> {
    if may_differ(schema) {
        return Ok(());
    }
    let ours = Schema::compile(schema);
    let theirs = oracle(schema);
    prop_assert_eq!(
        ours.is_ok(),
        theirs.is_some(),
        "compiling {}: {:?}",
        schema,
        ours.err()
    );
    let (Ok(ours), Some(theirs)) = (ours, theirs) else {
        return Ok(());
    };
    let divides = has_fraction_to_divide_by(schema);
    for value in values {
        if divides && has_integer_beyond_floats(value) {
            continue;
        }
        let wanted = theirs.is_valid(value);
        prop_assert_eq!(ours.accepts(value), wanted, "{} on {}", schema, value);
        let faults = ours.faults(value, 16);
        prop_assert_eq!(
            faults.is_empty(),
            wanted,
            "{} on {}: {:?}",
            schema,
            value,
            faults
        );
        if let Value::Object(object) = value {
            prop_assert_eq!(ours.accepts_object(object), wanted);
            prop_assert_eq!(ours.object_faults(object, 16), faults);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_are_those_of_the_oracle(
        schema in grammar::document(),
        values in prop::collection::vec(grammar::value(), 1..6),
    ) {
        agree(&schema, &values)?;
    }

    #[test]
    fn schemas_that_are_none_are_refused_as_the_oracle_refuses_them(
        schema in grammar::broken_document(),
        values in prop::collection::vec(grammar::value(), 1..3),
    ) {
        agree(&schema, &values)?;
    }

    #[test]
    fn formats_are_those_of_the_oracle((schema, values) in grammar::formats()) {
        agree(&schema, &values)?;
    }

    #[test]
    fn references_lead_where_those_of_the_oracle_lead(
        schema in grammar::linked_document(),
        values in prop::collection::vec(grammar::value(), 1..6),
    ) {
        agree(&schema, &values)?;
    }
}

/// What random schemas hardly meet.
#[test]
fn schemas_by_hand() {
    let recursive = json!({"$ref": "#/$defs/node", "$defs": {"node": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/node"}, "b": {"type": "integer"}},
        "unevaluatedProperties": false,
    }}});
    let schemas = [
        json!({"$ref": "#/$defs/a b", "$defs": {"a b": {"type": "string"}}}),
        json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "string"}}}),
        json!({"$ref": "#/$defs/a<b>", "$defs": {"a<b>": {"type": "string"}}}),
        json!({"$ref": "#/$defs/a[b]", "$defs": {"a[b]": {"type": "string"}}}),
        json!({"$ref": "#/$defs/x/$ref", "$defs": {"x": {"$ref": "#"}}}),
        json!({"$ref": "#/$defs/missing"}),
        json!({"$defs": {"x": {"$ref": "#/$defs/missing"}}}),
        json!({"$defs": {"x": {"$ref": "elsewhere"}}}),
        json!({"$defs": {"x": {"pattern": "("}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"x": {"pattern": "("}}}),
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}], "type": "string"}),
        json!({"anyOf": [{"$ref": "#"}, {"type": "string"}]}),
        json!({"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}),
        json!({"$id": "http://x/a", "$ref": "b", "$defs": {"b": {"$id": "b", "type": "string"}}}),
        json!({"$id": "http://x/a/", "$ref": "../b", "$defs": {"b": {"$id": "HTTP://X/%62", "type": "string"}}}),
        json!({"$id": "urn:x:y", "$ref": "urn:x:y#z", "$defs": {"b": {"$anchor": "z", "type": "string"}}}),
        json!({"$dynamicRef": "#n", "$defs": {"x": {"$dynamicAnchor": "n", "type": "string"}}}),
        json!({"$id": "http://x/r", "$ref": "list", "$defs": {
            "text": {"$dynamicAnchor": "item", "type": "string"},
            "list": {"$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
        }}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$id": "http://x/r", "$recursiveAnchor": true,
        "properties": {"a": {"$ref": "in"}}, "$defs": {"in": {
            "$id": "in", "$recursiveAnchor": true, "type": "object", "additionalProperties": {"$recursiveRef": "#"},
        }}}),
        json!({"$ref": "x", "$defs": {"x": {
            "$id": "x", "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": true,
        }}}),
        json!({"properties": {"a": {"format": "ipv4"}}}),
        json!({"items": [{"type": "string"}]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/x", "type": "null",
            "definitions": {"x": {"type": "string"}}}),
        recursive,
    ];
    let values = [
        json!(null),
        json!("x"),
        json!(3),
        json!(4),
        json!(["x"]),
        json!([1]),
        json!({}),
        json!({"a": {}}),
        json!({"a": {"b": 1}}),
        json!({"a": {"c": 1}}),
        json!({"a": {"a": {"b": 1}}}),
        json!({"a": "x"}),
        json!({"c": 1}),
    ];
    for schema in &schemas {
        agree(schema, &values).unwrap();
    }
}
