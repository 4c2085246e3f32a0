//! Fields that are too many, missing or wrong (C167, C168), and the path of each.

use allm_core::json::{self, Limits};
use allm_core::{Cost, JsonReason, Request, Response, Thread, Usage};
use serde_json::Value;

use super::{at, files, place, types};

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

/// The variants that are written as an object with one key.
const VARIANTS: &[&str] = &[
    "ok", "error", "ask_user", "halt", "asked", "halted", "failed", "deadline",
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
                    let free = FREE.contains(&key.as_str()) || (halt && key == "result");
                    if !free {
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
    let cost = Cost {
        input: None,
        output: None,
        total: f64::INFINITY,
    };
    let usage = Usage {
        cost: Some(cost),
        ..Usage::default()
    };
    let error = json::to_vec(&usage).unwrap_err();
    assert_eq!(
        (error.reason, error.path.to_string()),
        (JsonReason::InvalidValue, "data.cost.total".to_owned())
    );
}
