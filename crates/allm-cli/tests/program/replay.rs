//! `allm replay`.

use serde_json::{Value, json};

use crate::support::home::Ended;
use crate::support::stored::{Stored, engine, waits_for_approval, whole_story};
use crate::support::{Home, assert_expected, masked};

/// S67, S68: the journal alone leads to every state, without a model, a tool or a clock.
#[test]
fn s67_a_session_is_played_again_entry_by_entry() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    whole_story(&stored, "order-42");
    let played = home.allm(["replay", "order-42"]);
    assert_eq!((played.stderr.as_str(), played.code), ("", Some(0)));
    assert_expected("replay.txt", &played.stdout);
    // The same bytes each time, and nothing is written by it.
    assert_eq!(home.allm(["replay", "order-42"]), played);
    assert_eq!(
        home.allm(["replay", "order-42", "--json"]),
        home.allm(["replay", "order-42", "--json"])
    );
}

#[test]
fn lines_of_json_have_the_whole_hashes() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    let session = waits_for_approval(&stored, "waits");
    let played = home.allm(["replay", "waits", "--json"]);
    let lines: Vec<Value> = played
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let exported: Value =
        serde_json::from_str(&home.allm(["sessions", "export", "waits"]).stdout).unwrap();
    let entries = exported["data"]["entries"].as_array().unwrap();
    assert_eq!(lines.len(), entries.len());
    for (line, entry) in lines.iter().zip(entries) {
        let data = &entry["entry"]["data"];
        assert_eq!(
            (
                &line["version"],
                &line["at"],
                &line["chain"],
                &line["state_hash"],
                &line["writer"],
                &line["kind"]
            ),
            (
                &entry["version"],
                &entry["at"],
                &entry["chain"],
                &data["state_hash"],
                &data["writer"],
                &data["body"]["type"]
            )
        );
        assert_eq!(line["verified"], json!(true));
    }
    assert_eq!(lines.last().unwrap()["status"], "awaiting_approval");
    let json = stored.open("waits").to_json().unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        lines.last().unwrap()["state_hash"],
        json["data"]["state_hash"]
    );
    assert_eq!(session.version().0, lines.len() as u64);
}

#[test]
fn it_plays_to_a_version_and_waits_for_a_key() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    whole_story(&stored, "order-42");
    let whole = home.allm(["replay", "order-42"]).stdout;
    let to = home.allm(["replay", "order-42", "--to", "2"]).stdout;
    let first_two: String = whole.split_inclusive('\n').take(6).collect();
    assert_eq!(
        to,
        format!("{first_two}✓ replayed to version 2: every hash is right, status idle\n")
    );
    // Enter, Enter, and then enough.
    let stepped = home.piped(["replay", "order-42", "--step"], "\n\nq\n");
    let first_three: String = whole.split_inclusive('\n').take(9).collect();
    assert_eq!(
        stepped,
        Ended {
            code: Some(0),
            stdout: first_three,
            stderr: String::new()
        }
    );
    // All of it with enough of them, and the end of the input leaves.
    assert_eq!(
        home.piped(["replay", "order-42", "--step"], &"\n".repeat(100))
            .stdout,
        whole
    );
    assert_eq!(
        home.piped(["replay", "order-42", "--step"], "")
            .stdout
            .lines()
            .count(),
        3
    );
    for version in ["0", "999"] {
        let ended = home.allm(["replay", "order-42", "--to", version]);
        let entries = (whole.lines().count() - 1) / 3;
        assert_eq!(
            (ended.stderr, ended.code),
            (
                format!(
                    "allm: the session `order-42` has no version {version} to play to\n  its journal goes from 1 to {entries}\n"
                ),
                Some(2)
            )
        );
    }
}

/// S70: an entry whose bytes were changed.
#[test]
fn s70_a_changed_byte_is_found_at_its_version() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    waits_for_approval(&stored, "waits");
    let good = home.allm(["replay", "waits"]).stdout;
    stored.execute("UPDATE entries SET bytes = CAST(replace(CAST(bytes AS TEXT), 'order 42', 'order 43') AS BLOB) WHERE version = 2");
    let ended = home.allm(["replay", "waits"]);
    let first: String = good.split_inclusive('\n').take(3).collect();
    assert_eq!(
        (ended.stdout, ended.code),
        (
            format!("{first}#2  ✗ its bytes are not those that the chain was made of\n"),
            Some(1)
        )
    );
    let mut lines = ended.stderr.lines();
    assert_eq!(
        lines.next(),
        Some(
            "allm: the journal of `waits` is not right at version 2: its bytes are not those that the chain was made of"
        )
    );
    let hash = |line: &str, word: &str| {
        let hash = line.trim_start().strip_prefix(word).unwrap().trim();
        hash.parse::<allm::Hash>().unwrap()
    };
    let expected = hash(lines.next().unwrap(), "expected");
    assert_ne!(hash(lines.next().unwrap(), "found"), expected);
    let json = home.allm(["replay", "waits", "--json"]);
    let last: Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["version"], &last["verified"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(last["expected"], json!(expected));
    assert_eq!(json.code, Some(1));
}

/// S71: an entry that is gone.
#[test]
fn s71_a_missing_entry_is_found() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    waits_for_approval(&stored, "waits");
    stored.execute("DELETE FROM entries WHERE version = 3");
    let ended = home.allm(["replay", "waits"]);
    assert!(
        ended.stdout.ends_with("#3  ✗ another entry stands here\n"),
        "{}",
        ended.stdout
    );
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (
            "allm: the journal of `waits` is not right at version 3: another entry stands here\n  expected 3\n  found    4\n  \
             what comes before it is good; bring back a copy of the database to have the rest\n",
            Some(1)
        )
    );
}

/// S72: an entry whose chain is right and that does not lead where it says.
#[test]
fn s72_a_state_that_is_not_reached_is_told_with_both_hashes() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    waits_for_approval(&stored, "waits");
    // The whole chain is forged, so that only the state can tell.
    let exported = home.allm(["sessions", "export", "waits"]).stdout;
    let document: Value = serde_json::from_str(&exported).unwrap();
    let mut link = allm::Link::START;
    let connection = stored.connect();
    for entry in document["data"]["entries"].as_array().unwrap() {
        let bytes = entry["entry"].to_string();
        let read: allm::session::JournalEntry = allm::json::from_slice(bytes.as_bytes()).unwrap();
        let bytes = String::from_utf8(allm::json::to_vec(&read).unwrap()).unwrap();
        let bytes = bytes.replace("order 42", "order 43");
        link = allm::Link {
            version: link.version.next(),
            chain: allm::Hash::of(&link.chain, bytes.as_bytes()),
        };
        let forge = "UPDATE entries SET bytes = ?, chain = ? WHERE version = ?";
        let version = i64::try_from(link.version.0).unwrap();
        let values = (bytes.into_bytes(), link.chain.as_bytes(), version);
        connection.execute(forge, values).unwrap();
    }
    let ended = home.allm(["replay", "waits"]);
    assert!(
        ended
            .stdout
            .ends_with("#2  ✗ it does not lead to the state that it names\n"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stderr.contains("\n  expected sha256:")
            && ended.stderr.contains("\n  found    sha256:")
    );
    assert_eq!(ended.code, Some(1));
    let shown = home.allm(["sessions", "show", "waits"]);
    assert_eq!(shown.code, Some(1));
    // It can still be deleted.
    assert_eq!(home.allm(["sessions", "delete", "waits"]).code, Some(0));
}

#[test]
fn a_trimmed_journal_is_played_from_its_snapshot() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    let mut session = stored.said("long", &engine(["One.".into()]), "First?");
    let version = session.version();
    stored.wait(async {
        session.snapshot().await.unwrap();
        session.trim(version.next()).await.unwrap();
        session
            .send("And now?", allm::session::Delivery::NextTurn)
            .await
            .unwrap();
    });
    let played = home.allm(["replay", "long"]);
    assert_eq!((played.stderr.as_str(), played.code), ("", Some(0)));
    assert_eq!(
        masked(&played.stdout),
        format!(
            "#{version}  snapshot\n    the entries up to here were trimmed; what they led to, with 2 messages, is kept\n    \
             completed · chain … ✓\n\
             #{next}  2026-08-22T09:00:…Z  user message\n    user: And now?\n    idle · state … · chain … ✓\n\
             ✓ replayed to version {next}: every hash is right, status idle\n",
            next = version.next()
        )
    );
}
