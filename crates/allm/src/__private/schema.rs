//! The JSON Schema of a tool's parameters.

use allm_core::json::in_order;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, ReplaceBoolSchemas, RestrictFormats};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The schema of a tool without parameters. It is open: there is nothing to misspell, and models like to send a
/// placeholder.
#[must_use]
pub fn none() -> Value {
    json!({"type": "object", "properties": {}})
}

/// The schema of these arguments, in what all providers understand of draft 2020-12: types in place, no references but
/// those of recursive types, no annotations that only Rust understands.
#[must_use]
pub fn of<T: JsonSchema>() -> Value {
    let mut booleans = ReplaceBoolSchemas::default();
    booleans.skip_additional_properties = true;
    let mut schema = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        // `uint8` and `double` are no formats of JSON Schema; strict modes refuse them.
        .with_transform(RestrictFormats::default())
        .with_transform(booleans)
        .with_transform(RecursiveTransform(any_of))
        .into_generator()
        .into_root_schema_for::<T>();
    // The formats were chosen by the first; the second is the name of a private type.
    schema.remove("$schema");
    schema.remove("title");
    in_order(&schema.to_value()).into_owned()
}

/// The variants of an enum exclude each other anyhow, and strict modes know `anyOf` only.
fn any_of(schema: &mut Schema) {
    if schema.get("anyOf").is_none()
        && let Some(variants) = schema.remove("oneOf")
    {
        schema.insert("anyOf".to_owned(), variants);
    }
}
