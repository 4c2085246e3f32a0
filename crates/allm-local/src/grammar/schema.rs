//! JSON Schemas, as the grammar takes them.

use allm_core::{Map, Path};
use serde_json::{Value, json};

/// A schema for what is written by a model: objects have the properties that are named and no others, and there is no
/// room for endless white space.
pub(crate) fn closed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    close(&mut schema);
    if let Value::Object(map) = &mut schema {
        // The whole document decides how it is written, also where `$ref` leads elsewhere.
        map.insert("x-guidance".to_owned(), writing());
    }
    schema
}

/// The same schema for a model that would rather say nothing: texts that are required and may be empty are not. Whatever
/// fits it fits the schema.
pub(crate) fn outspoken(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        let required = required.as_array();
        required.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if let Value::Object(property) = property
            && is_required(name)
            && property.get("type") == Some(&json!("string"))
            && property.keys().all(|keyword| PLAIN.contains(&&**keyword))
        {
            property.insert("minLength".to_owned(), json!(1));
        }
    }
    schema
}

/// Keywords that say nothing of how long a text is.
const PLAIN: [&str; 6] = [
    "type",
    "title",
    "description",
    "default",
    "examples",
    "$comment",
];

/// The schema of any object.
pub(crate) fn any_object() -> Value {
    json!({"type": "object", "additionalProperties": true, "x-guidance": writing()})
}

fn writing() -> Value {
    json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": "})
}

/// Keywords whose value is a schema.
const ONE: [&str; 5] = [
    "items",
    "additionalProperties",
    "contains",
    "not",
    "additionalItems",
];
/// Keywords whose value is a list of schemas.
const LISTS: [&str; 3] = ["anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is schemas by name.
const NAMED: [&str; 4] = ["properties", "$defs", "definitions", "patternProperties"];

fn close(schema: &mut Value) {
    let Value::Object(map) = schema else {
        return;
    };
    // Parts of `allOf` describe one object together: closed, none would allow what the others name.
    let is_shared = map.contains_key("allOf") || map.contains_key("$ref");
    let is_open = map.contains_key("additionalProperties") || map.contains_key("patternProperties");
    if map.contains_key("properties") && !is_open && !is_shared {
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    children(map, |_, child| close(child));
}

/// Every schema directly inside one.
fn children(map: &mut Map, mut each: impl FnMut(Path, &mut Value)) {
    for keyword in ONE {
        if let Some(child) = map.get_mut(keyword) {
            each(Path::from(keyword), child);
        }
    }
    for keyword in LISTS {
        if let Some(Value::Array(list)) = map.get_mut(keyword) {
            for (number, child) in list.iter_mut().enumerate() {
                each(Path::from(keyword).index(number), child);
            }
        }
    }
    for keyword in NAMED {
        if let Some(Value::Object(named)) = map.get_mut(keyword) {
            for (name, child) in named.iter_mut() {
                each(Path::from(keyword).field(name.clone()), child);
            }
        }
    }
}

/// The innermost place at which a schema cannot be done, and what is wrong there.
pub(crate) fn place_of_fault(
    schema: &Value,
    fault_of: &dyn Fn(&Value) -> Option<String>,
) -> Option<(Path, String)> {
    let fault = fault_of(&closed(schema))?;
    let mut inner = None;
    if let Value::Object(map) = &mut schema.clone() {
        // A definition is wrong where it is used; references lead to the definitions of the whole document.
        let definitions = ["$defs", "definitions"]
            .map(|keyword| map.remove(keyword).map(|named| (keyword, named)));
        children(map, |path, child| {
            if inner.is_some() {
                return;
            }
            if let Value::Object(child) = child {
                for (keyword, named) in definitions.iter().flatten() {
                    child.entry(*keyword).or_insert_with(|| named.clone());
                }
            }
            inner =
                place_of_fault(child, fault_of).map(|(place, fault)| (place.below(&path), fault));
        });
    }
    inner.or(Some((Path::root(), fault)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_texts_are_not_left_empty() {
        let text = json!({"type": "string", "description": "words"});
        let short = json!({"type": "string", "maxLength": 0});
        let schema =
            json!({"properties": {"a": text, "b": text, "c": short}, "required": ["a", "c"]});
        let mut expected = schema.clone();
        expected["properties"]["a"]["minLength"] = json!(1);
        assert_eq!(outspoken(&schema), expected);
        assert_eq!(
            outspoken(&json!({"type": "object"})),
            json!({"type": "object"})
        );
    }

    #[test]
    fn named_properties_close_an_object() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "object", "properties": {}}},
                "b": {"type": "object"},
                "c": {"properties": {"x": true}, "additionalProperties": true},
                "d": {"allOf": [{"properties": {"x": true}}]}
            }
        });
        let closed = closed(&schema);
        assert_eq!(closed["additionalProperties"], json!(false));
        let inner = &closed["properties"];
        assert_eq!(inner["a"]["items"]["additionalProperties"], json!(false));
        assert_eq!(inner["b"], json!({"type": "object"}));
        assert_eq!(inner["c"]["additionalProperties"], json!(true));
        assert_eq!(inner["d"], schema["properties"]["d"]);
    }
}
