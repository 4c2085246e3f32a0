use allm_core::AdapterReason::{self, *};
use serde_json::json;

use super::*;

fn error(status: u16, body: &Value) -> AdapterError {
    let provider = ProviderName::from("acme");
    let body = body.to_string();
    let failed = Failed {
        provider: &provider,
        status: Some(status),
        body: body.as_bytes(),
    };
    failed.error(SystemTime::UNIX_EPOCH)
}

fn reason(status: u16, body: Value) -> AdapterReason {
    error(status, &body).reason
}

fn plain(status: u16, body: &str) -> AdapterError {
    let provider = ProviderName::from("acme");
    Failed {
        provider: &provider,
        status: Some(status),
        body: body.as_bytes(),
    }
    .error(SystemTime::UNIX_EPOCH)
}

/// P44: each code of the table, in either case, in each place where one may stand.
#[test]
fn p44_codes() {
    let rows: [(&str, AdapterReason); 40] = [
        ("invalid_api_key", AuthenticationFailed),
        ("authentication_error", AuthenticationFailed),
        ("API_KEY_INVALID", AuthenticationFailed),
        ("UNAUTHENTICATED", AuthenticationFailed),
        ("invalid_authentication", AuthenticationFailed),
        ("permission_error", PermissionDenied),
        ("PERMISSION_DENIED", PermissionDenied),
        ("permission_denied", PermissionDenied),
        ("forbidden", PermissionDenied),
        ("insufficient_quota", QuotaExceeded),
        ("insufficient_balance", QuotaExceeded),
        ("billing_error", QuotaExceeded),
        ("billing_hard_limit_reached", QuotaExceeded),
        ("rate_limit_error", RateLimited),
        ("rate_limit_exceeded", RateLimited),
        ("rate_limited", RateLimited),
        ("RateLimitReached", RateLimited),
        ("too_many_requests", RateLimited),
        ("too_many_requests_error", RateLimited),
        ("request_quota_exceeded", RateLimited),
        ("RESOURCE_EXHAUSTED", RateLimited),
        ("ThrottlingException", RateLimited),
        ("context_length_exceeded", ContextLengthExceeded),
        ("exceed_context_size_error", ContextLengthExceeded),
        ("too_many_prompt_tokens", ContextLengthExceeded),
        ("content_filter", ContentFilter),
        ("content_policy_violation", ContentFilter),
        ("ResponsibleAIPolicyViolation", ContentFilter),
        ("model_not_found", ModelNotFound),
        ("DeploymentNotFound", ModelNotFound),
        ("model_decommissioned", ModelNotFound),
        ("invalid_model", ModelNotFound),
        ("request_too_large", RequestTooLarge),
        ("tool_use_failed", GenerationFailed),
        ("not_supported_error", UnsupportedFeature),
        ("UNIMPLEMENTED", UnsupportedFeature),
        ("overloaded_error", ProviderUnavailable),
        ("INTERNAL", ProviderUnavailable),
        ("timeout_error", Timeout),
        ("DEADLINE_EXCEEDED", Timeout),
    ];
    for (code, expected) in rows {
        for code in [code.to_owned(), code.to_lowercase(), code.to_uppercase()] {
            assert_eq!(
                reason(418, json!({"error": {"code": code}})),
                expected,
                "{code}"
            );
            assert_eq!(
                reason(418, json!({"error": {"type": code}})),
                expected,
                "{code}"
            );
            assert_eq!(
                reason(418, json!({"error": {"status": code}})),
                expected,
                "{code}"
            );
            assert_eq!(reason(418, json!({"code": code})), expected, "{code}");
            assert_eq!(
                reason(418, json!({"error": {"details": [{"reason": code}]}})),
                expected,
                "{code}"
            );
        }
    }
}

#[test]
fn p44_statuses() {
    let rows = [
        (400, InvalidRequest),
        (401, AuthenticationFailed),
        (402, QuotaExceeded),
        (403, PermissionDenied),
        (404, InvalidRequest),
        (405, InvalidRequest),
        (408, Timeout),
        (409, ProviderUnavailable),
        (413, RequestTooLarge),
        (415, InvalidRequest),
        (418, Unknown),
        (422, InvalidRequest),
        (425, ProviderUnavailable),
        (429, RateLimited),
        (500, ProviderUnavailable),
        (501, UnsupportedFeature),
        (502, ProviderUnavailable),
        (524, ProviderUnavailable),
        (529, ProviderUnavailable),
        (599, ProviderUnavailable),
        (302, MalformedResponse),
    ];
    for (status, expected) in rows {
        assert_eq!(reason(status, json!({})), expected, "{status}");
        assert_eq!(plain(status, "").reason, expected, "{status}");
    }
}

#[test]
fn p29_bodies_that_are_not_json() {
    assert_eq!(plain(500, "").message, "acme HTTP 500");
    assert_eq!(
        plain(502, "<html><body>Bad gateway").message,
        "acme HTTP 502"
    );
    assert_eq!(
        plain(503, "upstream connect error\n").message,
        "upstream connect error"
    );
}

#[test]
fn p45_p46_quotas() {
    for status in [400, 429] {
        let error = error(status, &json!({"error": {"code": "insufficient_quota"}}));
        assert_eq!(error.reason, QuotaExceeded);
        assert!(!error.reason.is_retryable());
    }
    assert_eq!(
        reason(429, json!({"error": {"code": "request_quota_exceeded"}})),
        RateLimited
    );
    let daily = json!({"error": {"status": "RESOURCE_EXHAUSTED", "details": [{
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}],
    }]}});
    assert_eq!(reason(429, daily), QuotaExceeded);
}

#[test]
fn p47_to_p54_and_p59_real_ones() {
    // P47 to P54, P59.
    let rows = [
        (
            400,
            json!({"error": {"details": [{"reason": "API_KEY_INVALID"}]}}),
            AuthenticationFailed,
        ),
        (
            400,
            json!({"code": "bad", "error": "Incorrect API key provided: x"}),
            AuthenticationFailed,
        ),
        (
            400,
            json!({"error": {"type": "invalid_request_error", "message": "prompt is too long: 3333404 tokens > 200000 maximum"}}),
            ContextLengthExceeded,
        ),
        (
            400,
            json!({"error": {"message": "max_tokens: 9999999 > 8192, which is the maximum"}}),
            InvalidRequest,
        ),
        (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error"}}),
            ContextLengthExceeded,
        ),
        (
            404,
            json!({"error": {"type": "not_found_error", "message": "model: x"}}),
            ModelNotFound,
        ),
        (
            404,
            json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "models/x is not found"}}),
            ModelNotFound,
        ),
        (
            404,
            json!({"error": {"code": "404", "message": "Resource not found"}}),
            InvalidRequest,
        ),
        (
            404,
            json!({"error": {"message": "tools is not supported in this model"}}),
            InvalidRequest,
        ),
        (
            404,
            json!({"error": {"message": "No endpoints found for x/y"}}),
            ModelNotFound,
        ),
        (
            404,
            json!({"error": {"message": "No endpoints found that support tool use. To learn more about models …"}}),
            UnsupportedFeature,
        ),
        (
            400,
            json!({"error": {"code": "invalid_request_error", "message": "The supported API model names are a or b, but you passed c."}}),
            ModelNotFound,
        ),
        (404, json!({"error": "model 'x' not found"}), ModelNotFound),
        (
            400,
            json!({"error": {"message": "Model not found: x"}}),
            ModelNotFound,
        ),
        (
            400,
            json!({"error": {"message": "x is not a valid model ID"}}),
            ModelNotFound,
        ),
        (
            503,
            json!({"error": {"status": "UNAVAILABLE"}}),
            ProviderUnavailable,
        ),
        (
            529,
            json!({"error": {"type": "overloaded_error"}}),
            ProviderUnavailable,
        ),
        (
            500,
            json!({"error": {"type": "api_error"}}),
            ProviderUnavailable,
        ),
        (
            403,
            json!({"error": {"type": "api_error"}}),
            PermissionDenied,
        ),
    ];
    for (status, body, expected) in rows {
        assert_eq!(reason(status, body.clone()), expected, "{body}");
    }
    let hint = error(
        404,
        &json!({"error": {"code": "404", "message": "Resource not found"}}),
    );
    assert_eq!(hint.message, "Resource not found (check the base URL)");
}

#[test]
fn p56_p57_whom_the_provider_asked() {
    let nested = json!({"error": {"code": 403, "message": "Provider returned error", "metadata": {
        "raw": "{\"error\": {\"message\": \"Content violates usage guidelines.\"}}",
    }}});
    let error = error(403, &nested);
    assert_eq!(error.reason, ContentFilter);
    assert_eq!(
        error.message,
        "Provider returned error: Content violates usage guidelines."
    );
    assert_eq!(
        reason(403, json!({"error": {"message": "no"}})),
        PermissionDenied
    );
    let text = json!({"error": {"message": "Provider returned error", "metadata": {"raw": "maximum context length"}}});
    assert_eq!(reason(400, text), ContextLengthExceeded);
}

#[test]
fn p58_what_the_model_made() {
    let body = json!({"error": {"code": "tool_use_failed", "message": "no", "failed_generation": "x".repeat(5000)}});
    let error = error(400, &body);
    assert_eq!(error.reason, GenerationFailed);
    let kept = error.details["failed_generation"].as_str().expect("text");
    assert_eq!(kept.len(), 5000, "it is cut when it was redacted");
}

#[test]
fn p60_p61_where_the_text_stands() {
    for body in [
        json!({"error": {"message": "text"}}),
        json!({"error": "text"}),
        json!({"message": "text"}),
        json!({"Message": "text"}),
        json!({"detail": "text"}),
        json!({"detail": {"message": "text"}}),
        json!({"detail": [{"msg": "text"}]}),
        json!([{"error": {"message": "text"}}]),
    ] {
        assert_eq!(error(500, &body).message, "text", "{body}");
    }
    for body in [
        json!({"error": 7}),
        json!({"error": {"message": null}}),
        json!({}),
        json!(null),
        json!([]),
    ] {
        assert_eq!(error(500, &body).message, "acme HTTP 500", "{body}");
    }
}

#[test]
fn p62_codes_of_any_type() {
    for code in [
        json!(400),
        json!("400"),
        json!(null),
        json!({}),
        json!(1e300),
    ] {
        let error = error(400, &json!({"error": {"code": code, "message": "m"}}));
        assert_eq!(error.reason, InvalidRequest);
    }
    assert_eq!(
        error(400, &json!({"error": {"code": 7}}))
            .provider_code
            .as_deref(),
        Some("7")
    );
}

#[test]
fn p63_p64_when_to_try_again() {
    let mut head = http::HeaderMap::new();
    head.insert("x-should-retry", "false".parse().expect("a value"));
    head.insert("retry-after-ms", "660".parse().expect("a value"));
    let told = with_head(error(529, &json!({})), &head, SystemTime::UNIX_EPOCH);
    assert_eq!(told.details["should_retry"], false);
    assert_eq!(told.retry_after, Some(Duration::from_millis(660)));
    let google = json!({"error": {"details": [{"retryDelay": "13s"}]}});
    assert_eq!(
        error(429, &google).retry_after,
        Some(Duration::from_secs(13))
    );
    let router = json!({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "5000"}}}});
    assert_eq!(
        error(429, &router).retry_after,
        Some(Duration::from_secs(5))
    );
}

#[test]
fn p68_p72_in_band() {
    let provider = ProviderName::from("acme");
    let of = |body: Value| classify(&provider, None, &body, SystemTime::UNIX_EPOCH);
    assert_eq!(
        of(json!({"error": {"code": 502, "message": "x"}})).reason,
        ProviderUnavailable
    );
    assert_eq!(of(json!({"error": {"code": 502}})).status, Some(502));
    assert_eq!(
        of(json!({"error": {"status_code": 400, "code": "tool_use_failed"}})).reason,
        GenerationFailed
    );
    assert_eq!(
        of(json!({"choices": [{"error": {"code": 429}}]})).reason,
        RateLimited
    );
    assert_eq!(
        of(json!({"x_groq": {"error": {"code": "400"}}})).reason,
        InvalidRequest
    );
    assert_eq!(
        of(json!({"error": {"code": "content_filter"}})).reason,
        ContentFilter
    );
    assert_eq!(
        of(json!({"error": {"message": "what"}})).reason,
        ProviderUnavailable
    );
    // P73.
    assert_eq!(
        of(json!({"code": "rate_limit_exceeded", "message": "slow down"})).reason,
        RateLimited
    );
    let large = json!({"code": "rate_limit_exceeded", "message": "Request too large for gpt"});
    assert_eq!(of(large).reason, RequestTooLarge);
}
