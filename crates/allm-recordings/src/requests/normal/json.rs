//! Looking into JSON of which nothing is certain.

use serde_json::{Map, Value};

use super::Held;

/// Takes a text out of an object.
pub(crate) fn text(object: &mut Map<String, Value>, name: &str) -> Option<String> {
    match object.remove(name)? {
        Value::String(text) => Some(text),
        other => {
            object.insert(name.to_owned(), other);
            None
        }
    }
}

/// Takes a list out of an object.
pub(crate) fn list(object: &mut Map<String, Value>, name: &str) -> Option<Vec<Value>> {
    match object.remove(name)? {
        Value::Array(list) => Some(list),
        other => {
            object.insert(name.to_owned(), other);
            None
        }
    }
}

/// Takes an object out of an object.
pub(crate) fn object(object: &mut Map<String, Value>, name: &str) -> Option<Map<String, Value>> {
    match object.remove(name)? {
        Value::Object(inner) => Some(inner),
        other => {
            object.insert(name.to_owned(), other);
            None
        }
    }
}

/// Whether a value says nothing: null, no text, no element, no member.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text as it is, any other value as compact JSON.
pub(crate) fn compact(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The arguments of a call from their text; the text when it is no JSON.
pub(super) fn arguments(text: &str) -> Value {
    match text.trim() {
        "" => Value::Object(Map::new()),
        trimmed => serde_json::from_str(trimmed).unwrap_or_else(|_| text.into()),
    }
}

/// Where something is, from an address that may be a data URI; with its MIME type.
pub(super) fn held(url: &str) -> (Held, Option<String>) {
    match url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    {
        Some((mime, data)) => (Held::Data(data.to_owned()), Some(mime.to_owned())),
        None => (Held::Url(url.to_owned()), None),
    }
}
