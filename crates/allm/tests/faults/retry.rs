//! How long is waited, by what the server asks for.

use std::time::{Duration, SystemTime};

use allm::{RetryPolicy, Toggle};
use serde_json::json;

use super::server::{Script, Server, answer};
use super::wires::{WIRES, Wire};
use super::{NO_LIMITS, Outcome, outcome};

/// A date so many seconds from now, in the three forms that HTTP has.
fn dates(seconds: i64) -> [String; 3] {
    let now = SystemTime::now();
    let away = Duration::from_secs(seconds.unsigned_abs());
    let then = if seconds < 0 { now - away } else { now + away };
    let imf = httpdate::fmt_http_date(then);
    let [day, date, month, year, time, _]: [&str; 6] =
        imf.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let day = day.trim_end_matches(',');
    let long = match day {
        "Tue" => "Tuesday",
        "Wed" => "Wednesday",
        "Thu" => "Thursday",
        "Sat" => "Saturday",
        day => &format!("{day}day"),
    };
    let rfc850 = format!("{long}, {date}-{month}-{} {time} GMT", &year[2..]);
    let date = date.trim_start_matches('0');
    let asctime = format!("{day} {month} {date:>2} {time} {year}");
    [imf, rfc850, asctime]
}

/// Fails once with this, then answers; gives how long was waited.
async fn wait_after(wire: Wire, status: u16, headers: &[(&str, &str)]) -> Option<u128> {
    let fails = answer(status, headers, "{\"error\": {\"message\": \"later\"}}");
    let found = twice(wire, fails, super::policy()).await;
    match found.attempts {
        1 => None,
        _ => {
            assert_eq!((&*found.reason, &*found.text), ("ok", "Hello"));
            Some(found.waits[0])
        }
    }
}

async fn twice(wire: Wire, fails: Script, policy: RetryPolicy) -> Outcome {
    let server = Server::start(vec![fails, answer(200, &[], wire.stream())]).await;
    let engine = wire.engine(&server.url).timeouts(NO_LIMITS).retry(policy);
    let answered = engine.build().unwrap().generate("hi").await;
    outcome(&server, &answered)
}

/// C115, C118, P64: a number of seconds, a number of milliseconds, and what is neither.
#[tokio::test(start_paused = true)]
async fn c115_c118_p64_numbers() {
    let rows: [(&[(&str, &str)], u128); 20] = [
        (&[], 500),
        (&[("retry-after", "2")], 2000),
        (&[("Retry-After", " 2 ")], 2000),
        (&[("retry-after", "0")], 0),
        (&[("retry-after", "1.5")], 1500),
        (&[("retry-after", "-1")], 500),
        (&[("retry-after", "abc")], 500),
        (&[("retry-after", "")], 500),
        (&[("retry-after", "NaN")], 500),
        (&[("retry-after", "inf")], 500),
        (&[("retry-after", "1e400")], 500),
        (&[("retry-after", "2 seconds")], 500),
        (&[("retry-after-ms", "660")], 660),
        (&[("retry-after-ms", "0")], 0),
        (&[("retry-after-ms", "-5")], 500),
        (&[("retry-after-ms", "soon")], 500),
        (&[("retry-after-ms", "0"), ("retry-after", "1")], 1000),
        (&[("retry-after-ms", "3000"), ("retry-after", "1")], 3000),
        (&[("retry-after-ms", "x"), ("retry-after", "1")], 1000),
        // C117: no longer than the policy allows.
        (&[("retry-after", "3600")], 30_000),
    ];
    for wire in WIRES {
        for (headers, expected) in rows {
            let found = wait_after(wire, 429, headers).await;
            assert_eq!(found, Some(expected), "{wire:?}: {headers:?}");
        }
        // The same of a server that is overloaded.
        for status in [503, 529] {
            let found = wait_after(wire, status, &[("retry-after", "4")]).await;
            assert_eq!(found, Some(4000), "{wire:?}: {status}");
        }
    }
}

/// C116: dates. They have whole seconds, so up to one of them has passed by now.
#[tokio::test(start_paused = true)]
async fn c116_dates() {
    for wire in WIRES {
        for date in dates(20) {
            let found = wait_after(wire, 429, &[("retry-after", &date)])
                .await
                .unwrap();
            assert!((15_000..=20_000).contains(&found), "{date}: {found}");
        }
        for date in dates(-100) {
            let found = wait_after(wire, 429, &[("retry-after", &date)]).await;
            assert_eq!(found, Some(0), "{date}");
        }
        let odd = "Sun, 32 Foo 2026 99:00:00 GMT";
        let found = wait_after(wire, 429, &[("retry-after", odd)]).await;
        assert_eq!(found, Some(500));
    }
}

/// C122, P63: the server's own word on whether to try again.
#[tokio::test(start_paused = true)]
async fn c122_p63_the_servers_word() {
    for wire in WIRES {
        for (status, word, expected) in [
            (429, "false", None),
            (529, "false", None),
            (500, "FALSE", None),
            (429, "true", Some(500)),
            (409, "true", Some(500)),
            (400, "true", Some(500)),
            (422, "True", Some(500)),
            // Never with a key that was refused.
            (401, "true", None),
            (403, "true", None),
            (429, "maybe", Some(500)),
            (400, "maybe", None),
            (529, "", Some(500)),
        ] {
            let found = wait_after(wire, status, &[("x-should-retry", word)]).await;
            assert_eq!(found, expected, "{wire:?}: {status} {word}");
        }
        let headers = [("x-should-retry", "true"), ("retry-after", "7")];
        assert_eq!(wait_after(wire, 400, &headers).await, Some(7000));
    }
}

/// P64: what a body asks for; the longest counts.
#[tokio::test(start_paused = true)]
async fn p64_waits_in_the_body() {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let reset = (since_1970.unwrap().as_millis() + 9_000).to_string();
    let google = json!({"error": {"code": 429, "message": "later", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13s"}]}});
    let router = json!({"error": {"code": 429, "message": "later", "metadata": {"headers": {"X-RateLimit-Reset": reset}}}});
    for wire in WIRES {
        let fails = answer(429, &[], google.to_string());
        assert_eq!(twice(wire, fails, super::policy()).await.waits, [13_000]);
        let fails = answer(429, &[("retry-after", "20")], google.to_string());
        assert_eq!(twice(wire, fails, super::policy()).await.waits, [20_000]);
        let fails = answer(429, &[], router.to_string());
        let found = twice(wire, fails, super::policy()).await.waits[0];
        assert!((4_000..=9_000).contains(&found), "{found}");
    }
}

/// C113, C117, C120: what the last error says, and a policy that does not listen.
#[tokio::test(start_paused = true)]
async fn c113_c117_c120_the_last_error() {
    for wire in WIRES {
        let fails = answer(429, &[("retry-after", "3600")], "");
        let (found, answered) = super::ask(wire, fails.clone()).await;
        let waits = vec![30_000, 30_000];
        let expected = Outcome {
            waits,
            ..Outcome::tried_again("rate_limited")
        };
        assert_eq!(found, expected, "{wire:?}");
        let error = super::refused(answered);
        assert_eq!(error.retry_after, Some(Duration::from_secs(3600)));
        assert_eq!(error.attempts, Some(3));
        let deaf = RetryPolicy {
            respect_retry_after: Toggle::Off,
            ..super::policy()
        };
        assert_eq!(twice(wire, fails, deaf).await.waits, [500]);
    }
}

/// C112, C126: three attempts with the same body, byte for byte; each asks once.
#[tokio::test(start_paused = true)]
async fn c112_c126_attempts_are_alike() {
    for wire in WIRES {
        let busy = answer(500, &[], "");
        let scripts = vec![busy.clone(), busy, answer(200, &[], wire.stream())];
        let server = Server::start(scripts).await;
        let (found, _) = super::ask_server(wire, &server, NO_LIMITS).await;
        let expected = Outcome {
            attempts: 3,
            waits: vec![500, 1000],
            ..Outcome::whole()
        };
        assert_eq!(found, expected, "{wire:?}");
        let seen = server.seen();
        for again in &seen[1..] {
            assert_eq!(again.body, seen[0].body);
            assert_eq!(again.head, seen[0].head);
        }
    }
}

/// P41: what a good answer says of waiting counts for nothing, also when it turns out to be none.
#[tokio::test(start_paused = true)]
async fn p41_a_wait_on_a_good_answer() {
    for wire in WIRES {
        let later = [("retry-after", "9"), ("retry-after-ms", "9000")];
        let (found, answered) = super::ask(wire, answer(200, &later, wire.stream())).await;
        assert_eq!(found, Outcome::whole(), "{wire:?}");
        assert!(!format!("{answered:?}").contains("retry_after"));
        let (found, _) = super::ask(wire, answer(200, &later, "")).await;
        assert_eq!(found, Outcome::tried_again("interrupted"), "{wire:?}");
    }
}
