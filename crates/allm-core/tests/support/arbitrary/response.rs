//! Answers, usage and failures as data.

use allm_core::{Cost, ErrorKind, Failure, RateLimit, RateWindow, Response, Usage, Warning};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::message::{any_finish, any_message};
use super::text::{
    any_float, any_map, any_path, any_raw_json, any_text, maybe_float, maybe_millis, maybe_named,
    maybe_text, maybe_u64,
};

/// What a call used.
pub(crate) fn any_usage() -> BoxedStrategy<Usage> {
    let cost =
        (maybe_float(), maybe_float(), any_float()).prop_map(|(input, output, total)| Cost {
            input,
            output,
            total,
        });
    let counters = [
        maybe_u64(),
        maybe_u64(),
        maybe_u64(),
        maybe_u64(),
        maybe_u64(),
        maybe_u64(),
    ];
    let full = (counters, of(cost), any_map()).prop_map(|(counters, cost, extra)| {
        let [input, output, total, cached, written, reasoning] = counters;
        Usage {
            input_tokens: input,
            output_tokens: output,
            total_tokens: total,
            cached_input_tokens: cached,
            cache_write_input_tokens: written,
            reasoning_tokens: reasoning,
            cost,
            extra,
        }
    });
    prop_oneof![1 => Just(Usage::default()), 3 => full].boxed()
}

/// A failure from anywhere, of any family and with any code.
pub(crate) fn any_failure() -> BoxedStrategy<Failure> {
    let kind = select(vec![
        ErrorKind::Engine,
        ErrorKind::Validation,
        ErrorKind::Adapter,
        ErrorKind::Stream,
        ErrorKind::Json,
        ErrorKind::Tool,
        ErrorKind::Session,
        ErrorKind::Unfinished,
    ]);
    (kind, any_text(), any_text(), any_map())
        .prop_map(|(kind, reason, message, metadata)| Failure {
            kind,
            reason,
            message,
            metadata,
        })
        .boxed()
}

pub(super) fn any_warnings() -> impl Strategy<Value = Vec<Warning>> {
    let warning = (any_text(), of(any_path()), maybe_text())
        .prop_map(|(code, path, detail)| Warning { code, path, detail });
    vec(warning, 0..2)
}

pub(super) fn any_rate_limit() -> impl Strategy<Value = RateLimit> {
    let window = || {
        let window = (maybe_u64(), maybe_u64(), maybe_millis());
        of(window.prop_map(|(limit, remaining, reset)| RateWindow {
            limit,
            remaining,
            reset,
        }))
    };
    (window(), window()).prop_map(|(requests, tokens)| RateLimit { requests, tokens })
}

/// Any answer, consistent or not.
pub(crate) fn any_response() -> BoxedStrategy<Response> {
    let simple = (any_message(), any_finish()).prop_map(|(message, finish_reason)| Response {
        finish_reason,
        ..Response::new(message)
    });
    let ids = (
        maybe_named(),
        maybe_named(),
        maybe_text(),
        maybe_named(),
        maybe_text(),
    );
    let answer = (
        any_message(),
        any_finish(),
        maybe_text(),
        any_usage(),
        of(any_failure()),
    );
    let rest = (
        any_warnings(),
        of(any_rate_limit()),
        any_map(),
        any_map(),
        of(any_raw_json()),
    );
    let full = (ids, answer, rest).prop_map(|(ids, answer, rest)| {
        let (id, request_id, provider_request_id, provider, model) = ids;
        let (message, finish_reason, raw_finish_reason, usage, error) = answer;
        let (warnings, rate_limit, extra, metadata, raw) = rest;
        Response {
            id,
            request_id,
            provider_request_id,
            provider,
            model,
            message,
            finish_reason,
            raw_finish_reason,
            usage,
            error,
            warnings,
            rate_limit,
            extra,
            metadata,
            raw,
        }
    });
    prop_oneof![simple, full].boxed()
}
