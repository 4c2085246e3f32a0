//! How failed attempts are repeated.

use std::time::Duration;

use allm::{
    AdapterError, AdapterReason, CancelToken, Fake, FinishReason, HaltReason, Map, RetryPolicy,
    Script, StreamReason, Tool,
};
use serde_json::json;
use tokio::time::Instant;

use super::{engine, text};

fn busy() -> Script {
    Script::new().fail(AdapterReason::ProviderUnavailable)
}

/// Waits of this length, the same each time.
fn waits(delay: Duration) -> RetryPolicy {
    RetryPolicy {
        base_delay: delay,
        max_delay: delay,
        jitter: Duration::ZERO,
        ..RetryPolicy::default()
    }
}

/// C89; its headers are in the matrix of levels.
#[tokio::test(start_paused = true)]
async fn c89_the_retry_policy_of_a_call_replaces_that_of_the_engine() {
    let fake = Fake::new().always(busy());
    let three = engine(&fake)
        .with(|builder| builder.retry(waits(Duration::from_secs(3))))
        .expect("valid");
    let begun = Instant::now();
    let policy = RetryPolicy {
        max_attempts: 2,
        ..waits(Duration::from_secs(7))
    };
    // The whole policy: neither the engine's number of attempts nor its wait is left.
    let error = three.generate("hi").retry(policy).await.expect_err("busy");
    assert_eq!(error.reason(), "provider_unavailable");
    fake.assert_calls(2);
    assert_eq!(begun.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn c119_a_wait_that_does_not_fit_the_deadline_is_not_begun() {
    let asked = Duration::from_secs(20);
    let mut error = AdapterError::new("fake", AdapterReason::RateLimited, "later");
    error.retry_after = Some(asked);
    let fake = Fake::new().always(Script::new().fail_with(error));
    let engine = engine(&fake);
    let begun = Instant::now();
    let call = engine.generate("hi").deadline(Duration::from_secs(10));
    let error = call.await.expect_err("busy");
    assert_eq!(error.reason(), "rate_limited");
    assert_eq!(error.retry_after(), Some(asked));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    fake.assert_calls(1);
    // Its own wait is no other: 500 ms and more in 400 ms.
    let fake = Fake::new().always(busy());
    let call = super::engine(&fake).chat("hi");
    let error = call
        .deadline(Duration::from_millis(400))
        .await
        .expect_err("busy");
    assert_eq!(error.reason(), "provider_unavailable");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    fake.assert_calls(1);
}

#[tokio::test(start_paused = true)]
async fn c124_an_error_in_the_stream_is_retried_only_before_any_content() {
    let errors: [fn(Script) -> Script; 3] = [
        |script| script.fail(AdapterReason::ProviderUnavailable),
        |script| script.stream_fail(StreamReason::Stalled),
        Script::cut,
    ];
    for fail in errors {
        let before = Fake::new()
            .reply(fail(Script::new().raw("{}")))
            .reply(text("x"));
        let answer = engine(&before).generate("hi").text().await;
        assert_eq!(answer.expect("an answer"), "x");
        before.assert_calls(2);

        let after = Fake::new().reply(fail(text("half"))).reply(text("x"));
        let response = engine(&after).generate("hi").await.expect("a response");
        assert_eq!(response.finish_reason, Some(FinishReason::Error));
        assert_eq!(response.text(), "half");
        after.assert_calls(1);
    }
}

#[tokio::test(start_paused = true)]
async fn c125_a_timeout_costs_no_more_than_the_attempts() {
    for (max_attempts, attempts) in [(0, 1), (1, 1), (2, 2), (5, 5)] {
        let policy = RetryPolicy {
            max_attempts,
            ..waits(Duration::from_secs(1))
        };
        for entry in ["generate", "step", "chat"] {
            let fake = Fake::new().always(Script::new().hang());
            let engine = engine(&fake)
                .with(|builder| {
                    builder
                        .first_byte_timeout(Duration::from_secs(10))
                        .retry(policy.clone())
                })
                .expect("valid");
            let begun = Instant::now();
            let error = match entry {
                "generate" => engine.generate("hi").await.map(drop),
                "step" => engine.step("hi").await.map(drop),
                _ => engine.chat("hi").await.map(drop),
            };
            assert_eq!(error.expect_err("silent").reason(), "timeout");
            fake.assert_calls(attempts);
            let waits = u64::try_from(attempts).expect("few") - 1;
            let total = Duration::from_secs(10 * (waits + 1) + waits);
            assert_eq!(begun.elapsed(), total, "{entry}, {max_attempts}");
        }
    }
}

/// C126, as far as the engine goes: equal requests for all attempts of a turn, to the byte.
#[tokio::test(start_paused = true)]
async fn c126_all_attempts_are_given_the_same_request() {
    let fake = Fake::new()
        .reply(busy())
        .reply(Script::new().call("a", json!({"z": 1, "a": [1, 2]})))
        .reply(busy())
        .reply(busy())
        .reply(text("x"));
    let tool = Tool::new("a", "", json!({})).handler(|map: Map| async { Ok::<_, String>(map) });
    let engine = engine(&fake)
        .with(|builder| builder.tool(tool))
        .expect("valid");
    let extra = json!({"b": {"y": 1, "x": 2}, "a": 0.1});
    let extra: Map = serde_json::from_value(extra).expect("an object");
    let result = engine
        .chat("hi")
        .extra(extra)
        .temperature(0.7)
        .await
        .expect("a result");
    assert_eq!(result.text(), "x");
    let calls = fake.calls();
    let sent: Vec<(u32, Vec<u8>)> = calls
        .iter()
        .map(|call| {
            (
                call.attempt,
                serde_json::to_vec(&*call.request).expect("JSON"),
            )
        })
        .collect();
    let attempts: Vec<u32> = sent.iter().map(|(attempt, _)| *attempt).collect();
    assert_eq!(attempts, [1, 2, 1, 2, 3]);
    for turn in [&sent[..2], &sent[2..]] {
        assert!(turn.iter().all(|(_, body)| *body == turn[0].1));
    }
    assert_ne!(sent[0].1, sent[2].1);
    assert_eq!(calls[2].request, calls[4].request);
}

#[tokio::test(start_paused = true)]
async fn c127_cancelling_during_a_wait() {
    let hour = Duration::from_secs(3600);
    for entry in ["generate", "step", "chat"] {
        let fake = Fake::new().always(busy());
        let engine = engine(&fake)
            .with(|builder| builder.retry(waits(hour)))
            .expect("valid");
        let token = CancelToken::new();
        let begun = Instant::now();
        let cancel = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            token.cancel();
        };
        let run = async {
            match entry {
                "generate" => engine.generate("hi").cancel(token.clone()).await.map(drop),
                "step" => engine.step("hi").cancel(token.clone()).await.map(drop),
                _ => {
                    let result = engine.chat("hi").cancel(token.clone()).await;
                    assert_eq!(
                        result.expect("a result").halted_reason,
                        HaltReason::Cancelled
                    );
                    Err(allm::StreamError::new(StreamReason::Cancelled, "").into())
                }
            }
        };
        let (error, ()) = tokio::join!(run, cancel);
        assert_eq!(
            error.expect_err("cancelled").reason(),
            "cancelled",
            "{entry}"
        );
        assert_eq!(begun.elapsed(), Duration::from_secs(1), "{entry}");
        tokio::time::sleep(2 * hour).await;
        fake.assert_calls(1);
    }
}

/// C114: the jitter is drawn, and never longer than said.
#[tokio::test(start_paused = true)]
async fn c114_the_jitter_is_drawn_anew() {
    let jitter = Duration::from_secs(3600);
    let policy = RetryPolicy {
        jitter,
        ..waits(Duration::ZERO)
    };
    let mut taken = Vec::new();
    for _ in 0..2 {
        let fake = Fake::new().reply(busy()).reply(text("x"));
        let begun = Instant::now();
        let call = engine(&fake).generate("hi").retry(policy.clone());
        let _ = call.await.expect("an answer");
        taken.push(begun.elapsed());
    }
    assert!(taken.iter().all(|wait| *wait <= jitter), "{taken:?}");
    assert_ne!(taken[0], taken[1]);
}
