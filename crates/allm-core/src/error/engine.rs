//! What is wrong before a provider is asked.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::cause::Cause;
use super::reason::reasons;
use crate::data::{Map, ProviderName};

reasons! {
    /// Why the engine could not make a call.
    EngineReason, retryable [] {
        /// No level names a model.
        NoModel => "no_model",
        /// A model string that is not `provider:model`.
        InvalidModel => "invalid_model",
        /// No provider has this name.
        UnknownProvider => "unknown_provider",
        /// A model without a provider, and more than one to choose from.
        AmbiguousProvider => "ambiguous_provider",
        /// The provider's cargo feature is off.
        ProviderDisabled => "provider_disabled",
        /// No level has a key.
        MissingKey => "missing_key",
        /// A key that cannot be sent.
        InvalidKey => "invalid_key",
        /// A key source failed, hung or panicked.
        KeySourceFailed => "key_source_failed",
        /// A setting that cannot be.
        InvalidConfig => "invalid_config",
        /// A key would travel over plain HTTP.
        InsecureBaseUrl => "insecure_base_url",
        /// The body about to be sent holds the key in use.
        SecretInBody => "secret_in_body",
        /// A call names no tool that there is.
        UnknownTool => "unknown_tool",
    }
}

/// What is wrong before a provider is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineError {
    /// Why.
    pub reason: EngineReason,
    /// In one line, with what to do.
    pub message: String,
    /// The provider that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// The places that were looked at, for a missing key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<String>,
    /// More, such as `tool_name`.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
    /// What it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl EngineError {
    /// An error with nothing but reason and message.
    pub fn new(reason: EngineReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            provider: None,
            checked: Vec::new(),
            metadata: Map::new(),
            cause: None,
        }
    }

    /// A call names no tool that there is.
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        let mut error = Self::new(
            EngineReason::UnknownTool,
            "the model called a tool that was not offered to it",
        );
        error.metadata.insert("tool_name".to_owned(), name.into());
        error
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            self.reason,
            super::text::one_line(&self.message)
        )
    }
}

super::sourced!(EngineError);
