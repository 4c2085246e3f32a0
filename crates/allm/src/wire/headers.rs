//! What the head of an answer says besides the status.

use std::time::{Duration, SystemTime};

use allm_core::{RateLimit, RateWindow};
use http::HeaderMap;

/// A header that is text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The provider's id of the request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<&str> {
    const NAMES: [&str; 5] = [
        "x-request-id",
        "request-id",
        "apim-request-id",
        "x-amzn-requestid",
        "x-generation-id",
    ];
    NAMES
        .into_iter()
        .find_map(|name| text(headers, name).filter(|id| !id.is_empty()))
}

/// Whether the server says that the call may, or must not, be tried again.
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    text(headers, "x-should-retry")?
        .to_ascii_lowercase()
        .parse()
        .ok()
}

/// How long the head asks to wait; the longest of what it says.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let millis = text(headers, "retry-after-ms")
        .and_then(|text| text.parse::<f64>().ok())
        .and_then(|millis| seconds(millis / 1000.0));
    let after = text(headers, "retry-after").and_then(|text| match text.parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => until(httpdate::parse_http_date(text).ok()?, now),
    });
    millis.max(after)
}

/// A number of seconds that makes sense.
pub(crate) fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// How long it is until then; nothing if it has passed.
pub(crate) fn until(then: SystemTime, now: SystemTime) -> Option<Duration> {
    Some(then.duration_since(now).unwrap_or_default())
}

/// What the provider says of its limits.
pub(crate) fn rate_limit(headers: &HeaderMap, now: SystemTime) -> Option<RateLimit> {
    // Most answers say nothing, and that is seen sooner than twelve names are looked up.
    let is_told = |name: &http::HeaderName| name.as_str().contains("-ratelimit-");
    if !headers.keys().any(is_told) {
        return None;
    }
    let window = |unit: &str| {
        let read = |kind: &str| {
            text(headers, &format!("x-ratelimit-{kind}-{unit}"))
                .or_else(|| text(headers, &format!("anthropic-ratelimit-{unit}-{kind}")))
        };
        let window = RateWindow {
            limit: read("limit").and_then(|text| text.parse().ok()),
            remaining: read("remaining").and_then(|text| text.parse().ok()),
            reset: read("reset").and_then(|text| reset(text, now)),
        };
        (window != RateWindow::default()).then_some(window)
    };
    let limit = RateLimit {
        requests: window("requests"),
        tokens: window("tokens"),
    };
    (limit != RateLimit::default()).then_some(limit)
}

/// When a window begins anew: seconds, `1m30s`, `120ms`, RFC 3339, or seconds since 1970.
fn reset(text: &str, now: SystemTime) -> Option<Duration> {
    /// Numbers beyond this are points in time, not waits.
    const EPOCH: f64 = 1.0e9;
    if let Ok(number) = text.parse::<f64>() {
        return if number < EPOCH {
            seconds(number)
        } else {
            until(SystemTime::UNIX_EPOCH.checked_add(seconds(number)?)?, now)
        };
    }
    duration(text).or_else(|| until(rfc3339(text)?, now))
}

/// A duration such as `1h2m3.5s` or `120ms`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at_checked(digits)?;
        let unit = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(unit)?;
        let scale = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            "us" | "µs" => 0.000_001,
            "ns" => 0.000_000_001,
            _ => return None,
        };
        sum = sum.checked_add(seconds(number.parse::<f64>().ok()? * scale)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

/// A point in time such as `2026-01-31T12:00:00.5Z` or with an offset `+01:00`.
fn rfc3339(text: &str) -> Option<SystemTime> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let separators = [(4, "-"), (7, "-"), (13, ":"), (16, ":")];
    let right = separators
        .iter()
        .all(|(at, c)| text.get(*at..at + 1) == Some(*c));
    if !right || !matches!(text.get(10..11)?, "T" | "t" | " ") {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1970 {
        return None;
    }
    let zone = text
        .get(19..)?
        .trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset: i64 = match zone {
        "Z" | "z" => 0,
        _ => {
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            let hours: i64 = zone.get(1..3)?.parse().ok()?;
            let minutes: i64 = zone.get(4..6)?.parse().ok()?;
            sign * (hours * 3600 + minutes * 60)
        }
    };
    let days = days_since_1970(year, month, day);
    let local = days * 86_400 + hour * 3600 + minute * 60 + second;
    let utc = local.checked_add_signed(offset.checked_neg()?)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(utc))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, not before it.
const fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    // Years begin in March here, so that the day of a leap year is the last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400;
    days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().expect("a value"));
        }
        headers
    }

    /// 2026-01-31T12:00:00Z
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_769_860_800)
    }

    fn wait(pairs: &[(&'static str, &str)]) -> Option<u128> {
        retry_after(&headers(pairs), now()).map(|wait| wait.as_millis())
    }

    #[test]
    fn c115_seconds() {
        assert_eq!(wait(&[("retry-after", "2")]), Some(2000));
        assert_eq!(wait(&[("retry-after", "0")]), Some(0));
        assert_eq!(wait(&[("retry-after", "1.5")]), Some(1500));
        for bad in ["-1", "abc", "", "NaN", "inf", "1e300"] {
            assert_eq!(wait(&[("retry-after", bad)]), None, "{bad}");
        }
    }

    #[test]
    fn c116_dates() {
        for date in [
            "Sat, 31 Jan 2026 12:00:09 GMT",
            "Saturday, 31-Jan-26 12:00:09 GMT",
            "Sat Jan 31 12:00:09 2026",
        ] {
            assert_eq!(wait(&[("retry-after", date)]), Some(9000), "{date}");
        }
        assert_eq!(
            wait(&[("retry-after", "Sat, 31 Jan 2026 11:00:00 GMT")]),
            Some(0)
        );
    }

    #[test]
    fn c118_the_longest_wins() {
        assert_eq!(
            wait(&[("retry-after-ms", "0"), ("retry-after", "1")]),
            Some(1000)
        );
        assert_eq!(wait(&[("retry-after-ms", "660")]), Some(660));
        assert_eq!(
            wait(&[("retry-after-ms", "x"), ("retry-after", "1")]),
            Some(1000)
        );
    }

    #[test]
    fn p40_the_id_of_the_request() {
        for name in [
            "x-request-id",
            "request-id",
            "apim-request-id",
            "x-amzn-requestid",
            "x-generation-id",
        ] {
            assert_eq!(request_id(&headers(&[(name, "7")])), Some("7"));
        }
        let both = headers(&[("x-generation-id", "2"), ("x-request-id", "1")]);
        assert_eq!(request_id(&both), Some("1"));
        assert_eq!(request_id(&headers(&[("x-request-id", "")])), None);
    }

    #[test]
    fn p42_limits() {
        for (text, millis) in [
            ("6", Some(6000)),
            ("1m30s", Some(90_000)),
            ("120ms", Some(120)),
            ("2026-01-31T12:00:10Z", Some(10_000)),
            ("2026-01-31T13:00:10.5+01:00", Some(10_000)),
            ("1769860811", Some(11_000)),
            ("2025-01-31T12:00:10Z", Some(0)),
            ("soon", None),
            ("1x", None),
            ("2026-99-31T12:00:10Z", None),
        ] {
            let limit = rate_limit(&headers(&[("x-ratelimit-reset-tokens", text)]), now());
            let reset = limit.and_then(|limit| limit.tokens?.reset);
            assert_eq!(reset.map(|reset| reset.as_millis()), millis, "{text}");
        }
        let limit = rate_limit(
            &headers(&[
                ("anthropic-ratelimit-requests-limit", "50"),
                ("anthropic-ratelimit-requests-remaining", "49"),
                ("x-ratelimit-limit-tokens", "many"),
            ]),
            now(),
        );
        let requests = limit.expect("a limit").requests.expect("of requests");
        assert_eq!((requests.limit, requests.remaining), (Some(50), Some(49)));
        assert_eq!(limit.and_then(|limit| limit.tokens), None);
        assert_eq!(rate_limit(&headers(&[]), now()), None);
    }

    #[test]
    fn p63_whether_to_try_again() {
        assert_eq!(
            should_retry(&headers(&[("x-should-retry", "false")])),
            Some(false)
        );
        assert_eq!(
            should_retry(&headers(&[("x-should-retry", "True")])),
            Some(true)
        );
        assert_eq!(should_retry(&headers(&[("x-should-retry", "maybe")])), None);
    }
}
