//! Which values each keyword accepts.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use allm_schema::Schema;
use serde_json::{Value, json};

/// Checks that the schema accepts the first values and not the second ones.
fn judges<const N: usize, const M: usize>(schema: Value, good: [Value; N], bad: [Value; M]) {
    let compiled = Schema::compile(&schema).unwrap();
    for value in &good {
        assert!(compiled.accepts(value), "{schema} must accept {value}");
    }
    for value in &bad {
        assert!(!compiled.accepts(value), "{schema} must not accept {value}");
    }
}

#[test]
fn types_and_constants() {
    judges(
        json!({"type": "integer"}),
        [json!(1), json!(1.0), json!(1e300)],
        [json!(1.5), json!("1")],
    );
    judges(
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}),
        [json!(1)],
        [json!(1.0)],
    );
    judges(
        json!({"type": ["null", "array"]}),
        [json!(null), json!([])],
        [json!({}), json!(false)],
    );
    judges(
        json!({"enum": [1, {"a": [2.0]}]}),
        [json!(1.0), json!({"a": [2]})],
        [json!(true), json!("1"), json!({"a": [2], "b": 1})],
    );
    judges(
        json!({"const": false}),
        [json!(false)],
        [json!(0), json!(null)],
    );
}

#[test]
fn numbers() {
    judges(
        json!({"minimum": 1, "exclusiveMaximum": 2}),
        [json!(1), json!(1.5), json!("x")],
        [json!(0.9), json!(2)],
    );
    judges(
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true}),
        [json!(1.1)],
        [json!(1)],
    );
    judges(
        json!({"multipleOf": 0.01}),
        [json!(0.07), json!(8), json!("x")],
        [json!(0.075)],
    );
}

#[test]
fn texts() {
    judges(
        json!({"minLength": 2, "maxLength": 2.0}),
        [json!("éé"), json!("𝒳y"), json!(1)],
        [json!("é"), json!("abc")],
    );
    judges(
        json!({"pattern": "b+"}),
        [json!("abc"), json!(1)],
        [json!("ac")],
    );
}

#[test]
fn lists() {
    judges(
        json!({"minItems": 1, "maxItems": 2, "uniqueItems": true}),
        [json!([1]), json!([1, "1"]), json!({})],
        [
            json!([]),
            json!([1, 2, 3]),
            json!([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]),
        ],
    );
    judges(
        json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
        [json!(["a", 1]), json!([]), json!(["a"])],
        [json!([1]), json!(["a", "b"])],
    );
    judges(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [true], "additionalItems": false}),
        [json!([1])],
        [json!([1, 2])],
    );
    judges(
        json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}),
        [json!([1, 1]), json!([1, 2, 1, 1])],
        [json!([1]), json!([1, 1, 1, 1])],
    );
    judges(
        json!({"contains": {"const": 1}, "minContains": 0}),
        [json!([])],
        [],
    );
    judges(
        json!({"prefixItems": [true], "contains": {"const": 1}, "unevaluatedItems": {"type": "string"}}),
        [json!([5, 1, "a", 1])],
        [json!([5, 1, 2])],
    );
}

#[test]
fn objects() {
    judges(
        json!({"properties": {"a": {"type": "string"}}, "patternProperties": {"^b": {"type": "integer"}},
            "additionalProperties": {"type": "null"}}),
        [json!({"a": "x", "b1": 1, "c": null}), json!({})],
        [json!({"a": 1}), json!({"b1": "x"}), json!({"c": 1})],
    );
    judges(
        json!({"required": ["a"], "maxProperties": 2}),
        [json!({"a": 1}), json!([])],
        [json!({}), json!({"a": 1, "b": 2, "c": 3})],
    );
    judges(
        json!({"propertyNames": {"pattern": "^a"}}),
        [json!({"ab": 1})],
        [json!({"b": 1})],
    );
    judges(
        json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
        [json!({"b": 1}), json!({"a": 1, "b": 1})],
        [json!({"a": 1})],
    );
    judges(
        json!({"dependencies": {"a": ["b"], "c": {"minProperties": 2}}}),
        [json!({"a": 1, "b": 1})],
        [json!({"a": 1}), json!({"c": 1})],
    );
    judges(
        json!({"allOf": [{"properties": {"a": true}}], "anyOf": [{"properties": {"b": {"const": 1}}, "required": ["b"]}, true],
            "unevaluatedProperties": false}),
        [json!({"a": 1, "b": 1}), json!({"a": 1})],
        [json!({"a": 1, "b": 2}), json!({"c": 1})],
    );
}

#[test]
fn choices() {
    let schemas = json!([{"type": "integer"}, {"minimum": 2}]);
    judges(
        json!({"allOf": schemas}),
        [json!(2)],
        [json!(1), json!(2.5)],
    );
    judges(
        json!({"anyOf": schemas}),
        [json!(1), json!(2.5)],
        [json!(1.5)],
    );
    judges(
        json!({"oneOf": schemas}),
        [json!(1), json!(2.5)],
        [json!(1.5), json!(3)],
    );
    judges(
        json!({"not": {"type": "integer"}}),
        [json!("x")],
        [json!(3)],
    );
    judges(
        json!({"if": {"minimum": 0}, "then": {"multipleOf": 2}, "else": {"const": -1}}),
        [json!(4), json!(-1), json!("x")],
        [json!(3), json!(-2)],
    );
}

#[test]
fn references() {
    judges(
        json!({"$ref": "#/$defs/x", "maximum": 5, "$defs": {"x": {"type": "integer"}}}),
        [json!(5)],
        [json!(6), json!("x")],
    );
    // Before 2019-09 what stands beside a reference counts for nothing.
    judges(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/x", "maximum": 5,
            "definitions": {"x": {"type": "integer"}}}),
        [json!(6)],
        [json!("x")],
    );
    judges(
        json!({"$id": "http://a/b/c", "items": {"$ref": "../d#n"}, "$defs": {"d": {
            "$id": "/d", "$defs": {"n": {"$anchor": "n", "type": "string"}},
        }}}),
        [json!(["x"])],
        [json!([1])],
    );
    // A list whose items are what the one who refers to it says.
    judges(
        json!({"$ref": "list", "$defs": {
            "text": {"$dynamicAnchor": "item", "type": "string"},
            "list": {"$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
        }}),
        [json!(["x"])],
        [json!([1])],
    );
    judges(
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$id": "http://a/strict", "$recursiveAnchor": true,
        "$ref": "tree", "unevaluatedProperties": false, "$defs": {"tree": {
            "$id": "tree", "$recursiveAnchor": true, "properties": {"child": {"$recursiveRef": "#"}},
        }}}),
        [json!({"child": {"child": {}}})],
        [json!({"child": {"chidl": {}}})],
    );
}

#[test]
fn formats_and_content_by_draft() {
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    judges(json!({"format": "ipv4"}), [json!("x")], []);
    judges(
        json!({"$schema": draft_7, "format": "ipv4"}),
        [json!("1.2.3.4"), json!(1)],
        [json!("1.2.3")],
    );
    judges(
        json!({"$schema": draft_7, "format": "unknown"}),
        [json!("x")],
        [],
    );
    judges(
        json!({"$schema": draft_7, "contentEncoding": "base64", "contentMediaType": "application/json"}),
        [json!("e30="), json!(1)],
        [json!("e30"), json!("eA==")],
    );
}
