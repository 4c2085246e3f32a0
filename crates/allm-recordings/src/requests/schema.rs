//! OpenAI's own schemas of its requests.
//!
//! In one thing they are taken piece by piece: what stands in `input` is checked by the schema of its type, because the
//! choice among all types is `oneOf` over forms that overlap (a list of blocks from a person is both of two types). In
//! what they refuse although the API takes it, the body is helped; `requests.md` lists it.

use std::path::PathBuf;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::dialect::Dialect;

/// Checks bodies against OpenAI's schemas.
#[derive(Debug)]
pub struct Schemas {
    chat: Validator,
    responses: Validator,
    plain_message: Validator,
    message: Validator,
    answer: Validator,
    call: Validator,
    output: Validator,
    reasoning: Validator,
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
            plain_message: validator("EasyInputMessage"),
            message: validator("InputMessage"),
            answer: validator("OutputMessage"),
            call: validator("FunctionToolCall"),
            output: validator("FunctionCallOutputItemParam"),
            reasoning: validator("ReasoningItem"),
        })
    }

    /// What is wrong with a body: the places and the keywords, never the body's words.
    #[must_use]
    pub fn faults(&self, dialect: Dialect, body: &Value) -> Vec<String> {
        let mut body = body.clone();
        without_providers_tools(dialect, &mut body);
        match dialect {
            Dialect::OpenAiChat => {
                without_other_servers(&mut body);
                told(&self.chat, "", &body)
            }
            Dialect::OpenAiResponses => {
                let input = body["input"].take();
                body["input"] = "text".into();
                let mut faults = told(&self.responses, "", &body);
                for (at, item) in input.as_array().into_iter().flatten().enumerate() {
                    faults.extend(self.item(&format!("/input/{at}"), item.clone()));
                }
                faults
            }
            _ => Vec::new(),
        }
    }

    fn item(&self, place: &str, mut item: Value) -> Vec<String> {
        let kind = item["type"].as_str().unwrap_or("message").to_owned();
        let role = item["role"].as_str().unwrap_or_default().to_owned();
        let validator = match (kind.as_str(), role.as_str()) {
            ("message", _) if item["content"].is_string() => &self.plain_message,
            ("message", "assistant") => {
                // The API takes an answer without these.
                item["type"] = "message".into();
                item["id"] = "msg_1".into();
                item["status"] = "completed".into();
                for block in item["content"].as_array_mut().into_iter().flatten() {
                    if block["type"] == "output_text" {
                        block["logprobs"] = json!([]);
                        let annotations = block["annotations"].take();
                        block["annotations"] = if annotations.is_null() {
                            json!([])
                        } else {
                            annotations
                        };
                    }
                }
                &self.answer
            }
            ("message", _) => &self.message,
            ("function_call", _) => &self.call,
            ("function_call_output", _) => &self.output,
            ("reasoning", _) => {
                if item["id"].is_null() {
                    item["id"] = "rs_1".into();
                }
                &self.reasoning
            }
            // A provider's item goes back as it came.
            _ => return Vec::new(),
        };
        told(validator, place, &item)
    }
}

fn told(validator: &Validator, place: &str, value: &Value) -> Vec<String> {
    let faults = validator.iter_errors(value);
    faults
        .map(|fault| {
            let (at, rule) = (fault.instance_path(), fault.schema_path());
            format!("{place}{at}: {rule}")
        })
        .collect()
}

/// A provider's tool is sent as the caller wrote it; whether that is right is the caller's.
fn without_providers_tools(dialect: Dialect, body: &mut Value) {
    if let Some(tools) = body.get_mut("tools").and_then(Value::as_array_mut) {
        tools.retain(|tool| {
            let is_nested = tool["function"].is_object();
            tool["type"] == "function" && is_nested == (dialect == Dialect::OpenAiChat)
        });
    }
}

/// What other servers of the family take and OpenAI does not: thinking in content, and pictures in results.
fn without_other_servers(body: &mut Value) {
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        let is_result = message["role"] == "tool";
        if let Some(blocks) = message["content"].as_array_mut() {
            blocks.retain(|block| {
                block["type"] != "thinking" && !(is_result && block["type"] == "image_url")
            });
            if blocks.is_empty() {
                message["content"] = "text".into();
            }
        }
    }
}
