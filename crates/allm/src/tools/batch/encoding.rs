//! Asking the encoder, which may fail, panic or hang.

use std::sync::Arc;

use allm_core::encode::bound;
use allm_core::run::ToolOutcome;
use allm_core::{
    CallFailure, JsonEncoder, ReplyValue, ToolError, ToolFailure, ToolReason, ToolResultEncoder,
};
use serde_json::Value;

use super::super::executor::joined;
use super::super::settings::RunnerSettings;
use super::super::wait::Owned;
use crate::panics::caught;

/// The value and its text. An encoder of the caller's runs off the async threads, where it can hang alone.
pub(super) async fn encoded(
    encoder: Option<&Arc<dyn ToolResultEncoder>>,
    value: ReplyValue,
) -> Result<(Value, String), ToolError> {
    let value = value.into_inner().map_err(|error| failed(error.message))?;
    let Some(encoder) = encoder.cloned() else {
        return encode(&JsonEncoder, value);
    };
    match Owned::blocking(move || encode(&*encoder, value)).await {
        Ok(encoded) => encoded,
        Err(error) => Err(joined(error)),
    }
}

fn encode(encoder: &dyn ToolResultEncoder, value: Value) -> Result<(Value, String), ToolError> {
    match caught(|| encoder.encode(&value)) {
        Ok(Ok(content)) => Ok((value, content)),
        Ok(Err(error)) => Err(failed(error.message)),
        Err(panic) => Err(failed(panic)),
    }
}

fn failed(cause: String) -> ToolError {
    let message = "the value could not be made into text";
    ToolError::new(ToolReason::EncodingFailed, message).cause(cause)
}

/// The text of a failure as the caller's encoder has it; `None` when the stable form is to be used.
pub(super) async fn failure_text(
    encoder: Arc<dyn ToolResultEncoder>,
    failure: Arc<ToolFailure>,
    report: CallFailure,
) -> Option<String> {
    let encode = move || caught(|| encoder.encode_failure(&failure, &report));
    Owned::blocking(encode).await.ok()?.ok()?.ok()
}

/// What a value that did not come from a handler makes of a call. An encoder that fails is done without.
pub(crate) async fn encoded_value(settings: &RunnerSettings, value: Value) -> ToolOutcome {
    let reply = ReplyValue::from(value.clone());
    let (value, content) = match encoded(settings.encoder.as_ref(), reply).await {
        Ok(encoded) => encoded,
        Err(_) => encode(&JsonEncoder, value).unwrap_or_default(),
    };
    let content = bound(content, settings.max_tool_output);
    ToolOutcome::replied(value, content)
}
