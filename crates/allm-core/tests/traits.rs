//! The traits that others implement: usable behind `dyn`, and their values keep secrets.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use allm_core::{
    Adapter, ApiKey, BoxFuture, BoxStream, Event, KeyError, KeyRequest, KeySource, KeyUse,
    ModelCall, ProviderName, RawBody, RawChunks, Request, SessionStore, StreamError, Timeouts,
    ToolExecutor, ToolHandler, ToolResultEncoder,
};
use futures_core::Stream;

fn _object_safe(
    _: &dyn SessionStore,
    _: &dyn Adapter,
    _: &dyn KeySource,
    _: &dyn ToolExecutor,
    _: &dyn ToolHandler,
    _: &dyn ToolResultEncoder,
) {
}

fn _shared() {
    fn send_and_sync<T: Send + Sync + ?Sized>() {}
    send_and_sync::<Arc<dyn SessionStore>>();
    send_and_sync::<Arc<dyn Adapter>>();
    send_and_sync::<Arc<dyn KeySource>>();
    send_and_sync::<ModelCall>();
    send_and_sync::<ApiKey>();
}

fn ready<T>(mut future: BoxFuture<'_, T>) -> T {
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready at once"),
    }
}

fn call() -> ModelCall {
    let model = "mute:any".parse().expect("valid");
    ModelCall::new(Request::new("the prompt"), model, "r-1")
}

/// A provider that ends every answer at once.
struct Mute(ProviderName);

struct Once(Option<Event>);

impl Stream for Once {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Event>> {
        Poll::Ready(self.0.take())
    }
}

impl Adapter for Mute {
    fn provider(&self) -> &ProviderName {
        &self.0
    }

    fn stream(&self, _: ModelCall) -> BoxStream<'static, Event> {
        let error = allm_core::Error::from(StreamError::interrupted());
        Box::pin(Once(Some(Event::error(error))))
    }
}

#[test]
fn an_adapter_needs_two_methods() {
    let adapter: Arc<dyn Adapter> = Arc::new(Mute("mute".into()));
    assert_eq!(adapter.check(&call()), Ok(()));
    assert_eq!(adapter.key_use(), KeyUse::Required);
    assert!(adapter.key_source().is_none());
    let mut stream = adapter.stream(call());
    let mut next = || {
        let mut context = Context::from_waker(Waker::noop());
        stream.as_mut().poll_next(&mut context)
    };
    assert!(matches!(next(), Poll::Ready(Some(Event::Error(_)))));
    assert!(matches!(next(), Poll::Ready(None)));
}

#[test]
fn a_call_begins_with_the_defaults() {
    let call = call();
    assert_eq!((call.attempt, call.timeouts), (1, Timeouts::default()));
    assert_eq!(
        (call.raw_chunks, call.raw_body),
        (RawChunks::Off, RawBody::Off)
    );
    assert!(call.key.is_none() && !call.cancel.is_cancelled());
    let seconds = |limit: Option<std::time::Duration>| limit.map(|limit| limit.as_secs());
    let Timeouts {
        connect,
        first_byte,
        idle,
        stall,
        deadline,
        key,
    } = Timeouts::default();
    assert_eq!(
        [connect, first_byte, idle, stall, deadline, key].map(seconds),
        [Some(10), Some(120), Some(60), Some(600), None, Some(5)]
    );
}

#[test]
fn c104_debug_of_a_call_shows_no_key_and_no_header_value() {
    let mut call = call();
    call.key = ApiKey::new("k-secret-1").expect("valid");
    call.headers = vec![("x-extra".to_owned(), "secret-2".to_owned())];
    call.query = vec![("key".to_owned(), "secret-3".to_owned())];
    for shown in [format!("{call:?}"), format!("{call:#?}")] {
        assert!(!shown.contains("secret"), "{shown}");
        assert!(!shown.contains("the prompt"), "{shown}");
        assert!(
            shown.contains("x-extra") && shown.contains("ApiKey(***)"),
            "{shown}"
        );
    }
}

/// Has keys for one tenant, and is sealed for another.
struct Vault;

impl KeySource for Vault {
    fn key(&self, ask: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        Box::pin(async move {
            match ask.tenant.as_ref().map(|tenant| tenant.as_str()) {
                Some("acme") => {
                    let text = format!("{}-{}-{}", ask.provider, ask.model, ask.attempt);
                    ApiKey::new(text).map_err(|error| KeyError::new(error.message))
                }
                Some("sealed") => Err(KeyError::new("the vault is sealed")),
                _ => Ok(None),
            }
        })
    }
}

#[test]
fn a_key_source_answers_with_a_key_none_or_an_error() {
    let mut ask = KeyRequest::new("openai", "gpt", "r-1");
    let found = ready(Vault.key(ask.clone())).expect("no error");
    assert!(found.is_none());
    ask.tenant = Some("acme".into());
    ask.attempt = 2;
    let found = ready(Vault.key(ask.clone()))
        .expect("no error")
        .expect("a key");
    assert_eq!(found.expose(), "openai-gpt-2");
    ask.tenant = Some("sealed".into());
    let error = ready(Vault.key(ask.clone())).expect_err("sealed");
    assert_eq!(error.to_string(), "the vault is sealed");
    let fixed = ready(found.key(ask)).expect("no error").expect("a key");
    assert_eq!(fixed.expose(), "openai-gpt-2");
}
