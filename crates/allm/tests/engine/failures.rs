//! How failures are told.

use allm::{
    AdapterReason, Engine, Error, ErrorKind, Event, EventStream, Fake, KeyUse, Message, Request,
    Script, StreamReason, Thread, ToolSpec, validate,
};
use serde_json::json;

use super::{engine, text};

type Told = (ErrorKind, String);

fn told(error: &Error) -> Told {
    (error.kind(), error.reason().to_owned())
}

/// The only error of a stream.
async fn streamed(stream: EventStream) -> Told {
    let events = stream.collect().await;
    let mut errors = events.iter().filter_map(|event| match event {
        Event::Error(event) => Some((event.error.kind, event.error.reason.clone())),
        _ => None,
    });
    let error = errors.next().expect("an error");
    assert_eq!(errors.next(), None);
    error
}

/// How each entry point tells a failure. What is inside a result is taken out of it.
async fn everywhere(engine: &Engine, input: &Request) -> Vec<(&'static str, Told)> {
    let input = || input.clone();
    let generate = engine.generate(input()).await;
    let step = engine.step(input()).await;
    let chat = engine.chat(input()).await;
    vec![
        (
            "generate",
            told(
                &generate
                    .and_then(allm::Response::into_result)
                    .expect_err("failed"),
            ),
        ),
        (
            "step",
            told(
                &step
                    .and_then(allm::StepResult::into_result)
                    .expect_err("failed"),
            ),
        ),
        (
            "chat",
            told(
                &chat
                    .and_then(allm::ChatResult::into_result)
                    .expect_err("failed"),
            ),
        ),
        (
            "generate streamed",
            streamed(engine.generate(input()).stream()).await,
        ),
        (
            "step streamed",
            streamed(engine.step(input()).stream()).await,
        ),
        (
            "chat streamed",
            streamed(engine.chat(input()).stream()).await,
        ),
    ]
}

async fn alike(engine: &Engine, input: &Request, kind: ErrorKind, reason: &str) {
    for (entry, found) in everywhere(engine, input).await {
        assert_eq!(found, (kind, reason.to_owned()), "{reason} in {entry}");
    }
}

/// C146, without sessions: every reason of providers and streams, before and after content, and each gate.
#[tokio::test(start_paused = true)]
async fn c146_a_failure_has_one_kind_and_one_reason_everywhere() {
    let hi = Request::new("hi");
    for begun in [false, true] {
        let script = || if begun { text("half") } else { Script::new() };
        for reason in AdapterReason::ALL {
            let fake = Fake::new().always(script().fail(*reason));
            alike(&engine(&fake), &hi, ErrorKind::Adapter, reason.as_str()).await;
        }
        // No provider cancels; that is C137.
        let reasons = StreamReason::ALL.iter();
        for reason in reasons.filter(|reason| **reason != StreamReason::Cancelled) {
            let fake = Fake::new().always(script().stream_fail(*reason));
            alike(&engine(&fake), &hi, ErrorKind::Stream, reason.as_str()).await;
        }
        let fake = Fake::new().always(script().cut());
        alike(&engine(&fake), &hi, ErrorKind::Stream, "interrupted").await;
    }
    let fake = Fake::new().always(text("x")).with_key_use(KeyUse::Required);
    let engine = engine(&fake);
    alike(&engine, &hi, ErrorKind::Engine, "missing_key").await;
    let empty = Request::new(Thread::new());
    alike(&engine, &empty, ErrorKind::Validation, "invalid_thread").await;
    let hot = Request {
        temperature: Some(9.0),
        ..hi.clone()
    };
    alike(&engine, &hot, ErrorKind::Validation, "invalid_request").await;
    let nobody = Engine::builder()
        .provider(fake.clone())
        .build()
        .expect("valid");
    alike(&nobody, &hi, ErrorKind::Engine, "no_model").await;
    fake.assert_calls(0);
}

/// C49: what is wrong inside a schema is told in full, wherever it is found.
#[tokio::test]
async fn c49_nested_faults_keep_their_detail_through_chat() {
    let schema = json!({"type": "object", "properties": {"a": {"type": 5}}});
    let request = Request {
        tools: vec![ToolSpec::function("bad", "", schema)],
        ..Request::new(vec![Message::user("hi")])
    };
    let direct = validate::request(&request).expect_err("invalid").faults;
    assert!(
        direct.iter().any(|fault| fault.detail.is_some()),
        "{direct:?}"
    );
    let fake = Fake::new();
    let engine = engine(&fake);
    let Err(Error::Validation(error)) = engine.chat(request.clone()).await else {
        panic!("not refused");
    };
    assert_eq!(error.faults, direct);
    let Err(Error::Validation(error)) = engine.generate(request.clone()).await else {
        panic!("not refused");
    };
    assert_eq!(error.faults, direct);
    let events = engine.chat(request).stream().collect().await;
    let [Event::Error(event)] = &events[..] else {
        panic!("{events:?}");
    };
    let Error::Validation(error) = Error::from(event.error.clone()) else {
        panic!("{event:?}");
    };
    assert_eq!(error.faults, direct);
    fake.assert_calls(0);
}
