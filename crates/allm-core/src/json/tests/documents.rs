use super::samples::{Message, Thread, thread};
use super::{at, place};
use crate::error::JsonReason;
use crate::json::{self, Document, Envelope, from_slice, from_str, peek, to_string, to_vec};

fn read(data: &str) -> (JsonReason, String) {
    place(from_str::<Thread>(&format!(
        r#"{{"v":1,"type":"thread","data":{data}}}"#
    )))
}

#[test]
fn c164_a_document_is_equal_after_json() {
    let text = to_string(&thread()).unwrap();
    assert_eq!(from_str::<Thread>(&text).unwrap(), thread());
}

#[test]
fn c165_the_same_value_gives_the_same_bytes_in_declared_order() {
    assert_eq!(to_vec(&thread()).unwrap(), to_vec(&thread()).unwrap());
    assert_eq!(
        to_string(&thread()).unwrap(),
        concat!(
            r#"{"v":1,"type":"thread","data":{"messages":[{"role":"user","content":[{"type":"text","#,
            r#""text":"Grüße 😀\n\"quoted\""}]},{"role":"assistant","content":[{"type":"tool_call","name":"look","#,
            r#""parts":[{"type":"text","text":"nested"},{"type":"redacted"}]},{"type":"redacted"}]}],"#,
            r#""temperature":0.7,"seed":18446744073709551615,"#,
            r#""extra":{"a b":{"a":[],"z":{}},"type":{"type":[1,-2,0.5,null,true]}}}}"#
        )
    );
}

#[test]
fn c167_an_unknown_field_is_refused_with_its_full_path() {
    use JsonReason::UnknownField;
    assert_eq!(
        read(r#"{"messages":[],"nope":1}"#),
        at(UnknownField, "data.nope")
    );
    let message = r#"{"role":"user","content":[]}"#;
    assert_eq!(
        read(&format!(
            r#"{{"messages":[{message},{message},{{"role":"user","content":[],"nope":{{"a":1}}}}]}}"#
        )),
        at(UnknownField, "data.messages[2].nope")
    );
    // Through two tagged enums and a box, and on a variant without fields.
    assert_eq!(
        read(
            r#"{"messages":[{"role":"user","content":[{"name":"x","parts":[{"text":"","a.b":1,"type":"text"}],"type":"tool_call"}]}]}"#
        ),
        at(
            UnknownField,
            r#"data.messages[0].content[0].parts[0]["a.b"]"#
        )
    );
    assert_eq!(
        read(r#"{"messages":[{"role":"user","content":[{"type":"redacted","x":0}]}]}"#),
        at(UnknownField, "data.messages[0].content[0].x")
    );
}

#[test]
fn c167_any_key_in_extra_is_kept() {
    let text =
        r#"{"v":1,"type":"thread","data":{"messages":[],"extra":{"":1,"type":{"deep":[{}]}}}}"#;
    let thread: Thread = from_str(text).unwrap();
    assert_eq!(to_string(&thread).unwrap(), text);
}

#[test]
fn c168_every_fault_of_the_envelope_has_its_own_code_and_path() {
    use JsonReason::*;
    let read = |text: &str| place(from_str::<Thread>(text));
    let found = [
        read(r#"{"type":"thread","data":{"messages":[]}}"#),
        read(r#"{"v":2,"type":"thread","data":{"messages":[]}}"#),
        read(r#"{"v":"1","type":"thread","data":{"messages":[]}}"#),
        read(r#"{"v":1,"type":"message","data":{"messages":[]}}"#),
        read(r#"{"v":1,"type":"thread"}"#),
        read(r#"{"v":1,"type":"thread","data":[]}"#),
    ];
    let expected = [
        at(MissingVersion, "v"),
        at(UnsupportedVersion, "v"),
        at(InvalidValue, "v"),
        at(WrongType, "type"),
        at(MissingField, "data"),
        at(InvalidValue, "data"),
    ];
    assert_eq!(found, expected);

    for v in [
        "0",
        "-1",
        "1.0",
        "null",
        "[1]",
        "1e0",
        "99999999999999999999",
    ] {
        let text = format!(r#"{{"v":{v},"type":"thread","data":{{}}}}"#);
        assert_eq!(read(&text), at(InvalidValue, "v"), "{v}");
    }
    assert_eq!(read(r#"{"v":1,"data":{}}"#), at(WrongType, "type"));
    assert_eq!(read(r#"{"v":1,"type":7,"data":{}}"#), at(WrongType, "type"));
    assert_eq!(
        read(r#"{"v":1,"type":"thread","data":{"messages":[]},"more":1}"#),
        at(UnknownField, "more")
    );
    assert_eq!(read("[]"), at(InvalidValue, "$"));
    assert_eq!(read("{}"), at(MissingVersion, "v"));
    for data in ["null", "1", "\"{}\"", "true"] {
        let text = format!(r#"{{"v":1,"type":"thread","data":{data}}}"#);
        assert_eq!(read(&text), at(InvalidValue, "data"));
    }
}

#[test]
fn c168_the_version_counts_before_everything_else_in_the_envelope() {
    let text = r#"{"v":18446744073709551615,"kind":"other","data":0}"#;
    let error = from_str::<Thread>(text).unwrap_err();
    assert_eq!(error.reason, JsonReason::UnsupportedVersion);
    assert_eq!(
        error.message,
        "found version 18446744073709551615, supported is 1"
    );
}

#[test]
fn c168_a_wrong_type_names_both_and_cuts_the_found_one() {
    let long = "é".repeat(1000);
    let error =
        from_str::<Thread>(&format!(r#"{{"v":1,"type":"{long}","data":{{}}}}"#)).unwrap_err();
    assert_eq!(
        error.message,
        format!(r#"expected "thread", found "{}""#, "é".repeat(64))
    );
}

#[test]
fn missing_fields_and_wrong_values_have_their_full_path() {
    use JsonReason::{InvalidValue, MissingField};
    assert_eq!(read("{}"), at(MissingField, "data.messages"));
    assert_eq!(
        read(r#"{"messages":[{"role":"user"}]}"#),
        at(MissingField, "data.messages[0].content")
    );
    assert_eq!(
        read(r#"{"messages":[{"role":"user","content":[{"text":"x"}]}]}"#),
        at(MissingField, "data.messages[0].content[0].type")
    );
    assert_eq!(
        read(r#"{"messages":[{"role":"user","content":[{"type":"text"}]}]}"#),
        at(MissingField, "data.messages[0].content[0].text")
    );
    assert_eq!(
        read(r#"{"messages":[{"role":"captain","content":[]}]}"#),
        at(InvalidValue, "data.messages[0].role")
    );
    assert_eq!(
        read(r#"{"messages":[{"role":"user","content":[{"type":"sound"}]}]}"#),
        at(InvalidValue, "data.messages[0].content[0].type")
    );
    assert_eq!(
        read(r#"{"messages":{}}"#),
        at(InvalidValue, "data.messages")
    );
    assert_eq!(
        read(r#"{"messages":[[]]}"#),
        at(InvalidValue, "data.messages[0]")
    );
    assert_eq!(
        read(r#"{"messages":[],"seed":1.0}"#),
        at(InvalidValue, "data.seed")
    );
    assert_eq!(
        read(r#"{"messages":[],"seed":-1}"#),
        at(InvalidValue, "data.seed")
    );
    assert_eq!(
        read(r#"{"messages":[],"seed":1e999}"#),
        at(InvalidValue, "data.seed")
    );
}

#[test]
fn verify_runs_after_reading_and_its_path_is_below_data() {
    assert_eq!(
        read(r#"{"messages":[],"seed":13}"#),
        at(JsonReason::InvalidValue, "data.seed")
    );
}

#[test]
fn no_error_repeats_content() {
    let secret = "s3cr3t";
    let data = [
        r#"{"messages":"s3cr3t"}"#,
        r#"{"messages":[{"role":"s3cr3t","content":[]}]}"#,
        r#"{"messages":[{"role":{"s3cr3t":1,"b":2},"content":[]}]}"#,
        r#"{"messages":[{"role":"user","content":["s3cr3t"]}]}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"s3cr3t"}]}]}"#,
        r#"{"messages":[],"seed":"s3cr3t"}"#,
        r#"{"messages":[],"temperature":"s3cr3t"}"#,
        r#"{"messages":["s3cr3t\x"]}"#,
    ];
    for data in data {
        let text = format!(r#"{{"v":1,"type":"thread","data":{data}}}"#);
        let error = from_str::<Thread>(&text).unwrap_err();
        assert!(!error.to_string().contains(secret), "{error}");
        assert!(!format!("{error:?}").contains(secret), "{error:?}");
    }
    let error = from_str::<Thread>(
        r#"{"v":1,"type":"thread","data":{"messages":[{"role":"captain","content":[]}]}}"#,
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "invalid_value at data.messages[0].role: unknown name, expected one of `user`, `assistant`"
    );
}

#[test]
fn a_document_whose_data_is_no_object_is_not_written() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Bare(Vec<Message>);
    impl Document for Bare {
        const TYPE: &'static str = "bare";
    }
    assert_eq!(
        place(to_vec(&Bare(vec![]))),
        at(JsonReason::InvalidValue, "data")
    );
}

#[test]
fn peek_tells_version_and_type_without_reading_the_data() {
    let envelope = |v, name: &str| Envelope {
        v,
        type_name: name.to_owned(),
    };
    assert_eq!(
        peek(&to_vec(&thread()).unwrap()).unwrap(),
        envelope(json::FORMAT, "thread")
    );
    let newer = br#"{"data":{"a":[{"b":"c"}]},"next":[1],"type":"other","v":9}"#;
    assert_eq!(peek(newer).unwrap(), envelope(9, "other"));
    assert_eq!(place(peek(b"{\"v\":1}")), at(JsonReason::WrongType, "type"));
    assert_eq!(
        place(peek(b"{\"v\":1,\"type\":\"a\",\"data\":{\"x\":[01]}}")),
        at(JsonReason::Malformed, "data.x")
    );
}

#[test]
fn c174_fifty_megabytes_decode_in_linear_time() {
    let message = r#"{"role":"user","content":[{"type":"text","text":"0123456789 0123456789 0123456789\n"},{"type":"redacted"}]}"#;
    let time = |bytes: usize| {
        let count = bytes / (message.len() + 1);
        let messages = vec![message; count].join(",");
        let text = format!(r#"{{"v":1,"type":"thread","data":{{"messages":[{messages}]}}}}"#);
        let start = std::time::Instant::now();
        let thread: Thread = from_slice(text.as_bytes()).unwrap();
        assert_eq!(thread.messages.len(), count);
        start.elapsed()
    };
    // Ten times the text: quadratic time would be a hundred times as long. A busy machine gets a second and third try.
    let linear = || time(50_000_000) < time(5_000_000) * 40;
    assert!((0..3).any(|_| linear()));
}
