//! The body of a request.

use allm_core::Map;
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use crate::engine::settings::deep_merge;

/// Object into object key by key; anything else replaces.
pub(crate) fn merge(into: &mut Map, from: &Map) {
    *into = deep_merge(into, from);
}

/// A body: settings, and the conversation, which is written straight from what it is made of.
#[derive(Debug)]
pub(crate) struct Body<'a, T> {
    pub(crate) settings: &'a Map,
    /// `messages`, `input` or `contents`.
    pub(crate) name: &'static str,
    pub(crate) conversation: &'a T,
}

impl<T: Serialize> Body<'_, T> {
    /// The same bytes for the same request.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}

impl<T: Serialize> Serialize for Body<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.settings.contains_key(self.name) {
            return Err(S::Error::custom("the conversation stands twice"));
        }
        let mut map = serializer.serialize_map(Some(self.settings.len() + 1))?;
        for (key, value) in self.settings {
            map.serialize_entry(key, value)?;
        }
        // Last: what stays the same from turn to turn stands before what grows.
        map.serialize_entry(self.name, self.conversation)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn map(value: Value) -> Map {
        let Value::Object(map) = value else {
            panic!("an object")
        };
        map
    }

    #[test]
    fn p93_extra_keeps_siblings() {
        let mut body = map(json!({"text": {"format": {"type": "text"}}, "n": 1, "list": [1]}));
        let extra =
            map(json!({"text": {"verbosity": "low"}, "n": {"a": 1}, "list": [2], "more": null}));
        merge(&mut body, &extra);
        let expected = json!({
            "text": {"format": {"type": "text"}, "verbosity": "low"},
            "n": {"a": 1},
            "list": [2],
            "more": null
        });
        assert_eq!(Value::Object(body), expected);
    }

    #[test]
    fn the_conversation_comes_last_and_once() {
        let settings = map(json!({"a": 1, "z": 2}));
        let body = Body {
            settings: &settings,
            name: "messages",
            conversation: &["x"],
        };
        let text = String::from_utf8(body.to_bytes().expect("JSON")).expect("text");
        assert_eq!(text, r#"{"a":1,"z":2,"messages":["x"]}"#);
        let twice = Body { name: "a", ..body };
        assert!(twice.to_bytes().is_err());
    }
}
