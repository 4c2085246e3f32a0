//! JSON as Python writes it, which is what models have read.

use std::io::{Result, Write};

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::Formatter;

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }
}

/// In one line, with a space after commas and colons.
pub(crate) fn json(value: &Value) -> String {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Python);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
}

/// In lines, with this much before each level.
pub(super) fn indented(value: &Value, indent: usize) -> String {
    let indent = " ".repeat(indent.min(16));
    let mut text = Vec::new();
    let pretty = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, pretty);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn has_a_space_after_commas_and_colons() {
        let value = json!({"a": [1, "ö<", {"b": null}], "c": {}});
        assert_eq!(json(&value), r#"{"a": [1, "ö<", {"b": null}], "c": {}}"#);
        assert_eq!(indented(&json!({"a": 1}), 2), "{\n  \"a\": 1\n}");
    }
}
