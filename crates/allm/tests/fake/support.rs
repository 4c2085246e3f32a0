//! What the tests of the scripted provider share.

use std::future::poll_fn;

use allm::{Adapter, BoxStream, Event, Failure, Fake, Fold, Message, ModelCall, Request, Response};

/// A first attempt at "hi".
pub(crate) fn ask() -> ModelCall {
    ask_with(vec![Message::user("hi")])
}

pub(crate) fn ask_with(messages: Vec<Message>) -> ModelCall {
    ModelCall::new(Request::new(messages), "fake:any".parse().unwrap(), "r1")
}

pub(crate) async fn next(stream: &mut BoxStream<'static, Event>) -> Option<Event> {
    poll_fn(|cx| stream.as_mut().poll_next(cx)).await
}

/// Every event of a stream, which then keeps to its end.
pub(crate) async fn rest(stream: &mut BoxStream<'static, Event>) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = next(stream).await {
        events.push(event);
    }
    assert_eq!(next(stream).await, None, "the end is the end");
    events
}

pub(crate) async fn events_of(fake: &Fake, call: ModelCall) -> Vec<Event> {
    rest(&mut fake.stream(call)).await
}

/// The events of one script for "hi".
pub(crate) async fn play(script: impl Into<allm::Script>) -> Vec<Event> {
    events_of(&Fake::new().reply(script), ask()).await
}

/// The answer that the events tell of; a missing end is put in as a driver does.
pub(crate) fn folded(events: &[Event]) -> Response {
    let mut fold = Fold::new();
    events.iter().for_each(|event| fold.push(event));
    if let Some(end) = fold.missing_end() {
        fold.push(&end);
    }
    fold.response()
}

pub(crate) fn tags(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::tag).collect()
}

/// The pieces of visible text, with the ids of their parts.
pub(crate) fn text_deltas(events: &[Event]) -> Vec<(String, String)> {
    let pieces = events.iter().filter_map(|event| match event {
        Event::TextDelta(event) => Some((event.id.clone()?.to_string(), event.delta.to_string())),
        _ => None,
    });
    pieces.collect()
}

/// The failure of the only event.
pub(crate) fn only_failure(events: &[Event]) -> &Failure {
    match events {
        [Event::Error(event)] => &event.error,
        events => panic!("expected one error, found {:?}", tags(events)),
    }
}
