//! `reasoning_details`: pieces of thinking that a router wants back as they were.

use allm_core::{Map, RawJson};
use serde_json::Value;

/// The merged list.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Map>);

/// What a piece shows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Whether it is a summary.
    pub(super) summary: bool,
}

/// Members that are joined; of the others the last counts.
const JOINED: [&str; 2] = ["text", "summary"];

impl Details {
    /// Takes the pieces of one chunk. They belong together by `index` and `type`; one without index is the last of its
    /// type that has none either.
    pub(super) fn push(&mut self, text: &str) -> Shown {
        let pieces: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
        let mut shown = Shown::default();
        for piece in pieces {
            let Value::Object(piece) = piece else {
                continue;
            };
            for name in JOINED {
                if let Some(text) = piece.get(name).and_then(Value::as_str) {
                    shown.text.push_str(text);
                    shown.summary |= name == "summary";
                }
            }
            self.merge(piece);
        }
        shown
    }

    fn merge(&mut self, piece: Map) {
        let same = |known: &&mut Map| {
            known.get("index") == piece.get("index") && known.get("type") == piece.get("type")
        };
        let Some(known) = self.0.iter_mut().rev().find(same) else {
            self.0.push(piece);
            return;
        };
        for (name, value) in piece {
            match (known.get_mut(&name), value) {
                (Some(Value::String(text)), Value::String(more))
                    if JOINED.contains(&name.as_str()) =>
                {
                    text.push_str(&more);
                }
                // Null does not take back what was there.
                (Some(_), Value::Null) => {}
                (_, value) => {
                    known.insert(name, value);
                }
            }
        }
    }

    pub(super) fn finish(&self) -> Option<RawJson> {
        if self.0.is_empty() {
            return None;
        }
        let list = self.0.iter().cloned().map(Value::Object).collect();
        RawJson::from_value(&Value::Array(list)).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn p218_pieces_merge_by_index_and_type() {
        let mut details = Details::default();
        let shown = details.push(
            &json!([{"type": "reasoning.text", "index": 0, "text": "a", "format": "x"}])
                .to_string(),
        );
        assert_eq!((shown.text.as_str(), shown.summary), ("a", false));
        details.push(
            &json!([{"type": "reasoning.text", "index": 0, "text": "b", "signature": null}])
                .to_string(),
        );
        details.push(
            &json!([
                {"type": "reasoning.text", "index": 0, "signature": "s"},
                {"type": "reasoning.encrypted", "index": 0, "data": "e"},
                {"type": "reasoning.text", "index": 1, "text": "c"}
            ])
            .to_string(),
        );
        let list = details.finish().expect("some").to_value();
        assert_eq!(
            list,
            json!([
                {"type": "reasoning.text", "index": 0, "text": "ab", "format": "x", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 0, "data": "e"},
                {"type": "reasoning.text", "index": 1, "text": "c"}
            ])
        );
        let mut odd = Details::default();
        for text in ["null", "7", "[1, null]", "{}"] {
            assert_eq!(odd.push(text), Shown::default());
        }
        assert!(odd.finish().is_none());
    }
}
