//! JSON and validation (section E).

use allm_core::run::Command;
use allm_core::session::{Approval, Decision, JournalEntry, Session, read};
use allm_core::{
    Error, FinishReason, JsonReason, Message, Opaque, Part, RawJson, SessionError, SessionReason,
    ValidationReason, json,
};
use serde_json::{Value, json};

use super::journal::scenario;
use super::script::*;
use super::sim::*;

fn value(session: &Session) -> Value {
    serde_json::from_slice(&session.to_json().unwrap()).unwrap()
}

fn read_value(value: &Value) -> Result<Session, SessionError> {
    Session::from_json(value.to_string().as_bytes())
}

/// The faults of a session that was read, as they are shown.
fn faults(value: &Value) -> Vec<String> {
    let error = read_value(value).expect_err("the session is refused");
    assert_eq!(error.reason, SessionReason::Invalid);
    match *error.cause.expect("what is wrong") {
        Error::Validation(error) => {
            assert_eq!(error.reason, ValidationReason::InvalidSession);
            let shown = |fault: &allm_core::Fault| format!("{}: {}", fault.path, fault.code);
            error.faults.iter().map(shown).collect()
        }
        error => panic!("not a validation error: {error}"),
    }
}

/// Where and why a document is not of the format.
fn refused(value: &Value) -> (JsonReason, String) {
    let error = read_value(value).expect_err("the session is refused");
    assert_eq!(error.reason, SessionReason::Invalid);
    match *error.cause.expect("what is wrong") {
        Error::Json(error) => (error.reason, error.path.to_string()),
        error => panic!("not a JSON error: {error}"),
    }
}

/// S53: the simulation checks this after every entry of every test; here the next request is the same as well.
#[test]
fn s53_a_stored_session_drives_the_same_next_request() {
    let mut live = Sim::after([calls(&["ask", "gate", "manual"])]);
    let mut stored = Sim::after([calls(&["ask", "gate", "manual"])]);
    for sim in [&mut live, &mut stored] {
        sim.answer("c0", "red").unwrap();
        sim.decide("c1", Decision::Approved).unwrap();
        sim.submit("c2", "42").unwrap();
    }
    stored.session = Session::from_json(&stored.bytes()).unwrap();
    for sim in [&mut live, &mut stored] {
        sim.operate(allm_core::session::Operation::Resume).unwrap();
    }
    assert_eq!(live.requests, stored.requests);
    assert_eq!(live.bytes(), stored.bytes());
}

#[test]
fn s54_an_unknown_field_is_refused_with_its_path() {
    let session = Sim::after([calls(&["gate"])]).session;
    let mut at_top = value(&session);
    at_top["data"]["surprise"] = json!(1);
    assert_eq!(
        refused(&at_top),
        (JsonReason::UnknownField, "data.surprise".into())
    );
    let mut in_wait = value(&session);
    in_wait["data"]["open_turn"]["calls"][0]["wait"]["surprise"] = json!(1);
    assert_eq!(
        refused(&in_wait),
        (
            JsonReason::UnknownField,
            "data.open_turn.calls[0].wait.surprise".into()
        )
    );
    let mut in_message = value(&session);
    in_message["data"]["thread"]["messages"][0]["surprise"] = json!(1);
    assert_eq!(
        refused(&in_message),
        (
            JsonReason::UnknownField,
            "data.thread.messages[0].surprise".into()
        )
    );
    let sim = scenario();
    let mut entry: Value = serde_json::from_slice(&sim.journal[1].bytes).unwrap();
    entry["data"]["body"]["surprise"] = json!(1);
    let error = json::from_str::<JournalEntry>(&entry.to_string()).unwrap_err();
    assert_eq!(
        (error.reason, error.path.to_string()),
        (JsonReason::UnknownField, "data.body.surprise".into())
    );
}

#[test]
fn s55_unknown_names_of_our_own_are_refused_and_others_kept() {
    let session = Sim::after([calls(&["a", "gate"])]).session;
    let cases = [
        ("status", "/data/status", "data.status"),
        (
            "outcome",
            "/data/open_turn/calls/0/outcome",
            "data.open_turn.calls[0].outcome",
        ),
        (
            "wait",
            "/data/open_turn/calls/1/wait/type",
            "data.open_turn.calls[1].wait.type",
        ),
    ];
    for (name, pointer, path) in cases {
        let mut changed = value(&session);
        *changed.pointer_mut(pointer).unwrap() = json!("surprise");
        let (reason, found) = refused(&changed);
        assert_eq!(
            (reason, found.as_str()),
            (JsonReason::InvalidValue, path),
            "{name}"
        );
    }
    let sim = scenario();
    let mut entry: Value = serde_json::from_slice(&sim.journal[1].bytes).unwrap();
    entry["data"]["body"]["type"] = json!("surprise");
    let error = json::from_str::<JournalEntry>(&entry.to_string()).unwrap_err();
    assert_eq!(error.path.to_string(), "data.body.type");

    // What a provider made up, and a reason of the caller's own, come back as they were.
    let mut response = text_response("fine");
    response.finish_reason = Some(FinishReason::Other);
    response.raw_finish_reason = Some("because_i_can".into());
    let sim = Sim::after([Answer::Whole(response)]);
    assert_eq!(Session::from_json(&sim.bytes()), Ok(sim.session.clone()));
    let sim = Sim::after([calls(&["halt"])]);
    assert_eq!(value(&sim.session)["data"]["last_halt"], json!("enough"));
    assert_eq!(Session::from_json(&sim.bytes()), Ok(sim.session));
}

#[test]
fn s56_what_is_opaque_comes_back_byte_for_byte() {
    let raw = "{ \"a\" : 1.0,\t\"a\": [ ] }";
    let opaque = Part::opaque(Opaque {
        provider: "openai".into(),
        wire: "responses".into(),
        kind: "reasoning".into(),
        data: RawJson::new("{\"sig\" : \"x\\u00e9\", \"n\":1.0}").unwrap(),
    });
    let mut response = call_response(&["x"], raw);
    response.message.content = vec![opaque.clone()];
    let sim = Sim::after([Answer::Whole(response)]);
    let read = Session::from_json(&sim.bytes()).unwrap();
    let message = read.thread().messages.get(1).unwrap().clone();
    assert_eq!(message.tool_calls[0].raw_arguments, raw);
    assert_eq!(message.content, [opaque]);
    assert_eq!(read_entries(&sim), sim.bodies);
}

/// S58: nothing is guessed about a newer format.
#[test]
fn s58_a_newer_document_is_not_read() {
    let session = Sim::after([text("fine")]).session;
    let mut newer = value(&session);
    newer["v"] = json!(2);
    newer["data"] = json!({"whatever": true});
    let error = read_value(&newer).unwrap_err();
    assert_eq!(error.reason, SessionReason::UnsupportedVersion);
    assert_eq!((error.found, error.supported), (Some(2), Some(1)));
    assert!(
        error.message.contains("found version 2, supported is 1"),
        "{error}"
    );
}

#[test]
fn s60_numbers_come_back_exactly() {
    let raw = r#"{"a":9223372036854775808,"b":18446744073709551615,"c":1e300,"d":0.1,"e":-9223372036854775808}"#;
    let sim = Sim::after([Answer::Whole(call_response(&["gate"], raw))]);
    let read = Session::from_json(&sim.bytes()).unwrap();
    let arguments = read.approvals().remove(0).arguments;
    assert_eq!(arguments["a"].as_u64(), Some(1 << 63));
    assert_eq!(arguments["b"].as_u64(), Some(u64::MAX));
    assert_eq!(arguments["c"].as_f64(), Some(1e300));
    assert_eq!(arguments["d"].as_f64(), Some(0.1));
    assert_eq!(arguments["e"].as_i64(), Some(i64::MIN));
    let intended = read_entries(&sim);
    assert_eq!(intended, sim.bodies);
}

fn read_entries(sim: &Sim) -> Vec<allm_core::session::EntryBody> {
    let entries = sim.journal.iter();
    entries.map(|entry| read(entry).unwrap().body).collect()
}

#[test]
fn s61_a_document_that_was_cut_anywhere_is_an_error() {
    let mut sim = Sim::started([calls(&["a", "gate", "ask"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    let bytes = sim.bytes();
    for end in 0..bytes.len() {
        assert!(Session::from_json(&bytes[..end]).is_err(), "cut at {end}");
    }
    Session::from_json(&bytes).unwrap();
}

#[test]
fn s62_a_status_that_contradicts_the_data_is_refused() {
    let session = Sim::after([calls(&["gate"])]).session;
    let mut changed = value(&session);
    changed["data"]["status"] = json!("completed");
    assert_eq!(faults(&changed), ["status: contradiction"]);
}

#[test]
fn s63_every_fault_of_the_thread_is_told_at_once() {
    let sim = Sim::after([calls(&["a", "b", "c"]), text("one")]);
    let good = value(&sim.session);
    // user, assistant with three calls, three results, the answer
    let mut changed = good.clone();
    let messages = changed["data"]["thread"]["messages"]
        .as_array_mut()
        .unwrap();
    let result = |id: &str| json!({"role": "tool", "content": [], "tool_call_id": id});
    messages[2] = result("c1"); // the first result is missing, the second one doubled
    messages.push(result("c2")); // out of its place
    messages.push(result("nobody")); // of no call
    assert_eq!(
        faults(&changed),
        [
            "thread.messages[1].tool_calls[0]: unanswered_tool_call",
            "thread.messages[3]: duplicate_tool_result",
            "thread.messages[6]: misplaced_tool_result",
            "thread.messages[7]: orphan_tool_result",
        ]
    );
    // Together with faults of other kinds.
    changed["data"]["status"] = json!("error");
    changed["data"]["updated_at"] = json!("2020-01-01T00:00:00.000Z");
    changed["data"]["thread"]["messages"][0]["content"] = json!([]);
    changed["data"]["tags"] = json!({"bad\n": "tag"});
    assert_eq!(
        faults(&changed),
        [
            "status: contradiction",
            "thread.messages[0].content: empty",
            "thread.messages[1].tool_calls[0]: unanswered_tool_call",
            "thread.messages[3]: duplicate_tool_result",
            "thread.messages[6]: misplaced_tool_result",
            "thread.messages[7]: orphan_tool_result",
            "updated_at: out_of_range",
            "tags[0]: invalid_format",
        ]
    );
    // As text, for those who read it as any document.
    let error = json::from_str::<Session>(&changed.to_string()).unwrap_err();
    assert!(error.message.contains("status: contradiction"), "{error}");
}

/// A change to a good session, and the faults that it makes.
type Wrong<'a> = (&'a dyn Fn(&mut Value), &'a [&'a str]);

/// S63: what an open turn says has to stand in the thread.
#[test]
fn s63_an_open_turn_agrees_with_the_thread() {
    let session = Sim::after([calls(&["a", "ask", "manual"])]).session;
    let good = value(&session);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value["data"]);
        faults(&value)
    };
    let wrong: [Wrong<'_>; 10] = [
        (
            &|data| data["turn"] = json!(2),
            &["open_turn.turn: contradiction"],
        ),
        (
            &|data| data["open_turn"]["message"] = json!(0),
            &[
                "thread.messages[1].tool_calls[2]: unanswered_tool_call",
                "open_turn.message: contradiction",
            ],
        ),
        (
            &|data| data["open_turn"]["message"] = json!(u64::MAX),
            &[
                "thread.messages[1].tool_calls[2]: unanswered_tool_call",
                "open_turn.message: contradiction",
            ],
        ),
        (
            &|data| data["open_turn"]["calls"][1]["index"] = json!(2),
            &["open_turn.calls[1].index: contradiction"],
        ),
        (
            &|data| data["open_turn"]["calls"][0]["outcome"] = Value::Null,
            &["open_turn.calls[0]: contradiction"],
        ),
        (
            &|data| drop(data["open_turn"]["calls"].as_array_mut().unwrap().pop()),
            &[
                "thread.messages[1].tool_calls[2]: unanswered_tool_call",
                "open_turn.calls: contradiction",
            ],
        ),
        (
            &|data| data["thread"]["messages"][3]["content"][0]["text"] = json!("never asked"),
            &["open_turn.calls[1]: contradiction"],
        ),
        (
            &|data| drop(data["thread"]["messages"].as_array_mut().unwrap().remove(2)),
            &["thread.messages[1].tool_calls[0]: unanswered_tool_call"],
        ),
        (
            &|data| drop(data["thread"]["messages"].as_array_mut().unwrap().pop()),
            &["open_turn: contradiction"],
        ),
        (
            &|data| data["state_hash"] = json!(allm_core::Hash::ZERO),
            &["state_hash: contradiction"],
        ),
    ];
    for (change, expected) in wrong {
        assert_eq!(changed(change), expected);
    }
    // An open call that has a message.
    let mut answered = good.clone();
    let result = json!({"role": "tool", "content": [], "tool_call_id": "c2"});
    answered["data"]["thread"]["messages"]
        .as_array_mut()
        .unwrap()
        .insert(4, result);
    assert_eq!(faults(&answered), ["open_turn.calls[2]: contradiction"]);
}

#[test]
fn s64_an_approval_with_another_hash_is_refused() {
    let session = Sim::after([calls(&["gate"])]).session;
    let mut changed = value(&session);
    changed["data"]["open_turn"]["calls"][0]["wait"]["arguments"] = json!({"amount": 1_000_000});
    assert_eq!(
        faults(&changed),
        ["open_turn.calls[0].wait.arguments_hash: contradiction"]
    );
    // And so is one that was given for other arguments than those that would be run.
    let mut sim = Sim::after([calls(&["gate", "manual"])]);
    sim.decide("c0", Decision::Approved).unwrap();
    let mut changed = value(&sim.session);
    changed["data"]["thread"]["messages"][1]["tool_calls"][0]["arguments"] =
        json!({"amount": 1_000_000});
    assert_eq!(
        faults(&changed),
        ["open_turn.calls[0].approval.arguments_hash: contradiction"]
    );
    let approval = session.approvals().remove(0);
    let mut alone: Value = serde_json::from_slice(&json::to_vec(&approval).unwrap()).unwrap();
    alone["data"]["arguments"] = json!({"amount": 1_000_000});
    let error = json::from_str::<Approval>(&alone.to_string()).unwrap_err();
    assert_eq!(error.path.to_string(), "data.arguments_hash");
}

/// What the first entry sets, ids, and what cannot be together.
#[test]
fn s63_the_rest_of_the_rules() {
    let good = value(&Sim::after([breaks("I thi")]).session);
    let mut changed = good.clone();
    changed["data"]["run"] = value(&Sim::started([]).session)["data"]["run"].clone();
    changed["data"]["inbox"] = json!([{"message": {"role": "assistant"}}]);
    changed["data"].as_object_mut().unwrap().remove("uid");
    assert_eq!(
        faults(&changed),
        [
            "inbox[0].message.role: not_allowed",
            "failure: not_allowed",
            "uid: required"
        ]
    );
    for (field, wrong) in [
        ("id", json!("")),
        ("created_at", json!("yesterday")),
        ("uid", json!("9f")),
    ] {
        let mut changed = good.clone();
        changed["data"][field] = wrong;
        assert_eq!(
            refused(&changed),
            (JsonReason::InvalidValue, format!("data.{field}"))
        );
    }
}

#[test]
fn s65_a_long_session_and_a_deep_one() {
    let mut thread = allm_core::Thread::new();
    for number in 0..5_000 {
        thread.push(Message::user(format!("question {number}")));
        thread.push(Message::assistant(format!("answer {number}")));
    }
    let mut session = Session::new("long").unwrap();
    let body = Session::created(
        allm_core::SessionUid::from_bytes([1; 16]),
        thread,
        Default::default(),
        Default::default(),
        Default::default(),
    );
    assert!(session.check_input(&body, at(0)).is_ok());
    session
        .apply(&body, &allm_core::session::EntryFacts::at(at(0)))
        .unwrap();
    let bytes = session.to_json().unwrap();
    let read = Session::from_json(&bytes).unwrap();
    assert_eq!(read.thread().len(), 10_000);
    assert_eq!(read.to_json().unwrap(), bytes);

    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = String::from_utf8(Sim::new().bytes()).unwrap();
    let text = text.replacen(
        "\"turn\":0",
        &format!("\"metadata\":{{\"a\":{deep}}},\"turn\":0"),
        1,
    );
    let error = Session::from_json(text.as_bytes()).unwrap_err();
    let Error::Json(error) = *error.cause.unwrap() else {
        panic!("a JSON error")
    };
    assert_eq!(error.reason, JsonReason::TooDeep);
}
