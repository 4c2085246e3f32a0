//! Scripts that cannot be played: C180 and §19.

use allm::{
    AdapterReason, Fake, FinishReason, Script, ScriptFault, ScriptFaultReason as Reason,
    StreamReason,
};
use serde_json::json;

use crate::support::{ask, events_of, only_failure};

fn fault(script: &Script) -> (usize, &'static str, Reason) {
    let ScriptFault {
        step, name, reason, ..
    } = script.check().expect_err("a fault");
    (step, name, reason)
}

#[test]
fn c180_a_step_after_the_end_is_refused_with_its_number() {
    let begun = || Script::new().text("a");
    let unavailable = AdapterReason::ProviderUnavailable;
    let error = allm::AdapterError::new("fake", unavailable, "");
    for (script, end) in [
        (begun().fail(unavailable), "fail"),
        (begun().fail_with(error), "fail_with"),
        (begun().stream_fail(StreamReason::Stalled), "stream_fail"),
        (begun().finish(FinishReason::Stop), "finish"),
        (begun().finish_raw(None, "x"), "finish"),
        (begun().cut(), "cut"),
        (begun().hang(), "hang"),
    ] {
        assert_eq!(script.check(), Ok(()));
        let refused = script.clone().text("b").cut();
        assert_eq!(fault(&refused), (3, "text", Reason::AfterEnd(end)));
    }
    let goes_on = begun().fail_and_continue(unavailable).text("b");
    assert_eq!(goes_on.check(), Ok(()));
}

#[test]
fn two_finishes_are_refused() {
    let script = Script::new()
        .finish(FinishReason::Stop)
        .finish_raw(FinishReason::Stop, "end");
    assert_eq!(fault(&script), (2, "finish", Reason::SecondFinish));
}

#[test]
fn reasons_that_no_provider_gives_are_refused() {
    let own = AdapterReason::NoScriptedResponse;
    let illegal = Reason::IllegalReason("no_scripted_response");
    assert_eq!(fault(&Script::new().fail(own)), (1, "fail", illegal));
    let script = Script::new().text("a").fail_and_continue(own);
    assert_eq!(fault(&script), (2, "fail_and_continue", illegal));
    let error = allm::AdapterError::new("fake", own, "");
    assert_eq!(
        fault(&Script::new().fail_with(error)),
        (1, "fail_with", illegal)
    );
    let script = Script::new().stream_fail(StreamReason::Cancelled);
    let illegal = Reason::IllegalReason("cancelled");
    assert_eq!(fault(&script), (1, "stream_fail", illegal));
}

#[test]
fn arguments_and_texts_that_are_no_json_are_refused() {
    let script = Script::new().text("a").call("f", json!([1]));
    assert_eq!(fault(&script), (2, "call", Reason::NotAnObject));
    let script = Script::new().call_with_id("c", "f", f64::NAN);
    assert_eq!(fault(&script), (1, "call", Reason::NotAnObject));
    let script = Script::new().raw("{");
    assert_eq!(fault(&script), (1, "raw", Reason::NotJson));
    let script = Script::new().reasoning_opaque("t", "{");
    assert_eq!(fault(&script), (1, "reasoning_opaque", Reason::NotJson));
}

#[test]
fn the_first_fault_is_kept() {
    let script = Script::new().raw("{").text("a").cut().text("b");
    assert_eq!(fault(&script), (1, "raw", Reason::NotJson));
    assert_eq!(
        script.check().unwrap_err().to_string(),
        "step 1 (`raw`): the text is not one JSON value"
    );
}

#[tokio::test]
async fn a_fake_with_a_faulty_script_fails_every_call() {
    let fake = Fake::new()
        .reply("good")
        .reply(Script::new().cut().text("b"));
    assert_eq!(fake.check().map_err(|fault| fault.step), Err(2));
    for _ in 0..2 {
        let events = events_of(&fake, ask()).await;
        let failure = only_failure(&events);
        assert_eq!(failure.reason, "no_scripted_response");
        assert_eq!(
            failure.message,
            "reply 2 cannot be played: step 2 (`text`): it stands after `cut`, which ends the script"
        );
    }
    fake.assert_calls(2);
    let conditional = Fake::new().reply_when(|_| false, Script::new().raw("?"));
    assert!(conditional.check().is_err());
    assert!(Fake::new().always(Script::new().raw("?")).check().is_err());
}
