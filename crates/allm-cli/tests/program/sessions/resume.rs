//! `allm sessions resume`, and runs that end otherwise than they should.

use std::process::Child;

use serde_json::{Value, json};

use super::decide::{home, note, notes, until, waits};
use crate::support::home::Ended;
use crate::support::model::Reply;
use crate::support::stored::Stored;
use crate::support::{self, Home, ended};

fn killed(mut run: Child) {
    run.kill().unwrap();
    run.wait().unwrap();
}

/// A run that was killed in the middle of an answer goes on at once: nobody waits for the hold of a dead process.
#[test]
fn s98_a_run_that_was_killed_is_resumed() {
    let held = Reply::Held("I was just ".to_owned(), "going to say".to_owned());
    let (model, home) = home(vec![held, Reply::text("Here it is.")]);
    let run = home.spawned(&["run", "--session", "talk", "Tell me."]);
    model.wait_until_held();
    killed(run);
    let ended = home.allm(["sessions", "resume", "talk"]);
    assert_eq!(
        ended,
        Ended {
            code: Some(0),
            stdout: "Here it is.\n".to_owned(),
            stderr: String::new()
        }
    );
    model.release();
    let shown = home.allm(["sessions", "show", "talk"]).stdout;
    assert!(
        shown.contains("another process went on with the run; an answer of the model was lost"),
        "{shown}"
    );
    assert!(shown.contains("1 lost answers"), "{shown}");
}

/// The same for `sessions approve --resume`, for a run that nobody gave a name, and for whoever says something more.
#[test]
fn s98_whoever_was_killed_holds_nothing() {
    let held = || Reply::Held("I was just ".to_owned(), "going to say".to_owned());
    let (model, home) = home(vec![
        note("milk"),
        held(),
        held(),
        Reply::text("Noted."),
        Reply::text("And more."),
    ]);
    waits(&home, "shop");
    for command in [
        ["sessions", "approve", "shop", "--resume"].as_slice(),
        &["sessions", "resume", "shop"],
    ] {
        let run = home.spawned(command);
        model.wait_until_held();
        killed(run);
    }
    // The run is left, so that nothing more can be said before it has come to its end.
    let more = home.allm(["run", "--session", "shop", "More."]);
    assert_eq!(
        (more.stderr.as_str(), more.code),
        (
            "allm: the last run of the session `shop` was left before its end\n  allm sessions resume shop\n",
            Some(1)
        )
    );
    let ended = home.allm(["sessions", "resume", "shop"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        ("Noted.\n", "", Some(0))
    );
    assert_eq!(notes(&home), "milk\n");
    // One that was killed when its run had ended, and before it gave the session back.
    let stored = Stored::new(&home);
    let (id, dead) = (
        allm::SessionId::new("shop").unwrap(),
        allm::WriterId::from("dead"),
    );
    let ttl = std::time::Duration::from_secs(600);
    let held = stored.sessions.store();
    let held = stored.wait(held.acquire(&id, &dead, ttl, allm::Takeover::IfExpired));
    assert!(held.is_ok());
    home.write(".local/share/allm/sessions.db-alive/dead", "");
    let more = home.allm(["run", "--session", "shop", "More."]);
    assert_eq!(
        (more.stdout.as_str(), more.stderr.as_str(), more.code),
        ("And more.\n", "", Some(0))
    );
}

/// Without `--session`, too: a run that could have had to wait is in the store.
#[test]
fn s98_a_run_without_a_name_that_was_killed_is_resumed() {
    let held = Reply::Held("I was just ".to_owned(), "going to say".to_owned());
    let (model, home) = home(vec![held, Reply::text("Here it is.")]);
    let run = home.spawned(&["run", "Tell me."]);
    model.wait_until_held();
    killed(run);
    let line: Value =
        serde_json::from_str(&home.allm(["sessions", "list", "--json"]).stdout).unwrap();
    let ended = home.allm(["sessions", "resume", line["id"].as_str().unwrap()]);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        ("Here it is.\n", "", Some(0))
    );
}

#[test]
fn a_failed_run_is_tried_again() {
    let (_model, home) = home(vec![
        Reply::Status(401, "bad key".to_owned()),
        Reply::text("Now."),
    ]);
    let failed = home.allm(["run", "--session", "talk", "Hello?"]);
    assert_eq!(failed.code, Some(1));
    let ended = home.allm(["sessions", "resume", "talk"]);
    assert_eq!(
        ended,
        Ended {
            code: Some(0),
            stdout: "Now.\n".to_owned(),
            stderr: String::new()
        }
    );
}

#[test]
fn a_failure_of_the_model_is_told_in_words() {
    let (_model, home) = home(vec![note("milk"), Reply::Status(401, "bad key".to_owned())]);
    waits(&home, "shop");
    let ended = home.allm(["sessions", "approve", "shop", "--resume"]);
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(1)));
    assert!(
        ended
            .stderr
            .starts_with("allm: `scripted` does not accept the key (status 401): "),
        "{}",
        ended.stderr
    );
    // What was decided and done stays.
    assert_eq!(notes(&home), "milk\n");
}

/// An answer that is none ends as in `allm run`, and what was said of it is kept.
#[test]
fn an_answer_that_was_cut_ends_with_4_as_in_a_run() {
    for (reason, told) in [
        (
            "length",
            "allm: the answer was cut: it ran into the limit of tokens\n  allow more with --max-tokens\n",
        ),
        (
            "content_filter",
            "allm: the answer was cut: the provider filtered it\n",
        ),
    ] {
        let cut = || Reply::Ended("And so".to_owned(), reason.to_owned());
        let (_model, home) = home(vec![note("milk"), cut(), cut()]);
        waits(&home, "shop");
        let resumed = home.allm(["sessions", "approve", "shop", "--resume"]);
        let run = home.allm(["run", "--session", "shop", "Go on."]);
        assert_eq!(
            (
                resumed.stdout.as_str(),
                resumed.stderr.as_str(),
                resumed.code
            ),
            ("And so\n", told, Some(4))
        );
        assert_eq!((run.stderr.as_str(), run.code), (told, Some(4)));
    }
}

/// A run that stopped at its limit of turns says how it goes on.
#[test]
fn a_run_without_turns_left_ends_with_4_and_goes_on() {
    let (_model, home) = home(vec![note("milk"), Reply::call("slow", json!({}))]);
    home.write("go", "");
    waits(&home, "shop");
    let words = [
        "sessions",
        "approve",
        "shop",
        "--resume",
        "--max-turns",
        "1",
    ];
    let ended = home.allm(words);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended
            .stderr
            .ends_with("allow more with --max-turns; go on: allm sessions resume shop\n"),
        "{ended:?}"
    );
}

/// Ctrl-C ends the run in order, and the session is as good as before.
#[test]
fn s155_an_interrupted_run_is_settled() {
    let held = Reply::Held("I was just ".to_owned(), "going to say".to_owned());
    let (model, home) = home(vec![note("milk"), held]);
    waits(&home, "shop");
    let child = home.spawned(&["sessions", "approve", "shop", "--resume"]);
    model.wait_until_held();
    let signal = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    let ended = ended(child);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        ("allm: interrupted\n", Some(130))
    );
    model.release();
    let line: Value =
        serde_json::from_str(&home.allm(["sessions", "list", "--json"]).stdout).unwrap();
    assert_eq!(
        (&line["status"], &line["driven_by"]),
        (&json!("idle"), &Value::Null)
    );
    let shown = home.allm(["sessions", "show", "shop"]).stdout;
    assert!(shown.contains("stopped: it was cancelled\n"), "{shown}");
}

/// Pressed again, it does not wait for a database that another program holds, and nobody waits for what it held.
#[test]
fn the_second_ctrl_c_leaves_at_once() {
    let silent = Reply::Silent("never heard".to_owned());
    let (model, home) = home(vec![note("milk"), silent, Reply::text("Here.")]);
    waits(&home, "shop");
    let mut child = home.spawned(&["sessions", "approve", "shop", "--resume"]);
    model.wait_until_held();
    let stored = Stored::new(&home);
    let locked = stored.locked();
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // Two that come at once are one, so that it is pressed until it helps.
    support::until("the end of the program", || {
        let ended = child.try_wait().unwrap();
        if ended.is_none() {
            rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        }
        ended
    });
    let ended = ended(child);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(130)));
    drop(locked);
    let resumed = home.allm(["sessions", "resume", "shop"]);
    assert_eq!(
        (
            resumed.stdout.as_str(),
            resumed.stderr.as_str(),
            resumed.code
        ),
        ("Here.\n", "", Some(0))
    );
}

/// The key of a call that has begun is made from the session's `uid`: a copy with another one could do it twice.
#[test]
fn a_session_with_a_call_of_unknown_end_is_not_copied() {
    let (_model, home) = home(vec![Reply::call("slow", json!({})), Reply::text("Done.")]);
    let run = home.spawned(&["run", "--session", "slow", "Take your time."]);
    until(&home, "began");
    killed(run);
    home.write("go", "");
    let exported = home.allm(["sessions", "export", "slow", "-o", "slow.json"]);
    assert_eq!(exported.code, Some(0));
    let copied = home.allm(["sessions", "import", "slow.json", "--as", "copy"]);
    assert_eq!(
        (copied.stderr.as_str(), copied.code),
        (
            "allm: a call of `slow` has begun and nobody knows how it ended, so it cannot be copied\n  \
             import it under its own id, or go on with it first: allm sessions resume\n",
            Some(2)
        )
    );
    let elsewhere = Home::new();
    let file = home.path().join("slow.json");
    let moved = elsewhere.allm(["sessions", "import", file.to_str().unwrap()]);
    assert_eq!((moved.stderr.as_str(), moved.code), ("", Some(0)));
}
