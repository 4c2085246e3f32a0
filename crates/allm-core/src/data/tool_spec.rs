//! A tool as a provider is told of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{ProviderName, ToolName};
use super::settings::Strict;
use crate::json::RawJson;
use crate::json::tagged::tagged;

/// A tool as a provider is told of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolSpec {
    /// A function of the caller's.
    Function(FunctionSpec),
    /// A tool built into a provider.
    Provider(ProviderTool),
}

tagged!(ToolSpec {
    "function" => Function(FunctionSpec),
    "provider" => Provider(ProviderTool),
});

impl ToolSpec {
    /// A function of the caller's, not strict.
    pub fn function(
        name: impl Into<ToolName>,
        description: impl Into<String>,
        schema: impl Into<Arc<Value>>,
    ) -> Self {
        Self::Function(FunctionSpec {
            name: name.into(),
            description: description.into(),
            schema: schema.into(),
            strict: Strict::No,
        })
    }

    /// The function's name; `None` for a provider's tool.
    #[must_use]
    pub fn name(&self) -> Option<&ToolName> {
        match self {
            Self::Function(function) => Some(&function.name),
            Self::Provider(_) => None,
        }
    }
}

/// A function of the caller's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionSpec {
    /// What the model calls it.
    pub name: ToolName,
    /// What it does; may be empty.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(serialize_with = "crate::json::sorted")]
    pub schema: Arc<Value>,
    /// Whether the provider must keep to the schema exactly.
    #[serde(default = "Strict::no", skip_serializing_if = "Strict::is_no")]
    pub strict: Strict,
}

/// A tool built into a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderTool {
    /// The provider.
    pub provider: ProviderName,
    /// Its definition, sent as it is.
    pub definition: RawJson,
}
