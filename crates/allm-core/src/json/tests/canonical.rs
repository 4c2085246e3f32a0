use serde::Serialize;
use serde_json::{Value, json};

use crate::json::{Limits, canonical, canonical_value, value_from_slice, value_to_vec};

fn of(text: &str) -> String {
    let value: Value = value_from_slice(text.as_bytes(), Limits::default()).unwrap();
    String::from_utf8(canonical_value(&value)).unwrap()
}

#[test]
fn s79_order_spaces_numbers_and_escapes_do_not_count() {
    let expected = r#"{"a":[1,0,1.5],"b":"é/\"\\\n","ü":null}"#;
    for text in [
        r#"{"a":[1,0,1.5],"b":"é/\"\\\n","ü":null}"#,
        r#" { "ü" : null , "b" : "\u00e9\/\u0022\u005C\u000a", "a" : [ 1.0, -0, 15e-1 ] } "#,
        r#"{"b":"é/\"\\\n","\u00fc":null,"a":[10E-1,-0.0,1.50]}"#,
        r#"{"b":"é/\"\\\n","\u00fc":null,"a":[1e0,0.0,0.15e1]}"#,
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn s79_composed_and_decomposed_letters_differ() {
    assert_ne!(of("\"\u{e9}\""), of("\"e\u{301}\""));
    assert_eq!(of("\"e\u{301}\""), "\"e\u{301}\"");
}

#[test]
fn s79_keys_are_sorted_by_code_point() {
    // In UTF-16 the last two would be the other way round.
    let value =
        json!({"\u{10000}": 1, "\u{ffee}": 2, "b": 3, "a": 4, "B": 5, "": 6, "aa": 7, "é": 8});
    assert_eq!(
        String::from_utf8(canonical(&value).unwrap()).unwrap(),
        "{\"\":6,\"B\":5,\"a\":4,\"aa\":7,\"b\":3,\"é\":8,\"\u{ffee}\":2,\"\u{10000}\":1}"
    );
}

#[test]
fn s79_only_quotes_backslashes_and_controls_are_escaped() {
    let text: String = (0..0x20u8).map(char::from).collect();
    assert_eq!(
        String::from_utf8(canonical(&(text + "\"\\/\u{7f}\u{80}\u{2028}😀")).unwrap()).unwrap(),
        concat!(
            r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#,
            r#"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"#,
            r#"\"\\/"#,
            "\u{7f}\u{80}\u{2028}😀\""
        )
    );
}

#[test]
fn s60_numbers_have_one_form() {
    for (text, expected) in [
        ("9223372036854775808", "9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740992.0", "9007199254740992"),
        ("-9007199254740992.0", "-9007199254740992"),
        ("9007199254740994.0", "9.007199254740994e15"),
        ("1e15", "1000000000000000"),
        ("1e17", "1e17"),
        ("1e300", "1e300"),
        ("1.5E+300", "1.5e300"),
        ("0.1", "0.1"),
        ("100e-3", "0.1"),
        ("-4503599627370495.5", "-4503599627370495.5"),
        ("18446744073709551616", "1.8446744073709552e19"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("0.00001", "0.00001"),
        ("0.000001", "1e-6"),
        ("1.25e-7", "1.25e-7"),
        ("5e-324", "5e-324"),
        ("1e-999", "0"),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn a_value_has_the_canonical_form_of_its_text() {
    #[derive(Serialize)]
    struct Sample {
        z: f32,
        a: Option<f32>,
        m: (f64, u64, i8),
    }
    let sample = Sample {
        z: 0.1,
        a: Some(16_777_216.0),
        m: (3.0, u64::MAX, -1),
    };
    let direct = canonical(&sample).unwrap();
    let text = String::from_utf8(value_to_vec(&sample).unwrap()).unwrap();
    assert_eq!(direct, of(&text).into_bytes());
    assert_eq!(
        direct,
        br#"{"a":16777216,"m":[3,18446744073709551615,-1],"z":0.1}"#
    );
}

#[test]
fn a_value_that_writes_a_key_twice_has_no_canonical_form() {
    #[derive(Serialize)]
    struct Twice {
        a: u8,
        #[serde(flatten)]
        rest: std::collections::BTreeMap<String, u8>,
    }
    let twice = Twice {
        a: 1,
        rest: [("a".to_owned(), 2)].into(),
    };
    assert_eq!(
        super::place(canonical(&twice)),
        super::at(crate::error::JsonReason::Malformed, "a")
    );
}
