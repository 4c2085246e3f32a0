//! The errors of one attempt.

use allm_core::{
    AdapterError, AdapterReason, Cause, Error, ProviderName, StreamError, StreamReason,
};

use serde_json::Value;

use super::super::answer::Answer;
use super::super::client::is_too_slow;
use super::super::decode::Fault;
use super::super::transport::BoxError;
use super::clock::Passed;

/// The texts of an error that a provider may have written.
fn texts(error: &mut Error) -> impl Iterator<Item = &mut String> {
    let error = match error {
        Error::Adapter(error) => Some(error),
        _ => None,
    };
    error.into_iter().flat_map(|error| {
        let named = [
            &mut error.provider_code,
            &mut error.provider_type,
            &mut error.param,
            &mut error.provider_request_id,
        ];
        let details = error.details.values_mut().filter_map(|value| match value {
            Value::String(text) => Some(text),
            _ => None,
        });
        std::iter::once(&mut error.message)
            .chain(named.into_iter().flatten())
            .chain(details)
    })
}

/// Leaves no text longer than this.
pub(super) fn shorten(error: &mut Error, limit: usize) {
    texts(error).for_each(|text| text.truncate(text.floor_char_boundary(limit)));
}

/// Cuts what the provider wrote, with a visible mark.
pub(super) fn cut(error: &mut Error) {
    for text in texts(error) {
        let whole = std::mem::take(text);
        *text = AdapterError::new("", AdapterReason::Unknown, whole).message;
    }
}

/// What a transport could not do: in its own words, or the connection failed.
pub(super) fn carried(provider: ProviderName, error: BoxError) -> AdapterError {
    let error = match error.downcast::<AdapterError>() {
        Ok(told) => return *told,
        Err(error) => error,
    };
    let (reason, message) = if is_too_slow(&*error) {
        (
            AdapterReason::Timeout,
            "the connection was not made in time",
        )
    } else {
        (AdapterReason::NetworkError, "the connection failed")
    };
    AdapterError {
        cause: Some(Cause::of(&*error)),
        ..AdapterError::new(provider, reason, message)
    }
}

/// The server sends us elsewhere. Only the host is told.
pub(super) fn redirected(provider: ProviderName, status: u16, target: &str) -> AdapterError {
    let target: Option<http::Uri> = target.parse().ok();
    let message = match target.as_ref().and_then(http::Uri::host) {
        Some(host) => {
            format!("the server redirects to {host}, which is not followed; check the base URL")
        }
        None => "the server redirects, which is not followed; check the base URL".to_owned(),
    };
    AdapterError {
        status: Some(status),
        ..AdapterError::new(provider, AdapterReason::MalformedResponse, message)
    }
}

/// A limit has passed.
pub(super) fn passed(passed: Passed, answer: &Answer) -> Error {
    let (stalled, message) = match passed {
        Passed::FirstByte => (false, "the server did not begin to answer in time"),
        Passed::Idle => (false, "the server fell silent"),
        Passed::Deadline => (false, "the call's deadline passed"),
        Passed::Stall => (true, "no event came in time"),
        Passed::Tail => (false, "the server did not end"),
    };
    if stalled {
        return stream(StreamReason::Stalled, message, answer).into();
    }
    if answer.has_content() {
        return stream(StreamReason::Timeout, message, answer).into();
    }
    let provider = answer.about().provider.clone();
    AdapterError::new(provider, AdapterReason::Timeout, message).into()
}

pub(super) fn cancelled(answer: &Answer) -> StreamError {
    stream(StreamReason::Cancelled, "the call was cancelled", answer)
}

/// A fault of what came: the frame of this number, of so many bytes.
pub(super) fn error(fault: Fault, answer: &Answer, frames: u64, length: usize) -> Error {
    let provider = answer.about().provider.clone();
    match fault {
        Fault::Provider(error) => (*error).into(),
        Fault::Interrupted => stream(
            StreamReason::Interrupted,
            "the stream ended without its closing event",
            answer,
        )
        .into(),
        Fault::Malformed => {
            let index = frames.saturating_sub(1);
            let message = format!("event {index} of {length} bytes is not what the wire allows");
            StreamError {
                event_index: Some(index),
                ..stream(StreamReason::MalformedEvent, &message, answer)
            }
            .into()
        }
        Fault::TooLarge => stream(
            StreamReason::EventTooLarge,
            "an event is larger than it may be",
            answer,
        )
        .into(),
        Fault::Unreadable => AdapterError::new(
            provider,
            AdapterReason::MalformedResponse,
            "the answer is neither events nor a JSON document of this wire; check the base URL",
        )
        .into(),
    }
}

fn stream(reason: StreamReason, message: &str, answer: &Answer) -> StreamError {
    let about = answer.about();
    StreamError {
        provider: Some(about.provider.clone()),
        request_id: Some(about.request_id.clone()),
        ..StreamError::new(reason, message)
    }
}
