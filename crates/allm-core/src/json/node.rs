//! The tree of a text.

use std::borrow::Cow;

use serde_json::Value;

use crate::data::Map;

/// A key and its value.
pub(super) type Field<'a> = (Cow<'a, str>, Node<'a>);

/// A value as it stands in the text: strings without escapes are borrowed from it, fields keep their order.
///
/// Not `serde_json::Value`, whose maps take twenty times the memory of their text and are of another kind in a build that
/// turns on `preserve_order`.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    /// Below zero.
    Signed(i64),
    Float(f64),
    String(Cow<'a, str>),
    Array(Vec<Node<'a>>),
    Object(Vec<Field<'a>>),
}

impl Node<'_> {
    /// The number of a text that has the form of one: 64-bit integers exactly, all else as the nearest float.
    pub(super) fn number(text: &str, integral: bool) -> Option<Self> {
        // A negative zero is a float, which alone can tell it from zero.
        if integral && text != "-0" {
            if let Ok(number) = text.parse() {
                return Some(Self::Unsigned(number));
            }
            if let Ok(number) = text.parse() {
                return Some(Self::Signed(number));
            }
        }
        let float: f64 = text.parse().ok()?;
        float.is_finite().then_some(Self::Float(float))
    }
}

impl<'a> From<&'a Value> for Node<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => {
                if let Some(number) = number.as_u64() {
                    Self::Unsigned(number)
                } else if let Some(number) = number.as_i64() {
                    Self::Signed(number)
                } else if let Some(number) = number.as_f64() {
                    Self::Float(number)
                } else {
                    // Only with `serde_json/arbitrary_precision`, whose numbers have no end.
                    Self::String(Cow::Owned(number.to_string()))
                }
            }
            Value::String(text) => Self::String(Cow::Borrowed(text)),
            Value::Array(entries) => Self::Array(entries.iter().map(Self::from).collect()),
            Value::Object(fields) => Self::from(fields),
        }
    }
}

impl<'a> From<&'a Map> for Node<'a> {
    fn from(fields: &'a Map) -> Self {
        let fields = fields
            .iter()
            .map(|(key, value)| (Cow::Borrowed(key.as_str()), Self::from(value)));
        Self::Object(fields.collect())
    }
}
