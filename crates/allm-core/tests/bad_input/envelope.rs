//! What stands around the data (C168), and how much of it there may be (C174).

use allm_core::json::{self, Limits};
use allm_core::{JsonReason, ToolCall};

use super::{at, place, types};

#[test]
fn c168_each_type_refuses_a_faulty_envelope() {
    for (name, read) in types() {
        let read = |text: &str| place(read(text.as_bytes(), Limits::default()));
        let of_type = |rest: &str| format!(r#"{{"type":"{name}",{rest}}}"#);
        assert_eq!(read(""), at(JsonReason::Malformed, "$"), "{name}");
        assert_eq!(read("{"), at(JsonReason::Malformed, "$"), "{name}");
        assert_eq!(read("[]"), at(JsonReason::InvalidValue, "$"), "{name}");
        assert_eq!(read("null"), at(JsonReason::InvalidValue, "$"), "{name}");
        assert_eq!(
            read(&of_type(r#""data":{}"#)),
            at(JsonReason::MissingVersion, "v"),
            "{name}"
        );
        assert_eq!(
            read(&of_type(r#""v":2,"data":7,"new":1"#)),
            at(JsonReason::UnsupportedVersion, "v"),
            "{name}"
        );
        assert_eq!(
            read(&of_type(r#""v":"1","data":{}"#)),
            at(JsonReason::InvalidValue, "v"),
            "{name}"
        );
        assert_eq!(
            read(&of_type(r#""v":1"#)),
            at(JsonReason::MissingField, "data"),
            "{name}"
        );
        assert_eq!(
            read(&of_type(r#""v":1,"data":[]"#)),
            at(JsonReason::InvalidValue, "data"),
            "{name}"
        );
        assert_eq!(
            read(&of_type(r#""v":1,"data":{},"more":1"#)),
            at(JsonReason::UnknownField, "more"),
            "{name}"
        );
        assert_eq!(
            read(r#"{"v":1,"type":"session","data":{}}"#),
            at(JsonReason::WrongType, "type"),
            "{name}"
        );
        assert_eq!(
            read(&of_type(r#""v":1,"v":1,"data":{}"#)),
            at(JsonReason::Malformed, "v"),
            "{name}"
        );
    }
}

#[test]
fn c169_ten_thousand_levels_are_too_deep_for_every_type() {
    for (name, read) in types() {
        for (open, close) in [("[", "]"), ("{\"metadata\":", "}")] {
            let inside = format!("{}0{}", open.repeat(10_000), close.repeat(10_000));
            let text = format!(r#"{{"v":1,"type":"{name}","data":{{"metadata":{inside}}}}}"#);
            let result = place(read(text.as_bytes(), Limits::default()));
            assert_eq!(
                result.map(|(reason, _)| reason),
                Some(JsonReason::TooDeep),
                "{name}"
            );
        }
    }
}

#[test]
fn c174_a_hundred_megabytes_are_too_large_unless_the_limit_is_raised() {
    let long = "x".repeat(100_000_000);
    let text = format!(
        r#"{{"v":1,"type":"tool_call","data":{{"id":"{long}","name":"f","arguments":null,"raw_arguments":""}}}}"#
    );
    let result = json::from_str::<ToolCall>(&text).map(drop);
    assert_eq!(place(result), at(JsonReason::TooLarge, "$"));
    let raised = Limits {
        max_bytes: usize::MAX,
        ..Limits::default()
    };
    let call: ToolCall = json::from_slice_with(text.as_bytes(), raised).unwrap();
    assert_eq!(call.id.as_str().len(), long.len());
}
