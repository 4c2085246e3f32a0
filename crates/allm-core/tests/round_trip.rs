//! Every value is equal after JSON, and its bytes are too (core.md, C18, C83, C164, C165, C170, C173; loop.md, L284).

#[cfg(test)]
#[allow(dead_code, unused_imports, reason = "each test uses a part of it")]
#[path = "support/values.rs"]
mod support;

use std::fmt::Debug;

use allm_core::json::{self, Document};
use allm_core::{
    CallFailure, Effect, Error, Failure, Message, Opaque, Part, ReasoningKind, ReasoningPart,
    TextPart, Thread, Tool, ToolCall,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};
use support::arbitrary::*;
use support::backwards;

/// The value, and its bytes, are the same after JSON, and the same again when another writer has been at the text.
fn same_after_json<T: Document + Clone + PartialEq + Debug>(
    value: &T,
) -> Result<(), TestCaseError> {
    let wrong = |error: allm_core::JsonError| TestCaseError::fail(error.to_string());
    let bytes = json::to_vec(value).map_err(wrong)?;
    let read: T = json::from_slice(&bytes).map_err(wrong)?;
    prop_assert_eq!(&read, value);
    prop_assert_eq!(json::to_vec(&read).map_err(wrong)?, bytes.clone());
    prop_assert_eq!(json::to_vec(&value.clone()).map_err(wrong)?, bytes.clone());
    prop_assert_eq!(
        json::canonical(&read).map_err(wrong)?,
        json::canonical(value).map_err(wrong)?
    );
    let stored = restored(&bytes)?;
    prop_assert_eq!(&json::from_slice::<T>(&stored).map_err(wrong)?, value);
    // C199
    let turned: T = json::from_str(&backwards(&bytes)).map_err(wrong)?;
    prop_assert_eq!(&turned, value);
    prop_assert_eq!(json::to_vec(&turned).map_err(wrong)?, bytes.clone());
    prop_assert_eq!(
        serde_json::to_vec(&turned).ok(),
        serde_json::to_vec(value).ok()
    );
    Ok(())
}

/// What a store gives back that keeps a tree and not the text, as a JSONB column does. Its numbers are exact, which those
/// of `serde_json` without `float_roundtrip` are not.
fn restored(bytes: &[u8]) -> Result<Vec<u8>, TestCaseError> {
    let tree: Value = json::value_from_slice(bytes, json::Limits::default())
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    serde_json::to_vec_pretty(&tree).map_err(|error| TestCaseError::fail(error.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c164_c165_message(value in any_message()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c164_c165_thread(value in any_thread()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c164_c165_request(value in any_request()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c164_c165_response(value in any_response()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c164_c165_usage(value in any_usage()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c164_c165_tool_call(value in any_call()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c164_c165_tool_spec(value in any_tool_spec()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c164_c165_tool(value in any_tool()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c83_l284_event(value in any_event()) {
        same_after_json(&value)?;
    }

    #[test]
    fn l284_step_result(value in any_step_result()) {
        same_after_json(&value)?;
    }

    #[test]
    fn l284_chat_result(value in any_chat_result()) {
        same_after_json(&value)?;
    }

    #[test]
    fn c141_c164_error(value in any_error()) {
        same_after_json(&value)?;
    }

    /// The data form of an error keeps all but its cause, and the typed error comes back from it.
    #[test]
    fn l206_failure_of_an_error(error in any_failure_error()) {
        let failure = Failure::from(&error);
        let back = Error::from(failure.clone());
        prop_assert_eq!(&Failure::from(&back), &failure);
        prop_assert_eq!(back.kind(), error.kind());
        prop_assert_eq!(back.reason(), error.reason());
        prop_assert_eq!(back.retry_after(), error.retry_after());
        prop_assert_eq!(&back, &without_cause(error));
    }

    /// Whatever a failure from elsewhere holds, making it typed ends well and keeps its family where there is one.
    #[test]
    fn l206_error_of_any_failure(failure in any_failure()) {
        let error = Error::from(failure.clone());
        prop_assert!(!error.to_string().is_empty());
        prop_assert_eq!(Error::from(Failure::from(&error)), error);
    }

    /// A failed call as data is equal after JSON, details of `null` included.
    #[test]
    fn c164_call_failure(failure in any_call_failure()) {
        let bytes = json::value_to_vec(&failure).unwrap();
        let read: CallFailure = json::value_from_slice(&bytes, json::Limits::default()).unwrap();
        prop_assert_eq!(read, failure);
    }

    /// The display form of a path is the path.
    #[test]
    fn c164_path(path in any_path()) {
        prop_assert_eq!(path.to_string().parse(), Ok(path));
    }
}

fn without_cause(mut error: Error) -> Error {
    match &mut error {
        Error::Engine(error) => error.cause = None,
        Error::Adapter(error) => error.cause = None,
        Error::Stream(error) => error.cause = None,
        Error::Tool(error) => error.cause = None,
        _ => {}
    }
    error
}

/// Odd key order, number spellings, escapes, spaces and a key that stands twice.
const ODD: &str = "{\"z\": 1.0, \"a\":1e2,\"\\u00e9\":\"\\ud83e\\udd80\\/\",\"n\":-0.0,\"n\":10000000000000000000000} ";

fn opaque(text: &str) -> Opaque {
    Opaque {
        provider: "anthropic".into(),
        wire: "messages".into(),
        kind: "thinking".into(),
        data: support::raw(text),
    }
}

#[test]
fn c18_opaque_json_is_byte_equal_after_clone_json_and_a_store() {
    let message = Message::assistant(Part::opaque(opaque(ODD)));
    let bytes = json::to_vec(&message).unwrap();
    let stored = restored(&bytes).unwrap();
    assert_ne!(stored, bytes);
    let copies = [
        message.clone(),
        json::from_slice(&bytes).unwrap(),
        json::from_slice(&stored).unwrap(),
    ];
    for copy in copies {
        let attached = copy.content[0]
            .attached()
            .map(|opaque| opaque.data.as_str());
        assert_eq!(attached, Some(ODD));
    }
}

#[test]
fn c14_argument_text_is_byte_equal_after_json_and_a_store() {
    let call = ToolCall::new("c1", "pay", ODD);
    let stored = restored(&json::to_vec(&call).unwrap()).unwrap();
    assert_eq!(
        json::from_slice::<ToolCall>(&stored).unwrap().raw_arguments,
        ODD
    );
}

#[test]
fn c17_empty_reasoning_with_an_opaque_value_survives_and_is_no_text() {
    let reasoning = |text: Option<&str>| {
        Part::Reasoning(ReasoningPart {
            text: text.map(str::to_owned),
            kind: ReasoningKind::Redacted,
            opaque: Some(opaque(ODD).into()),
        })
    };
    for text in [None, Some("")] {
        let message = Message::assistant([reasoning(text), Part::text("hi")]);
        let read: Message = json::from_slice(&json::to_vec(&message).unwrap()).unwrap();
        assert_eq!(read, message);
        assert_eq!(read.text(), "hi");
    }
}

#[test]
fn c170_a_message_with_everything_gives_an_equal_next_request() {
    let message = Message::assistant([
        Part::Reasoning(ReasoningPart {
            text: Some("hm".into()),
            kind: ReasoningKind::Raw,
            opaque: Some(opaque(ODD).into()),
        }),
        Part::Text(TextPart {
            text: "see".into(),
            opaque: Some(opaque("[ ]").into()),
        }),
        Part::image(allm_core::Image::from_bytes(
            vec![0, 159, 146, 150],
            "image/png",
        )),
    ])
    .with_tool_calls(vec![
        ToolCall::new("c1", "look", ODD),
        ToolCall::new("c2", "look", "{\"cut"),
    ]);
    let read: Message = json::from_slice(&json::to_vec(&message).unwrap()).unwrap();
    assert_eq!(read, message);
    let next = |message: Message| {
        let thread = Thread::from("hi")
            .with(message)
            .with(Message::tool_result("c1", "ok"));
        json::to_vec(&allm_core::Request::new(thread)).unwrap()
    };
    assert_eq!(next(read), next(message));
}

/// No document type has a field for a key, a header or an engine: a tool's handler and probe are the only parts that
/// are no data, and neither is written.
#[test]
fn c173_what_is_not_data_is_not_written() {
    struct Secret;
    impl allm_core::EffectProbe for Secret {
        fn probe(
            &self,
            _idempotency_key: &str,
            _arguments: allm_core::Map,
        ) -> allm_core::BoxFuture<'_, Result<allm_core::ProbeAnswer, allm_core::ToolError>>
        {
            Box::pin(async { Ok(allm_core::ProbeAnswer::Unknown) })
        }
    }
    let tool = Tool::new("pay", "", json!({}))
        .effect(Effect::Reconcile(Some(std::sync::Arc::new(Secret))));
    let bare = Tool::new("pay", "", json!({})).effect(Effect::Reconcile(None));
    assert_eq!(
        json::to_string(&tool).unwrap(),
        json::to_string(&bare).unwrap()
    );
    assert_eq!(tool, bare);
    assert_eq!(format!("{tool:?}"), format!("{bare:?}"));
}

#[test]
fn c173_debug_of_what_came_from_a_provider_shows_its_length_only() {
    let part = Part::opaque(opaque(r#"{"signature":"sk-live-123"}"#));
    let shown = format!("{part:?}");
    assert!(shown.contains("RawJson(27 bytes)"), "{shown}");
    assert!(!shown.contains("sk-live"), "{shown}");
}
