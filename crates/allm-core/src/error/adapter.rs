//! What a provider answered instead of an answer.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::cause::Cause;
use super::reason::reasons;
use super::text::{cut, one_line};
use crate::data::{Map, ProviderName, RequestId};

reasons! {
    /// Why a provider gave no answer.
    AdapterReason, retryable [RateLimited, ProviderUnavailable, Timeout, NetworkError] {
        /// The key is not accepted.
        AuthenticationFailed => "authentication_failed",
        /// The key is accepted, but not for this.
        PermissionDenied => "permission_denied",
        /// The account has nothing left.
        QuotaExceeded => "quota_exceeded",
        /// Too many requests, for now.
        RateLimited => "rate_limited",
        /// The provider does not accept the request.
        InvalidRequest => "invalid_request",
        /// No such model.
        ModelNotFound => "model_not_found",
        /// The conversation is too long for the model.
        ContextLengthExceeded => "context_length_exceeded",
        /// The body is too large.
        RequestTooLarge => "request_too_large",
        /// The provider filtered prompt or answer.
        ContentFilter => "content_filter",
        /// The provider refused the model's own output.
        GenerationFailed => "generation_failed",
        /// The provider cannot do what was asked.
        UnsupportedFeature => "unsupported_feature",
        /// The provider is down or overloaded.
        ProviderUnavailable => "provider_unavailable",
        /// Nothing came in time.
        Timeout => "timeout",
        /// The connection failed.
        NetworkError => "network_error",
        /// The answer cannot be read.
        MalformedResponse => "malformed_response",
        /// The scripted provider has no reply left.
        NoScriptedResponse => "no_scripted_response",
        /// The recording has no answer to this request, or none that goes on.
        NoRecordedResponse => "no_recorded_response",
        /// None of these.
        Unknown => "unknown",
    }
}

/// What a provider answered instead of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterError {
    /// Why.
    pub reason: AdapterReason,
    /// The provider's words, redacted and cut to 2 KiB, or ours.
    pub message: String,
    /// Who.
    pub provider: ProviderName,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_code: Option<String>,
    /// The provider's own type of error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_type: Option<String>,
    /// The parameter that the provider names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_request_id: Option<String>,
    /// Our id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// How long the provider asks to wait, uncapped.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::data::millis::option"
    )]
    pub retry_after: Option<Duration>,
    /// How often it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// More, redacted. Boxed, so that errors are small also where maps are large.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub details: Box<Map>,
    /// What it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// The longest text of a provider that an error keeps, in bytes.
pub const MAX_PROVIDER_TEXT: usize = 2048;

impl AdapterError {
    /// An error with nothing but reason, message and provider. The message is cut to 2 KiB with a visible mark.
    pub fn new(
        provider: impl Into<ProviderName>,
        reason: AdapterReason,
        message: impl Into<String>,
    ) -> Self {
        Self {
            reason,
            message: cut(message.into(), MAX_PROVIDER_TEXT),
            provider: provider.into(),
            status: None,
            provider_code: None,
            provider_type: None,
            param: None,
            provider_request_id: None,
            request_id: None,
            retry_after: None,
            attempts: None,
            details: Box::default(),
            cause: None,
        }
    }
}

impl fmt::Display for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", one_line(self.provider.as_str()), self.reason)?;
        if let Some(status) = self.status {
            write!(f, " (status {status})")?;
        }
        write!(f, ": {}", one_line(&self.message))
    }
}

super::sourced!(AdapterError);
