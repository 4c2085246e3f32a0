//! How an attempt can end other than well: C74, C78, C180–C182.

use std::time::Duration;

use allm::{
    AdapterError, AdapterReason, Error, Event, Fake, FakeOutcome, FinishReason, Fold, Script,
    StreamReason,
};

use crate::support::{ask, events_of, folded, only_failure, play, tags};

fn error_of(event: &Event) -> Error {
    match event {
        Event::Error(event) => Error::from(event.error.clone()),
        event => panic!("{event:?}"),
    }
}

#[tokio::test]
async fn c74_a_failure_before_content_is_the_only_event() {
    let script = Script::new()
        .id("x")
        .model("m")
        .raw("1")
        .fail(AdapterReason::RateLimited);
    let events = play(script).await;
    let failure = only_failure(&events);
    let Error::Adapter(error) = Error::from(failure.clone()) else {
        panic!("{failure:?}");
    };
    assert_eq!(error.reason, AdapterReason::RateLimited);
    assert_eq!(error.provider, "fake");
    assert_eq!(error.request_id, Some("r1".into()));
}

#[tokio::test]
async fn c180_a_failure_after_content_is_an_error_in_mid_stream_and_the_last_event() {
    let events = play(
        Script::new()
            .text("a")
            .fail(AdapterReason::ProviderUnavailable),
    )
    .await;
    assert_eq!(tags(&events), ["message_started", "text_delta", "error"]);
    let response = folded(&events);
    assert_eq!(response.text(), "a");
    assert_eq!(response.finish_reason, Some(FinishReason::Error));
    assert_eq!(response.error.unwrap().reason, "provider_unavailable");
}

#[tokio::test]
async fn fail_with_gives_the_error_as_it_is() {
    let error = AdapterError {
        status: Some(429),
        retry_after: Some(Duration::from_secs(2)),
        ..AdapterError::new("fake", AdapterReason::RateLimited, "slow down")
    };
    let events = play(Script::new().fail_with(error.clone())).await;
    let expected = AdapterError {
        request_id: Some("r1".into()),
        ..error
    };
    assert_eq!(error_of(&events[0]), Error::from(expected.clone()));
    let own = AdapterError {
        request_id: Some("own".into()),
        ..expected
    };
    let events = play(Script::new().fail_with(own.clone())).await;
    assert_eq!(error_of(&events[0]), Error::from(own));
}

#[tokio::test]
async fn stream_fail_tells_how_many_events_had_come() {
    let events = play(
        Script::new()
            .text("a")
            .stream_fail(StreamReason::MalformedEvent),
    )
    .await;
    let Error::Stream(error) = error_of(&events[2]) else {
        panic!("{events:?}");
    };
    assert_eq!(error.reason, StreamReason::MalformedEvent);
    assert_eq!(error.event_index, Some(2));
    assert_eq!(error.provider, Some("fake".into()));
    assert_eq!(error.request_id, Some("r1".into()));
}

#[tokio::test]
async fn c181_an_error_in_between_is_followed_by_the_rest_and_stays() {
    let script = Script::new()
        .text("a")
        .fail_and_continue(AdapterReason::NetworkError)
        .text("b");
    let fake = Fake::new().reply(script);
    let events = events_of(&fake, ask()).await;
    let expected = [
        "message_started",
        "text_delta",
        "error",
        "text_delta",
        "text_completed",
        "message_completed",
    ];
    assert_eq!(tags(&events), expected);
    let response = folded(&events);
    assert_eq!(response.finish_reason, Some(FinishReason::Error));
    assert_eq!(response.error.unwrap().reason, "network_error");
    assert_eq!(response.message.text(), "ab");
    assert_eq!(fake.calls()[0].outcome, FakeOutcome::Completed);
}

#[tokio::test]
async fn c182_a_cut_is_an_end_without_closing_event() {
    let fake = Fake::new().reply(Script::new().text("a").cut());
    let events = events_of(&fake, ask()).await;
    assert_eq!(tags(&events), ["message_started", "text_delta"]);
    let mut fold = Fold::new();
    events.iter().for_each(|event| fold.push(event));
    let Some(Event::Error(end)) = fold.missing_end() else {
        panic!("an end is missing");
    };
    assert_eq!(end.error.reason, "interrupted");
    assert_eq!(fake.calls()[0].outcome, FakeOutcome::Cut);
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, 1));
    assert_eq!(play(Script::new().cut()).await, []);
}
