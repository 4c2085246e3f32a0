//! What is refused as a schema, and where.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use allm_schema::Schema;
use serde_json::{Value, json};

/// "place: message"
fn refused(schema: Value) -> String {
    let error = Schema::compile(&schema).unwrap_err();
    format!("{}: {error}", error.place())
}

#[test]
fn keywords_have_forms() {
    assert_eq!(
        refused(json!({"properties": {"a/b": {"minLength": -1}}})),
        "/properties/a~1b/minLength: must be an integer of at least 0"
    );
    assert_eq!(
        refused(json!({"allOf": [{}, {"anyOf": []}]})),
        "/allOf/1/anyOf: must be an array of at least one schema"
    );
    assert_eq!(
        refused(json!({"required": ["a", 1]})),
        "/required/1: must be a string"
    );
    assert_eq!(
        refused(json!({"required": ["a", "a"]})),
        "/required: must have no item twice"
    );
    assert_eq!(
        refused(json!({"multipleOf": 0})),
        "/multipleOf: must be a number greater than 0"
    );
    assert_eq!(
        refused(json!({"items": [{}]})),
        "/items: must be an object or a boolean"
    );
    assert_eq!(
        refused(json!({"$anchor": "a b"})),
        "/$anchor: must be a plain name, without \"#\""
    );
    assert_eq!(refused(json!(5)), ": must be an object or a boolean");
}

#[test]
fn what_nobody_refers_to_is_checked_too() {
    assert_eq!(
        refused(json!({"$defs": {"x": {"type": "text"}}})),
        "/$defs/x/type: must be one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\""
    );
    assert_eq!(
        refused(json!({"$defs": {"x": {"$ref": "http://other.example/"}}})),
        "/$defs/x/$ref: must refer to a schema in this document"
    );
    // A value that only looks like a schema is none.
    assert!(
        Schema::compile(&json!({"const": {"type": "text"}, "x-more": {"type": "text"}})).is_ok()
    );
}

#[test]
fn references_and_patterns_are_followed_and_compiled() {
    assert_eq!(
        refused(json!({"items": {"$ref": "#/$defs/missing"}})),
        "/items/$ref: must refer to a schema in this document"
    );
    assert_eq!(
        refused(json!({"$ref": "#/title", "title": "text"})),
        "/$ref: must refer to an object or a boolean"
    );
    assert_eq!(
        refused(json!({"$ref": "a b"})),
        "/$ref: must be a URI reference"
    );
    let error = Schema::compile(&json!({"properties": {"a": {"pattern": "("}}})).unwrap_err();
    assert_eq!(error.place(), "/properties/a/pattern");
    let error = Schema::compile(&json!({"patternProperties": {"(": {}}})).unwrap_err();
    assert_eq!(error.place(), "/patternProperties/(");
}

#[test]
fn drafts() {
    assert_eq!(
        refused(json!({"$schema": "http://example.com/mine"})),
        "/$schema: must be a draft that is known"
    );
    let draft_4 = "http://json-schema.org/draft-04/schema#";
    assert_eq!(
        refused(json!({"$schema": draft_4, "exclusiveMinimum": true})),
        "/exclusiveMinimum: must stand beside \"minimum\""
    );
    assert_eq!(
        refused(json!({"$schema": draft_4, "not": true})),
        "/not: must be an object"
    );
    assert_eq!(
        refused(json!({"$schema": draft_4, "minLength": 2.0})),
        "/minLength: must be an integer of at least 0"
    );
    assert!(Schema::compile(&json!({"minLength": 2.0})).is_ok());
    // A part with an address may be written in another draft.
    let mixed = json!({"$ref": "old", "$defs": {"old": {
        "id": "old", "$schema": draft_4, "minimum": 3, "exclusiveMinimum": true,
    }}});
    let mixed = Schema::compile(&mixed).unwrap();
    assert!(!mixed.accepts(&json!(3)) && mixed.accepts(&json!(4)));
}

#[test]
fn the_meta_schema_of_a_draft_can_be_referred_to() {
    let schema =
        json!({"properties": {"schema": {"$ref": "http://json-schema.org/draft-07/schema#"}}});
    let schema = Schema::compile(&schema).unwrap();
    assert!(schema.accepts(&json!({"schema": {"type": "string"}})));
    assert!(schema.accepts(&json!({"schema": true})));
    assert!(!schema.accepts(&json!({"schema": {"type": "text"}})));
    assert!(!schema.accepts(&json!({"schema": 5})));
}
