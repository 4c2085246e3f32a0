//! The values that the tests of the format share.

pub(crate) mod arbitrary;
pub(crate) mod golden;

use allm_core::json::{self, Limits};
use allm_core::{Map, RawJson};
use serde_json::Value;

/// The fields of a JSON object.
pub(crate) fn map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// The same JSON with the keys of every object in the order opposite to the sorted one. What is read from it has its maps
/// in that order, in a build whose maps keep one.
pub(crate) fn backwards(bytes: &[u8]) -> String {
    let tree: Value = json::value_from_slice(bytes, Limits::default()).expect("JSON");
    let mut text = String::new();
    put_backwards(&mut text, &tree);
    text
}

fn put_backwards(text: &mut String, tree: &Value) {
    let comma = |text: &mut String, index| text.push_str(if index > 0 { "," } else { "" });
    match tree {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|(one, _), (other, _)| other.cmp(one));
            text.push('{');
            for (index, (key, value)) in fields.into_iter().enumerate() {
                comma(text, index);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                put_backwards(text, value);
            }
            text.push('}');
        }
        Value::Array(entries) => {
            text.push('[');
            for (index, value) in entries.iter().enumerate() {
                comma(text, index);
                put_backwards(text, value);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// A text that is JSON.
pub(crate) fn raw(text: &str) -> RawJson {
    RawJson::new(text).expect("the text is JSON")
}
