//! Settings of the way to the provider, and of what is passed on: engine and call.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use allm::{ApiKey, ModelCall, RawBody, RawChunks, RetryPolicy, SessionId, Timeouts, Toggle};

use crate::drive::Seen;
use crate::row::{Row, Said, row};

/// A fact of the first attempt.
fn given(seen: &Seen, fact: impl Fn(&ModelCall) -> String) -> String {
    match seen.notes.calls.first() {
        Some(call) => fact(call),
        None => format!("refused: {:?}", seen.failed),
    }
}

fn or_none<T: AsRef<str>>(value: Option<T>) -> String {
    value.map_or("none".to_owned(), |value| value.as_ref().to_owned())
}

fn policy(i: usize) -> RetryPolicy {
    RetryPolicy {
        max_attempts: [2, 4, 5][i],
        ..RetryPolicy::default()
    }
}

pub(crate) fn key(text: &str) -> ApiKey {
    ApiKey::new(text).unwrap().unwrap()
}

/// A time limit: `off` is no limit.
macro_rules! limit {
    ($setting:ident, $method:ident, $field:ident) => {
        row! {
            $setting in Text, $method(|i| 3: Duration::from_secs([7, 8, 9][i])),
            on [engine generate step chat],
            observe: |seen| given(seen, |call| format!("{:?}", call.timeouts.$field)),
            expected: |said| match said {
                Some(Said::Value(i)) => format!("Some({}s)", [7, 8, 9][i]),
                Some(Said::Off) => "None".to_owned(),
                None => format!("{:?}", Timeouts::default().$field),
            },
        }
    };
}

const TOGGLES: [Toggle; 2] = [Toggle::On, Toggle::Off];

/// Whether a toggle is on.
fn on(said: Option<Said>, default: bool) -> String {
    match said {
        Some(Said::Value(i)) => TOGGLES[i].is_on(),
        Some(Said::Off) => false,
        None => default,
    }
    .to_string()
}

thread_local! {
    /// Who was told of events. The closures run where the call is polled, which is the thread of the test.
    static TOLD: RefCell<BTreeSet<usize>> = RefCell::default();
}

fn tell(i: usize) -> impl Fn(&allm::Event) + Send + Sync + 'static {
    move |_| {
        TOLD.with_borrow_mut(|told| told.insert(i));
    }
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        row! {
            Retry in Busy, retry(|i| 3: policy(i)), on [engine generate step chat],
            observe: |seen| seen.notes.calls.len().to_string(),
            expected: |said| match said {
                Some(Said::Value(i)) => [2, 4, 5][i],
                Some(Said::Off) => 1,
                None => 3,
            }.to_string(),
        },
        limit!(ConnectTimeout, connect_timeout, connect),
        limit!(FirstByteTimeout, first_byte_timeout, first_byte),
        limit!(IdleTimeout, idle_timeout, idle),
        limit!(StallTimeout, stall_timeout, stall),
        limit!(Deadline, deadline, deadline),
        limit!(KeyTimeout, key_timeout, key),
        // At the engine it is what a key source has; the whole chain is tested with keys.
        Row {
            engine: Some(|builder, i| builder.key_source(key(["k-0", "k-1", "k-2"][i]))),
            ..row! {
                ApiKey in Text, api_key(|i| 3: key(["k-0", "k-1", "k-2"][i])), on [generate step chat],
                observe: |seen| given(seen, |call| or_none(call.key.as_ref().map(ApiKey::expose))),
                expected: |said| match said {
                    Some(Said::Value(i)) => format!("k-{i}"),
                    Some(Said::Off) | None => "none".to_owned(),
                },
            }
        },
        row! {
            Tenant in Text, tenant(|i| 3: ["t-0", "t-1", "t-2"][i]), on [engine generate step chat],
            observe: |seen| given(seen, |call| or_none(call.tenant.as_ref().map(|t| t.as_str()))),
            expected: |said| match said {
                Some(Said::Value(i)) => format!("t-{i}"),
                Some(Said::Off) | None => "none".to_owned(),
            },
        },
        row! {
            Wire in Text, wire(|i| 3: ["w-0", "w-1", "w-2"][i]), on [engine generate step chat],
            observe: |seen| given(seen, |call| or_none(call.wire.as_ref())),
            expected: |said| match said {
                Some(Said::Value(i)) => format!("w-{i}"),
                Some(Said::Off) | None => "none".to_owned(),
            },
        },
        row! {
            SessionId in Text, session_id(|i| 3: SessionId::new(format!("s-{i}")).unwrap()),
            on [generate step chat],
            observe: |seen| given(seen, |call| or_none(call.session_id.as_ref().map(|s| s.as_str()))),
            expected: |said| match said {
                Some(Said::Value(i)) => format!("s-{i}"),
                Some(Said::Off) | None => "none".to_owned(),
            },
        },
        row! {
            RequestId in Text, request_id(|i| 3: ["r-0", "r-1", "r-2"][i]), on [generate step chat],
            observe: |seen| given(seen, |call| match call.request_id.as_str() {
                made if made.len() == 22 => "made".to_owned(),
                given => given.to_owned(),
            }),
            expected: |said| match said {
                Some(Said::Value(i)) => format!("r-{i}"),
                Some(Said::Off) | None => "made".to_owned(),
            },
        },
        row! {
            OnEvent in Text, on_event(|i| 3: tell(i)), on [engine generate step chat],
            observe: |_| format!("{:?}", TOLD.take()),
            expected: |said| match said {
                Some(Said::Value(i)) => format!("{{{i}}}"),
                Some(Said::Off) | None => "{}".to_owned(),
            },
        },
        row! {
            TextDeltas in Text, text_deltas(|i| 2: TOGGLES[i]), on [engine generate step chat],
            only_streamed: true,
            observe: |seen| seen.tags.contains(&"text_delta").to_string(),
            expected: |said| on(said, true),
        },
        Row {
            scene: crate::scene::NOTE,
            ..row! {
                ToolDeltas in Text, tool_deltas(|i| 2: TOGGLES[i]), on [engine generate step chat],
                only_streamed: true,
                observe: |seen| seen.tags.contains(&"tool_call_delta").to_string(),
                expected: |said| on(said, true),
            }
        },
        row! {
            RawChunks in Text, raw_chunks(|i| 2: TOGGLES[i]), on [engine generate step chat],
            observe: |seen| given(seen, |call| {
                let asked = call.raw_chunks == RawChunks::On;
                let shown = seen.tags.contains(&"raw_chunk");
                let as_asked = seen.tags.is_empty() || shown == asked;
                assert!(as_asked, "asked for: {asked}, shown: {shown}");
                asked.to_string()
            }),
            expected: |said| on(said, false),
        },
        row! {
            RawBody in Text, raw_body(|i| 2: TOGGLES[i]), on [engine generate step chat],
            observe: |seen| given(seen, |call| (call.raw_body == RawBody::On).to_string()),
            expected: |said| on(said, false),
        },
        // Only telemetry shows it. Here: it can be said at its levels, and the call is made as ever.
        row! {
            CaptureContent in Text, capture_content(|i| 2: TOGGLES[i]), on [engine generate step chat],
            observe: |seen| given(seen, |call| format!("{:?} {:?}", call.request.extra, call.headers)),
            expected: |_| "{} []".to_owned(),
        },
    ]
}
