//! The closed sets of codes (C139), written down by hand.

use std::collections::BTreeSet;

use allm_core::{
    AdapterReason, EngineReason, ErrorKind, FailureReason, FaultCode, JsonReason, StoreReason,
    StreamReason, ToolReason, ValidationReason, json,
};

/// The codes of a set, in order, with those after which the same call may succeed later.
macro_rules! codes {
    ($($test:ident: $set:ident, retryable $retryable:expr, all $all:expr;)+) => {$(
        #[test]
        fn $test() {
            let all: &[&str] = &$all;
            let retryable: &[&str] = &$retryable;
            let codes: Vec<&str> = $set::ALL.iter().map(|reason| reason.as_str()).collect();
            assert_eq!(codes, all);
            assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len(), "a code twice");
            for reason in $set::ALL {
                let code = reason.as_str();
                assert_eq!($set::from_code(code), Some(*reason));
                assert_eq!(reason.to_string(), code);
                assert_eq!(json::value_to_string(reason), Ok(format!("\"{code}\"")));
                let read: Result<$set, _> =
                    json::value_from_slice(format!("\"{code}\"").as_bytes(), json::Limits::default());
                assert_eq!(read, Ok(*reason));
                assert_eq!(reason.is_retryable(), retryable.contains(&code), "{code}");
            }
            assert_eq!($set::from_code("no_such_code"), None);
        }
    )+};
}

codes! {
    c139_codes_of_the_engine: EngineReason, retryable [], all [
        "no_model", "invalid_model", "unknown_provider", "ambiguous_provider", "provider_disabled", "missing_key",
        "invalid_key", "key_source_failed", "invalid_config", "insecure_base_url", "secret_in_body", "unknown_tool",
    ];
    c139_codes_of_an_adapter: AdapterReason,
        retryable ["rate_limited", "provider_unavailable", "timeout", "network_error"], all [
        "authentication_failed", "permission_denied", "quota_exceeded", "rate_limited", "invalid_request",
        "model_not_found", "context_length_exceeded", "request_too_large", "content_filter", "generation_failed",
        "unsupported_feature", "provider_unavailable", "timeout", "network_error", "malformed_response",
        "no_scripted_response", "no_recorded_response", "unknown",
    ];
    c139_codes_of_a_stream: StreamReason, retryable ["interrupted", "stalled", "timeout"], all [
        "interrupted", "malformed_event", "event_too_large", "stalled", "timeout", "cancelled",
    ];
    c139_codes_of_validation: ValidationReason, retryable [], all [
        "invalid_request", "invalid_message", "invalid_tool", "invalid_thread", "invalid_session",
        "invalid_session_input", "unsupported_capability", "unsupported_option",
    ];
    c139_codes_of_json: JsonReason, retryable [], all [
        "malformed", "missing_version", "unsupported_version", "wrong_type", "unknown_field", "missing_field",
        "invalid_value", "too_deep", "too_large",
    ];
    c139_codes_of_a_tool: ToolReason, retryable [], all [
        "handler_raised", "handler_exit", "invalid_return", "not_found", "timeout", "encoding_failed",
    ];
    c139_codes_of_a_store: StoreReason, retryable ["full", "unavailable"], all [
        "not_found", "already_exists", "gone", "conflict", "fenced", "lease_held", "refused", "corrupt", "unsupported_version",
        "schema_too_new", "schema_too_old", "too_large", "full", "unavailable",
    ];
    c139_codes_of_a_failed_call: FailureReason, retryable [], all [
        "reported", "handler_raised", "handler_exit", "timeout", "invalid_return", "encoding_failed", "not_found",
        "invalid_arguments", "unknown_tool", "truncated", "cancelled", "deadline_exceeded", "budget_exhausted",
        "not_executed", "denied", "expired", "unknown_outcome",
    ];
    c139_codes_of_faults: FaultCode, retryable [], all [
        "empty", "required", "not_allowed", "not_allowed_for_role", "image_in_system_message", "unresolvable_source",
        "missing_mime_type", "unsupported_media_type", "too_large", "wrong_provider", "duplicate", "duplicate_name", "contradiction",
        "out_of_range", "must_be_positive", "below_reasoning_budget", "unanswered_tool_call", "orphan_tool_result", "duplicate_tool_result",
        "misplaced_tool_result", "invalid_format", "reserved_tool_name", "not_an_object", "invalid_schema",
        "remote_reference", "not_a_string", "not_strict", "unknown_tool", "no_tools", "reserved_key",
        "requires_json_schema", "tools_unsupported", "json_schema_unsupported", "json_object_unsupported",
        "vision_unsupported", "files_unsupported", "reasoning_unsupported", "exceeds_model_limit",
        "below_provider_minimum", "needs_finalize_pass", "unsupported",
    ];
}

#[test]
fn c139_the_kinds_have_stable_texts() {
    let kinds = [
        (ErrorKind::Engine, "engine"),
        (ErrorKind::Validation, "validation"),
        (ErrorKind::Adapter, "adapter"),
        (ErrorKind::Stream, "stream"),
        (ErrorKind::Json, "json"),
        (ErrorKind::Tool, "tool"),
        (ErrorKind::Session, "session"),
        (ErrorKind::Unfinished, "unfinished"),
    ];
    for (kind, text) in kinds {
        assert_eq!(json::value_to_string(&kind), Ok(format!("\"{text}\"")));
    }
}
