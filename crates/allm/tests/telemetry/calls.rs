//! The span of a model call.

use std::time::Duration;

use allm::{AdapterReason, CancelToken, Fake, RetryPolicy, Script, SessionId, Usage};

use super::collector::Collector;
use super::{builder, engine};

/// Two failures and an answer are one span with two retries in it, open until the last event was taken.
#[tokio::test(start_paused = true)]
async fn c154_one_span_with_all_attempts() {
    let (told, _guard) = Collector::start();
    let fake = Fake::new()
        .reply(Script::new().fail(AdapterReason::ProviderUnavailable))
        .reply(Script::new().fail(AdapterReason::RateLimited))
        .reply(Script::new().text("a").text("b"));
    let mut events = engine(&fake).generate("hi").stream();
    while let Some(event) = events.next().await {
        let span = told.only("allm.model_call");
        assert_eq!(
            span.closed,
            event.tag() == "message_completed",
            "{}",
            event.tag()
        );
    }
    let span = told.only("allm.model_call");
    assert_eq!(span.fields["allm.attempts"], "3");
    let retries: Vec<_> = span
        .events
        .iter()
        .map(|(name, fields)| {
            (
                name.as_str(),
                fields["attempt"].as_str(),
                fields["reason"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        retries,
        [
            ("allm.retry", "1", "provider_unavailable"),
            ("allm.retry", "2", "rate_limited"),
        ]
    );
    assert!(!span.fields.contains_key("error.type"));
}

/// The wait before the retry is not in it, the silence of the attempt that succeeds is.
#[tokio::test(start_paused = true)]
async fn c155_time_to_first_chunk() {
    let (told, _guard) = Collector::start();
    let fake = Fake::new()
        .reply(
            Script::new()
                .delay(Duration::from_secs(5))
                .fail(AdapterReason::Timeout),
        )
        .reply(
            Script::new()
                .delay(Duration::from_secs(2))
                .text("a")
                .delay(Duration::from_secs(9))
                .text("b"),
        );
    let began = tokio::time::Instant::now();
    engine(&fake)
        .generate("hi")
        .retry(RetryPolicy::default())
        .await
        .expect("an answer");
    let span = told.only("allm.model_call");
    let seconds: f64 = span.fields["gen_ai.response.time_to_first_chunk"]
        .parse()
        .unwrap();
    assert!((seconds - 2.0).abs() < 0.01, "{seconds}");
    assert!(seconds < began.elapsed().as_secs_f64());
    assert_eq!(span.recorded["gen_ai.response.time_to_first_chunk"], 1);
}

#[tokio::test(start_paused = true)]
async fn c156_dropped_half_way() {
    let (told, _guard) = Collector::start();
    let fake = Fake::new().reply(
        Script::new()
            .text("half")
            .delay(Duration::from_secs(9))
            .text("never"),
    );
    let mut events = engine(&fake).generate("hi").stream();
    while events
        .next()
        .await
        .is_some_and(|event| event.tag() != "text_delta")
    {}
    assert!(!told.only("allm.model_call").closed);
    drop(events);
    let span = told.only("allm.model_call");
    assert!(span.closed);
    assert_eq!(span.fields["error.type"], "cancelled");
    assert_eq!(span.fields["otel.status_code"], "ERROR");
    assert!(
        span.fields
            .contains_key("gen_ai.response.time_to_first_chunk")
    );
}

/// Before the first event there is nothing to know, and the span ends all the same.
#[tokio::test(start_paused = true)]
async fn c156_dropped_or_cancelled_before_the_first_event() {
    let (told, _guard) = Collector::start();
    let fake = Fake::new().always(Script::new().hang());
    let dropped = engine(&fake).generate("hi").into_future();
    tokio::time::timeout(Duration::from_secs(1), dropped)
        .await
        .expect_err("hangs");
    let token = CancelToken::new();
    let cancelled = tokio::spawn(
        engine(&fake)
            .generate("hi")
            .cancel(token.clone())
            .into_future(),
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    token.cancel();
    cancelled.await.unwrap().expect_err("cancelled");
    let spans = told.spans();
    assert_eq!(spans.len(), 2);
    for span in spans {
        assert!(span.closed);
        assert_eq!(span.fields["error.type"], "cancelled");
    }
}

#[tokio::test]
async fn c157_a_failed_gate() {
    let (told, _guard) = Collector::start();
    let fake = Fake::new();
    engine(&fake)
        .generate("hi")
        .temperature(9.0)
        .await
        .expect_err("refused");
    let span = told.only("allm.model_call");
    assert!(span.closed && span.events.is_empty());
    assert_eq!(span.fields["error.type"], "invalid_request");
    let (told, _guard) = Collector::start();
    engine(&fake)
        .chat("hi")
        .temperature(9.0)
        .await
        .expect_err("refused");
    let span = told.only("allm.run");
    assert!(span.closed && span.events.is_empty());
    assert_eq!(span.fields["error.type"], "invalid_request");
    assert_eq!(told.spans().len(), 1, "no call was made");
}

#[tokio::test]
async fn c158_usage_is_inclusive_and_unknown_counters_are_absent() {
    let (told, _guard) = Collector::start();
    let usage = Usage {
        cached_input_tokens: Some(15),
        ..Usage::io(20, 3)
    };
    let fake = Fake::new().reply(Script::new().text("a").usage(usage));
    engine(&fake).generate("hi").await.expect("an answer");
    let fields = told.only("allm.model_call").fields;
    assert_eq!(fields["gen_ai.usage.input_tokens"], "20");
    assert_eq!(fields["gen_ai.usage.output_tokens"], "3");
    assert_eq!(fields["gen_ai.usage.cache_read.input_tokens"], "15");
    assert!(!fields.contains_key("gen_ai.usage.cache_creation.input_tokens"));
    assert!(!fields.contains_key("gen_ai.usage.reasoning.output_tokens"));
}

#[tokio::test]
async fn c159_what_was_answered() {
    let (told, _guard) = Collector::start();
    let fake = Fake::new().reply(Script::new().id("r-1").model("small-2026").text("a"));
    engine(&fake).generate("hi").await.expect("an answer");
    let fields = told.only("allm.model_call").fields;
    assert_eq!(fields["gen_ai.response.finish_reasons"], r#"["stop"]"#);
    assert_eq!(fields["gen_ai.response.model"], "small-2026");
    assert_eq!(fields["gen_ai.response.id"], "r-1");
}

/// Every setting that is set is told; what is not set is absent.
#[tokio::test]
async fn what_was_asked() {
    let (told, _guard) = Collector::start();
    let fake = Fake::new().always(Script::new().text("a"));
    engine(&fake)
        .generate("hi")
        .request_id("q")
        .await
        .expect("an answer");
    let plain = told.only("allm.model_call").fields;
    let mut names: Vec<&str> = plain.keys().map(String::as_str).collect();
    names.retain(|name| !name.starts_with("gen_ai.response."));
    assert_eq!(
        names,
        [
            "allm.attempts",
            "allm.request_id",
            "gen_ai.operation.name",
            "gen_ai.output.type",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.request.stream",
            "otel.kind",
            "otel.name",
        ]
    );
    assert_eq!(plain["otel.name"], "chat small");
    assert_eq!(plain["otel.kind"], "client");
    assert_eq!(plain["allm.request_id"], "q");
    let (told, _guard) = Collector::start();
    let engine = builder(&fake)
        .max_tokens(9)
        .temperature(0.5)
        .build()
        .expect("valid");
    engine
        .generate("hi")
        .top_p(0.25)
        .top_k(4)
        .seed(7)
        .stop(["x", "y"])
        .frequency_penalty(1.0)
        .presence_penalty(-1.0)
        .response_format(allm::ResponseFormat::JsonObject)
        .session_id(SessionId::new("s-1").expect("valid"))
        .await
        .expect("an answer");
    let fields = told.only("allm.model_call").fields;
    for (name, value) in [
        ("max_tokens", "9"),
        ("temperature", "0.5"),
        ("top_p", "0.25"),
        ("top_k", "4"),
        ("seed", "7"),
        ("stop_sequences", r#"["x", "y"]"#),
        ("frequency_penalty", "1"),
        ("presence_penalty", "-1"),
    ] {
        assert_eq!(fields[&format!("gen_ai.request.{name}")], value, "{name}");
    }
    assert_eq!(fields["gen_ai.output.type"], "json");
    assert_eq!(fields["gen_ai.conversation.id"], "s-1");
}

#[tokio::test]
async fn c163_the_conventions_name_of_a_provider() {
    for (ours, theirs) in [
        ("gemini", "gcp.gemini"),
        ("xai", "x_ai"),
        ("openai", "openai"),
        ("fake", "fake"),
    ] {
        let (told, _guard) = Collector::start();
        let fake = Fake::named(ours).always(Script::new().text("a"));
        let engine = allm::Engine::builder()
            .provider(fake)
            .build()
            .expect("valid");
        engine
            .generate("hi")
            .model(format!("{ours}:m"))
            .await
            .expect("an answer");
        assert_eq!(
            told.only("allm.model_call").fields["gen_ai.provider.name"],
            theirs
        );
    }
}
