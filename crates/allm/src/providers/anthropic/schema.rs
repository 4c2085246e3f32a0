//! Schemas of answers as the wire takes them.

use std::collections::BTreeSet;

use allm_core::Map;
use allm_core::json::{Sorted, in_order};
use serde_json::Value;

/// Keywords that are refused. What they say goes into the description.
const REFUSED: [&str; 13] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "uniqueItems",
];

const FORMATS: [&str; 10] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uri",
    "uuid",
];

/// A schema that the wire takes, and what was changed to make it one.
#[derive(Debug, PartialEq)]
pub(super) struct Relaxed {
    pub(super) schema: Value,
    /// Where something was taken away or replaced, as pointers, in order.
    pub(super) changed: Vec<String>,
}

/// A schema points back to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recursive;

/// Makes a schema one that the wire takes. The caller's is not changed.
pub(super) fn relaxed(schema: &Value) -> Result<Relaxed, Recursive> {
    if is_recursive(schema) {
        return Err(Recursive);
    }
    let mut relaxed = Relaxed {
        schema: in_order(schema).into_owned(),
        changed: Vec::new(),
    };
    relax(&mut relaxed.schema, "#", &mut relaxed.changed);
    Ok(relaxed)
}

fn relax(schema: &mut Value, at: &str, changed: &mut Vec<String>) {
    let Value::Object(object) = schema else {
        return;
    };
    let mut told = Vec::new();
    for keyword in REFUSED {
        if let Some(value) = object.remove(keyword) {
            changed.push(format!("{at}/{keyword}"));
            told.push(format!("{keyword}: {}", plain(&value)));
        }
    }
    let known = |format: &Value| format.as_str().is_some_and(|f| FORMATS.contains(&f));
    if object.get("format").is_some_and(|format| !known(format))
        && let Some(format) = object.remove("format")
    {
        changed.push(format!("{at}/format"));
        told.push(format!("format: {}", plain(&format)));
    }
    describe(object, &told);
    if let Some(any) = object.remove("oneOf") {
        changed.push(format!("{at}/oneOf"));
        match object.get_mut("anyOf") {
            // Both at once have no word here: the looser one stays.
            Some(_) => {}
            None => {
                object.insert("anyOf".to_owned(), any);
            }
        }
    }
    let is_object = match object.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => object.contains_key("properties"),
    };
    if is_object {
        let before = object.insert("additionalProperties".to_owned(), false.into());
        if before.is_some_and(|before| before != Value::Bool(false)) {
            changed.push(format!("{at}/additionalProperties"));
        }
    }
    for (at, child) in children_mut(object, at) {
        relax(child, &at, changed);
    }
}

/// Adds what was taken away to the description.
fn describe(object: &mut Map, told: &[String]) {
    if told.is_empty() {
        return;
    }
    let told = told.join("; ");
    let text = match object.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} ({told})"),
        _ => told,
    };
    object.insert("description".to_owned(), text.into());
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => Sorted(value).to_string(),
    }
}

/// Keywords whose value is a map of schemas.
const MAPS: [&str; 4] = ["$defs", "definitions", "patternProperties", "properties"];
/// Keywords whose value is a schema or a list of them.
const SCHEMAS: [&str; 10] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "prefixItems",
    "then",
];

/// The schemas inside a schema, by position: a property may have the name of a keyword.
fn children_mut<'a>(object: &'a mut Map, at: &str) -> Vec<(String, &'a mut Value)> {
    let mut children = Vec::new();
    for (keyword, value) in object {
        let at = format!("{at}/{keyword}");
        let named = MAPS.contains(&keyword.as_str());
        if !named && !SCHEMAS.contains(&keyword.as_str()) {
            continue;
        }
        if named {
            let inner = value.as_object_mut().into_iter().flatten();
            children.extend(inner.map(|(name, child)| (format!("{at}/{name}"), child)));
        } else if value.is_array() {
            let inner = value.as_array_mut().into_iter().flatten().enumerate();
            children.extend(inner.map(|(index, child)| (format!("{at}/{index}"), child)));
        } else {
            children.push((at, value));
        }
    }
    children
}

fn children(object: &Map) -> Vec<&Value> {
    let mut children = Vec::new();
    for (keyword, value) in object {
        let keyword = keyword.as_str();
        let holds = SCHEMAS.contains(&keyword) || keyword == "oneOf";
        match value {
            Value::Object(map) if MAPS.contains(&keyword) => children.extend(map.values()),
            Value::Array(list) if holds => children.extend(list),
            value if holds => children.push(value),
            _ => {}
        }
    }
    children
}

/// Whether following the references of a schema leads back to where they began.
fn is_recursive(root: &Value) -> bool {
    let mut search = Search {
        root,
        open: vec![""],
        done: BTreeSet::new(),
    };
    search.walk(root)
}

struct Search<'a> {
    root: &'a Value,
    /// The references that are being followed.
    open: Vec<&'a str>,
    done: BTreeSet<&'a str>,
}

impl<'a> Search<'a> {
    fn walk(&mut self, schema: &'a Value) -> bool {
        let Value::Object(object) = schema else {
            return false;
        };
        if let Some(Value::String(reference)) = object.get("$ref")
            && let Some(pointer) = reference.strip_prefix('#')
            && self.follow(pointer)
        {
            return true;
        }
        // What nobody refers to does no harm, and what somebody does is found there.
        children(object).into_iter().any(|child| self.walk(child))
    }

    fn follow(&mut self, pointer: &'a str) -> bool {
        if self.open.contains(&pointer) {
            return true;
        }
        if self.done.contains(pointer) {
            return false;
        }
        let Some(target) = self.root.pointer(pointer) else {
            return false;
        };
        self.open.push(pointer);
        let found = self.walk(target);
        self.open.pop();
        self.done.insert(pointer);
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn p115_what_is_refused_is_described() {
        let schema = json!({
            "type": "object",
            "properties": {
                "age": {"type": "integer", "description": "In years.", "minimum": 0, "maximum": 150},
                "zip": {"type": "string", "pattern": "^[0-9]+$", "format": "zip"},
                "day": {"type": "string", "format": "date"},
                "pets": {"type": "array", "minItems": 1, "items": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"type": "null"}]}}
            },
            "$defs": {"Cat": {"properties": {"lives": {"type": "integer", "exclusiveMaximum": 10}}}},
            "required": ["age"]
        });
        let before = schema.clone();
        let relaxed = relaxed(&schema).expect("no recursion");
        assert_eq!(schema, before);
        assert_eq!(
            relaxed.schema,
            json!({
                "type": "object",
                "properties": {
                    "age": {"type": "integer", "description": "In years. (maximum: 150; minimum: 0)"},
                    "zip": {"type": "string", "description": "pattern: ^[0-9]+$; format: zip"},
                    "day": {"type": "string", "format": "date"},
                    "pets": {"type": "array", "description": "minItems: 1", "items": {"anyOf": [{"$ref": "#/$defs/Cat"}, {"type": "null"}]}}
                },
                "$defs": {"Cat": {"properties": {"lives": {"type": "integer", "description": "exclusiveMaximum: 10"}}, "additionalProperties": false}},
                "required": ["age"],
                "additionalProperties": false
            })
        );
        assert_eq!(relaxed.changed.len(), 7);
    }

    #[test]
    fn p116_a_property_may_have_the_name_of_a_keyword() {
        let schema = json!({
            "type": "object",
            "properties": {
                "minimum": {"type": "integer"},
                "format": {"type": "string"},
                "additionalProperties": {"type": "boolean"},
                "$ref": {"type": "string"},
                "oneOf": {"type": "string", "enum": ["pattern"]}
            },
            "additionalProperties": false
        });
        let relaxed = relaxed(&schema).expect("no recursion");
        assert_eq!(relaxed.schema, schema);
        assert_eq!(relaxed.changed, Vec::<String>::new());
    }

    #[test]
    fn p117_recursion() {
        let list = json!({
            "$ref": "#/$defs/Node",
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}
        });
        let mutual = json!({
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"oneOf": [{"$ref": "#/$defs/B"}]}, "B": {"items": {"$ref": "#/$defs/A"}}}
        });
        let root = json!({"properties": {"self": {"$ref": "#"}}});
        for schema in [list, mutual, root] {
            assert_eq!(relaxed(&schema), Err(Recursive), "{schema}");
        }
        let twice = json!({
            "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/A"}, "c": {"$ref": "#/$defs/none"}},
            "$defs": {"A": {"type": "string"}}
        });
        assert!(relaxed(&twice).is_ok());
    }
}
