//! Runs whose parts do not fit together.

use allm_core::{JsonReason, Run, json};
use serde_json::Value;

use super::files;

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
