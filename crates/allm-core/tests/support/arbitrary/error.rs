//! Errors of every family.

use allm_core::{
    AdapterError, AdapterReason, Cause, EngineError, EngineReason, Error, Fault, FaultCode,
    Interrupted, JsonError, JsonReason, StreamError, StreamReason, ToolError, ToolReason,
    Unfinished, ValidationError, ValidationReason,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::response::any_response;
use super::result::any_halt;
use super::text::{
    any_map, any_path, any_text, maybe_millis, maybe_named, maybe_text, maybe_u64, named,
};

/// Up to three levels of cause.
fn maybe_cause() -> impl Strategy<Value = Option<Cause>> {
    vec(any_text(), 0..4).prop_map(|messages| {
        messages.into_iter().fold(None, |source, message| {
            Some(Cause {
                message,
                source: source.map(Box::new),
            })
        })
    })
}

fn any_engine_error() -> impl Strategy<Value = EngineError> {
    let rest = (
        maybe_named(),
        vec(any_text(), 0..2),
        any_map(),
        maybe_cause(),
    );
    (select(EngineReason::ALL), any_text(), rest).prop_map(|(reason, message, rest)| {
        let (provider, checked, metadata, cause) = rest;
        EngineError {
            reason,
            message,
            provider,
            checked,
            metadata,
            cause,
        }
    })
}

fn any_validation_error() -> impl Strategy<Value = ValidationError> {
    let fault = (any_path(), select(FaultCode::ALL), maybe_text())
        .prop_map(|(path, code, detail)| Fault { path, code, detail });
    (select(ValidationReason::ALL), vec(fault, 0..4))
        .prop_map(|(reason, faults)| ValidationError { reason, faults })
}

fn any_adapter_error() -> impl Strategy<Value = AdapterError> {
    let told = (
        select(AdapterReason::ALL),
        any_text(),
        named(),
        any::<Option<u16>>(),
    );
    let theirs = (maybe_text(), maybe_text(), maybe_text(), maybe_text());
    let ours = (
        maybe_named(),
        maybe_millis(),
        any::<Option<u32>>(),
        any_map(),
        maybe_cause(),
    );
    (told, theirs, ours).prop_map(|(told, theirs, ours)| {
        let (reason, message, provider, status) = told;
        let (provider_code, provider_type, param, provider_request_id) = theirs;
        let (request_id, retry_after, attempts, details, cause) = ours;
        AdapterError {
            reason,
            message,
            provider,
            status,
            provider_code,
            provider_type,
            param,
            provider_request_id,
            request_id,
            retry_after,
            attempts,
            details: Box::new(details),
            cause,
        }
    })
}

fn any_stream_error() -> impl Strategy<Value = StreamError> {
    let rest = (maybe_named(), maybe_u64(), maybe_named(), maybe_cause());
    (select(StreamReason::ALL), any_text(), rest).prop_map(|(reason, message, rest)| {
        let (provider, event_index, request_id, cause) = rest;
        StreamError {
            reason,
            message,
            provider,
            event_index,
            request_id,
            cause,
        }
    })
}

fn any_json_error() -> impl Strategy<Value = JsonError> {
    (
        select(JsonReason::ALL),
        any_path(),
        maybe_u64(),
        maybe_u64(),
        maybe_u64(),
        any_text(),
    )
        .prop_map(|(reason, path, line, column, found, message)| JsonError {
            reason,
            path,
            line,
            column,
            found,
            message,
        })
}

fn any_tool_error() -> impl Strategy<Value = ToolError> {
    let rest = (maybe_named(), maybe_named(), maybe_cause(), any_map());
    (select(ToolReason::ALL), any_text(), rest).prop_map(|(reason, message, rest)| {
        let (tool_name, tool_call_id, cause, metadata) = rest;
        ToolError {
            reason,
            message,
            tool_name,
            tool_call_id,
            cause,
            metadata,
        }
    })
}

/// An error that a [`Failure`](allm_core::Failure) can hold whole, but for its cause.
pub(crate) fn any_failure_error() -> BoxedStrategy<Error> {
    prop_oneof![
        any_engine_error().prop_map(Error::from),
        any_validation_error().prop_map(Error::from),
        any_adapter_error().prop_map(Error::from),
        any_stream_error().prop_map(Error::from),
        any_json_error().prop_map(Error::from),
        any_tool_error().prop_map(Error::from),
    ]
    .boxed()
}

/// Any error, with the answers that two of them carry.
pub(crate) fn any_error() -> BoxedStrategy<Error> {
    let unfinished = (of(any_response()), of(any_halt())).prop_map(|(partial, halted_reason)| {
        Error::from(Unfinished {
            partial,
            halted_reason,
        })
    });
    let interrupted = (any_response(), any_failure_error(), of(any_response())).prop_map(
        |(partial, source, outer)| {
            let inner = Error::from(Interrupted { partial, source });
            match outer {
                Some(partial) => Error::from(Interrupted {
                    partial,
                    source: inner,
                }),
                None => inner,
            }
        },
    );
    prop_oneof![4 => any_failure_error(), 1 => unfinished, 1 => interrupted].boxed()
}
