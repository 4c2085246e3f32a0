//! What a person at a terminal is asked and told.

use std::time::Duration;

use allm::{SessionId, Takeover, WriterId};

use crate::support::Home;
use crate::support::screen::Started;
use crate::support::stored::{Stored, waits_for_approval};

#[test]
fn a_person_is_asked_before_anything_is_deleted() {
    let home = Home::new();
    let stored = Stored::new(&home);
    for id in ["one", "two", "three"] {
        stored.wait(stored.sessions.create(id)).unwrap();
    }
    let ids = || {
        let listed = home.allm(["sessions", "list", "--json"]).stdout;
        listed.lines().count()
    };
    let mut screen = Started::new(&home, &["sessions", "delete", "one"]).start();
    screen.wait_for("Delete the session `one`? It cannot be undone. [y/N]");
    screen.line("n");
    assert_eq!((screen.ended(), ids()), (130, 3));
    let mut screen = Started::new(&home, &["sessions", "delete", "one", "two"]).start();
    screen.wait_for("Delete 2 sessions? It cannot be undone. [y/N]");
    screen.line("y");
    assert_eq!((screen.ended(), ids()), (0, 1));
    let mut screen = Started::new(&home, &["sessions", "delete", "three", "--yes"]).start();
    assert_eq!((screen.ended(), ids()), (0, 0));
}

#[test]
fn a_list_is_as_wide_as_the_window() {
    let home = Home::new();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let hour_ago = i64::try_from(now.unwrap().as_millis()).unwrap() - 5_400_000;
    let hour_ago = allm::Timestamp::from_millis(hour_ago).unwrap();
    waits_for_approval(&Stored::at(&home, &hour_ago.to_string()), "waits");
    let command = Started::new(&home, &["sessions", "list"]);
    let mut screen = command.size(10, 44).start();
    screen.wait_for("waits for");
    assert_eq!(
        screen.text(),
        "ID     STATUS             AGE  MESSAGES\n\
         waits  awaiting approval  1h   2\n  \
         Cancel order 42.\n  \
         waits for approval of cancel({\"order\":42})"
    );
    assert_eq!(screen.ended(), 0);
}

#[test]
fn what_comes_next_is_told() {
    let home = Home::new();
    waits_for_approval(&Stored::new(&home), "waits");
    let mut screen = Started::new(&home, &["sessions", "approve", "waits"]).start();
    screen.wait_for("stored; go on: allm sessions resume waits");
    assert_eq!(screen.ended(), 0);
}

/// The hold of a process that is known to be dead is in nobody's way.
#[test]
fn a_dead_process_holds_nothing() {
    let home = Home::new();
    let stored = Stored::new(&home);
    stored.wait(stored.sessions.create("left")).unwrap();
    let store = stored.sessions.store();
    let (id, dead) = (SessionId::new("left").unwrap(), WriterId::from("dead"));
    let ttl = Duration::from_secs(600);
    let lease = stored.wait(store.acquire(&id, &dead, ttl, Takeover::IfExpired));
    assert!(lease.is_ok());
    assert_eq!(home.allm(["sessions", "delete", "left"]).code, Some(1));
    // The file of a process that lives is locked by it.
    home.write(".local/share/allm/sessions.db-alive/dead", "");
    let ended = home.allm(["sessions", "delete", "left"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
}
