"""From what a package raised to the reasons of docs/contract/providers.md, 1.4."""

from __future__ import annotations

import json
from typing import Any, Iterator

from verdict import Fault

# In order: the first row that knows one of the words decides.
ROWS: list[tuple[str, set[str]]] = [
    (
        "authentication_failed",
        {"invalid_api_key", "authentication_error", "api_key_invalid", "unauthenticated", "invalid_authentication"},
    ),
    ("permission_denied", {"permission_error", "permission_denied", "forbidden"}),
    ("quota_exceeded", {"insufficient_quota", "insufficient_balance", "billing_error", "billing_hard_limit_reached"}),
    (
        "rate_limited",
        {
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "ratelimitreached",
            "too_many_requests",
            "too_many_requests_error",
            "request_quota_exceeded",
            "resource_exhausted",
            "throttlingexception",
        },
    ),
    ("context_length_exceeded", {"context_length_exceeded", "exceed_context_size_error", "too_many_prompt_tokens"}),
    ("content_filter", {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}),
    ("model_not_found", {"model_not_found", "deploymentnotfound", "model_decommissioned", "invalid_model"}),
    ("request_too_large", {"request_too_large"}),
    ("generation_failed", {"tool_use_failed"}),
    ("unsupported_feature", {"not_supported_error", "unimplemented"}),
    (
        "provider_unavailable",
        {"overloaded_error", "api_error", "server_error", "internal_server_error", "unavailable", "internal"},
    ),
    ("timeout", {"timeout_error", "deadline_exceeded"}),
]

CONTEXT = (
    "prompt is too long",
    "prompt too long",
    "maximum context length",
    "exceeds the context window",
    "exceed context limit",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
)
GONE = ("not found", "does not exist", "not a valid model", "deprecated", "no longer", "has ended")

STATUS = {
    400: "invalid_request",
    401: "authentication_failed",
    402: "quota_exceeded",
    403: "permission_denied",
    404: "invalid_request",
    405: "invalid_request",
    408: "timeout",
    409: "provider_unavailable",
    413: "request_too_large",
    415: "invalid_request",
    422: "invalid_request",
    425: "provider_unavailable",
    429: "rate_limited",
    501: "unsupported_feature",
}


def by_status(status: int | None) -> str:
    if status in STATUS:
        return STATUS[status]
    if status is not None and 500 <= status <= 599:
        return "provider_unavailable"
    if status is not None and 300 <= status <= 399:
        return "malformed_response"
    return "unknown"


def document(body: Any) -> Any:
    return body[0] if isinstance(body, list) and body else body


def error_of(body: Any) -> Any:
    """The inner error, or the body itself where errors stand at the top."""
    if isinstance(body, dict) and body.get("error") is not None:
        return body["error"]
    return body


def words(body: Any) -> Iterator[str]:
    """The codes, types, statuses and reasons that the body names."""
    places = [body, error_of(body)]
    inner = error_of(body)
    if isinstance(inner, dict):
        details = inner.get("details")
        places.extend(details if isinstance(details, list) else [])
    for place in places:
        if isinstance(place, dict):
            for key in ("code", "type", "status", "reason"):
                if isinstance(place.get(key), str):
                    yield place[key].lower()


def message(body: Any) -> str:
    inner = error_of(body)
    candidates: list[Any] = []
    if isinstance(inner, dict):
        candidates.append(inner.get("message"))
    candidates.append(inner)
    if isinstance(body, dict):
        candidates += [body.get("message"), body.get("Message"), body.get("detail")]
        detail = body.get("detail")
        if isinstance(detail, dict):
            candidates.append(detail.get("message"))
        if isinstance(detail, list) and detail and isinstance(detail[0], dict):
            candidates.append(detail[0].get("msg"))
    return next((text for text in candidates if isinstance(text, str)), "")


def daily_quota(body: Any) -> bool:
    """Google names the quota: one per day is not a matter of waiting a moment."""
    inner = error_of(body)
    details = inner.get("details") if isinstance(inner, dict) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and "QuotaFailure" in str(detail.get("@type")):
            if "perday" in json.dumps(detail).lower():
                return True
    return False


def by_words(body: Any, status: int | None) -> str | None:
    said = set(words(body))
    text = message(body).lower()
    if text.startswith("request too large"):
        return "request_too_large"
    if daily_quota(body):
        return "quota_exceeded"
    for reason, known in ROWS:
        if said & known and not (reason == "provider_unavailable" and status in (401, 403)):
            return reason
        if reason == "model_not_found" and said & {"not_found_error", "not_found"} and "model" in text:
            return reason
    return None


def by_marker(text: str) -> str | None:
    text = text.lower()
    if any(marker in text for marker in CONTEXT):
        return "context_length_exceeded"
    if "incorrect api key" in text:
        return "authentication_failed"
    if "violates usage guidelines" in text:
        return "content_filter"
    if "malformed function call" in text:
        return "generation_failed"
    if "no endpoints found that support" in text:
        return "unsupported_feature"
    if "model" in text and any(marker in text for marker in GONE):
        return "model_not_found"
    if "no endpoints found" in text or "supported api model names" in text:
        return "model_not_found"
    return None


def nested(body: Any) -> str | None:
    """A proxy's upstream error, as text or as JSON in text."""
    inner = error_of(body)
    metadata = inner.get("metadata") if isinstance(inner, dict) else None
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str):
        try:
            raw = document(json.loads(raw))
        except ValueError:
            return by_marker(raw)
    if not isinstance(raw, dict):
        return None
    return by_words(raw, None) or by_marker(message(raw))


def http(status: int, body: Any) -> Fault:
    """An answer that is not 2xx."""
    body = document(body)
    marked = by_marker(message(body)) if 400 <= status <= 499 else None
    reason = nested(body) or by_words(body, status) or marked or by_status(status)
    return Fault(reason, status)


def in_band(error: Any) -> Fault:
    """An error inside an answer that began well; its own number is the status."""
    body = error if isinstance(error, dict) and error.get("error") is not None else {"error": error}
    inner = error_of(body)
    status = None
    if isinstance(inner, dict):
        for key in ("code", "status", "status_code"):
            value = inner.get(key)
            digits = value if isinstance(value, int) else int(value) if str(value or "").isdigit() else None
            if digits is not None and 400 <= digits <= 599:
                status = digits
                break
    reason = nested(body) or by_words(body, status) or by_marker(message(body))
    if reason is None and status is None and "invalid_request_error" in set(words(body)):
        # The type stands in for the status that is missing.
        reason = "invalid_request"
    reason = reason or by_status(status)
    # It broke in the midst of an answer, and nothing says whose fault it is.
    return Fault("provider_unavailable" if reason == "unknown" else reason, status)
