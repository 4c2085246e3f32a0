//! Journal and replay (section F).

use allm_core::run::{Command, Run};
use allm_core::session::{
    CallKey, Decision, Delivery, Edited, EntryBody, EntryFacts, JournalEntry, Operation, Outcome,
    Session, read,
};
use allm_core::{
    Entry, Hash, Head, HeadUpdate, Link, Loaded, NewSession, SessionReason, Snapshot, StoreReason,
    Version, json, verify_chain,
};
use serde_json::json;

use super::script::*;
use super::sim::*;

/// Text, tools, a question, an approval, a manual call, a retry and a cancellation.
pub(crate) fn scenario() -> Sim {
    let mut sim = Sim::after([text("Hello!")]);
    sim.answers
        .extend([calls(&["a", "x", "ask", "gate", "manual"])]);
    sim.reply("do it").unwrap();
    sim.answer("c2", "red").unwrap();
    let arguments = map(json!({"n": 1}));
    sim.decide("c3", Decision::Edited(Edited { arguments }))
        .unwrap();
    sim.submit("c4", "42").unwrap();
    sim.answers.extend([breaks("I thi"), calls(&["manual"])]);
    sim.operate(Operation::Resume).unwrap();
    sim.operate(Operation::Retry).unwrap();
    sim.cancel().unwrap();
    sim
}

fn loaded(sim: &Sim, snapshot: Option<Snapshot>) -> Loaded {
    let head = Head::created(&NewSession {
        id: sim.session.id().clone(),
        uid: sim.session.uid().unwrap(),
        first: sim.journal[0].clone(),
        head: HeadUpdate::new(sim.status()),
    });
    let head = head.appended(sim.journal.last().unwrap(), &sim.session.head());
    let after = snapshot
        .as_ref()
        .map_or(Version(0), |snapshot| snapshot.version);
    Loaded {
        head,
        snapshot,
        entries: sim
            .journal
            .iter()
            .filter(|entry| entry.version > after)
            .cloned()
            .collect(),
    }
}

#[test]
fn s66_a_scenario_writes_exactly_these_entries() {
    let sim = scenario();
    let expected = [
        "created",
        "user_message",
        "run_started",
        "model_responded", // Hello!
        "user_message",
        "run_started",
        "model_responded",
        "calls_planned",
        "tool_outcome",
        "tool_intent",
        "tool_outcome",
        "tool_outcome",
        "answered",
        "approval_decided",
        "result_submitted",
        "run_started",
        "tool_intent",
        "tool_outcome",
        "model_failed",
        "run_started",
        "model_responded",
        "calls_planned",
        "stop_requested",
    ];
    assert_eq!(sim.kinds(), expected);
    // Every entry as it is stored is the one that was sealed, whole, and stands in its place.
    let mut before = at(0);
    for ((entry, body), number) in sim.journal.iter().zip(&sim.bodies).zip(1_u64..) {
        let stored = read(entry).unwrap();
        let state_hash = stored.state_hash;
        let expected = JournalEntry {
            version: Version(number),
            at: entry.at,
            writer: "w1".into(),
            machine: Run::MACHINE,
            append_id: stored.append_id,
            input_id: None,
            state_hash,
            body: body.clone(),
        };
        assert_eq!(stored, expected);
        assert!(entry.at >= before);
        assert_eq!(entry.class, body.class());
        before = entry.at;
    }
    // Some of them, field by field.
    let EntryBody::Answered(answered) = &sim.bodies[12] else {
        panic!("answered")
    };
    assert_eq!(answered.call, CallKey { turn: 2, index: 2 });
    let EntryBody::ToolIntent(intent) = &sim.bodies[16] else {
        panic!("tool_intent")
    };
    assert_eq!(
        (intent.call, intent.attempt),
        (CallKey { turn: 2, index: 3 }, 1)
    );
    let EntryBody::ToolOutcome(outcome) = &sim.bodies[17] else {
        panic!("tool_outcome")
    };
    assert_eq!(
        (outcome.outcome, outcome.content.as_str()),
        (Outcome::Ok, "done")
    );
    let EntryBody::ModelFailed(failed) = &sim.bodies[18] else {
        panic!("model_failed")
    };
    assert_eq!((failed.turn, failed.attempt), (3, 1));
    let EntryBody::RunStarted(started) = &sim.bodies[19] else {
        panic!("run_started")
    };
    assert_eq!(started.op, Operation::Retry);
}

/// S67, and S68: replaying needs the entries and nothing else. There is no clock, closure or store in this crate.
#[test]
fn s67_s68_any_prefix_leads_to_the_hash_of_its_last_entry() {
    let sim = scenario();
    let mut session = Session::new("order-42").unwrap();
    for entry in &sim.journal {
        let stored = read(entry).unwrap();
        session.replay(&stored).unwrap();
        assert_eq!(session.state_hash().unwrap(), stored.state_hash);
    }
    assert_eq!(session, sim.session);
}

/// S67 on every platform alike: the hashes and the chain of a fixed journal are written down.
#[test]
fn s67_the_hashes_of_a_fixed_journal() {
    let sim = scenario();
    let last = sim.journal.last().unwrap();
    let hash = read(last).unwrap().state_hash.to_string();
    let chain = last.chain.to_string();
    assert_eq!(
        (hash.as_str(), chain.as_str()),
        (
            "sha256:3e4a52d02a29db4ad648a8690ce150b61baf695a0ab02fbf5da6acd80e900dda",
            "sha256:7a2e1113b92e5cf524865ca29734ceee5391dc8c67cee99fa6b80a2b03ee84f6",
        )
    );
}

#[test]
fn s69_s73_replay_and_snapshots_give_the_live_session() {
    let sim = scenario();
    let (whole, link) = Session::from_journal(&loaded(&sim, None)).unwrap();
    assert_eq!(whole, sim.session);
    let mut session = Session::new("order-42").unwrap();
    for entry in &sim.journal {
        session.replay(&read(entry).unwrap()).unwrap();
        let snapshot = session.snapshot(&entry.link()).unwrap();
        let (rest, end) = Session::from_journal(&loaded(&sim, Some(snapshot.clone()))).unwrap();
        assert_eq!((&rest, end), (&sim.session, link));
        // One that fails its hash, or is cut, is corrupt; whoever has the journal tries without it.
        let broken = Snapshot {
            state_hash: Hash::ZERO,
            ..snapshot.clone()
        };
        let error = Session::from_journal(&loaded(&sim, Some(broken))).unwrap_err();
        assert_eq!(error.store.unwrap().reason, StoreReason::Corrupt);
        let cut = Snapshot {
            bytes: snapshot.bytes.slice(..snapshot.bytes.len() - 1),
            ..snapshot
        };
        let error = Session::from_journal(&loaded(&sim, Some(cut))).unwrap_err();
        assert_eq!(error.store.unwrap().reason, StoreReason::Corrupt);
    }
}

#[test]
fn s70_a_flipped_byte_is_found_before_anything_is_parsed() {
    let sim = scenario();
    for place in 0..sim.journal.len() {
        let mut all = loaded(&sim, None);
        let mut bytes = all.entries[place].bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        all.entries[place].bytes = bytes.into();
        corrupt_at(&all, place + 1);
    }
}

#[test]
fn s71_a_removed_doubled_or_swapped_row_is_corrupt() {
    let sim = scenario();
    let mut removed = loaded(&sim, None);
    removed.entries.remove(4);
    corrupt_at(&removed, 5);
    let mut doubled = loaded(&sim, None);
    let twice = doubled.entries[4].clone();
    doubled.entries.insert(4, twice);
    corrupt_at(&doubled, 6);
    let mut swapped = loaded(&sim, None);
    swapped.entries.swap(4, 5);
    corrupt_at(&swapped, 5);
}

fn corrupt_at(loaded: &Loaded, version: usize) {
    let error = Session::from_journal(loaded).unwrap_err();
    assert_eq!(error.reason, SessionReason::Store);
    let store = error.store.unwrap();
    assert_eq!(store.reason, StoreReason::Corrupt);
    assert_eq!(store.version, Some(Version(version as u64)));
}

/// The journal with one entry changed, and the chain made to fit.
fn rewritten(sim: &Sim, place: usize, change: impl Fn(&mut serde_json::Value)) -> Loaded {
    let mut all = loaded(sim, None);
    let mut value: serde_json::Value = serde_json::from_slice(&all.entries[place].bytes).unwrap();
    change(&mut value);
    all.entries[place].bytes = value.to_string().into_bytes().into();
    let mut link = Link::START;
    for entry in &mut all.entries {
        *entry = Entry::following(&link, entry.class, entry.at, entry.bytes.clone());
        link = entry.link();
    }
    all
}

#[test]
fn s72_a_good_chain_with_another_state_is_a_divergence() {
    let sim = scenario();
    let place = 6;
    let all = rewritten(&sim, place, |value| {
        value["data"]["state_hash"] = json!(Hash::ZERO);
    });
    let error = Session::from_journal(&all).unwrap_err();
    assert_eq!(error.reason, SessionReason::ReplayDiverged);
    assert_eq!(error.version, Some(Version(place as u64 + 1)));
    // What it says can still be read.
    assert!(verify_chain(&Link::START, &all.entries).is_ok());
    assert_eq!(read(&all.entries[place]).unwrap().body, sim.bodies[place]);

    // An entry that says something else, or does not fit at all, diverges as well.
    let all = rewritten(&sim, 12, |value| {
        value["data"]["body"]["content"][0]["text"] = json!("blue");
    });
    let error = Session::from_journal(&all).unwrap_err();
    assert_eq!(
        (error.reason, error.version),
        (SessionReason::ReplayDiverged, Some(Version(13)))
    );
    let all = rewritten(&sim, 12, |value| {
        value["data"]["body"]["call"] = json!("t1.c0");
    });
    let error = Session::from_journal(&all).unwrap_err();
    assert_eq!(
        (error.reason, error.version),
        (SessionReason::ReplayDiverged, Some(Version(13)))
    );
}

/// S74: the entries of a run have the number that it began with; the next run has that of the library.
#[test]
fn s74_a_run_ends_under_the_rules_that_it_began_with() {
    let begun = Sim::started([]);
    let mut session = Session::new("order-42").unwrap();
    for body in &begun.bodies {
        let older = EntryFacts {
            machine: 7,
            ..EntryFacts::at(at(0))
        };
        session.apply(body, &older).unwrap();
    }
    assert_eq!(session.machine(), 7);
    let error = Session::from_json(&session.to_json().unwrap()).unwrap_err();
    assert_eq!(
        error.reason,
        SessionReason::UnsupportedMachine,
        "unfinished"
    );

    let mut sim = begun;
    let mut seal = |session: &mut Session, body: &EntryBody| {
        let sealed = session.seal(body, &sim.append(), &Link::START).unwrap();
        serde_json::from_slice::<serde_json::Value>(&sealed.entry.bytes).unwrap()["data"]["machine"]
            .clone()
    };
    let answered = {
        let mut other = Sim::started([text("fine")]);
        other.drive();
        other.bodies.last().unwrap().clone()
    };
    assert_eq!(seal(&mut session, &answered), json!(7));
    assert_eq!(
        Session::from_json(&session.to_json().unwrap()),
        Ok(session.clone()),
        "finished"
    );
    let started = Sim::started([]).bodies.pop().unwrap();
    assert_eq!(seal(&mut session, &started), json!(Run::MACHINE));
    assert_eq!(session.machine(), Run::MACHINE);
}

#[test]
fn s75_an_unfinished_run_of_unknown_rules_is_refused() {
    let mut sim = Sim::started([calls(&["a"])]);
    sim.until(|command| matches!(command, Command::RunTools(_)));
    let before = sim.journal.clone();
    let all = rewritten(&sim, 3, |value| value["data"]["machine"] = json!(2));
    let error = Session::from_journal(&all).unwrap_err();
    assert_eq!(error.reason, SessionReason::UnsupportedMachine);
    assert_eq!(error.version, Some(Version(4)));
    assert!(
        error.message.contains("machine 2, supported is 1"),
        "{error}"
    );
    assert_eq!(sim.journal, before);
    let mut value: serde_json::Value = serde_json::from_slice(&sim.bytes()).unwrap();
    value["data"]["machine"] = json!(2);
    let error = Session::from_json(value.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.reason, SessionReason::UnsupportedMachine);
}

/// S57, S58, S54: an entry of a newer library, and one with a field that is not known.
#[test]
fn s57_an_entry_of_a_newer_library_stops_the_reading() {
    let sim = scenario();
    let all = rewritten(&sim, 5, |value| value["v"] = json!(2));
    let error = Session::from_journal(&all).unwrap_err();
    assert_eq!(
        (error.reason, error.version),
        (SessionReason::UnsupportedVersion, Some(Version(6)))
    );
    assert_eq!((error.found, error.supported), (Some(2), Some(1)));
    let all = rewritten(&sim, 5, |value| {
        value["data"]["body"]["surprise"] = json!(1)
    });
    let error = Session::from_journal(&all).unwrap_err();
    assert_eq!(error.store.unwrap().reason, StoreReason::Corrupt);
}

/// Entries are the bytes of their documents: the same value gives the same bytes.
#[test]
fn entries_are_stored_as_they_are_written() {
    let sim = scenario();
    for entry in &sim.journal {
        let stored = read(entry).unwrap();
        assert_eq!(json::to_vec(&stored).unwrap(), entry.bytes);
    }
}

/// Time never goes back in a journal, though a store's clock may.
#[test]
fn times_never_go_back() {
    let mut sim = Sim::after([text("fine")]);
    let last = sim.session.updated_at();
    sim.now = -5_000;
    sim.send("psst", Delivery::NextTurn).unwrap();
    assert_eq!(sim.session.updated_at(), last);
}
