//! The form of an answer, made from a Rust type.

use allm_core::ResponseFormat;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::__private::schema;

/// An answer that can be read as this type.
///
/// Name and schema are the type's own. So that providers can keep to it exactly, objects have no fields but those of the
/// type, and fields that may be `null` are always there. A type with other optional fields (`#[serde(default)]`) or with a
/// map cannot be kept to exactly; it is asked for all the same.
///
/// ```
/// use allm::{Engine, Fake, response_format};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct City {
///     name: String,
///     people: Option<u64>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Fake::new().reply(r#"{"name": "Oslo", "people": null}"#);
/// let engine = Engine::builder().provider(model).model("fake:any").build()?;
///
/// let question = engine.generate("The capital of Norway?").response_format(response_format::<City>());
/// let city: City = question.parse().await?;
/// assert_eq!((city.name.as_str(), city.people), ("Oslo", None));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn response_format<T: JsonSchema>() -> ResponseFormat {
    ResponseFormat::json_schema(name(&T::schema_name()), closed(schema::of::<T>()))
}

/// A name that formats can have.
fn name(of_type: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let kept = of_type.chars().map(|c| if allowed(c) { c } else { '_' });
    let name: String = kept.take(64).collect();
    match name.is_empty() {
        true => "answer".to_owned(),
        false => name,
    }
}

fn closed(schema: Value) -> Value {
    match Schema::try_from(schema) {
        Ok(mut schema) => {
            Close.transform(&mut schema);
            schema.to_value()
        }
        Err(_) => json!({}),
    }
}

/// Closes objects. Whatever fits a closed schema fits the open one too, so a type that reads the one reads the other.
struct Close;

/// Schemas beside which the properties of an object are not all there is to it.
const BESIDE: [&str; 6] = [
    "allOf",
    "anyOf",
    "oneOf",
    "$ref",
    "additionalProperties",
    "unevaluatedProperties",
];

impl Transform for Close {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            let nullable = properties.iter().filter(|(_, schema)| takes_null(schema));
            let nullable: Vec<Value> = nullable.map(|(name, _)| json!(name)).collect();
            let open = |keyword: &str| schema.get(keyword).is_some_and(|value| value != false);
            if BESIDE.iter().any(|keyword| open(keyword)) {
                // Parts of a flattened type: none of them may refuse the fields of the others.
                return;
            }
            require(schema, nullable);
            schema.insert("additionalProperties".to_owned(), json!(false));
        }
        transform_subschemas(self, schema);
    }
}

fn require(schema: &mut Schema, names: Vec<Value>) {
    if names.is_empty() {
        return;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.cloned().unwrap_or_default();
    for name in names {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    schema.insert("required".to_owned(), Value::Array(required));
}

fn takes_null(schema: &Value) -> bool {
    let is_null = |name: &Value| name == "null";
    match (schema.get("type"), schema.get("anyOf")) {
        (Some(Value::Array(names)), _) => names.iter().any(is_null),
        (Some(name), _) => is_null(name),
        (None, Some(Value::Array(variants))) => variants.iter().any(takes_null),
        (None, _) => false,
    }
}
