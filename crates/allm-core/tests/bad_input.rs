//! Documents that are none (core.md, C167 to C169, C174): each gives an error with its place, and none a panic.

#[cfg(test)]
#[allow(dead_code, unused_imports, reason = "each test uses a part of it")]
mod support;

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use allm_core::json::{self, Document, Limits};
use allm_core::{
    ChatResult, Error, Event, JsonError, JsonReason, Message, Request, Response, Run, StepResult,
    Thread, Tool, ToolCall, ToolSpec, Usage,
};
use serde_json::Value;

type Read = fn(&[u8], Limits) -> Result<(), JsonError>;

fn read<T: Document + Debug>(bytes: &[u8], limits: Limits) -> Result<(), JsonError> {
    json::from_slice_with::<T>(bytes, limits).map(drop)
}

/// Every document type with its reader.
fn types() -> Vec<(&'static str, Read)> {
    macro_rules! types {
        ($($type:ty),+) => { vec![$((<$type>::TYPE, read::<$type> as Read)),+] };
    }
    types![
        Message, Thread, Request, Response, Usage, ToolCall, ToolSpec, Tool, Event, StepResult,
        ChatResult, Error, Run
    ]
}

fn place(result: Result<(), JsonError>) -> Option<(JsonReason, String)> {
    result
        .err()
        .map(|error| (error.reason, error.path.to_string()))
}

fn at(reason: JsonReason, path: &str) -> Option<(JsonReason, String)> {
    Some((reason, path.to_owned()))
}

/// The golden files of a type.
fn files(type_name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/v1")
        .join(type_name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files: Vec<_> = entries
        .filter_map(|entry| {
            Some((
                entry.file_name().display().to_string(),
                fs::read(entry.path()).ok()?,
            ))
        })
        .collect();
    assert!(!files.is_empty(), "no golden file of {type_name}");
    files
}

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
fn c167_an_unknown_field_is_refused_wherever_an_object_of_ours_stands() {
    for (name, read) in types() {
        for (file, bytes) in files(name) {
            let whole: Value = serde_json::from_slice(&bytes).unwrap();
            for (pointer, path) in objects(&whole["data"]) {
                let mut changed = whole.clone();
                let object = changed["data"]
                    .pointer_mut(&pointer)
                    .and_then(Value::as_object_mut)
                    .unwrap();
                object.insert("surprise".to_owned(), Value::Null);
                let result = place(read(changed.to_string().as_bytes(), Limits::default()));
                let expected = at(JsonReason::UnknownField, &format!("data{path}.surprise"));
                assert_eq!(result, expected, "{name}/{file}");
            }
        }
    }
}

/// Fields that hold the caller's or a provider's own JSON.
const FREE: &[&str] = &[
    "metadata",
    "extra",
    "details",
    "schema",
    "arguments",
    "opts",
    "ok",
    "value",
];

/// The JSON Pointer and the path of every object that is ours.
fn objects(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![(value, String::new(), String::new())];
    while let Some((value, pointer, path)) = open.pop() {
        match value {
            Value::Object(fields) => {
                found.push((pointer.clone(), path.clone()));
                // An enum whose one key is its variant takes no second key.
                if let [only] = fields.keys().map(String::as_str).collect::<Vec<_>>()[..]
                    && VARIANTS.contains(&only)
                {
                    found.pop();
                }
                let halt = fields.get("type").is_some_and(|tag| tag == "tool_halt")
                    || fields.contains_key("tool_call_id");
                for (key, value) in fields {
                    if !FREE.contains(&key.as_str()) && !(halt && key == "result") {
                        open.push((value, format!("{pointer}/{key}"), format!("{path}.{key}")));
                    }
                }
            }
            Value::Array(entries) => {
                for (index, value) in entries.iter().enumerate() {
                    open.push((
                        value,
                        format!("{pointer}/{index}"),
                        format!("{path}[{index}]"),
                    ));
                }
            }
            _ => {}
        }
    }
    found
}

/// The variants that are written as an object with one key.
const VARIANTS: &[&str] = &[
    "ok", "error", "ask_user", "halt", "asked", "halted", "failed", "deadline",
];

#[test]
fn c168_a_missing_field_is_named_with_its_path() {
    let required: &[(&str, &[&str])] = &[
        ("message", &["role"]),
        ("request", &["messages"]),
        ("response", &["message"]),
        ("tool_call", &["id", "name", "arguments", "raw_arguments"]),
        ("tool_spec", &["type"]),
        ("tool", &["name", "description", "schema"]),
        ("event", &["type"]),
        (
            "step_result",
            &["step_index", "response", "thread", "mode", "done"],
        ),
        ("chat_result", &["thread", "halted_reason"]),
        ("error", &["type"]),
        (
            "run",
            &[
                "machine",
                "state_hash",
                "setup",
                "given",
                "thread",
                "counters",
                "phase",
            ],
        ),
    ];
    for (name, read) in types() {
        let fields = required
            .iter()
            .find(|(of, _)| *of == name)
            .map_or(&[][..], |(_, fields)| fields);
        for (file, bytes) in files(name) {
            let whole: Value = serde_json::from_slice(&bytes).unwrap();
            for field in fields {
                let mut changed = whole.clone();
                changed["data"]
                    .as_object_mut()
                    .and_then(|data| data.remove(*field))
                    .unwrap();
                let result = place(read(changed.to_string().as_bytes(), Limits::default()));
                assert_eq!(
                    result,
                    at(JsonReason::MissingField, &format!("data.{field}")),
                    "{name}/{file}"
                );
            }
        }
    }
}

#[test]
fn c167_paths_lead_to_the_place_at_any_depth() {
    let thread =
        |messages: &str| format!(r#"{{"v":1,"type":"thread","data":{{"messages":[{messages}]}}}}"#);
    let good = r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#;
    for (bad, reason, path) in [
        (
            r#"{"role":"user","contents":[]}"#,
            JsonReason::UnknownField,
            "contents",
        ),
        (r#"{"content":[]}"#, JsonReason::MissingField, "role"),
        (r#"{"role":"human"}"#, JsonReason::InvalidValue, "role"),
        (
            r#"{"role":"user","content":[{"text":"hi"}]}"#,
            JsonReason::MissingField,
            "content[0].type",
        ),
        (
            r#"{"role":"user","content":[{"type":"text"}]}"#,
            JsonReason::MissingField,
            "content[0].text",
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":7}]}"#,
            JsonReason::InvalidValue,
            "content[0].text",
        ),
        (
            r#"{"role":"user","content":[{"type":"video"}]}"#,
            JsonReason::InvalidValue,
            "content[0].type",
        ),
        (
            r#"{"role":"user","content":[{"type":"image","image":{"source":{"type":"path","path":"/etc/passwd"}}}]}"#,
            JsonReason::InvalidValue,
            "content[0].image.source.type",
        ),
        (
            r#"{"role":"user","content":[{"type":"image","image":{"source":{"type":"bytes","data":"*"}}}]}"#,
            JsonReason::InvalidValue,
            "content[0].image.source.data",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"opaque","opaque":{"provider":"a","wire":"b","kind":"c","data":"{"}}]}"#,
            JsonReason::InvalidValue,
            "content[0].opaque.data",
        ),
        (
            r#"{"role":"assistant","tool_calls":[{"id":"c1","name":"f","raw_arguments":"{}"}]}"#,
            JsonReason::MissingField,
            "tool_calls[0].arguments",
        ),
        (
            r#"{"role":"assistant","tool_calls":[{"id":"c1","name":"f","arguments":[],"raw_arguments":"[]"}]}"#,
            JsonReason::InvalidValue,
            "tool_calls[0].arguments",
        ),
        (
            r#"{"role":"user","metadata":[]}"#,
            JsonReason::InvalidValue,
            "metadata",
        ),
    ] {
        let text = thread(&format!("{good},{bad}"));
        let result = json::from_str::<Thread>(&text).map(drop);
        assert_eq!(
            place(result),
            at(reason, &format!("data.messages[1].{path}")),
            "{bad}"
        );
    }
}

#[test]
fn c167_values_that_come_from_a_wire_are_kept() {
    let text = r#"{"v":1,"type":"request","data":{"messages":[],"reasoning":{"effort":"ultra"},"extra":{"x":{"y":[null]}}}}"#;
    assert_eq!(
        json::to_string(&json::from_str::<Request>(text).unwrap()).as_deref(),
        Ok(text)
    );
    let text = r#"{"v":1,"type":"response","data":{"message":{"role":"assistant"},"raw_finish_reason":"a new word"}}"#;
    assert_eq!(
        json::to_string(&json::from_str::<Response>(text).unwrap()).as_deref(),
        Ok(text)
    );
}

#[test]
fn c169_half_a_surrogate_is_malformed_with_its_path() {
    for half in ["\\ud83e", "\\udd80", "\\ud83e\\u0041", "\\ud83e\\ud83e"] {
        let text =
            format!(r#"{{"v":1,"type":"message","data":{{"role":"user","name":"{half}"}}}}"#);
        let error = json::from_str::<Message>(&text).unwrap_err();
        assert_eq!(
            (error.reason, error.path.to_string()),
            (JsonReason::Malformed, "data.name".to_owned()),
            "{half}"
        );
        assert_eq!(error.line, Some(1));
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

#[test]
fn c169_a_document_cut_at_any_byte_is_an_error() {
    for (name, read) in types() {
        for (file, bytes) in files(name) {
            assert_eq!(read(&bytes, Limits::default()), Ok(()), "{name}/{file}");
            for end in 0..bytes.len() {
                let cut = read(&bytes[..end], Limits::default());
                assert_eq!(
                    cut.map_err(|error| error.reason),
                    Err(JsonReason::Malformed),
                    "{name}/{file} at {end}"
                );
            }
        }
    }
}

#[test]
fn c169_a_document_with_a_changed_byte_never_panics() {
    for (name, read) in types() {
        for (_, bytes) in files(name) {
            let mut changed = bytes.clone();
            for (place, byte) in bytes.iter().enumerate() {
                for flip in [0x01, 0x20, 0x80] {
                    changed[place] = byte ^ flip;
                    if let Err(error) = read(&changed, Limits::default()) {
                        assert_eq!(error.to_string().lines().count(), 1);
                    }
                }
                changed[place] = *byte;
            }
        }
    }
}

fn run(name: &str) -> Value {
    let files = files("run");
    let file = files
        .iter()
        .find(|(file, _)| file == &format!("{name}.json"));
    serde_json::from_slice(&file.unwrap().1).unwrap()
}

fn run_error(value: &Value) -> (JsonReason, String, String) {
    let error = json::from_str::<Run>(&value.to_string()).unwrap_err();
    (error.reason, error.path.to_string(), error.message)
}

fn refused(message: &str) -> (JsonReason, String, String) {
    (
        JsonReason::InvalidValue,
        "data".to_owned(),
        message.to_owned(),
    )
}

#[test]
fn c168_a_run_of_another_machine_is_refused() {
    let mut value = run("model");
    value["data"]["machine"] = Value::from(2);
    assert_eq!(
        run_error(&value),
        refused("machine 2 is not supported, only 1")
    );
}

#[test]
fn c168_a_run_that_was_tampered_with_is_refused() {
    let message = "`state_hash` does not belong to this state";
    for (pointer, changed) in [
        (
            "/data/state_hash",
            Value::from(format!("sha256:{}", "0".repeat(64))),
        ),
        ("/data/counters/turns", Value::from(0)),
        (
            "/data/thread/messages/1/content/0/text",
            Value::from("Weather!"),
        ),
        ("/data/setup/options/max_turns", Value::from(9)),
        ("/data/setup/tools/0/description", Value::from("x")),
    ] {
        let mut value = run("model_second_turn");
        *value.pointer_mut(pointer).unwrap() = changed;
        assert_eq!(run_error(&value), refused(message), "{pointer}");
    }
    let mut value = run("model");
    value["data"]["state_hash"] = Value::from("sha256:0");
    let (reason, path, _) = run_error(&value);
    assert_eq!(
        (reason, path),
        (JsonReason::InvalidValue, "data.state_hash".to_owned())
    );
}

#[test]
fn c168_the_parts_of_a_run_must_fit_together() {
    let mut value = run("tools");
    value["data"]["phase"]["calls"]
        .as_array_mut()
        .unwrap()
        .pop();
    assert_eq!(
        run_error(&value),
        refused("`calls` and the response's calls differ in number")
    );

    let mut value = run("tools");
    value["data"]["phase"]["calls"][4] = serde_json::json!({"type": "manual"});
    assert_eq!(
        run_error(&value),
        refused("no call of the open turn is running")
    );

    let mut value = run("model");
    value["data"]["phase"] = serde_json::json!({"type": "halt_when"});
    assert_eq!(run_error(&value), refused("`halt_when` without a step"));

    let mut value = run("model");
    value["data"]["phase"] = serde_json::json!({"type": "stepped"});
    assert_eq!(run_error(&value), refused("a step that is not there"));

    let mut value = run("model");
    value["data"]["given"] = Value::from(99);
    assert_eq!(
        run_error(&value),
        refused("`given` is larger than the thread")
    );

    let mut value = run("second_pass");
    value["data"]["second_pass"]["messages"] = Value::from(99);
    assert_eq!(
        run_error(&value),
        refused("`second_pass` reaches beyond the thread")
    );

    let mut value = run("ended");
    value["data"]["steps"][0]["thread_length"] = Value::from(99);
    assert_eq!(
        run_error(&value),
        refused("`thread_length` is larger than the thread")
    );

    let mut value = run("ended");
    value["data"]["steps"][0]
        .as_object_mut()
        .unwrap()
        .remove("thread_length");
    assert_eq!(
        run_error(&value),
        refused("a step has either `thread` or `thread_length`")
    );
}

#[test]
fn c172_what_could_not_be_read_back_is_not_written() {
    let request = Request {
        top_p: Some(f64::NAN),
        ..Request::new("hi")
    };
    let error = json::to_vec(&request).unwrap_err();
    assert_eq!(
        (error.reason, error.path.to_string()),
        (JsonReason::InvalidValue, "data.top_p".to_owned())
    );
    let mut usage = Usage::default();
    usage.cost = Some(allm_core::Cost {
        input: None,
        output: None,
        total: f64::INFINITY,
    });
    let error = json::to_vec(&usage).unwrap_err();
    assert_eq!(
        (error.reason, error.path.to_string()),
        (JsonReason::InvalidValue, "data.cost.total".to_owned())
    );
}
