//! The versions of JSON Schema.

use serde_json::Value;

/// A version of JSON Schema. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Draft {
    Four,
    Six,
    Seven,
    /// 2019-09.
    Nineteen,
    /// 2020-12.
    Twenty,
}

impl Draft {
    /// The version whose meta-schema has this address.
    pub(crate) fn of_address(address: &str) -> Option<Draft> {
        let address = address.trim_end_matches('#');
        let rest = address
            .strip_prefix("https://json-schema.org/")
            .or_else(|| address.strip_prefix("http://json-schema.org/"))?;
        match rest {
            "draft-04/schema" => Some(Draft::Four),
            "draft-06/schema" => Some(Draft::Six),
            "draft-07/schema" => Some(Draft::Seven),
            "draft/2019-09/schema" => Some(Draft::Nineteen),
            // The address without a version means the current one.
            "draft/2020-12/schema" | "schema" => Some(Draft::Twenty),
            _ => None,
        }
    }

    /// The version that a subschema is written in, inside one that is written in `self`.
    pub(crate) fn within(self, schema: &Value) -> Draft {
        match schema.get("$schema").and_then(Value::as_str) {
            Some(address) => Draft::of_address(address).unwrap_or(Draft::Twenty),
            None => self,
        }
    }

    /// Whether a keyword beside `$ref` counts for nothing.
    pub(crate) fn references_stand_alone(self) -> bool {
        self <= Draft::Seven
    }

    /// Whether `format` is checked, and not only noted.
    pub(crate) fn asserts_formats(self) -> bool {
        self <= Draft::Seven
    }

    /// The address that a schema gives itself.
    pub(crate) fn address_of(self, schema: &Value) -> Option<&str> {
        let object = schema.as_object()?;
        let keyword = if self == Draft::Four { "id" } else { "$id" };
        let address = object.get(keyword)?.as_str()?;
        // Up to draft 7 `$ref` hides what stands beside it, and "#name" is an anchor.
        let hidden =
            self <= Draft::Seven && (address.starts_with('#') || object.contains_key("$ref"));
        (!hidden).then(|| address.trim_end_matches('#'))
    }

    /// The plain name that a schema can be referred to by.
    pub(crate) fn anchor_of(self, schema: &Value) -> Option<&str> {
        let (keyword, prefix) = match self {
            Draft::Four => ("id", "#"),
            Draft::Six | Draft::Seven => ("$id", "#"),
            Draft::Nineteen | Draft::Twenty => ("$anchor", ""),
        };
        schema.get(keyword)?.as_str()?.strip_prefix(prefix)
    }
}
