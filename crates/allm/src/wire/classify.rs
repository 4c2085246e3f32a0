//! From what a provider says of a failure to a reason.

mod body;
mod rules;

use std::time::{Duration, SystemTime};

use allm_core::{AdapterError, AdapterReason, ProviderName};
use serde_json::Value;

use super::headers;
use body::Told;

/// A failure as a provider tells it.
pub(crate) struct Failed<'a> {
    pub(crate) provider: &'a ProviderName,
    /// The status of the answer; `None` for an error inside an answer.
    pub(crate) status: Option<u16>,
    pub(crate) body: &'a [u8],
}

impl Failed<'_> {
    /// The error that the answer tells. Its text is the provider's, neither redacted nor cut yet.
    pub(crate) fn error(&self, now: SystemTime) -> AdapterError {
        match serde_json::from_slice::<Value>(self.body) {
            Ok(body) => classify(self.provider, self.status, &body, now),
            Err(_) => self.plain(),
        }
    }

    /// The error of an answer that is not JSON. Text is told, a page is not.
    fn plain(&self) -> AdapterError {
        let text = String::from_utf8_lossy(self.body);
        let text = text.trim();
        let told = !text.is_empty() && !text.starts_with('<');
        let message = if told {
            text.to_owned()
        } else {
            unnamed(self.provider, self.status)
        };
        let reason = rules::of_status(self.status.unwrap_or_default());
        AdapterError {
            message,
            status: self.status,
            ..AdapterError::new(self.provider.clone(), reason, "")
        }
    }
}

/// The error of a JSON value that tells a failure: the body of an answer, or a frame of a stream.
pub(crate) fn classify(
    provider: &ProviderName,
    status: Option<u16>,
    body: &Value,
    now: SystemTime,
) -> AdapterError {
    let told = Told::read(body);
    let in_band = status.is_none();
    let status = status.or(told.status);
    let nested = told.nested.as_deref();
    let mut reason = nested
        .and_then(|nested| nested.reason(status, true))
        .or_else(|| told.reason(status, in_band))
        .unwrap_or_else(|| match status {
            Some(status) => rules::of_status(status),
            // The name that stands beside status 400, where there is no status.
            None if told.kind.as_deref() == Some("invalid_request_error") => {
                AdapterReason::InvalidRequest
            }
            None => AdapterReason::ProviderUnavailable,
        });
    // A frame that names neither code nor status says nothing of whose fault it is.
    if in_band && reason == AdapterReason::Unknown {
        reason = AdapterReason::ProviderUnavailable;
    }
    let mut message = told
        .message
        .clone()
        .unwrap_or_else(|| unnamed(provider, status));
    if let Some(more) = nested.and_then(|nested| nested.message.as_deref())
        && !message.contains(more)
    {
        message = format!("{message}: {more}");
    }
    if status == Some(404) && reason == AdapterReason::InvalidRequest && told.param.is_none() {
        message.push_str(" (check the base URL)");
    }
    let mut error = AdapterError {
        message,
        status,
        provider_code: told.code.clone(),
        provider_type: told.kind.clone(),
        param: told.param.clone(),
        provider_request_id: told.request_id.clone(),
        retry_after: told.retry_after(now),
        ..AdapterError::new(provider.clone(), reason, "")
    };
    if let Some(failed) = told.failed_generation {
        error
            .details
            .insert("failed_generation".to_owned(), failed.into());
    }
    error
}

/// What the head of an answer adds to the error of its body.
pub(crate) fn with_head(
    mut error: AdapterError,
    head: &http::HeaderMap,
    now: SystemTime,
) -> AdapterError {
    let asked: Option<Duration> = headers::retry_after(head, now);
    error.retry_after = error.retry_after.max(asked);
    if let Some(should_retry) = headers::should_retry(head) {
        error
            .details
            .insert("should_retry".to_owned(), should_retry.into());
    }
    if let Some(id) = headers::request_id(head) {
        error.provider_request_id = Some(id.to_owned());
    }
    error
}

fn unnamed(provider: &ProviderName, status: Option<u16>) -> String {
    match status {
        Some(status) => format!("{provider} HTTP {status}"),
        None => format!("{provider} reported an error"),
    }
}

#[cfg(test)]
mod tests;
