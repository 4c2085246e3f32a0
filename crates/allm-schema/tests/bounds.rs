//! Schemas and values that would take for ever, or the whole stack.

use allm_schema::Schema;
use serde_json::{Value, json};

/// A value nested so deep, by `wrap`.
fn nested(depth: usize, core: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(core, |value, _| wrap(value))
}

/// `json!` would copy what it is given, with as much stack as that is deep.
fn object(name: &str, value: Value) -> Value {
    Value::Object([(name.to_owned(), value)].into_iter().collect())
}

fn list(value: Value) -> Value {
    Value::Array(vec![value])
}

/// Takes a value apart from the outside: dropping it at once would need as much stack as it is deep.
fn dismantle(mut value: Value) {
    loop {
        value = match value {
            Value::Array(mut items) => items.pop().unwrap_or(Value::Null),
            Value::Object(mut object) => {
                let name = object.keys().next().cloned();
                name.and_then(|name| object.remove(&name))
                    .unwrap_or(Value::Null)
            }
            _ => return,
        };
    }
}

#[test]
fn schemas_that_mean_themselves_end() {
    let schemas = [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"$ref": "#"}, {"type": "string"}]}),
        json!({"not": {"not": {"$ref": "#"}}}),
        json!({"if": {"$ref": "#"}, "then": {"$ref": "#"}}),
        json!({"oneOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$dynamicRef": "#x", "$dynamicAnchor": "x"}),
        json!({"allOf": [{"$dynamicRef": "#x"}], "$dynamicAnchor": "x"}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true,
            "allOf": [{"$recursiveRef": "#"}]}),
        json!({"unevaluatedProperties": false, "anyOf": [{"$ref": "#"}, {"properties": {"a": {"$ref": "#"}}}]}),
    ];
    for schema in schemas {
        let schema = Schema::compile(&schema).unwrap();
        for value in [json!(1), json!("x"), json!({"a": {"a": 1}}), json!([[]])] {
            assert_eq!(schema.accepts(&value), schema.faults(&value, 4).is_empty());
        }
    }
}

#[test]
fn a_part_is_not_looked_at_once_for_each_way_to_it() {
    let child = json!({"properties": {"a": {"$ref": "#"}}});
    let schema = json!({
        "allOf": [child, {"properties": {"a": {"$ref": "#"}}}],
        "anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["b"]}, {"properties": {"a": {"$ref": "#"}}}],
        "not": {"const": "bad"},
    });
    let schema = Schema::compile(&schema).unwrap();
    let good = nested(100, json!({}), |value| object("a", value));
    assert!(schema.accepts(&good));
    assert!(schema.faults(&good, 8).is_empty());
    let bad = nested(100, json!("bad"), |value| object("a", value));
    assert!(!schema.accepts(&bad));
    assert_eq!(schema.faults(&bad, 8).len(), 8);
}

#[test]
fn values_nested_without_end_are_refused_without_harm() {
    let tree = Schema::compile(&json!({"items": {"$ref": "#"}})).unwrap();
    let read = nested(127, json!(1), list);
    assert!(tree.accepts(&read));
    let deep = nested(5000, json!(1), list);
    assert!(!tree.accepts(&deep));
    assert_eq!(tree.faults(&deep, 4).len(), 1);
    let unique = Schema::compile(&json!({"uniqueItems": true})).unwrap();
    let mut pair = Value::Array(vec![deep, nested(5000, json!(1), list)]);
    assert!(!unique.accepts(&pair));
    let items = pair.as_array_mut().map(std::mem::take).unwrap_or_default();
    items.into_iter().for_each(dismantle);
    let meta = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    let meta = Schema::compile(&meta).unwrap();
    let not = nested(5000, json!({}), |value| object("not", value));
    assert!(!meta.accepts(&not));
    dismantle(not);
}

/// The most that is ever on the stack: every step through a reference, a choice and a property.
#[test]
fn the_deepest_checks_fit_into_a_small_stack() {
    let schema = json!({"$ref": "#/$defs/a", "$defs": {"a": {"unevaluatedProperties": false, "oneOf": [{
        "allOf": [{"anyOf": [{"if": {"$ref": "#/$defs/b"}, "then": {"$ref": "#/$defs/b"}}]}],
    }]}, "b": {"patternProperties": {"^a": {"$ref": "#/$defs/a"}}}}});
    let schema = Schema::compile(&schema).unwrap();
    let value = nested(400, json!({}), |value| object("a", value));
    let small = std::thread::Builder::new().stack_size(1024 * 1024);
    let check = move || {
        schema.accepts(&value);
        schema.faults(&value, 4);
        dismantle(value);
    };
    small.spawn(check).unwrap().join().unwrap();
}

#[test]
fn schemas_nested_without_end_are_refused_without_harm() {
    for wrap in [
        |value| object("not", value),
        |value| object("const", list(value)),
    ] {
        let deep = nested(5000, json!({}), wrap);
        assert!(Schema::compile(&deep).is_err());
        dismantle(deep);
        assert!(Schema::compile(&nested(60, json!({}), wrap)).is_ok());
    }
    let deep = nested(300, json!({}), |value| object("not", value));
    let error = Schema::compile(&deep).unwrap_err();
    assert_eq!(
        error.to_string(),
        "must not be nested deeper than 256 schemas"
    );
}

#[test]
fn long_chains_of_references_are_followed() {
    let mut definitions = serde_json::Map::new();
    for index in 0..300 {
        definitions.insert(
            index.to_string(),
            json!({"$ref": format!("#/$defs/{}", index + 1)}),
        );
    }
    definitions.insert("300".to_owned(), json!({"type": "string"}));
    let schema = Schema::compile(&json!({"$ref": "#/$defs/0", "$defs": definitions})).unwrap();
    assert!(schema.accepts(&json!("x")));
    assert!(!schema.accepts(&json!(1)));
}

#[test]
fn many_items_are_compared_quickly() {
    let schema = Schema::compile(&json!({"uniqueItems": true})).unwrap();
    let mut items: Vec<Value> = (0..200_000).map(|index| json!({"a": index})).collect();
    assert!(schema.accepts(&Value::Array(items.clone())));
    items.push(json!({"a": 77.0}));
    assert!(!schema.accepts(&Value::Array(items)));
}
