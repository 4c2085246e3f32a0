//! Schemas that may be none.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{DRAFTS, schema, value, with_draft};

/// A schema where one keyword has a value that may be wrong.
pub(crate) fn broken_document() -> BoxedStrategy<Value> {
    let keyword = select(
        &[
            "type",
            "enum",
            "const",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "minItems",
            "maxItems",
            "uniqueItems",
            "items",
            "prefixItems",
            "additionalItems",
            "contains",
            "minContains",
            "maxContains",
            "properties",
            "patternProperties",
            "additionalProperties",
            "propertyNames",
            "required",
            "minProperties",
            "maxProperties",
            "dependencies",
            "dependentRequired",
            "dependentSchemas",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "then",
            "else",
            "unevaluatedItems",
            "unevaluatedProperties",
            "$ref",
            "$defs",
            "definitions",
            "$id",
            "id",
            "$anchor",
            "$dynamicRef",
            "$dynamicAnchor",
            "$recursiveRef",
            "$recursiveAnchor",
            "title",
            "description",
            "default",
            "examples",
            "$comment",
            "readOnly",
            "writeOnly",
            "deprecated",
            "contentEncoding",
            "contentMediaType",
            "contentSchema",
            "$vocabulary",
            "$schema",
        ][..],
    );
    let odd = prop_oneof![
        4 => value(),
        4 => select(vec![
            json!({}), json!([]), json!([{}]), json!([1, 1]), json!(["a", "a"]), json!([true]),
            json!({"a": {}}), json!({"a": []}), json!({"a": ["b", "b"]}), json!({"a": 1}), json!({"(": {}}),
            json!("("), json!("#"), json!("#/"), json!("#nowhere"), json!("#/$defs/x"), json!("a b"),
            json!("http://other/"), json!("%"), json!("x#y"), json!("string"), json!(["string", "null"]),
            json!(["string", "string"]), json!([[]]), json!({"a": {"type": "no"}}), json!(-1), json!(1.5), json!(2.0),
            json!("https://json-schema.org/draft/2020-12/schema"),
        ]),
        1 => schema(4),
    ];
    let place = select(
        &[
            "",
            "properties",
            "$defs",
            "definitions",
            "items",
            "not",
            "allOf",
            "unknown",
            "const",
        ][..],
    );
    (0..DRAFTS.len(), keyword, odd, place)
        .prop_map(|(draft, keyword, odd, place)| {
            let broken = json!({keyword: odd});
            let schema = match place {
                "" => broken,
                "items" | "not" | "unknown" | "const" => json!({place: broken}),
                "allOf" => json!({"allOf": [broken]}),
                map => json!({map: {"x": broken}}),
            };
            if keyword == "$schema" && place.is_empty() {
                schema
            } else {
                with_draft(schema, draft)
            }
        })
        .boxed()
}
