//! Idempotency keys of a session's calls (section H).

use allm_core::session::{EntryBody, Operation, Session};
use allm_core::{Map, SessionUid, Thread, idempotency_key};

use super::script::*;
use super::sim::*;

fn with_uid(uid: u8) -> Sim {
    Sim::created(Session::created(
        SessionUid::from_bytes([uid; 16]),
        Thread::new(),
        Map::new(),
        Map::new(),
        Default::default(),
    ))
}

/// The keys of all intents, in order.
fn keys(sim: &Sim) -> Vec<String> {
    let keys = sim.bodies.iter().filter_map(|body| match body {
        EntryBody::ToolIntent(intent) => Some(intent.key.clone()),
        _ => None,
    });
    keys.collect()
}

#[test]
fn s104_two_equal_calls_have_different_keys() {
    let sim = Sim::after([calls(&["x", "x"]), calls(&["x"])]);
    let keys = keys(&sim);
    assert_eq!(keys.len(), 3);
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
}

#[test]
fn s105_a_session_created_again_has_other_keys() {
    let run = |uid: u8| {
        let mut sim = with_uid(uid);
        sim.answers.extend([calls(&["x", "x"])]);
        sim.reply("hi").unwrap();
        keys(&sim)
    };
    assert_eq!(run(1), run(1));
    assert!(run(1).iter().all(|key| !run(2).contains(key)));
}

/// S101, S102: the key of a session's call is made of uid, turn, index, tool and arguments, and of nothing else.
#[test]
fn s102_the_key_of_a_call_in_a_session() {
    let mut sim = with_uid(3);
    sim.answers.extend([
        text("first"),
        Answer::Whole(call_response(&["x"], r#"{ "b":1, "a":2.0 }"#)),
    ]);
    sim.reply("hi").unwrap();
    sim.operate(Operation::Reply).unwrap();
    let arguments = map(serde_json::json!({"a": 2, "b": 1}));
    assert_eq!(
        keys(&sim),
        [idempotency_key(&[3; 16], 2, 0, "x", &arguments)]
    );
}
