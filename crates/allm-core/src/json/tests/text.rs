use serde_json::Value;

use super::samples::{Thread, thread};
use super::{at, place};
use crate::error::{JsonError, JsonReason};
use crate::json::{Limits, from_slice, from_slice_with, to_vec, value_from_slice};

fn read(bytes: impl AsRef<[u8]>) -> Result<Value, JsonError> {
    value_from_slice(bytes.as_ref(), Limits::default())
}

/// Reason, line and column.
fn position(bytes: impl AsRef<[u8]>) -> (JsonReason, u64, u64) {
    let error = read(bytes).unwrap_err();
    (error.reason, error.line.unwrap(), error.column.unwrap())
}

#[test]
fn c169_a_key_twice_is_malformed_with_its_path() {
    let text = "{\"a\":[{},{\"b\":1,\n \"c\":2, \"\\u0062\":3}]}";
    assert_eq!(place(read(text)), at(JsonReason::Malformed, "a[1].b"));
    assert_eq!(position(text), (JsonReason::Malformed, 2, 9));
}

#[test]
fn c169_a_key_twice_among_many_is_found() {
    let fields: Vec<String> = (0..1000).map(|key| format!("\"{key}\":0")).collect();
    let fields = fields.join(",");
    assert!(read(format!("{{{fields}}}")).is_ok());
    for key in ["0", "15", "16", "500", "999"] {
        let text = format!("{{{fields},\"{key}\":1}}");
        assert_eq!(place(read(text)), at(JsonReason::Malformed, key));
    }
}

#[test]
fn c169_trailing_text_and_bad_syntax_have_a_position() {
    use JsonReason::Malformed;
    assert_eq!(position("{} x"), (Malformed, 1, 4));
    assert_eq!(position("1 2"), (Malformed, 1, 3));
    assert_eq!(position("[1,\n2,,3]"), (Malformed, 2, 3));
    assert_eq!(position("{\"é\":nul}"), (Malformed, 1, 6));
    let malformed = [
        "",
        " ",
        "{",
        "[",
        "\"",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "[1,]",
        "[1 2]",
        "{\"a\" 1}",
        "{a:1}",
        "'a'",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "0x1",
        "NaN",
        "Infinity",
        "-Infinity",
        "tru",
        "truee",
        "nul",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"a\nb\"",
        "\"\u{0}\"",
        "\u{feff}{}",
        "// c\n1",
        "[1]]",
        "{\"a\":1}}",
        "\u{a0}1",
    ];
    for text in malformed {
        assert_eq!(read(text).unwrap_err().reason, Malformed, "{text:?}");
    }
}

#[test]
fn c169_invalid_utf8_is_malformed() {
    assert_eq!(
        position(b"[\"a\",\n\"\xff\"]"),
        (JsonReason::Malformed, 2, 2)
    );
    for bytes in [
        &b"\x80"[..],
        b"\"\xed\xa0\x80\"",
        b"\"\xc3",
        b"\"\xc0\xaf\"",
    ] {
        assert_eq!(read(bytes).unwrap_err().reason, JsonReason::Malformed);
    }
}

#[test]
fn half_a_surrogate_is_malformed() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\udbff\ue000""#,
        r#"{"\udfff":1}"#,
        r#""\ud83d\ude0""#,
    ] {
        assert_eq!(
            read(text).unwrap_err().reason,
            JsonReason::Malformed,
            "{text}"
        );
    }
    assert_eq!(position(r#"["ab\ud800"]"#), (JsonReason::Malformed, 1, 5));
    assert_eq!(
        read(r#""\ud83d\uDE00\u00e9\/\b\f\n\r\t\"\\""#).unwrap(),
        "\u{1f600}é/\u{8}\u{c}\n\r\t\"\\"
    );
    assert_eq!(
        read(r#""\ud800\udc00\udbff\udfff""#).unwrap(),
        "\u{10000}\u{10ffff}"
    );
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn c169_160_levels_pass_and_161_do_not() {
    assert!(read(nested(160)).is_ok());
    let error = read(nested(161)).unwrap_err();
    assert_eq!(error.reason, JsonReason::TooDeep);
    assert_eq!((error.line, error.column), (Some(1), Some(161)));
    assert_eq!(error.path.segments().len(), 160);
    assert_eq!(read(nested(200)).unwrap_err().reason, JsonReason::TooDeep);
    let objects = format!("{}1{}", "{\"a\":".repeat(160), "}".repeat(160));
    assert!(read(&objects).is_ok());
    assert_eq!(
        read(format!("[{objects}]")).unwrap_err().reason,
        JsonReason::TooDeep
    );
    // Levels count once they are open, not how many there are beside each other.
    assert!(read(format!("[{}[]]", "[[]],".repeat(1000))).is_ok());
}

#[test]
fn the_depth_limit_can_be_lowered_but_not_raised() {
    let limits = |max_depth| Limits {
        max_depth,
        ..Limits::default()
    };
    let read = |levels, max| value_from_slice::<Value>(nested(levels).as_bytes(), limits(max));
    assert!(read(3, 3).is_ok());
    assert_eq!(read(4, 3).unwrap_err().reason, JsonReason::TooDeep);
    assert!(value_from_slice::<Value>(b"1", limits(0)).is_ok());
    assert_eq!(read(1, 0).unwrap_err().reason, JsonReason::TooDeep);
    assert_eq!(
        read(100_000, usize::MAX).unwrap_err().reason,
        JsonReason::TooDeep
    );
}

#[test]
fn any_depth_is_refused_without_running_out_of_stack() {
    for levels in [10_000, 100_000, 10_000_000] {
        assert_eq!(
            read(nested(levels)).unwrap_err().reason,
            JsonReason::TooDeep
        );
        for open in ["[", "{\"a\":", "[{\"a\":"] {
            let text = open.repeat(levels / open.len());
            assert_eq!(read(text).unwrap_err().reason, JsonReason::TooDeep);
        }
    }
}

#[test]
fn c174_a_text_over_the_limit_is_refused_unread() {
    // Not UTF-8 either: whoever looked inside would say so.
    let text = vec![0xff; 100 * 1024 * 1024];
    let error = from_slice::<Thread>(&text).unwrap_err();
    assert_eq!(error.reason, JsonReason::TooLarge);
    assert_eq!(error.message, "104857600 bytes, the limit is 67108864");

    let limits = Limits {
        max_bytes: 4,
        ..Limits::default()
    };
    assert!(value_from_slice::<Value>(b"1234", limits).is_ok());
    assert_eq!(
        place(from_slice_with::<Thread>(b"12345", limits)),
        at(JsonReason::TooLarge, "$")
    );
}

#[test]
fn a_document_cut_at_any_byte_is_an_error() {
    let bytes = to_vec(&thread()).unwrap();
    for end in 0..bytes.len() {
        let error = from_slice::<Thread>(&bytes[..end]).unwrap_err();
        assert_eq!(error.reason, JsonReason::Malformed, "{end}");
        assert!(error.line.is_some(), "{end}");
    }
}

#[test]
fn s60_numbers_are_exact() {
    let integers = [
        "0",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "-9223372036854775808",
    ];
    for text in integers {
        assert_eq!(read(text).unwrap().to_string(), text);
    }
    let floats = [
        ("1e300", 1e300),
        ("0.1", 0.1),
        ("5e-324", 5e-324),
        ("1.7976931348623157e308", f64::MAX),
        ("1E2", 100.0),
        ("18446744073709551616", 18_446_744_073_709_551_616.0),
        ("0.1000000000000000055511151231257827", 0.1),
        ("9007199254740993.0", 9_007_199_254_740_992.0),
        ("1e-999", 0.0),
        // Off by one digit in parsers that multiply by powers of ten.
        ("8.533e68", 8.533e68),
        ("1.0e23", 1e23),
        ("-0", -0.0),
    ];
    for (text, expected) in floats {
        let value = read(text).unwrap();
        assert!(value.is_f64(), "{text}");
        assert_eq!(
            value.as_f64().unwrap().to_bits(),
            f64::to_bits(expected),
            "{text}"
        );
    }
    assert!(read("9".repeat(300)).unwrap().is_f64());
    assert_eq!(
        place(read("[1,1e400]")),
        at(JsonReason::InvalidValue, "[1]")
    );
    assert_eq!(place(read("[-1e400]")), at(JsonReason::InvalidValue, "[0]"));
}
