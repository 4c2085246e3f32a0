//! What faults say, and where.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use allm_schema::Schema;
use serde_json::{Value, json};

/// The faults of a value, each as "path: message".
fn told(schema: Value, value: Value) -> Vec<String> {
    let schema = Schema::compile(&schema).unwrap();
    let faults = schema.faults(&value, 16);
    assert_eq!(schema.accepts(&value), faults.is_empty());
    faults
        .iter()
        .map(|fault| format!("{}: {}", fault.path, fault.message))
        .collect()
}

fn one(schema: Value, value: Value) -> String {
    let told = told(schema, value);
    assert_eq!(told.len(), 1, "{told:?}");
    told.concat()
}

#[test]
fn types() {
    assert_eq!(
        one(json!({"type": "string"}), json!(1)),
        ": must be a string"
    );
    assert_eq!(
        one(json!({"type": ["null", "string"]}), json!(1)),
        ": must be a string or null"
    );
    assert_eq!(
        one(json!({"type": ["array", "integer", "number"]}), json!("x")),
        ": must be a number or an array"
    );
    assert_eq!(
        one(json!({"type": "integer"}), json!(1.5)),
        ": must be an integer"
    );
    assert_eq!(told(json!({"type": "integer"}), json!(1.0)), [""; 0]);
}

#[test]
fn values_of_the_schema_are_shown_if_they_are_short() {
    assert_eq!(
        one(
            json!({"enum": ["a", "b", {"z": 1, "a": [null]}]}),
            json!("c")
        ),
        ": must be one of \"a\", \"b\", {\"a\":[null],\"z\":1}"
    );
    assert_eq!(one(json!({"const": "a"}), json!("c")), ": must be \"a\"");
    assert_eq!(
        one(
            json!({"enum": ["a".repeat(150), "b".repeat(150)]}),
            json!("c")
        ),
        ": must be one of the values that the schema gives"
    );
    assert_eq!(
        one(json!({"const": "a".repeat(300)}), json!("c")),
        ": must be the value that the schema gives"
    );
    assert_eq!(
        one(
            json!({"pattern": format!("^{}$", "a".repeat(300))}),
            json!("c")
        ),
        ": must match the pattern that the schema gives"
    );
}

#[test]
fn numbers() {
    assert_eq!(one(json!({"minimum": 3}), json!(2)), ": must be at least 3");
    assert_eq!(
        one(json!({"maximum": 2.5}), json!(3)),
        ": must be at most 2.5"
    );
    assert_eq!(
        one(json!({"exclusiveMinimum": 3}), json!(3)),
        ": must be more than 3"
    );
    assert_eq!(
        one(json!({"exclusiveMaximum": 3}), json!(3)),
        ": must be less than 3"
    );
    assert_eq!(
        one(json!({"multipleOf": 0.1}), json!(0.25)),
        ": must be a multiple of 0.1"
    );
}

#[test]
fn texts_and_sizes() {
    assert_eq!(
        one(json!({"minLength": 2}), json!("é")),
        ": must have at least 2 characters"
    );
    assert_eq!(
        one(json!({"maxLength": 1}), json!("éé")),
        ": must have at most 1 character"
    );
    assert_eq!(
        one(json!({"pattern": "^[a-z]+$"}), json!("A")),
        ": must match the pattern ^[a-z]+$"
    );
    assert_eq!(
        one(json!({"minItems": 1}), json!([])),
        ": must have at least 1 item"
    );
    assert_eq!(
        one(json!({"maxItems": 2}), json!([1, 2, 3])),
        ": must have at most 2 items"
    );
    assert_eq!(
        one(json!({"uniqueItems": true}), json!([1, 1.0])),
        ": must have no item twice"
    );
    assert_eq!(
        one(json!({"minProperties": 1}), json!({})),
        ": must have at least 1 property"
    );
    assert_eq!(
        one(json!({"maxProperties": 0}), json!({"a": 1})),
        ": must have at most 0 properties"
    );
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    assert_eq!(
        one(json!({"$schema": draft_7, "format": "date"}), json!("x")),
        ": must be a date such as 2025-01-31"
    );
    assert_eq!(
        one(
            json!({"$schema": draft_7, "contentEncoding": "base64"}),
            json!("x")
        ),
        ": must be text in base64"
    );
}

/// L306
#[test]
fn properties_are_told_with_their_paths_and_in_the_order_of_their_names() {
    let schema = json!({
        "required": ["z", "city"],
        "properties": {"b": {"type": "string"}, "a/b~": {"type": "string"}},
        "additionalProperties": false,
    });
    assert_eq!(
        told(schema, json!({"x": 1, "b": 1, "a/b~": 1, "c": 1})),
        [
            "/city: must be there",
            "/z: must be there",
            "/a~1b~0: must be a string",
            "/b: must be a string",
            "/c: must not be there",
            "/x: must not be there",
        ]
    );
    assert_eq!(
        one(json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1})),
        "/b: must be there when \"a\" is"
    );
    assert_eq!(
        one(
            json!({"unevaluatedProperties": false, "properties": {"a": true}}),
            json!({"a": 1, "b": 2})
        ),
        "/b: must not be there"
    );
    assert_eq!(
        one(json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1})),
        "/ab: must have a name that has at most 1 character"
    );
    assert_eq!(
        one(json!({"propertyNames": {"pattern": "^a"}}), json!({"b": 1})),
        "/b: must have a name that matches the pattern ^a"
    );
    assert_eq!(
        one(
            json!({"propertyNames": {"enum": ["a", "c"]}}),
            json!({"b": 1})
        ),
        "/b: must have a name that is one of \"a\", \"c\""
    );
}

/// L306
#[test]
fn items_are_told_by_their_indices() {
    let schema = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    assert_eq!(
        told(schema, json!([1, "a", 2, null])),
        [
            "/0: must be a string",
            "/1: must be an integer",
            "/3: must be an integer"
        ]
    );
    assert_eq!(
        one(
            json!({"prefixItems": [true], "items": false}),
            json!([1, 2])
        ),
        "/1: must not be there"
    );
    assert_eq!(
        one(json!({"contains": {"type": "string"}}), json!([1])),
        ": must have at least 1 item that fits what \"contains\" demands"
    );
    assert_eq!(
        one(
            json!({"contains": {"type": "string"}, "maxContains": 2}),
            json!(["a", "b", "c"])
        ),
        ": must have at most 2 items that fit what \"contains\" demands"
    );
}

#[test]
fn of_several_schemas_the_one_that_is_meant_is_told() {
    // By type.
    let schema = json!({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "string", "minLength": 3}]});
    assert_eq!(one(schema.clone(), json!({})), "/a: must be there");
    assert_eq!(
        one(schema.clone(), json!("x")),
        ": must have at least 3 characters"
    );
    assert_eq!(one(schema, json!(1)), ": must be a string or an object");
    // By a constant.
    let schema = json!({"oneOf": [{"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/square"}], "$defs": {
        "circle": {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        "square": {"properties": {"kind": {"enum": ["square"]}, "a": {"type": "number"}}, "required": ["kind", "a"]},
    }});
    assert_eq!(
        one(schema.clone(), json!({"kind": "square", "r": 1})),
        "/a: must be there"
    );
    assert_eq!(
        one(schema.clone(), json!({"kind": "circle", "r": "1"})),
        "/r: must be a number"
    );
    assert_eq!(
        one(schema, json!({"kind": "line"})),
        ": must fit one of the schemas given"
    );
    // Beside null.
    let schema = json!({"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]});
    assert_eq!(
        one(schema.clone(), json!("x")),
        ": must have at least 2 characters"
    );
    assert_eq!(one(schema, json!(1)), ": must be a string or null");
    let schema = json!({"anyOf": [{"minLength": 2, "pattern": "^a"}, {"type": "null"}]});
    assert_eq!(
        told(schema, json!("x")),
        [
            ": must have at least 2 characters",
            ": must match the pattern ^a"
        ]
    );
    // Constants.
    let schema = json!({"oneOf": [{"const": "a"}, {"const": "b", "title": "B"}]});
    assert_eq!(one(schema, json!("c")), ": must be one of \"a\", \"b\"");
    // None of these.
    let schema = json!({"anyOf": [{"minLength": 2}, {"pattern": "^a"}]});
    assert_eq!(
        one(schema, json!("x")),
        ": must fit one of the schemas given"
    );
    let schema = json!({"oneOf": [{"minLength": 1}, {"maxLength": 3}, {"type": "null"}]});
    assert_eq!(
        one(schema, json!("x")),
        ": must fit only one of the schemas, and fits 2"
    );
}

#[test]
fn schemas_that_must_not_fit() {
    assert_eq!(
        one(json!({"not": {"type": "string"}}), json!("x")),
        ": must not be a string"
    );
    assert_eq!(
        one(json!({"not": {"const": 1}}), json!(1)),
        ": must not be 1"
    );
    assert_eq!(
        one(json!({"not": {"required": ["a"]}}), json!({"a": 1})),
        ": must not fit the schema that \"not\" gives"
    );
    assert_eq!(one(json!(false), json!(1)), ": must not be there");
}

#[test]
fn conditions_and_references_are_looked_through() {
    let schema = json!({
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"required": ["x"]},
        "else": {"required": ["y"]},
    });
    assert_eq!(
        one(schema.clone(), json!({"kind": "a"})),
        "/x: must be there"
    );
    assert_eq!(one(schema, json!({"kind": "b"})), "/y: must be there");
    let tree = json!({
        "properties": {"value": {"type": "integer"}, "children": {"items": {"$ref": "#"}}},
    });
    assert_eq!(
        told(
            tree,
            json!({"children": [{"value": 1}, {"value": "x", "children": [{"value": null}]}]})
        ),
        [
            "/children/1/children/0/value: must be an integer",
            "/children/1/value: must be an integer",
        ]
    );
}

#[test]
fn nothing_is_told_twice_about_what_was_not_looked_at() {
    let schema = json!({
        "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}],
        "unevaluatedProperties": false,
    });
    assert_eq!(one(schema, json!({"a": 1})), "/a: must be a string");
}

#[test]
fn at_most_so_many_faults_are_told() {
    let schema = Schema::compile(&json!({"items": {"type": "string", "minLength": 2}})).unwrap();
    let value = json!([1, "x", 2, 3]);
    for limit in 0..6 {
        assert_eq!(schema.faults(&value, limit).len(), limit.min(4));
    }
}

/// L306
#[test]
fn no_part_of_the_value_is_told_and_debug_tells_nothing() {
    let schema = Schema::compile(
        &json!({"enum": ["shown"], "pattern": "^x", "anyOf": [{"const": 1}, {"minLength": 99}]}),
    )
    .unwrap();
    let told = format!("{:?}", schema.faults(&json!("hidden"), 16));
    assert!(!told.contains("hidden") && told.contains("shown"), "{told}");
    assert!(!format!("{schema:?}").contains("shown"));
}
