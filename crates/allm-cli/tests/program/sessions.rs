//! `allm sessions`: what is listed, found and deleted, and what is said of a database that cannot be used.

mod calls;
mod decide;
mod faults;
mod journal;
mod list;
mod resume;
mod terminal;

use crate::support::Home;
use crate::support::stored::{Stored, waits_for_approval};

#[test]
fn an_unknown_id_is_told_with_those_that_look_like_it() {
    let home = Home::new();
    let stored = Stored::new(&home);
    for id in ["2026-08-22-abcd", "2026-08-22-abce", "something else"] {
        stored.wait(stored.sessions.create(id)).unwrap();
    }
    let missing = "allm: there is no session `2026-08-22-abcf`\n  did you mean `2026-08-22-abcd` or `2026-08-22-abce`?\n";
    for command in [
        vec!["sessions", "show", "2026-08-22-abcf"],
        vec!["sessions", "approve", "2026-08-22-abcf"],
        vec!["sessions", "resume", "2026-08-22-abcf"],
        vec!["sessions", "export", "2026-08-22-abcf"],
        vec!["sessions", "delete", "2026-08-22-abcd", "2026-08-22-abcf"],
        vec!["replay", "2026-08-22-abcf"],
    ] {
        let ended = home.allm(command);
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
            ("", missing, Some(2))
        );
    }
    let far = home.allm(["sessions", "show", "zzz"]);
    assert_eq!(
        far.stderr,
        "allm: there is no session `zzz`\n  see what there is: allm sessions list\n"
    );
    let bad = home.allm(["sessions", "show", "a\u{1b}b"]);
    assert_eq!(
        (bad.stderr.as_str(), bad.code),
        (
            "allm: `a␛b` is no id of a session\n  an id has 1 to 200 bytes and no control characters\n",
            Some(2)
        )
    );
    // Of two ids one was there, and it still is.
    assert_eq!(
        home.allm(["sessions", "show", "2026-08-22-abcd"]).code,
        Some(0)
    );
}

/// S170: a session under a live lease is deleted only by force.
#[test]
fn s170_sessions_are_deleted_all_or_none_and_one_that_is_driven_by_force() {
    let home = Home::new();
    let stored = Stored::new(&home);
    for id in ["a", "b", "c"] {
        stored.wait(stored.sessions.create(id)).unwrap();
    }
    let ended = home.allm(["sessions", "delete", "a", "b"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        ("", "", Some(0))
    );
    assert_eq!(home.allm(["sessions", "show", "a"]).code, Some(2));
    let store = stored.sessions.store();
    let id = allm::SessionId::new("c").unwrap();
    let ttl = std::time::Duration::from_secs(60);
    let taken = allm::Takeover::IfExpired;
    let lease = stored.wait(store.acquire(&id, &"somebody".into(), ttl, taken));
    assert!(lease.is_ok());
    let ended = home.allm(["sessions", "delete", "c"]);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (
            "allm: another process drives the session `c`\n  \
             wait until it is done, or delete it all the same with --force\n",
            Some(1)
        )
    );
    assert_eq!(
        home.allm(["sessions", "delete", "c", "--force"]).code,
        Some(0)
    );
    let none = home.allm(["sessions", "show"]);
    assert_eq!(
        (none.stderr.as_str(), none.code),
        (
            "allm: there are no sessions yet\n  `allm chat` begins one\n",
            Some(2)
        )
    );
}

#[test]
fn nothing_is_made_by_looking() {
    let home = Home::new();
    for command in [
        vec!["sessions", "list"],
        vec!["sessions", "show"],
        vec!["replay", "x"],
    ] {
        let ended = home.allm(command);
        let missing = format!(
            "allm: there are no sessions: {} is not there\n  `allm chat` begins one; --store names another file\n",
            home.database().display()
        );
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr, ended.code),
            ("", missing, Some(2))
        );
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

/// S144: what was not decided in time is over.
#[test]
fn s144_it_is_too_late_to_decide_about_what_has_expired() {
    let home = Home::new();
    // Asked long ago, and good for a day.
    let stored = Stored::at(&home, "2020-01-01T00:00:00.000Z");
    waits_for_approval(&stored, "old");
    for verb in ["approve", "deny"] {
        let ended = home.allm(["sessions", verb, "old"]);
        assert_eq!(
            (ended.stderr.as_str(), ended.code),
            (
                "allm: it is too late to decide about this call of `old`\n  go on without it: allm sessions resume old\n",
                Some(2)
            )
        );
    }
}
