//! Secrets do not stay in what others wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use allm_core::{
    AdapterError, AdapterReason, ApiKey, Cause, EngineError, EngineReason, Error, Failure, Redactor,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;
use serde_json::json;

fn key(text: &str) -> ApiKey {
    ApiKey::new(text).unwrap().unwrap()
}

fn knows(text: &str) -> Redactor {
    Redactor::new().with_key(&key(text))
}

/// Each shape with the shortest tail that counts, and with one character less.
#[test]
fn c106_what_looks_like_a_key_of_any_provider() {
    let shapes = [
        ("sk-", 6),
        ("sk_", 16),
        ("rk-", 6),
        ("org-", 6),
        ("AIza", 6),
        ("ya29.", 6),
        ("gsk_", 6),
        ("xai-", 6),
        ("hf_", 6),
        ("pa-", 6),
        ("r8_", 6),
        ("pplx-", 6),
        ("tgp_v1_", 6),
        ("apikey_", 16),
    ];
    let redactor = Redactor::new();
    for (prefix, least) in shapes {
        let tail: String = "aB3_-x".chars().cycle().take(least).collect();
        let long = format!("key={prefix}{tail}, sorry");
        assert_eq!(redactor.text(&long), "key=[REDACTED], sorry", "{prefix}");
        let inside = format!("x{prefix}{tail}");
        assert_eq!(redactor.text(&inside), inside, "not at a word boundary");
        let short = format!("key={prefix}{}, sorry", &tail[..least - 1]);
        assert_eq!(redactor.text(&short), short, "too short");
    }
}

#[test]
fn bearer_and_its_token() {
    let redactor = Redactor::new();
    assert_eq!(
        redactor.text("Authorization: Bearer abc.def/ghi+j=="),
        "Authorization: [REDACTED]"
    );
    assert_eq!(redactor.text("bearer \t x, y"), "[REDACTED], y");
    for text in ["Bearer", "Bearer ", "forbearer x", "bearers x"] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn keys_that_touch_and_overlap() {
    let redactor = knows("abc");
    assert_eq!(redactor.text("abcabc é abc"), "[REDACTED] é [REDACTED]");
    let redactor = knows("sk-secretsecret");
    assert_eq!(redactor.text("<sk-secretsecretmore>"), "<[REDACTED]>");
}

#[test]
fn c107_the_key_in_other_clothes() {
    let secret = "p4ss/word+with space";
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let redactor = knows(secret);
    for text in [
        secret.to_owned(),
        "p4ss%2Fword%2Bwith%20space".to_owned(),
        hex.clone(),
        hex.to_uppercase(),
        STANDARD.encode(secret),
        URL_SAFE.encode(secret),
        STANDARD.encode(format!("u:{secret}")),
        STANDARD.encode(format!("me:{secret}!")),
        STANDARD.encode(format!("user:{secret}")),
    ] {
        let said = format!("got \"{text}\" from you");
        assert_eq!(
            redactor.text(&said),
            "got \"[REDACTED]\" from you",
            "{text}"
        );
    }
}

/// The pure part of C105: everything an error can hold.
#[test]
fn c105_errors_are_cleaned_whole() {
    let redactor = knows("my-own-secret");
    let mut error = AdapterError::new("p", AdapterReason::AuthenticationFailed, "my-own-secret");
    error.provider_code = Some("my-own-secret".into());
    error.provider_type = Some("my-own-secret".into());
    error.param = Some("my-own-secret".into());
    error.provider_request_id = Some("my-own-secret".into());
    let details = json!({"a": ["my-own-secret", {"my-own-secret": 1}]});
    *error.details = details.as_object().unwrap().clone();
    error.cause = Some(Cause {
        message: "my-own-secret".into(),
        source: Some(Box::new(Cause::new("my-own-secret"))),
    });
    let mut error = Error::from(error);
    let mut failure = Failure::from(&error);
    redactor.clean_failure(&mut failure);
    assert!(!format!("{failure:?}").contains("own"), "{failure:?}");
    redactor.clean_error(&mut error);
    assert!(!format!("{error:?}").contains("own"), "{error:?}");
    assert!(format!("{error:?}").matches("[REDACTED]").count() >= 9);

    let mut error = EngineError::new(EngineReason::KeySourceFailed, "my-own-secret");
    error.cause = Some(Cause::new("my-own-secret"));
    let mut error = Error::from(error);
    redactor.clean_error(&mut error);
    assert!(!format!("{error:?}").contains("own"), "{error:?}");
}

#[test]
fn it_does_not_show_what_it_looks_for() {
    assert_eq!(format!("{:?}", knows("my-own-secret")), "Redactor(***)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever is around it, the key is gone, and doing it again changes nothing.
    #[test]
    fn no_key_is_left(
        secret in "[!-~]{8,40}",
        before in ".{0,20}",
        between in ".{0,20}",
        after in ".{0,20}",
        user in "[a-z]{0,5}",
    ) {
        let redactor = knows(&secret);
        let basic = STANDARD.encode(format!("{user}{secret}"));
        let text = format!("{before}{secret}{between} {basic} {after}");
        let clean = redactor.text(&text);
        // A key may be made of what stands in its place.
        prop_assume!(!"[REDACTED]".contains(&secret));
        prop_assert!(!clean.contains(&secret), "{clean}");
        prop_assert!(!clean.contains(&basic), "{clean}");
    }

    #[test]
    fn texts_without_secrets_are_left_alone(text in "[a-f ,é€]{0,60}") {
        prop_assert_eq!(Redactor::new().text(&text), text.as_str());
    }
}

/// C107, C108: a key is found in every form, and what only looks like one is not taken for it.
#[test]
fn c108_a_key_is_found_in_every_form() {
    let secret = r#"p4ss/wo"rd\with space"#;
    let redactor = knows(secret);
    let once = serde_json::to_string(secret).unwrap();
    for text in [
        secret.to_owned(),
        once.clone(),
        serde_json::to_string(&once).unwrap(),
        "p4ss%2Fwo%22rd%5Cwith%20space".to_owned(),
        STANDARD.encode(format!("user:{secret}")),
        URL_SAFE.encode(secret),
    ] {
        assert!(redactor.finds_key_in(text.as_bytes()), "{text}");
        let clean = redactor.text(&text).into_owned();
        assert!(!redactor.finds_key_in(clean.as_bytes()), "{clean}");
    }
    for text in ["", "p4ss/wo", "sk-abcdefgh", "Bearer abc"] {
        assert!(!redactor.finds_key_in(text.as_bytes()), "{text}");
    }
    assert!(!Redactor::new().finds_key_in(b"sk-abcdefgh"));
}
