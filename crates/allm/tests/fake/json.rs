//! Scripts as JSON: C192.

use std::time::Duration;

use allm::{
    AdapterError, AdapterReason, Fake, FinishReason, JsonReason, Part, Script, StreamReason, Usage,
    json,
};
use serde_json::json;

use crate::support::{ask, events_of, play};

const WRITTEN: &str = concat!(
    r#"{"v":1,"type":"fake_script","data":{"steps":["#,
    r#"{"text":"a"},{"chunks":["b","c"]},{"typed":"de"},{"reasoning":"f"},"#,
    r#"{"reasoning_opaque":{"text":"g","opaque":"{\"s\": 1}"}},"#,
    r#"{"call":{"name":"h","arguments":{"i":1.0}}},"#,
    r#"{"call":{"id":"j","name":"k","arguments":{}}},"#,
    r#"{"call_raw":{"name":"l","raw_arguments":"{"}},"#,
    r#"{"call_chunked":{"name":"m","fragments":["{","}"]}},"#,
    r#"{"call_cut_off":{"name":"n","fragments":["{"]}},"#,
    r#"{"part":{"type":"refusal","text":"o"}},{"raw":"[ ]"},"#,
    r#"{"usage":{"input_tokens":1,"output_tokens":2}},{"id":"p"},{"model":"q"},"#,
    r#"{"delay":1500},{"fail_and_continue":"timeout"},"#,
    r#"{"finish":{"reason":"other","raw":"r"}}]}}"#
);

fn everything() -> Script {
    Script::new()
        .text("a")
        .chunks(["b", "c"])
        .typed("de")
        .reasoning("f")
        .reasoning_opaque("g", r#"{"s": 1}"#)
        .call("h", json!({"i": 1.0}))
        .call_with_id("j", "k", ())
        .call_raw("l", "{")
        .call_chunked("m", ["{", "}"])
        .call_cut_off("n", ["{"])
        .part(Part::refusal("o"))
        .raw("[ ]")
        .usage(Usage::io(1, 2))
        .id("p")
        .model("q")
        .delay(Duration::from_millis(1500))
        .fail_and_continue(AdapterReason::Timeout)
        .finish_raw(FinishReason::Other, "r")
}

fn document(steps: &str) -> String {
    format!(r#"{{"v":1,"type":"fake_script","data":{{"steps":[{steps}]}}}}"#)
}

fn read(steps: &str) -> Result<Script, allm::JsonError> {
    json::from_str(&document(steps))
}

#[test]
fn c192_every_step_is_written_by_its_name() {
    assert_eq!(everything().check(), Ok(()));
    assert_eq!(json::to_string(&everything()).unwrap(), WRITTEN);
    assert_eq!(json::from_str::<Script>(WRITTEN).unwrap(), everything());
    let error = AdapterError::new("fake", AdapterReason::RateLimited, "m");
    for (script, steps) in [
        (Script::new().finish(None), r#"{"finish":{}}"#),
        (
            Script::new().finish(FinishReason::Stop),
            r#"{"finish":{"reason":"stop"}}"#,
        ),
        (
            Script::new().fail(AdapterReason::Timeout),
            r#"{"fail":"timeout"}"#,
        ),
        (
            Script::new().fail_with(error),
            r#"{"fail_with":{"reason":"rate_limited","message":"m","provider":"fake"}}"#,
        ),
        (
            Script::new().stream_fail(StreamReason::Stalled),
            r#"{"stream_fail":"stalled"}"#,
        ),
        (Script::new().cut(), r#""cut""#),
        (Script::new().hang(), r#""hang""#),
    ] {
        assert_eq!(json::to_string(&script).unwrap(), document(steps));
        assert_eq!(read(steps).unwrap(), script);
    }
    let empty = r#"{"v":1,"type":"fake_script","data":{}}"#;
    assert_eq!(json::to_string(&Script::new()).unwrap(), empty);
    assert_eq!(json::from_str::<Script>(empty).unwrap(), Script::new());
}

#[tokio::test(start_paused = true)]
async fn c192_a_script_read_from_json_behaves_like_the_one_built() {
    let read: Script = json::from_str(WRITTEN).unwrap();
    assert_eq!(play(read).await, play(everything()).await);
    let fake = Fake::new().reply(json::from_str::<Script>(WRITTEN).unwrap());
    assert_eq!(
        events_of(&fake, ask()).await.last().unwrap().tag(),
        "message_completed"
    );
}

#[test]
fn faults_are_told_with_their_place() {
    let told = |steps| {
        let error = read(steps).expect_err("a fault");
        (error.reason, error.path.to_string())
    };
    let invalid = |path: &str| (JsonReason::InvalidValue, path.to_owned());
    assert_eq!(told(r#""cut",{"text":"a"}"#), invalid("data.steps[1]"));
    assert_eq!(
        told(r#"{"finish":{}},{"finish":{}}"#),
        invalid("data.steps[1]")
    );
    assert_eq!(
        told(r#"{"fail":"no_scripted_response"}"#),
        invalid("data.steps[0]")
    );
    assert_eq!(
        told(r#"{"fail":"nonsense"}"#),
        invalid("data.steps[0].fail")
    );
    assert_eq!(told(r#"{"raw":"{"}"#), invalid("data.steps[0].raw"));
    assert_eq!(
        told(r#"{"call":{"name":"f","arguments":{},"x":1}}"#),
        (JsonReason::UnknownField, "data.steps[0].call.x".to_owned())
    );
    assert_eq!(
        told(r#"{"call":{"name":"f"}}"#),
        (
            JsonReason::MissingField,
            "data.steps[0].call.arguments".to_owned()
        )
    );
    assert_eq!(told(r#"{"sing":"a"}"#).0, JsonReason::InvalidValue);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(130), "]".repeat(130));
    let steps = format!(r#"{{"call":{{"name":"f","arguments":{deep}}}}}"#);
    assert_eq!(told(&steps), invalid("data.steps[0]"));
}

#[test]
fn a_script_with_a_fault_is_not_written() {
    let error = json::to_string(&Script::new().cut().text("b")).expect_err("a fault");
    assert_eq!(error.reason, JsonReason::InvalidValue);
    assert!(error.message.contains("step 2"), "{}", error.message);
}

#[test]
fn delays_are_whole_milliseconds() {
    let written = |delay| json::to_string(&Script::new().delay(delay)).unwrap();
    assert_eq!(
        written(Duration::from_micros(1)),
        document(r#"{"delay":1}"#)
    );
    assert_eq!(written(Duration::ZERO), document(r#"{"delay":0}"#));
    assert_eq!(
        written(Duration::MAX),
        document(r#"{"delay":18446744073709551615}"#)
    );
}
