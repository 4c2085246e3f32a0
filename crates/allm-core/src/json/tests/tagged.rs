use super::samples::{Call, Part, Text};
use super::{at, place};
use crate::error::{JsonError, JsonReason};
use crate::json::{Limits, value_from_slice, value_to_string};

fn read(text: &str) -> Result<Part, JsonError> {
    value_from_slice(text.as_bytes(), Limits::default())
}

fn call() -> Part {
    Part::ToolCall(Box::new(Call {
        name: "look".into(),
        parts: Some(vec![Part::Redacted, Part::Text(Text { text: "x".into() })]),
    }))
}

#[test]
fn a_variant_is_read_wherever_its_type_stands() {
    let first = r#"{"type":"tool_call","name":"look","parts":[{"type":"redacted"},{"type":"text","text":"x"}]}"#;
    let last = r#"{"name":"look","parts":[{"type":"redacted"},{"text":"x","type":"text"}],"type":"tool_call"}"#;
    assert_eq!(value_to_string(&call()).unwrap(), first);
    for text in [first, last] {
        assert_eq!(read(text).unwrap(), call());
        // From another deserializer, which hands out fields as they stand.
        assert_eq!(serde_json::from_str::<Part>(text).unwrap(), call());
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(text)
                .and_then(serde_json::from_value::<Part>)
                .unwrap(),
            call()
        );
    }
}

#[test]
fn our_reader_tells_what_is_wrong_and_where() {
    use JsonReason::{InvalidValue, MissingField, UnknownField};
    assert_eq!(place(read("{}")), at(MissingField, "type"));
    assert_eq!(
        place(read(r#"{"a":{"type":"text"}}"#)),
        at(MissingField, "type")
    );
    assert_eq!(place(read(r#"{"type":"sound"}"#)), at(InvalidValue, "type"));
    assert_eq!(place(read(r#"{"type":null}"#)), at(InvalidValue, "type"));
    assert_eq!(
        place(read(r#"{"type":"text","text":"","z":1}"#)),
        at(UnknownField, "z")
    );
    assert_eq!(
        place(read(r#"{"a":1,"type":"redacted"}"#)),
        at(UnknownField, "a")
    );
    assert_eq!(place(read(r#"["text"]"#)), at(InvalidValue, "$"));
    assert_eq!(place(read(r#""text""#)), at(InvalidValue, "$"));
    assert_eq!(
        place(read(
            r#"{"type":"tool_call","name":"","parts":[{"type":"redacted"},{"text":1,"type":"text"}]}"#
        )),
        at(InvalidValue, "parts[1].text")
    );
    assert_eq!(
        read(r#"{"type":"sound"}"#).unwrap_err().message,
        "unknown name, expected one of `text`, `tool_call`, `redacted`"
    );
}

#[test]
fn another_deserializer_is_as_strict() {
    for text in [
        "{}",
        r#"{"text":"x"}"#,
        r#"{"type":"sound"}"#,
        r#"{"text":"x","type":"sound"}"#,
        r#"{"text":"x","z":1,"type":"text"}"#,
        r#"{"z":1,"type":"redacted"}"#,
        r#"{"text":"x","type":"text","type":"text"}"#,
        r#"{"text":"x","text":"y","type":"text"}"#,
        r#"{"text":1,"type":"text"}"#,
    ] {
        assert!(serde_json::from_str::<Part>(text).is_err(), "{text}");
    }
}
