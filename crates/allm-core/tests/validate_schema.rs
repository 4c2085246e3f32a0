//! JSON Schemas, as C42 and L9 want them.

mod support;

use allm_core::Tool;
use allm_core::validate::{self, not_strict_at};
use serde_json::{Map, Value, json};
use support::told;

fn told_of(schema: Value) -> Vec<String> {
    told(validate::tool(&Tool::new("f", "", schema)))
}

fn valid(schema: Value) {
    assert_eq!(told_of(schema.clone()), [""; 0], "{schema}");
}

/// The one place where the schema is invalid.
fn invalid_at(schema: Value, place: &str) {
    let told = told_of(schema.clone());
    let start = format!("schema: invalid_schema ({place}: must be ");
    let is_expected = match told.as_slice() {
        [_, fault] => fault.starts_with(&start),
        _ => false,
    };
    assert!(is_expected, "{schema} gives {told:?}");
}

#[test]
fn c42_well_formed_schemas_pass() {
    valid(json!({}));
    valid(json!({"type": "object"}));
    valid(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/me",
        "title": "t", "description": "d", "$comment": "c", "default": 1, "examples": [1],
        "type": "object",
        "properties": {
            "s": {"type": "string", "minLength": 0, "maxLength": 2.0, "pattern": "^a", "format": "x"},
            "n": {"type": ["number", "null"], "minimum": -1.5, "exclusiveMaximum": 3, "multipleOf": 0.1},
            "a": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": true},
            "t": {"prefixItems": [true, {}], "items": false, "contains": {}, "minContains": 0},
            "e": {"enum": [1, "a", null, {"type": 5}], "deprecated": true},
            "c": {"const": {"type": 5, "$ref": "https://example.com/x"}},
            "x": {"anyOf": [{"type": "string"}, {"not": {}}], "oneOf": [true], "allOf": [{}]},
            "b": true
        },
        "patternProperties": {"^x-": {}},
        "propertyNames": {"pattern": "a"},
        "additionalProperties": {"type": "string"},
        "unevaluatedProperties": false,
        "required": ["s"],
        "dependentRequired": {"s": ["n"]},
        "dependentSchemas": {"s": {}},
        "dependencies": {"s": ["n"], "n": {"type": "object"}},
        "minProperties": 1, "maxProperties": 9,
        "if": {}, "then": true, "else": {"type": "object"},
        "$defs": {"d": {"type": "string"}},
        "definitions": {"e": {"items": [{}, true], "additionalItems": false}},
        "x-own": {"type": 5}, "nullable": 1
    }));
}

#[test]
fn c42_a_keyword_with_a_value_of_the_wrong_kind_is_invalid() {
    let wrong = [
        (
            "type",
            json!(["", "any", 5, null, [], ["string", "string"], ["x"]]),
        ),
        ("properties", json!([[], "a", true])),
        ("patternProperties", json!([[]])),
        ("$defs", json!([[]])),
        ("definitions", json!([1])),
        ("dependentSchemas", json!([[]])),
        ("dependencies", json!([[], {"a": [1]}])),
        ("dependentRequired", json!([[], {"a": "b"}, {"a": [1]}])),
        ("required", json!([true, "a", [1], ["a", "a"], {}])),
        ("enum", json!([{}, "a"])),
        ("examples", json!([{}])),
        ("items", json!([1, "a"])),
        ("prefixItems", json!([{}, [], true])),
        ("anyOf", json!([{}, []])),
        ("oneOf", json!([{}, []])),
        ("allOf", json!([{}, []])),
        ("not", json!([[], "a", 1])),
        ("if", json!(["a"])),
        ("then", json!(["a"])),
        ("else", json!([null])),
        ("contains", json!([[]])),
        ("additionalProperties", json!(["no", []])),
        ("additionalItems", json!([[]])),
        ("unevaluatedItems", json!([[]])),
        ("unevaluatedProperties", json!([[]])),
        ("propertyNames", json!([[]])),
        ("contentSchema", json!([[]])),
        ("minimum", json!(["1", true])),
        ("maximum", json!(["1"])),
        ("exclusiveMinimum", json!([true])),
        ("exclusiveMaximum", json!([true])),
        ("multipleOf", json!([0, -1, "1"])),
        ("minLength", json!([-1, 1.5, "1"])),
        ("maxLength", json!([-1])),
        ("minItems", json!([-1])),
        ("maxItems", json!([-1])),
        ("minProperties", json!([-1])),
        ("maxProperties", json!([-1])),
        ("minContains", json!([-1])),
        ("maxContains", json!([-1])),
        ("uniqueItems", json!(["true"])),
        ("readOnly", json!([1])),
        ("writeOnly", json!([1])),
        ("deprecated", json!([1])),
        ("pattern", json!([1])),
        ("format", json!([1])),
        ("title", json!([1])),
        ("description", json!([1, null])),
        ("contentEncoding", json!([1])),
        ("contentMediaType", json!([1])),
        ("$ref", json!([1])),
        ("$dynamicRef", json!([1])),
        ("$recursiveRef", json!([1])),
        ("$id", json!([1])),
        ("$schema", json!([1])),
        ("$anchor", json!([1])),
        ("$dynamicAnchor", json!([1])),
        ("$recursiveAnchor", json!(["#"])),
        ("$comment", json!([1])),
        ("$vocabulary", json!([[], {"a": 1}])),
    ];
    for (keyword, values) in wrong {
        for value in values.as_array().unwrap() {
            invalid_at(
                json!({"properties": {"p": {keyword: value}}}),
                &format!("#/properties/p/{keyword}"),
            );
        }
    }
}

#[test]
fn c42_every_schema_inside_a_schema_is_looked_at() {
    let bad = json!({"type": 5});
    for one in [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ] {
        invalid_at(json!({one: bad}), &format!("#/{one}/type"));
    }
    for list in ["allOf", "anyOf", "oneOf", "prefixItems", "items"] {
        invalid_at(json!({list: [{}, bad]}), &format!("#/{list}/1/type"));
    }
    for map in [
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    ] {
        invalid_at(json!({map: {"a": bad}}), &format!("#/{map}/a/type"));
    }
}

#[test]
fn c42_a_property_may_have_the_name_of_a_keyword() {
    valid(json!({"properties": {
        "$ref": {"type": "string"}, "type": {}, "required": {}, "properties": {"type": "string"}
    }}));
    invalid_at(
        json!({"properties": {"properties": {"type": "x"}}}),
        "#/properties/properties/type",
    );
}

#[test]
fn c42_the_root_must_be_an_object() {
    for name in [json!("string"), json!("array"), json!(["object", "null"])] {
        invalid_at(json!({"type": name}), "#/type");
    }
    valid(json!({"properties": {"a": {"type": "string"}}}));
}

#[test]
fn c42_all_faults_of_a_schema_are_told_and_none_shows_a_value() {
    assert_eq!(
        told_of(json!({
            "type": "secret",
            "properties": {"a/b~": {"pattern": 1}, "c\nd": 7, "e": {"$ref": "https://secret"}}
        })),
        [
            "invalid_tool",
            "schema: invalid_schema (#/type: must be a type or a list of different types)",
            "schema: invalid_schema (#/properties/a~1b~0/pattern: must be a string)",
            "schema: invalid_schema (#/properties/c\u{fffd}d: must be a schema, an object or a boolean)",
            "schema: remote_reference (#/properties/e/$ref)",
        ]
    );
}

#[test]
fn c42_a_place_with_a_long_name_is_cut() {
    let told = told_of(json!({"properties": {"ä".repeat(100_000): {"type": 5}}}));
    assert_eq!(told.len(), 2);
    assert!(told[1].len() < 400, "{}", told[1].len());
}

#[test]
fn l9_references_inside_the_schema_pass() {
    valid(json!({"$ref": "#"}));
    valid(
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$dynamicRef": "#b", "$dynamicAnchor": "b"}}}),
    );
    valid(json!({
        "$id": "https://example.com/root",
        "properties": {
            "a": {"$ref": "https://example.com/item"},
            "b": {"$ref": "https://example.com/item#/$defs/x"},
            "c": {"$ref": "https://example.com/root#"}
        },
        "$defs": {"item": {"$id": "https://example.com/item"}}
    }));
}

#[test]
fn l9_references_that_lead_out_are_remote() {
    for target in [
        "https://example.com/x",
        "http://localhost/x#/a",
        "file:///etc/passwd",
        "x.json",
        "/x",
        "//host/x",
        "urn:x:y",
    ] {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            assert_eq!(
                told_of(json!({"items": {keyword: target}})),
                [
                    "invalid_tool".to_owned(),
                    format!("schema: remote_reference (#/items/{keyword})")
                ],
                "{target}"
            );
        }
    }
}

#[test]
fn l9_an_id_that_is_only_a_value_is_no_target() {
    assert_eq!(
        told_of(json!({"$ref": "x.json", "const": {"$id": "x.json"}})),
        ["invalid_tool", "schema: remote_reference (#/$ref)"]
    );
}

/// Schemas inside each other, made without the recursion of `json!`.
fn nested(levels: usize, keyword: &str) -> Value {
    (0..levels).fold(json!({}), |inner, _| {
        Value::Object(Map::from_iter([(keyword.to_owned(), inner)]))
    })
}

#[test]
fn c42_a_schema_of_any_depth_is_judged_without_recursion() {
    let too_deep = [
        "invalid_tool",
        "schema: invalid_schema (nested deeper than 128 levels)",
    ];
    valid(nested(127, "not"));
    assert_eq!(told_of(nested(128, "not")), too_deep);
    // Values count as well: a document with them could not be read back.
    assert_eq!(told_of(nested(128, "default")), too_deep);

    let tool = Tool::new("f", "", nested(200_000, "not"));
    assert_eq!(told(validate::tool(&tool)), too_deep);
    assert_eq!(not_strict_at(&tool.schema), Some("#".to_owned()));
    // Dropping such a value is what would overflow the stack.
    std::mem::forget(tool);
}

#[test]
fn c50_a_very_wide_schema() {
    let properties: Map<String, Value> = (0..100_000)
        .map(|number| (format!("p{number}"), json!({"type": "x", "$ref": "y"})))
        .collect();
    let names: Vec<_> = properties.keys().cloned().collect();
    let schema = json!({"properties": properties, "required": names});
    assert_eq!(told_of(schema).len(), 200_001);
}

#[test]
fn c48_a_strict_schema_has_only_closed_objects_with_all_properties_required() {
    let object = |inside: Value| {
        json!({
            "type": "object", "properties": {"a": inside}, "required": ["a"],
            "additionalProperties": false
        })
    };
    let at = |schema: Value| not_strict_at(&schema);
    let strict = object(json!({"type": "string"}));
    assert_eq!(at(strict.clone()), None);
    assert_eq!(
        at(object(json!({"anyOf": [strict, {"type": "null"}]}))),
        None
    );
    assert_eq!(at(object(json!({"type": "array", "items": strict}))), None);
    assert_eq!(
        at(json!({"type": "object", "additionalProperties": false})),
        None
    );

    let found = |place: &str| Some(place.to_owned());
    assert_eq!(at(json!({})), found("#"));
    assert_eq!(at(json!({"type": "array", "items": strict})), found("#"));
    assert_eq!(
        at(json!({"type": "object"})),
        found("#/additionalProperties")
    );
    assert_eq!(
        at(object(
            json!({"type": ["object", "null"], "additionalProperties": {}})
        )),
        found("#/properties/a/additionalProperties")
    );
    assert_eq!(
        at(object(json!({"items": {"properties": {}}}))),
        found("#/properties/a/items/additionalProperties")
    );
    let optional = json!({
        "type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"],
        "additionalProperties": false
    });
    assert_eq!(at(object(optional)), found("#/properties/a/required"));
}
