//! The checks can fail: each of them sees what is wrong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::sync::Arc;

use allm::SessionStore;
use allm::session::{CallKey, Outcome};
use allm_durability::checks::faults;
use allm_durability::stage::{End, Kind, Manner, Stage};
use allm_durability::world::{Hit, Honesty, Word, World};
use allm_store::MemoryStore;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

const PROGRAM: &str = env!("CARGO_BIN_EXE_child");

const ONCE: CallKey = CallKey { turn: 1, index: 3 };

/// A run of `four` without a death, and one whose program died in `once`.
async fn ends() -> (End, End) {
    let stage = Stage::new(PROGRAM, Kind::Sqlite, "four").await.unwrap();
    let unkilled = stage.play(&[], Manner::default()).await;
    let deaths = ["acted a-once-3".to_owned()];
    let killed = stage.play(&deaths, Manner::default()).await;
    (unkilled, killed)
}

#[tokio::test]
async fn the_checks_see_what_is_wrong() {
    let (unkilled, mut killed) = ends().await;
    let check = |killed: &End| faults(&unkilled.facts, &killed.facts, &killed.deaths, &killed.seen);
    assert_eq!(check(&killed), Vec::<String>::new());
    assert_eq!(killed.facts.outcomes[&ONCE], Outcome::UnknownOutcome);
    // An outcome that nobody can know.
    killed.facts.outcomes.insert(ONCE, Outcome::Ok);
    assert!(check(&killed)[0].contains("not UnknownOutcome"));
    killed.facts.outcomes.insert(ONCE, Outcome::UnknownOutcome);
    // Done twice.
    let again = killed.seen.acted.clone();
    killed.seen.acted.extend(again);
    assert!(check(&killed).iter().any(|fault| fault.contains("acted 2")));
    let half = killed.seen.acted.len() / 2;
    killed.seen.acted.truncate(half);
    // Entered again although it is not to be.
    let hit = killed.seen.entered.iter().find(|hit| hit.tool == "once");
    let hit = hit.unwrap().clone();
    killed.seen.entered.push(hit);
    assert!(
        check(&killed)
            .iter()
            .any(|fault| fault.contains("ran again"))
    );
    killed.seen.entered.pop();
    // A stop that was not there.
    killed.facts.stops.pop();
    assert!(check(&killed)[0].starts_with("stops"));
}

/// S84: the world sees a handler that is entered without an intent.
#[tokio::test]
async fn the_world_sees_a_handler_without_an_intent() {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let world = World::begin(store, Honesty::Truth).await;
    let stream = TcpStream::connect(("127.0.0.1", world.port())).await;
    let mut stream = BufReader::new(stream.unwrap());
    for (tool, violations) in [("pure", 0), ("once", 1)] {
        let word = Word::Enter(Hit {
            session: "s".to_owned(),
            tool: tool.to_owned(),
            call_id: "c".to_owned(),
            key: "k".to_owned(),
        });
        let line = serde_json::to_string(&word).unwrap() + "\n";
        stream.get_mut().write_all(line.as_bytes()).await.unwrap();
        stream.read_line(&mut String::new()).await.unwrap();
        assert_eq!(world.seen().violations.len(), violations);
    }
}
