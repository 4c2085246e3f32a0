//! A host with a journal of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use allm_durability::facts::Facts;
use allm_durability::scenario::Scenario;
use allm_durability::stage::{Kind, Manner, Stage};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_child");

/// The session as JSON, without what is made by chance or by a clock.
fn document(facts: &Facts) -> Value {
    let text = allm::json::to_string(&facts.session).unwrap();
    let mut document = serde_json::from_str(&text).unwrap();
    strip(&mut document);
    document
}

fn strip(value: &mut Value) {
    const BY_CHANCE: [&str; 6] = [
        "uid",
        "created_at",
        "updated_at",
        "state_hash",
        "approval_id",
        "decided",
    ];
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !BY_CHANCE.contains(&key.as_str()));
            map.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}

/// What it does when it is killed is in `kill.rs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s174_a_host_ends_with_the_same_session() {
    for scenario in Scenario::ALL {
        let mut documents = Vec::new();
        for kind in [Kind::Sqlite, Kind::Host] {
            let stage = Stage::new(PROGRAM, kind, scenario).await.unwrap();
            let end = stage.play(&[], Manner::default()).await;
            documents.push(document(&end.facts));
        }
        assert_eq!(documents[0], documents[1], "{scenario}");
    }
}
