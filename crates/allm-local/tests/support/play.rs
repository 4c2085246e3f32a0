//! Asking a model and gathering what it says.

use std::future::poll_fn;
use std::task::Poll;

use allm_core::{
    Adapter, BoxStream, Event, Fold, Message, ModelCall, ModelRef, Request, Response, Thread,
};
use allm_local::Local;

pub(crate) fn call(path: &std::path::Path, request: Request) -> ModelCall {
    let model = ModelRef::new("local", path.to_str().unwrap());
    ModelCall::new(request, model, "request-1")
}

pub(crate) fn request(messages: Vec<Message>) -> Request {
    let mut thread = Thread::new();
    messages
        .into_iter()
        .for_each(|message| thread.push(message));
    Request::new(thread)
}

pub(crate) async fn next(stream: &mut BoxStream<'static, Event>) -> Option<Event> {
    poll_fn(|cx| stream.as_mut().poll_next(cx)).await
}

/// The next event, if it is there.
pub(crate) async fn at_once(stream: &mut BoxStream<'static, Event>) -> Poll<Option<Event>> {
    // The runtime lets no task take too much at once; here one task asks on purpose.
    let asked = poll_fn(|cx| Poll::Ready(stream.as_mut().poll_next(cx)));
    tokio::task::unconstrained(asked).await
}

pub(crate) async fn events(local: &Local, call: ModelCall) -> Vec<Event> {
    let mut stream = local.stream(call);
    let mut events = Vec::new();
    while let Some(event) = next(&mut stream).await {
        events.push(event);
    }
    events
}

pub(crate) fn fold(events: &[Event]) -> Response {
    let mut fold = Fold::new();
    events.iter().for_each(|event| fold.push(event));
    fold.response()
}

pub(crate) async fn ask(local: &Local, call: ModelCall) -> Response {
    fold(&events(local, call).await)
}
