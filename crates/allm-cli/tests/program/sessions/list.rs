//! `allm sessions list`.

use allm::{Beginning, Message, Script, Thread};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::support::Home;
use crate::support::home::run;
use crate::support::stored::{Stored, engine, waits_for_approval};

/// Four sessions of the last days, of which two wait.
fn some(home: &Home) -> Stored {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    let days_ago =
        |days: i64| allm::Timestamp::from_millis(now - days * 86_400_000 - 60_000).unwrap();
    let stored = Stored::at(home, &days_ago(400).to_string());
    stored.said("oldest", &engine([Script::from("Yes.")]), "Are you there?");
    stored.clock.set(days_ago(3));
    let asks = Script::new().call("ask", json!({}));
    stored.said("asks", &engine([asks]), "Cancel my\norder");
    // Too late for a day's approval would be another status at the next operation, not before.
    stored.clock.set(days_ago(0));
    waits_for_approval(&stored, "waits");
    stored.clock.set(days_ago(2));
    stored.wait(stored.sessions.create("empty")).unwrap();
    stored
}

fn listed(home: &Home, more: &[&str]) -> String {
    let ended = home.allm([&["sessions", "list"], more].concat());
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    ended.stdout
}

#[test]
fn the_newest_come_first_with_what_they_wait_for() {
    let home = Home::new();
    some(&home);
    assert_eq!(
        listed(&home, &[]),
        "ID      STATUS             AGE   MESSAGES  TITLE\n\
         waits   awaiting approval  1m    2         Cancel order 42.\n\
         \x20 waits for approval of cancel({\"order\":42})\n\
         empty   idle               2d    0\n\
         asks    awaiting user      3d    4         Cancel my order\n\
         \x20 waits for an answer: Why do you cancel it?\n\
         oldest  completed          400d  2         Are you there?\n"
    );
    let ids = |more: &[&str]| {
        let lines = listed(&home, &[more, &["--json"]].concat());
        let id = |line: &str| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        lines.lines().map(id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["-n", "2"]), ["waits", "empty"]);
    assert_eq!(ids(&["--waiting"]), ["waits", "asks"]);
    assert_eq!(ids(&["--waiting", "-n", "1"]), ["waits"]);
    assert_eq!(ids(&["--status", "completed"]), ["oldest"]);
    assert_eq!(ids(&["--status", "awaiting-user"]), ["asks"]);
    assert_eq!(ids(&["--status", "error"]), [""; 0]);
    assert_eq!(listed(&home, &["--status", "error"]), "");
}

#[test]
fn a_line_of_json_has_what_a_script_needs() {
    let home = Home::new();
    let stored = Stored::at(&home, "2026-08-22T09:00:00.000Z");
    let session = waits_for_approval(&stored, "waits");
    let line: Value = serde_json::from_str(&listed(&home, &["--json"])).unwrap();
    let approval = &session.approvals()[0];
    assert_eq!(
        line,
        json!({
            "id": "waits", "uid": session.uid(), "version": session.version(), "status": "awaiting_approval",
            "runnable": false, "title": "Cancel order 42.", "messages": 2, "tags": {}, "driven_by": null,
            "created_at": "2026-08-22T09:00:00.000Z", "updated_at": session.updated_at(),
            "waits": [{
                "call": "t1.c0", "kind": "approval", "tool": "cancel", "approval": approval.approval_id,
                "arguments": {"order": 42}, "reason": null, "expires_at": approval.expires_at,
            }],
        })
    );
}

#[test]
fn narrow_terminals_and_wide_characters() {
    let home = Home::new();
    let stored = some(&home);
    let thread = Thread::new().with(Message::user(
        "注文をキャンセルしてください。できるだけ早くお願いします 👩‍👩‍👧‍👦",
    ));
    let beginning = Beginning::new().thread(thread);
    stored
        .wait(
            stored
                .sessions
                .create_with("日本語のとても長い会話の名前です、本当に長い", beginning),
        )
        .unwrap();
    for columns in [20_usize, 40, 60, 80, 120] {
        let mut command = home.command(["sessions", "list"]);
        let text = run(command.env("COLUMNS", columns.to_string())).stdout;
        for line in text.lines() {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
        assert!(text.contains("日本語"), "{text}");
    }
    let mut command = home.command(["sessions", "list", "--waiting"]);
    let ended = run(command.env("COLUMNS", "40"));
    assert_eq!(
        ended.stdout,
        "ID     STATUS             AGE  MESSAGES\n\
         waits  awaiting approval  1m   2\n\
         \x20 Cancel order 42.\n\
         \x20 waits for approval of cancel({\"order\"…\n\
         asks   awaiting user      3d   4\n\
         \x20 Cancel my order\n\
         \x20 waits for an answer: Why do you cance…\n"
    );
}

#[test]
fn a_damaged_session_does_not_hide_the_others() {
    let home = Home::new();
    let stored = some(&home);
    stored.execute("DELETE FROM snapshots; UPDATE entries SET bytes = x'7b7d' WHERE version = 2 AND session = (SELECT key FROM sessions WHERE id = 'oldest')");
    let text = listed(&home, &[]);
    assert!(
        text.ends_with("oldest  completed          400d  ?         (the journal of `oldest` is damaged at version 2)\n"),
        "{text}"
    );
    let shown = home.allm(["sessions", "show", "oldest"]);
    assert_eq!(
        (shown.stdout.as_str(), shown.stderr.as_str(), shown.code),
        (
            "",
            "allm: the journal of `oldest` is damaged at version 2\n  `allm replay oldest` shows how far it is good\n",
            Some(1)
        )
    );
}

#[test]
fn what_cannot_be_listed_is_refused() {
    let home = Home::new();
    some(&home);
    let ended = home.allm(["sessions", "list", "--status", "waiting"]);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (
            "allm: `waiting` is no status\n  one of: error, in_progress, awaiting_user, awaiting_approval, \
             awaiting_tools, completed, idle\n",
            Some(2)
        )
    );
    let ended = home.allm(["sessions", "list", "--status", "idle", "--waiting"]);
    assert_eq!(ended.code, Some(2));
}
