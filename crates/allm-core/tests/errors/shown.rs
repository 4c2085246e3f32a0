//! What an error says of itself (C139 to C144, C171).

use std::error::Error as _;
use std::time::Duration;

use allm_core::{
    AdapterError, AdapterReason, Cause, EncodeError, Error, ErrorKind, Failure, FinishReason,
    Interrupted, KeyError, MAX_PROVIDER_TEXT, Message, StoreError, StoreReason, Unfinished, json,
};
use serde_json::json;

use super::{each, partial};

/// What the error came from, level by level.
fn sources(error: &Error) -> Vec<String> {
    let mut texts = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    texts
}

#[test]
fn c139_kind_reason_and_retryable_of_each_family() {
    let facts: Vec<_> = each()
        .iter()
        .map(|error| (error.kind(), error.reason(), error.is_retryable()))
        .collect();
    assert_eq!(
        facts,
        [
            (ErrorKind::Engine, "no_model", false),
            (ErrorKind::Validation, "invalid_thread", false),
            (ErrorKind::Adapter, "timeout", true),
            (ErrorKind::Stream, "stalled", true),
            (ErrorKind::Json, "malformed", false),
            (ErrorKind::Tool, "timeout", false),
            (ErrorKind::Unfinished, "length", false),
            (ErrorKind::Unfinished, "max_turns", false),
            (ErrorKind::Unfinished, "custom", false),
            (ErrorKind::Stream, "interrupted", true),
        ]
    );
}

#[test]
fn c140_display_is_one_line_without_the_cause() {
    let shown: Vec<String> = each().iter().map(ToString::to_string).collect();
    let fault = "[\"a\\nb\"]: empty (one two)";
    assert_eq!(
        shown,
        [
            "no_model: one two".to_owned(),
            format!("invalid_thread: {fault}; {fault}; {fault}; {fault}; {fault}; and 2 more"),
            "x y: timeout (status 503): one two".to_owned(),
            "stalled: one two".to_owned(),
            "malformed at [\"a\\nb\"]: one two".to_owned(),
            "a b: timeout: one two".to_owned(),
            "the answer ended with `length`, not `stop`".to_owned(),
            "the run halted with `max_turns`".to_owned(),
            "the run halted with `a b`".to_owned(),
            "the answer was interrupted".to_owned(),
        ]
    );
}

#[test]
fn c140_what_is_no_error_of_a_call_is_shown_in_one_line_too() {
    let store = StoreError::new(StoreReason::Corrupt, "one\ntwo");
    assert_eq!(store.to_string(), "corrupt: one two");
    assert_eq!(
        EncodeError::new("one\ntwo").to_string(),
        "the value could not be encoded: one two"
    );
    assert_eq!(Cause::new("one\ntwo").to_string(), "one two");
    assert_eq!(KeyError::new("one\ntwo").to_string(), "one two");
}

#[test]
fn c140_source_leads_to_the_cause() {
    for error in each() {
        let texts = sources(&error);
        match &error {
            Error::Validation(_) | Error::Json(_) | Error::Unfinished(_) => {
                assert!(texts.is_empty())
            }
            Error::Interrupted(_) => {
                assert_eq!(
                    texts,
                    ["interrupted: the stream ended without its closing event"]
                );
            }
            _ => assert_eq!(texts, ["the cause", "the root"], "{error}"),
        }
    }
}

#[test]
fn c140_a_chain_of_causes_is_kept_as_text_up_to_sixteen_levels() {
    let long = (0..40).fold(None, |source, level: u32| {
        Some(Box::new(Cause {
            message: level.to_string(),
            source,
        }))
    });
    let kept = Cause::of(long.unwrap().as_ref());
    let texts: Vec<String> = std::iter::successors(Some(&kept), |cause| cause.source.as_deref())
        .map(|cause| cause.message.clone())
        .collect();
    let expected: Vec<String> = (24..40).rev().map(|level: u32| level.to_string()).collect();
    assert_eq!(texts, expected);
}

#[test]
fn c141_c171_errors_clone_and_are_equal_after_json() {
    fn is_an_error<E: std::error::Error + Clone + Send + Sync + 'static>(_: &E) {}
    for error in each() {
        is_an_error(&error);
        let read: Error = json::from_slice(&json::to_vec(&error).unwrap()).unwrap();
        assert_eq!(read, error.clone());
    }
}

#[test]
fn c142_retry_after_is_what_the_server_said() {
    let wait = Duration::from_millis(1_500);
    let error = |retry_after| {
        let reason = AdapterReason::RateLimited;
        Error::from(AdapterError {
            retry_after,
            ..AdapterError::new("openai", reason, "slow")
        })
    };
    assert_eq!(error(Some(wait)).retry_after(), Some(wait));
    assert_eq!(error(None).retry_after(), None);
    let interrupted = Interrupted {
        partial: partial(FinishReason::Error),
        source: error(Some(wait)),
    };
    assert_eq!(Error::from(interrupted).retry_after(), Some(wait));
    let others = each()
        .into_iter()
        .filter(|error| !matches!(error, Error::Adapter(_)));
    assert!(
        others
            .into_iter()
            .all(|error| error.retry_after().is_none())
    );
}

#[test]
fn c142_retry_after_survives_the_data_form() {
    let wait = Some(Duration::from_millis(20_500));
    let error = AdapterError {
        retry_after: wait,
        ..AdapterError::new("openai", AdapterReason::RateLimited, "slow")
    };
    let failure = Failure::from(Error::from(error));
    assert_eq!(failure.metadata["retry_after"], json!(20_500));
    assert_eq!(Error::from(failure).retry_after(), wait);
}

#[test]
fn c143_text_of_a_provider_is_cut_between_characters_with_a_mark() {
    let message = |text: &str| AdapterError::new("openai", AdapterReason::Unknown, text).message;
    let longest = "x".repeat(MAX_PROVIDER_TEXT);
    assert_eq!(MAX_PROVIDER_TEXT, 2_048);
    assert_eq!(message(&longest), longest);
    assert_eq!(
        message(&format!("{longest}y")),
        format!("{longest}\n[cut: 2048 of 2049 bytes]")
    );
    let wide = format!("x{}", "日".repeat(1_000));
    let kept = format!("x{}", "日".repeat(682));
    assert_eq!(message(&wide), format!("{kept}\n[cut: 2047 of 3001 bytes]"));
}

#[test]
fn c144_an_error_about_an_answer_does_not_show_it() {
    for error in [
        Error::from(Unfinished::new(partial(FinishReason::Length))),
        Error::from(Interrupted::new(partial(FinishReason::Error))),
    ] {
        let shown = format!("{error} {:?}", sources(&error));
        assert!(!shown.contains("secret"), "{shown}");
        assert!(
            !json::value_to_string(&Failure::from(&error))
                .unwrap()
                .contains("secret")
        );
    }
}

#[test]
fn c144_an_error_about_a_document_does_not_show_its_content() {
    let faults = [
        r#"{"v":1,"type":"message","data":{"role":"sk-secret"}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","content":"sk-secret"}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","content":[{"type":"text","text":"sk-secret}]}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","content":[{"type":"sk-secret"}]}}"#,
        r#"{"v":1,"type":"message","data":{"role":"user","is_error":"sk-secret"}}"#,
        r#"{"v":"sk-secret","type":"message","data":{}}"#,
    ];
    for text in faults {
        let error = json::from_str::<Message>(text).unwrap_err();
        assert!(
            !format!("{error:?} {error}").contains("secret"),
            "{error:?}"
        );
    }
    let model =
        json::value_from_slice::<allm_core::ModelRef>(b"\"sk secret\"", json::Limits::default());
    assert!(!model.unwrap_err().to_string().contains("secret"));
}
