//! `allm sessions export` and `import`.

use allm::{LoadFrom, Loaded, SessionId, Version};
use serde_json::Value;

use crate::support::Home;
use crate::support::stored::{Stored, engine, waits_for_approval, whole_story};

fn whole(stored: &Stored, id: &str) -> Loaded {
    let id = SessionId::new(id).unwrap();
    let load = stored
        .sessions
        .store()
        .load(&id, LoadFrom::After(Version(0)));
    stored.wait(load).unwrap()
}

fn exported(home: &Home, id: &str) -> String {
    let ended = home.allm(["sessions", "export", id]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    ended.stdout
}

#[test]
fn what_was_exported_is_imported_elsewhere_to_the_last_byte() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    whole_story(&stored, "order-42");
    let text = exported(&home, "order-42");
    // One entry to a line, and readable by any program.
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&document["v"], &document["type"]),
        (&1.into(), &"session_journal".into())
    );
    let entries = document["data"]["entries"].as_array().unwrap().len();
    assert_eq!(text.lines().count(), entries + 3);

    let elsewhere = Home::new();
    let file = elsewhere.write("order.json", &text);
    let ended = elsewhere.allm(["sessions", "import", "order.json"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        ("", "", Some(0))
    );
    assert_eq!(exported(&elsewhere, "order-42"), text);
    let other = Stored::new(&elsewhere);
    let (here, there) = (whole(&stored, "order-42"), whole(&other, "order-42"));
    assert_eq!(there.entries, here.entries);
    assert_eq!(there.head, here.head);
    assert_eq!(*other.open("order-42"), *stored.open("order-42"));
    assert_eq!(
        elsewhere.allm(["replay", "order-42"]),
        home.allm(["replay", "order-42"])
    );

    // An id that is there is not touched.
    let again = elsewhere.allm(["sessions", "import", "order.json"]);
    assert_eq!(
        (again.stderr.as_str(), again.code),
        (
            "allm: there is a session `order-42` already\n  name another id with --as, or delete that one\n",
            Some(2)
        )
    );
    // One that was deleted can be brought back.
    assert_eq!(
        elsewhere.allm(["sessions", "delete", "order-42"]).code,
        Some(0)
    );
    let back = elsewhere.piped(
        ["sessions", "import", "-"],
        &std::fs::read_to_string(file).unwrap(),
    );
    assert_eq!((back.stderr.as_str(), back.code), ("", Some(0)));
    assert_eq!(exported(&elsewhere, "order-42"), text);
}

#[test]
fn an_imported_session_goes_on() {
    let home = Home::new();
    waits_for_approval(&Stored::new(&home), "waits");
    let elsewhere = Home::new();
    elsewhere.write("waits.json", &exported(&home, "waits"));
    assert_eq!(
        elsewhere.allm(["sessions", "import", "waits.json"]).code,
        Some(0)
    );
    assert_eq!(
        elsewhere.allm(["sessions", "approve", "waits"]).code,
        Some(0)
    );
    let stored = Stored::new(&elsewhere);
    let mut session = stored.open("waits");
    let result = stored.wait(async { session.resume(&engine(["Done.".into()])).await });
    assert_eq!(result.unwrap().text(), "Done.");
}

/// Everything is the same but the id, the `uid` and the hashes that are taken of them.
#[test]
fn under_another_id_it_is_another_session_with_the_same_story() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    whole_story(&stored, "order-42");
    let text = exported(&home, "order-42");
    home.write("order.json", &text);
    let ended = home.allm(["sessions", "import", "order.json", "--as", "copy"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    let bare = |text: &str| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        let data = &mut document["data"];
        data["id"].take();
        data["uid"].take();
        for entry in data["entries"].as_array_mut().unwrap() {
            entry["chain"].take();
            entry["entry"]["data"]["state_hash"].take();
            if entry["version"] == 1 {
                entry["entry"]["data"]["body"]["uid"].take();
            }
        }
        document
    };
    assert_eq!(bare(&exported(&home, "copy")), bare(&text));
    let (original, copy) = (stored.open("order-42"), stored.open("copy"));
    assert_ne!(copy.uid(), original.uid());
    assert_eq!(copy.thread(), original.thread());
    let replayed = home.allm(["replay", "copy"]);
    assert_eq!((replayed.stderr.as_str(), replayed.code), ("", Some(0)));
}

#[test]
fn the_file_is_whole_or_not_there_and_only_for_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    waits_for_approval(&Stored::new(&home), "waits");
    let ended = home.allm(["sessions", "export", "waits", "-o", "out.json"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        ("", "", Some(0))
    );
    let file = home.path().join("out.json");
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        exported(&home, "waits")
    );
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let ended = home.allm(["sessions", "export", "waits", "-o", "no/such/folder.json"]);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (
            "allm: no/such/folder.json cannot be written: No such file or directory (os error 2)\n  \
             name another file with --output\n",
            Some(1)
        )
    );
    let names = std::fs::read_dir(home.path()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names
            .iter()
            .all(|name| name == "out.json" || name == ".local"),
        "{names:?}"
    );
}

/// Imports this into an empty home, and says what was told. Nothing may have been made.
fn refused(text: &str) -> String {
    let home = Home::new();
    home.write("x.json", text);
    let ended = home.allm(["sessions", "import", "x.json"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("", Some(2)),
        "{}",
        ended.stderr
    );
    assert!(
        !home.database().exists(),
        "nothing is made for what is refused"
    );
    ended.stderr
}

/// S70, S71 and S72 for a file.
#[test]
fn what_is_not_what_it_says_is_refused_before_anything_is_made() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    whole_story(&stored, "order-42");
    let text = exported(&home, "order-42");
    let entry = |version| {
        format!(
            "allm: x.json is damaged: the entry at version {version} is missing or fails its hash\n  export it again\n"
        )
    };
    // Another word in what was said.
    assert_eq!(
        refused(&text.replace("Cancel my order", "Repeat my order")),
        entry(2)
    );
    // A line that is gone, or stands twice.
    let lines: Vec<&str> = text.lines().collect();
    let without = |gone: usize| {
        let kept = lines.iter().enumerate().filter(|(place, _)| *place != gone);
        kept.map(|(_, line)| format!("{line}\n"))
            .collect::<String>()
    };
    assert_eq!(refused(&without(4)), entry(3));
    let twice = text.replace(lines[4], &format!("{}\n{}", lines[4], lines[4]));
    assert_eq!(refused(&twice), entry(4));
    // The last one, too.
    let last = lines.len() - 2;
    let shorter = without(last).replace(
        &format!("{}\n]", lines[last - 1]),
        &format!("{}\n]", lines[last - 1].trim_end_matches(',')),
    );
    assert_eq!(refused(&shorter), entry(last - 1));
    // Another session's name on it.
    let renamed = text.replacen("order-42", "order-43", 1);
    assert_eq!(
        refused(&renamed),
        "allm: x.json is damaged: the entry at version 1 does not lead to the state that it names\n  export it again\n"
    );
    // What comes from another release.
    assert_eq!(
        refused(&text.replacen("\"v\":1", "\"v\":2", 1)),
        "allm: x.json has format 2, and this allm reads format 1\n  use a newer allm\n"
    );
    let shown = home.allm(["sessions", "show", "--format", "json"]).stdout;
    assert_eq!(
        refused(&shown),
        "allm: x.json is a `session` and no exported session\n  `allm sessions export ID -o FILE` makes one\n"
    );
    // And every file that was cut off.
    let step = text.len() / 40;
    for end in (0..text.len() - 2)
        .step_by(step)
        .filter(|end| text.is_char_boundary(*end))
    {
        assert!(refused(&text[..end]).starts_with("allm: x.json is no exported session: "));
    }
    let missing = Home::new().allm(["sessions", "import", "nothing.json"]);
    assert_eq!(
        (missing.stderr.as_str(), missing.code),
        (
            "allm: nothing.json is not there\n  name a file that `allm sessions export` has written\n",
            Some(2)
        )
    );
}

#[test]
fn a_file_that_was_laid_out_anew_is_still_the_same() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    whole_story(&stored, "order-42");
    let text = exported(&home, "order-42");
    let document: Value = serde_json::from_str(&text).unwrap();
    let elsewhere = Home::new();
    elsewhere.write(
        "pretty.json",
        &serde_json::to_string_pretty(&document).unwrap(),
    );
    let ended = elsewhere.allm(["sessions", "import", "pretty.json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    assert_eq!(exported(&elsewhere, "order-42"), text);
}

/// A crash between the two steps leaves the first entry; the same import goes on from there.
#[test]
fn an_import_that_was_cut_off_is_finished_by_doing_it_again() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    whole_story(&stored, "order-42");
    let text = exported(&home, "order-42");
    let elsewhere = Home::new();
    elsewhere.write("order.json", &text);
    let loaded = whole(&stored, "order-42");
    let other = Stored::new(&elsewhere);
    let new = allm::NewSession {
        id: loaded.head.id.clone(),
        uid: loaded.head.uid,
        first: loaded.entries[0].clone(),
        head: allm::HeadUpdate::new(allm::SessionStatus::Idle),
    };
    other.wait(other.sessions.store().create(&new)).unwrap();
    let ended = elsewhere.allm(["sessions", "import", "order.json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    assert_eq!(exported(&elsewhere, "order-42"), text);
}

/// A store makes a session from its first entry, so one that has lost it begins anew with what was said.
#[test]
fn a_trimmed_journal_is_imported_as_what_was_said() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    let mut session = stored.said("long", &engine(["One.".into()]), "First?");
    let cut = session.version().next();
    stored.wait(async {
        session.snapshot().await.unwrap();
        session.trim(cut).await.unwrap();
    });
    let elsewhere = Home::new();
    let text = exported(&home, "long");
    assert_eq!(
        refused(&text.replacen("\"long\"", "\"short\"", 1)),
        "allm: x.json is damaged: it is of another session than it says\n  export it again\n"
    );
    elsewhere.write("long.json", &text);
    let ended = elsewhere.allm(["sessions", "import", "long.json"]);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (
            "allm: long.json has lost the beginning of its journal: `long` has what was said, in a journal of its own\n",
            Some(0)
        )
    );
    let other = Stored::new(&elsewhere);
    let copy = other.open("long");
    assert_eq!(
        (copy.thread(), copy.version()),
        (session.thread(), Version(1))
    );
}

/// What cannot be written as a whole is not there at all.
#[test]
fn an_import_that_fails_in_the_middle_leaves_nothing() {
    let home = Home::new();
    whole_story(&Stored::at(&home, "2026-08-22T09:00:00.000Z"), "order-42");
    let elsewhere = Home::new();
    elsewhere.write("order.json", &exported(&home, "order-42"));
    let stored = Stored::new(&elsewhere);
    stored.execute(
        "CREATE TRIGGER full BEFORE INSERT ON entries WHEN NEW.version = 9
         BEGIN SELECT RAISE(ABORT, 'no more'); END",
    );
    let ended = elsewhere.allm(["sessions", "import", "order.json"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("", Some(1)),
        "{}",
        ended.stderr
    );
    assert_eq!(elsewhere.allm(["sessions", "list", "--json"]).stdout, "");
    // And nothing is in the way of the next try.
    stored.execute("DROP TRIGGER full");
    let ended = elsewhere.allm(["sessions", "import", "order.json"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    assert_eq!(
        exported(&elsewhere, "order-42"),
        exported(&home, "order-42")
    );
}
