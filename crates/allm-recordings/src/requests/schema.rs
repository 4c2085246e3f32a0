//! OpenAI's own schemas of its requests.

use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::dialect::Dialect;

/// Checks bodies against OpenAI's schemas.
#[derive(Debug)]
pub struct Schemas {
    chat: Validator,
    responses: Validator,
}

impl Schemas {
    /// The schemas beside the recordings; `None` when they are not there.
    #[must_use]
    pub fn load() -> Option<Self> {
        let file: PathBuf = crate::record::folder().join("schemas/openai-openapi.json");
        let text = std::fs::read(&file).ok()?;
        let api: Value = serde_json::from_slice(&text).unwrap();
        let validator = |name: &str| {
            let schema = json!({
                "$ref": format!("#/components/schemas/{name}"),
                "components": api["components"],
            });
            jsonschema::validator_for(&schema).unwrap()
        };
        Some(Self {
            chat: validator("CreateChatCompletionRequest"),
            responses: validator("CreateResponse"),
        })
    }

    /// What is wrong with a body: the places and the reasons.
    #[must_use]
    pub fn faults(&self, dialect: Dialect, body: &Value) -> Vec<String> {
        let validator = match dialect {
            Dialect::OpenAiChat => &self.chat,
            Dialect::OpenAiResponses => &self.responses,
            _ => return Vec::new(),
        };
        validator
            .iter_errors(body)
            .map(|fault| format!("{}: {:?}", fault.instance_path(), kind(&fault)))
            .collect()
    }
}

/// The keyword that a body breaks; the body's words stay out of it.
fn kind(fault: &jsonschema::ValidationError<'_>) -> String {
    fault.schema_path().to_string()
}
