//! Types like those of the format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{JsonError, JsonReason};
use crate::json::Document;
use crate::json::tagged::tagged;
use crate::path::Path;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    Text(Text),
    ToolCall(Box<Call>),
    Redacted,
}

tagged!(Part {
    "text" => Text(Text),
    "tool_call" => ToolCall(Box<Call>),
    "redacted" => Redacted,
});

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    pub(super) role: Role,
    pub(super) content: Vec<Part>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Thread {
    pub(super) messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) extra: BTreeMap<String, Value>,
}

impl Document for Thread {
    const TYPE: &'static str = "thread";

    fn verify(&self) -> Result<(), JsonError> {
        if self.seed == Some(13) {
            let path = Path::from("seed");
            return Err(JsonError::new(JsonReason::InvalidValue, path, "unlucky"));
        }
        Ok(())
    }
}

pub(super) fn thread() -> Thread {
    let text = |text: &str| Part::Text(Text { text: text.into() });
    let call = Part::ToolCall(Box::new(Call {
        name: "look".into(),
        parts: Some(vec![text("nested"), Part::Redacted]),
    }));
    Thread {
        messages: vec![
            Message {
                role: Role::User,
                content: vec![text("Grüße \u{1f600}\n\"quoted\"")],
            },
            Message {
                role: Role::Assistant,
                content: vec![call, Part::Redacted],
            },
        ],
        temperature: Some(0.7),
        seed: Some(u64::MAX),
        extra: BTreeMap::from([
            (
                "type".to_owned(),
                serde_json::json!({"type": [1, -2, 0.5, null, true]}),
            ),
            ("a b".to_owned(), serde_json::json!({"a": [], "z": {}})),
        ]),
    }
}
