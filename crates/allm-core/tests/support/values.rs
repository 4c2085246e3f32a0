//! The values that the tests of the format share.

pub(crate) mod arbitrary;
pub(crate) mod golden;

use allm_core::{Map, RawJson};
use serde_json::Value;

/// The fields of a JSON object.
pub(crate) fn map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// A text that is JSON.
pub(crate) fn raw(text: &str) -> RawJson {
    RawJson::new(text).expect("the text is JSON")
}
