//! What the keywords of JSON Schema hold.

use std::collections::HashSet;

use serde_json::Value;

const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

/// How a keyword holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subschemas {
    /// One.
    One,
    /// A list of them.
    List,
    /// Either.
    OneOrList,
    /// Some, by name.
    Map,
    /// Some by name, lists of names among them.
    MapOrNames,
}

/// How this keyword holds schemas, if it does.
pub(super) fn subschemas(keyword: &str) -> Option<Subschemas> {
    Some(match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Subschemas::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Subschemas::List,
        "items" => Subschemas::OneOrList,
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            Subschemas::Map
        }
        "dependencies" => Subschemas::MapOrNames,
        _ => return None,
    })
}

/// What the value of this keyword should have been, when it is not that. The schemas in it are not looked at.
pub(super) fn unmet(keyword: &str, value: &Value) -> Option<&'static str> {
    let (is_met, wanted) = match (subschemas(keyword), keyword) {
        (Some(Subschemas::List), _) => (is_filled_list(value), "a list of schemas, not empty"),
        (Some(Subschemas::Map), _) => (value.is_object(), "an object of schemas"),
        (Some(Subschemas::MapOrNames), _) => (
            is_map_of(value, |entry| !entry.is_array() || is_names(entry)),
            "an object of schemas and lists of names",
        ),
        (Some(Subschemas::One | Subschemas::OneOrList), _) => return None,
        (None, "type") => (is_type(value), "a type or a list of different types"),
        (None, "required") => (is_names(value), "a list of different names"),
        (None, "dependentRequired") => (is_map_of(value, is_names), "an object of lists of names"),
        (None, "enum" | "examples") => (value.is_array(), "a list"),
        (
            None,
            "$anchor" | "$comment" | "$dynamicAnchor" | "$dynamicRef" | "$id" | "$recursiveRef"
            | "$ref" | "$schema" | "contentEncoding" | "contentMediaType" | "description"
            | "format" | "pattern" | "title",
        ) => (value.is_string(), "a string"),
        (None, "$recursiveAnchor" | "deprecated" | "readOnly" | "uniqueItems" | "writeOnly") => {
            (value.is_boolean(), "a boolean")
        }
        (None, "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum") => {
            (value.is_number(), "a number")
        }
        (None, "multipleOf") => (
            value.as_f64().is_some_and(|number| number > 0.0),
            "a number above 0",
        ),
        (
            None,
            "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains" | "minItems"
            | "minLength" | "minProperties",
        ) => (is_count(value), "a whole number, 0 or more"),
        (None, "$vocabulary") => (is_map_of(value, Value::is_boolean), "an object of booleans"),
        _ => return None,
    };
    (!is_met).then_some(wanted)
}

/// Whether a `type` is one, and another than this. What is no type at all is told as that.
pub(super) fn is_other_type(value: &Value, name: &str) -> bool {
    is_type(value) && value != name
}

fn is_type(value: &Value) -> bool {
    match value {
        Value::String(name) => TYPES.contains(&name.as_str()),
        Value::Array(names) => {
            let is_known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
            !names.is_empty() && names.iter().all(is_known) && is_names(value)
        }
        _ => false,
    }
}

fn is_names(value: &Value) -> bool {
    let Some(names) = value.as_array() else {
        return false;
    };
    let mut seen = HashSet::new();
    names
        .iter()
        .all(|name| name.as_str().is_some_and(|name| seen.insert(name)))
}

fn is_filled_list(value: &Value) -> bool {
    value.as_array().is_some_and(|entries| !entries.is_empty())
}

fn is_map_of(value: &Value, is_entry: impl Fn(&Value) -> bool) -> bool {
    value
        .as_object()
        .is_some_and(|entries| entries.values().all(is_entry))
}

fn is_count(value: &Value) -> bool {
    // 2.0 is a whole number to JSON Schema.
    let is_whole = |number: f64| number >= 0.0 && number.fract() == 0.0;
    value.is_u64() || value.as_f64().is_some_and(is_whole)
}
