//! Deadlines, cancelling, and that nothing happens before it is asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use allm::{
    AdapterReason, CancelToken, Error, Event, Fake, FinishReason, HaltReason, KeyRequest, KeyUse,
    Response, RetryPolicy, Script, Timeouts,
};
use tokio::time::{Instant, sleep};

use super::{Answer, Keyed, Source, engine, key, text};

const TEN: Duration = Duration::from_secs(10);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn only_a_deadline() -> Timeouts {
    Timeouts {
        deadline: Some(TEN),
        ..Timeouts::NONE
    }
}

/// The answer of a call with a deadline of ten seconds, and how long it took.
async fn within_ten(
    script: Script,
    retry: RetryPolicy,
    lookup: Duration,
) -> (Result<Response, Error>, Duration, usize) {
    let mut provider = Keyed::new("slow", KeyUse::Required);
    provider.fake = Fake::named("slow").always(script);
    let source = move |_: KeyRequest| -> Answer {
        Box::pin(async move {
            sleep(lookup).await;
            Ok(Some(key("k-1")))
        })
    };
    let builder = provider.engine().key_source(Source(source)).retry(retry);
    let engine = builder.timeouts(only_a_deadline()).build().expect("valid");
    let begun = Instant::now();
    let result = engine.generate("hi").await;
    (result, begun.elapsed(), provider.used().len())
}

/// C134: each part alone, and all of them together.
#[tokio::test(start_paused = true)]
async fn c134_the_deadline_covers_everything_together() {
    let none = RetryPolicy::none;
    let (error, took, calls) = within_ten(text("x"), none(), seconds(3600)).await;
    assert_eq!(
        (error.expect_err("late").reason(), took, calls),
        ("timeout", TEN, 0)
    );

    let (error, took, calls) = within_ten(Script::new().hang(), none(), seconds(0)).await;
    assert_eq!(
        (error.expect_err("late").reason(), took, calls),
        ("timeout", TEN, 1)
    );

    let steady = (0..9).fold(Script::new(), |script, _| {
        script.text("x").delay(seconds(3))
    });
    let (response, took, _) = within_ten(steady, none(), seconds(0)).await;
    let response = response.expect("what came in time");
    assert_eq!(response.finish_reason, Some(FinishReason::Error));
    assert_eq!((response.text().as_str(), took), ("xxxx", TEN));
    assert_eq!(response.error.expect("why").reason, "timeout");

    // 3 s for the key, 2 s for the failure, 1 s of waiting, 3 s for the key: 1 s is left for the second attempt.
    let busy = Script::new()
        .delay(seconds(2))
        .fail(AdapterReason::ProviderUnavailable);
    let retry = RetryPolicy {
        base_delay: seconds(1),
        jitter: Duration::ZERO,
        ..RetryPolicy::default()
    };
    let (error, took, calls) = within_ten(busy, retry, seconds(3)).await;
    assert_eq!(
        (error.expect_err("late").reason(), took, calls),
        ("timeout", TEN, 2)
    );
}

/// C134: an adapter is told what is left.
#[tokio::test(start_paused = true)]
async fn c134_what_is_left_of_the_deadline_is_what_an_attempt_has() {
    use allm::{Adapter, BoxStream, ModelCall, ProviderName};

    struct Told(Fake, Arc<std::sync::Mutex<Vec<Option<Duration>>>>);

    impl Adapter for Told {
        fn provider(&self) -> &ProviderName {
            self.0.provider()
        }
        fn key_use(&self) -> KeyUse {
            KeyUse::Never
        }
        fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
            self.1.lock().unwrap().push(call.timeouts.deadline);
            self.0.stream(call)
        }
    }

    let busy = Script::new()
        .delay(seconds(2))
        .fail(AdapterReason::ProviderUnavailable);
    let told = Arc::default();
    let builder = allm::Engine::builder().provider(Told(
        Fake::new().reply(busy).reply(text("x")),
        Arc::clone(&told),
    ));
    let retry = RetryPolicy {
        base_delay: seconds(1),
        jitter: Duration::ZERO,
        ..RetryPolicy::default()
    };
    let engine = builder
        .model("fake:x")
        .deadline(TEN)
        .retry(retry)
        .build()
        .expect("valid");
    let _ = engine.generate("hi").await.expect("an answer");
    assert_eq!(*told.lock().unwrap(), [Some(TEN), Some(seconds(7))]);
}

/// An adapter that minds no limit of its own does not keep a call waiting for ever.
#[tokio::test(start_paused = true)]
async fn a_stall_before_the_first_event() {
    use allm::{Adapter, BoxStream, ModelCall, ProviderName};

    struct Silent(ProviderName);

    impl Adapter for Silent {
        fn provider(&self) -> &ProviderName {
            &self.0
        }
        fn key_use(&self) -> KeyUse {
            KeyUse::Never
        }
        fn stream(&self, _: ModelCall) -> BoxStream<'static, Event> {
            struct Never;
            impl futures_core::Stream for Never {
                type Item = Event;
                fn poll_next(
                    self: std::pin::Pin<&mut Self>,
                    _: &mut std::task::Context<'_>,
                ) -> std::task::Poll<Option<Event>> {
                    std::task::Poll::Pending
                }
            }
            Box::pin(Never)
        }
    }

    let engine = allm::Engine::builder()
        .provider(Silent("silent".into()))
        .model("silent:x")
        .retry(RetryPolicy::none())
        .build()
        .expect("valid");
    let began = Instant::now();
    let error = engine.generate("hi").await.expect_err("silent");
    assert_eq!(error.reason(), "stalled");
    assert_eq!(began.elapsed(), seconds(600));
}

/// C137, before and after the first content, streamed and awaited.
#[tokio::test(start_paused = true)]
async fn c137_cancelling_is_told_as_cancelled() {
    for begun in [false, true] {
        let half = if begun { text("half") } else { Script::new() };
        let fake = Fake::new().always(half.delay(seconds(9)).text("never"));
        let engine = engine(&fake);
        let token = || {
            let token = CancelToken::new();
            let fires = token.clone();
            tokio::spawn(async move {
                sleep(seconds(1)).await;
                fires.cancel();
            });
            token
        };
        for entry in ["generate", "step", "chat"] {
            let stream = match entry {
                "generate" => engine.generate("hi").cancel(token()).stream(),
                "step" => engine.step("hi").cancel(token()).stream(),
                _ => engine.chat("hi").cancel(token()).stream(),
            };
            let events = stream.collect().await;
            let errors: Vec<_> = events
                .iter()
                .filter_map(|event| match event {
                    Event::Error(event) => Some(event.error.reason.as_str()),
                    _ => None,
                })
                .collect();
            // A chat that is cancelled before anything came has only its end.
            let expected: &[&str] = if begun || entry != "chat" {
                &["cancelled"]
            } else {
                &[]
            };
            assert_eq!(errors, expected, "begun: {begun}, {entry}");
        }
        let generated = engine.generate("hi").cancel(token()).await;
        let stepped = engine.step("hi").cancel(token()).await;
        if begun {
            let response = generated.expect("a response");
            assert_eq!(response.finish_reason, Some(FinishReason::Error));
            assert_eq!(response.text(), "half");
            let error = response.into_result().expect_err("interrupted");
            assert_eq!(error.reason(), "cancelled");
            let error = stepped
                .expect("a step")
                .into_result()
                .expect_err("interrupted");
            assert_eq!(error.reason(), "cancelled");
        } else {
            assert_eq!(generated.expect_err("cancelled").reason(), "cancelled");
            assert_eq!(stepped.expect_err("cancelled").reason(), "cancelled");
        }
        let result = engine.chat("hi").cancel(token()).await.expect("a result");
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        assert_eq!((fake.cleanups(), fake.open_streams()), (6, 0));
    }
}

/// C138: no connection, and no key looked up either.
#[tokio::test]
async fn c138_nothing_happens_before_the_first_poll() {
    let asked = Arc::new(AtomicUsize::new(0));
    let provider = Keyed::new("unpolled", KeyUse::Required);
    let count = Arc::clone(&asked);
    let source = move |_: KeyRequest| -> Answer {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(Some(key("k-1"))) })
    };
    let engine = provider
        .engine()
        .key_source(Source(source))
        .build()
        .expect("valid");
    drop((engine.generate("hi"), engine.step("hi"), engine.chat("hi")));
    drop((
        engine.generate("hi").into_future(),
        engine.step("hi").into_future(),
        engine.chat("hi").into_future(),
    ));
    drop(engine.generate("hi").text());
    let streams = [
        engine.generate("hi").stream(),
        engine.step("hi").stream(),
        engine.chat("hi").stream(),
    ];
    tokio::task::yield_now().await;
    assert_eq!(
        (asked.load(Ordering::SeqCst), provider.used().len()),
        (0, 0)
    );
    for mut stream in streams {
        assert!(stream.next().await.is_some());
    }
    assert_eq!(
        (asked.load(Ordering::SeqCst), provider.used().len()),
        (3, 3)
    );
}
