//! What a model answered.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::Map;
use super::finish::FinishReason;
use super::id::{ProviderName, RequestId, ResponseId};
use super::message::Message;
use super::part::Part;
use super::tool_call::ToolCall;
use super::usage::Usage;
use crate::error::{Error, Failure, Interrupted, Unfinished};
use crate::json::{self, RawJson};
use crate::path::Path;

/// What a model answered. It may be partial or failed: look at `finish_reason`, or use
/// [`into_result`](Self::into_result).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[must_use = "an answer may have failed: look at finish_reason or use into_result()"]
pub struct Response {
    /// The provider's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ResponseId>,
    /// Our id of the outermost call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The provider's id of the request, from headers or body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_request_id: Option<String>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// The model that really answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The assistant message.
    pub message: Message,
    /// Why the model stopped; `None` when a properly closed answer named no reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// The provider's own word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_finish_reason: Option<String>,
    /// What the call used.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// The failure; set exactly when `finish_reason` is `Error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What was left out or looked odd.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the provider says of its limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// Provider facts without a field here.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub extra: Map,
    /// The caller's own, and what the adapter's events carried as metadata.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
    /// The provider's body; only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawJson>,
}

impl Response {
    /// An answer with nothing but its message.
    pub fn new(message: Message) -> Self {
        Self {
            id: None,
            request_id: None,
            provider_request_id: None,
            provider: None,
            model: None,
            message,
            finish_reason: None,
            raw_finish_reason: None,
            usage: Usage::default(),
            error: None,
            warnings: Vec::new(),
            rate_limit: None,
            extra: Map::new(),
            metadata: Map::new(),
            raw: None,
        }
    }

    /// The visible text as it arrived, partial or not.
    #[must_use]
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// The readable thinking; parts are joined with nothing between them.
    #[must_use]
    pub fn reasoning(&self) -> String {
        let texts = self.message.content.iter().filter_map(|part| match part {
            Part::Reasoning(part) => part.text.as_deref(),
            _ => None,
        });
        texts.collect()
    }

    /// The provider's refusal, if it refused.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.message.content.iter().find_map(|part| match part {
            Part::Refusal(part) => Some(part.text.as_str()),
            _ => None,
        })
    }

    /// The calls that the model made.
    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        &self.message.tool_calls
    }

    /// This answer, unless it failed.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] with the partial answer and the failure.
    pub fn into_result(self) -> Result<Self, Error> {
        match (&self.finish_reason, &self.error) {
            (Some(FinishReason::Error), _) | (_, Some(_)) => Err(Interrupted::new(self).into()),
            _ => Ok(self),
        }
    }

    /// The text of an answer that ended with `stop`.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] when it failed, [`Error::Unfinished`] when it ended for another reason.
    pub fn into_text(self) -> Result<String, Error> {
        let response = self.into_result()?;
        match response.finish_reason {
            Some(FinishReason::Stop) => Ok(response.text()),
            _ => Err(Unfinished::new(response).into()),
        }
    }

    /// The text as JSON of a type of the caller's. Nothing is repaired.
    ///
    /// # Errors
    ///
    /// The path of the first fault; [`Error::Unfinished`] or [`Error::Interrupted`] for an answer that was cut or
    /// failed.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if self.finish_reason.is_some_and(FinishReason::is_cut) || self.error.is_some() {
            let response = self.clone().into_result()?;
            return Err(Unfinished::new(response).into());
        }
        Ok(json::value_from_slice(
            self.text().as_bytes(),
            json::Limits::default(),
        )?)
    }
}

/// Something that was left out or looked odd, and did not stop the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// A stable snake_case code, such as `option_dropped`.
    pub code: String,
    /// Where in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What a provider says of its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Counted in requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RateWindow>,
    /// Counted in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<RateWindow>,
}

/// One limit of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateWindow {
    /// How many in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How many are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// When it begins anew, from the answer on.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::data::millis::option"
    )]
    pub reset: Option<Duration>,
}
