//! The members of an object of the wire, each value as the text that came.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in order, byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members(Vec<(String, String)>);

impl Members {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let member = self.0.iter().find(|(known, _)| known == name);
        member.map(|(_, value)| value.as_str())
    }

    /// Puts a value, which is JSON, in the place of a member or after all.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut String> {
        let member = self.0.iter_mut().find(|(known, _)| known == name);
        member.map(|(_, value)| value)
    }

    /// Takes in a piece of a member: texts grow, anything else is replaced.
    pub(super) fn grow(&mut self, name: &str, piece: &str) {
        let more = piece.strip_prefix('"');
        match (
            self.get_mut(name).filter(|value| value.starts_with('"')),
            more,
        ) {
            (Some(text), Some(more)) => {
                // Its quote at the end; in place, for there may be many pieces.
                text.pop();
                text.push_str(more);
            }
            _ => self.set(name, piece),
        }
    }

    /// Adds an element to a member that is a list, or becomes one.
    pub(super) fn push(&mut self, name: &str, element: &str) {
        match self.get_mut(name).filter(|value| value.starts_with('[')) {
            Some(list) => {
                list.pop();
                list.truncate(list.trim_end().len());
                if list.len() > 1 {
                    list.push(',');
                }
                list.push_str(element);
                list.push(']');
            }
            None => self.set(name, format!("[{element}]")),
        }
    }

    /// Forgets the members that say nothing: null, `[]`, `{}`, `""`.
    pub(super) fn drop_empty(&mut self) {
        self.0
            .retain(|(_, value)| !matches!(value.as_str(), "null" | "[]" | "{}" | "\"\""));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }

    /// The object as text.
    pub(super) fn to_json(&self) -> String {
        let mut text = String::from("{");
        for (name, value) in &self.0 {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&quoted(name));
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.set(&name, Box::<str>::from(value));
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Members {
        serde_json::from_str(text).expect("an object")
    }

    #[test]
    fn bytes_and_order_stay() {
        let members = read(r#"{"b": 1.0, "a": { "x" : [1,  2] }, "é\n": "\u0041"}"#);
        assert_eq!(
            members.to_json(),
            r#"{"b":1.0,"a":{ "x" : [1,  2] },"é\n":"\u0041"}"#
        );
    }

    #[test]
    fn texts_grow_and_the_rest_is_replaced() {
        let mut members = read(r#"{"text": "a\n", "none": null}"#);
        members.grow("text", r#""b""#);
        members.grow("none", r#""c""#);
        members.grow("new", "1");
        members.grow("new", r#""d""#);
        assert_eq!(members.to_json(), r#"{"text":"a\nb","none":"c","new":"d"}"#);
    }

    /// P16: as many pieces as anybody may send.
    #[test]
    fn p16_pieces_take_linear_time() {
        let mut members = Members::default();
        for _ in 0..300_000 {
            members.grow("text", r#""ten bytes.""#);
            members.push("list", "1");
        }
        assert_eq!(members.get("text").map(str::len), Some(3_000_002));
        assert_eq!(members.get("list").map(str::len), Some(600_001));
    }

    #[test]
    fn lists_take_elements() {
        let mut members = read(r#"{"empty": [ ], "full": [1]}"#);
        members.push("empty", "1");
        members.push("full", "{}");
        members.push("new", "null");
        assert_eq!(
            members.to_json(),
            r#"{"empty":[1],"full":[1,{}],"new":[null]}"#
        );
    }
}
