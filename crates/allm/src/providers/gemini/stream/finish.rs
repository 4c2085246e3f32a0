//! Why an answer ended.

use allm_core::{AdapterError, AdapterReason, FinishReason, ProviderName};
use serde_json::Value;
use serde_json::value::RawValue;

/// What a `finishReason` means.
pub(super) enum Finish {
    /// The answer ended, well or cut.
    Ended(FinishReason),
    /// The provider refused what the model made.
    Failed,
}

/// The reason's word. Some servers write enums as numbers.
pub(super) fn word(raw: &RawValue) -> Option<String> {
    match serde_json::from_str(raw.get()).ok()? {
        Value::String(word) if !word.is_empty() => Some(word),
        Value::Number(number) => Some(number.to_string()).filter(|number| number != "0"),
        _ => None,
    }
}

/// Of the numbers, those that mean the same in every version.
pub(super) fn meaning(word: &str) -> Finish {
    match word {
        "STOP" | "1" => Finish::Ended(FinishReason::Stop),
        "MAX_TOKENS" | "2" => Finish::Ended(FinishReason::Length),
        "SAFETY"
        | "3"
        | "RECITATION"
        | "4"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::Ended(FinishReason::ContentFilter),
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => Finish::Failed,
        _ => Finish::Ended(FinishReason::Other),
    }
}

/// The error of an answer that the provider refused.
pub(super) fn failure(provider: &ProviderName, word: &str, message: Option<&str>) -> AdapterError {
    let message = match message {
        Some(message) => message.to_owned(),
        None => format!("{provider} ended the answer with {word}"),
    };
    AdapterError {
        message,
        provider_code: Some(word.to_owned()),
        ..AdapterError::new(provider.clone(), AdapterReason::GenerationFailed, "")
    }
}
