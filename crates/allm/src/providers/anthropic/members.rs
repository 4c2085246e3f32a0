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

    /// Takes in a piece of a member: texts grow, anything else is replaced.
    pub(super) fn grow(&mut self, name: &str, piece: &str) {
        let grown = self.get(name).and_then(|so_far| {
            let head = so_far.strip_prefix('"').and(so_far.strip_suffix('"'))?;
            Some(format!("{head}{}", piece.strip_prefix('"')?))
        });
        self.set(name, grown.unwrap_or_else(|| piece.to_owned()));
    }

    /// Adds an element to a member that is a list, or becomes one.
    pub(super) fn push(&mut self, name: &str, element: &str) {
        let head = self.get(name).and_then(|list| {
            let inner = list.strip_prefix('[')?.strip_suffix(']')?.trim();
            (!inner.is_empty()).then(|| format!("[{inner},"))
        });
        let head = head.unwrap_or_else(|| "[".to_owned());
        self.set(name, format!("{head}{element}]"));
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
