//! The tables: codes, words, statuses.

use allm_core::AdapterReason::{self, *};

/// Codes, in lower case, and their reason; the first row that holds one counts.
const CODES: &[(&[&str], AdapterReason)] = &[
    (
        &[
            "invalid_api_key",
            "authentication_error",
            "api_key_invalid",
            "unauthenticated",
            "invalid_authentication",
        ],
        AuthenticationFailed,
    ),
    (
        &["permission_error", "permission_denied", "forbidden"],
        PermissionDenied,
    ),
    (
        &[
            "insufficient_quota",
            "insufficient_balance",
            "billing_error",
            "billing_hard_limit_reached",
        ],
        QuotaExceeded,
    ),
    (
        &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "ratelimitreached",
            "too_many_requests",
            "too_many_requests_error",
            "request_quota_exceeded",
            "resource_exhausted",
            "throttlingexception",
        ],
        RateLimited,
    ),
    (
        &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "too_many_prompt_tokens",
        ],
        ContextLengthExceeded,
    ),
    (
        &[
            "content_filter",
            "content_policy_violation",
            "responsibleaipolicyviolation",
        ],
        ContentFilter,
    ),
    (
        &[
            "model_not_found",
            "deploymentnotfound",
            "model_decommissioned",
            "invalid_model",
        ],
        ModelNotFound,
    ),
    (&["request_too_large"], RequestTooLarge),
    (&["tool_use_failed"], GenerationFailed),
    (
        &["not_supported_error", "unimplemented"],
        UnsupportedFeature,
    ),
    (
        &[
            "overloaded_error",
            "api_error",
            "server_error",
            "internal_server_error",
            "unavailable",
            "internal",
        ],
        ProviderUnavailable,
    ),
    (&["timeout_error", "deadline_exceeded"], Timeout),
];

/// Words in a message, in lower case, and their reason.
const WORDS: &[(&str, AdapterReason)] = &[
    ("prompt is too long", ContextLengthExceeded),
    ("prompt too long", ContextLengthExceeded),
    ("maximum context length", ContextLengthExceeded),
    ("exceeds the context window", ContextLengthExceeded),
    ("exceed context limit", ContextLengthExceeded),
    ("exceeds the available context size", ContextLengthExceeded),
    (
        "exceeds the maximum number of tokens",
        ContextLengthExceeded,
    ),
    ("incorrect api key", AuthenticationFailed),
    ("violates usage guidelines", ContentFilter),
    ("malformed function call", GenerationFailed),
    // The model is there, but not with what was asked for.
    ("no endpoints found that support", UnsupportedFeature),
    ("no endpoints found", ModelNotFound),
    ("supported api model names", ModelNotFound),
];

/// What is said of a model that is not there.
const NO_MODEL: [&str; 6] = [
    "not found",
    "does not exist",
    "not a valid model",
    "deprecated",
    "no longer",
    "has ended",
];

/// The reason that a code names.
pub(super) fn of_codes(
    codes: &[String],
    message: &str,
    status: Option<u16>,
) -> Option<AdapterReason> {
    let codes: Vec<String> = codes.iter().map(|code| code.to_lowercase()).collect();
    let has = |code: &str| codes.iter().any(|known| known == code);
    // Checked first: waiting cannot help.
    if begins_with(message, "request too large") {
        return Some(RequestTooLarge);
    }
    let not_found = has("not_found_error") || has("not_found");
    if not_found && message.to_lowercase().contains("model") {
        return Some(ModelNotFound);
    }
    let (_, reason) = CODES
        .iter()
        .find(|(row, _)| row.iter().any(|code| has(code)))?;
    let by_key = matches!(status, Some(401 | 403));
    (*reason != ProviderUnavailable || !by_key).then_some(*reason)
}

fn begins_with(message: &str, words: &str) -> bool {
    message
        .get(..words.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(words))
}

/// The reason that the words of a message name.
pub(super) fn of_words(message: &str) -> Option<AdapterReason> {
    let message = message.to_lowercase();
    let said = WORDS.iter().find(|(words, _)| message.contains(words));
    if let Some((_, reason)) = said {
        return Some(*reason);
    }
    let no_model =
        message.contains("model") && NO_MODEL.iter().any(|words| message.contains(words));
    no_model.then_some(ModelNotFound)
}

/// The reason of a status alone.
pub(super) const fn of_status(status: u16) -> AdapterReason {
    match status {
        400 | 404 | 405 | 415 | 422 => InvalidRequest,
        401 => AuthenticationFailed,
        402 => QuotaExceeded,
        403 => PermissionDenied,
        408 => Timeout,
        409 | 425 => ProviderUnavailable,
        413 => RequestTooLarge,
        429 => RateLimited,
        501 => UnsupportedFeature,
        500..=599 => ProviderUnavailable,
        300..=399 => MalformedResponse,
        _ => Unknown,
    }
}
