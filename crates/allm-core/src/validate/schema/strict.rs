//! Whether a provider can keep to a schema exactly.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::walk::Walk;
use crate::json::in_order;

/// Where a schema first cannot be kept to strictly, as a JSON Pointer with `#` for the root; `None` when it can be.
///
/// In a strict schema the root is an object, and every object has `additionalProperties: false` and all its properties
/// required.
///
/// ```
/// use allm_core::validate::not_strict_at;
/// use serde_json::json;
///
/// let mut schema = json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}},
///     "required": ["city"],
///     "additionalProperties": false
/// });
/// assert_eq!(not_strict_at(&schema), None);
/// schema["properties"]["day"] = json!({"type": "string"});
/// assert_eq!(not_strict_at(&schema).as_deref(), Some("#/required"));
/// ```
#[must_use]
pub fn not_strict_at(schema: &Value) -> Option<String> {
    if schema.get("type").is_none_or(|name| name != "object") {
        return Some("#".to_owned());
    }
    let schema = in_order(schema);
    let mut walk = Walk::new(&schema);
    while let Some((node, schema)) = walk.next() {
        let Some(object) = schema.as_object().filter(|schema| describes_object(schema)) else {
            continue;
        };
        if object.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Some(walk.pointer(node, Some("additionalProperties")));
        }
        if !requires_all(object) {
            return Some(walk.pointer(node, Some("required")));
        }
    }
    None
}

fn describes_object(schema: &Map<String, Value>) -> bool {
    let is_object = |name: &Value| name == "object";
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(is_object),
        Some(name) => is_object(name),
        None => ["properties", "required", "additionalProperties"]
            .iter()
            .any(|keyword| schema.contains_key(*keyword)),
    }
}

fn requires_all(schema: &Map<String, Value>) -> bool {
    let required: HashSet<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut names = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys);
    names.all(|name| required.contains(name.as_str()))
}
