//! The settings of a request.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::id::ToolName;
use crate::json::tagged::tagged;

/// Whether and which tool must be called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No tool.
    None,
    /// Some tool.
    Required,
    /// This tool.
    Tool(ToolName),
    /// One of these tools.
    AnyOf(Vec<ToolName>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolChoiceForm {
    Auto,
    None,
    Required,
    Tool(OneTool),
    AnyOf(SomeTools),
}

tagged!(ToolChoiceForm {
    "auto" => Auto,
    "none" => None,
    "required" => Required,
    "tool" => Tool(OneTool),
    "any_of" => AnyOf(SomeTools),
});

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneTool {
    name: ToolName,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SomeTools {
    names: Vec<ToolName>,
}

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self.clone() {
            Self::Auto => ToolChoiceForm::Auto,
            Self::None => ToolChoiceForm::None,
            Self::Required => ToolChoiceForm::Required,
            Self::Tool(name) => ToolChoiceForm::Tool(OneTool { name }),
            Self::AnyOf(names) => ToolChoiceForm::AnyOf(SomeTools { names }),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match ToolChoiceForm::deserialize(deserializer)? {
            ToolChoiceForm::Auto => Self::Auto,
            ToolChoiceForm::None => Self::None,
            ToolChoiceForm::Required => Self::Required,
            ToolChoiceForm::Tool(form) => Self::Tool(form.name),
            ToolChoiceForm::AnyOf(form) => Self::AnyOf(form.names),
        })
    }
}

/// Whether several calls may come in one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParallelCalls {
    /// As many as the model likes.
    Allowed,
    /// One.
    OneAtMost,
}

/// Whether the provider must keep to a schema exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strict {
    /// When the schema and the provider allow it.
    Auto,
    /// Yes, or refuse.
    Yes,
    /// No.
    No,
}

impl Strict {
    pub(crate) const fn auto() -> Self {
        Self::Auto
    }

    pub(crate) const fn no() -> Self {
        Self::No
    }

    pub(crate) fn is_no(&self) -> bool {
        *self == Self::No
    }

    pub(crate) fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Plain text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that fits a schema.
    JsonSchema(JsonSchemaFormat),
}

tagged!(ResponseFormat {
    "text" => Text,
    "json_object" => JsonObject,
    "json_schema" => JsonSchema(JsonSchemaFormat),
});

impl ResponseFormat {
    /// JSON that fits a schema.
    pub fn json_schema(name: impl Into<String>, schema: Value) -> Self {
        Self::JsonSchema(JsonSchemaFormat {
            name: name.into(),
            schema,
            strict: Strict::Auto,
        })
    }
}

/// A named schema for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonSchemaFormat {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// The JSON Schema, an object.
    #[serde(serialize_with = "crate::json::sorted")]
    pub schema: Value,
    /// Whether the provider must keep to it exactly.
    #[serde(default = "Strict::auto", skip_serializing_if = "Strict::is_auto")]
    pub strict: Strict,
}

/// How much to think, and what to show of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// How hard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// At most this many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
    /// Which summary to give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

/// How hard to think. A provider's own word is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as can be.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    XHigh,
    /// All there is.
    Max,
    /// A word that has no name here.
    Other(String),
}

impl Effort {
    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for Effort {
    fn from(word: String) -> Self {
        match word.as_str() {
            "none" => Self::None,
            "minimal" => Self::Minimal,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" => Self::XHigh,
            "max" => Self::Max,
            _ => Self::Other(word),
        }
    }
}

impl Serialize for Effort {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Effort {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Which summary of the thinking to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Summary {
    /// The provider decides.
    Auto,
    /// A short one.
    Concise,
    /// A long one.
    Detailed,
}

/// How much to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verbosity {
    /// Little.
    Low,
    /// As usual.
    Medium,
    /// Much.
    High,
}

/// Asks the provider to remember the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptCache {
    /// Under which key; the session's id when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// For how long.
    #[serde(default)]
    pub retention: Retention,
}

/// How long a prompt is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Retention {
    /// Minutes.
    #[default]
    Short,
    /// Hours.
    Long,
}
