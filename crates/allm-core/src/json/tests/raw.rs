use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{at, place};
use crate::error::JsonReason;
use crate::json::{Limits, RawJson, value_from_slice, value_to_string};

#[test]
fn the_text_is_kept_to_the_byte() {
    let text = " {\"b\": 1.0, \"a\": [\"\\u00e9\", 1E2], \"b\": 2} ";
    let raw = RawJson::new(text).unwrap();
    assert_eq!(raw.as_str(), text);
    assert_eq!(raw.to_value(), json!({"a": ["é", 100.0], "b": 2}));
    assert_eq!(raw, raw.clone());
    assert_ne!(raw, RawJson::new(text.trim()).unwrap());
    assert_eq!(format!("{raw:?}"), format!("RawJson({} bytes)", text.len()));
}

#[test]
fn only_one_value_of_at_most_160_levels_is_taken() {
    for text in [
        "",
        "{",
        "1 2",
        "nope",
        "\"\\ud800\"",
        "[\"a\nb\"]",
        "{\"a\":}",
    ] {
        assert_eq!(
            RawJson::new(text).unwrap_err().reason,
            JsonReason::Malformed
        );
    }
    let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
    assert!(RawJson::new(nested(160)).is_ok());
    assert_eq!(
        RawJson::new(nested(161)).unwrap_err().reason,
        JsonReason::TooDeep
    );
    assert_eq!(
        RawJson::new(nested(1_000_000)).unwrap_err().reason,
        JsonReason::TooDeep
    );
    assert_eq!(
        place(RawJson::new("[1e400]")),
        at(JsonReason::InvalidValue, "[0]")
    );
}

#[test]
fn in_our_json_it_is_a_string() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        raw: RawJson,
    }
    let holder = Holder {
        raw: RawJson::new("{ \"a\": 1 }").unwrap(),
    };
    let text = value_to_string(&holder).unwrap();
    assert_eq!(text, r#"{"raw":"{ \"a\": 1 }"}"#);
    let read = |text: &str| value_from_slice::<Holder>(text.as_bytes(), Limits::default());
    assert_eq!(read(&text).unwrap(), holder);
    let error = read(r#"{"raw":"{\"s3cr3t\": s3cr3t}"}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid_value at raw: not one JSON value: expected a value"
    );
    assert_eq!(
        place(read(r#"{"raw":{"a":1}}"#)),
        at(JsonReason::InvalidValue, "raw")
    );
}

#[test]
fn a_tree_becomes_compact_text() {
    let value = json!({"b": [1, 0.5], "a": "x"});
    let raw = RawJson::from_value(&value).unwrap();
    assert_eq!(raw.as_str(), r#"{"a":"x","b":[1,0.5]}"#);
    assert_eq!(raw.to_value(), value);
}
