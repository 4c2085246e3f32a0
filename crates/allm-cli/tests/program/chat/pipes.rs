//! `allm chat` without a terminal: lines in, answers out, and nothing else.

use serde_json::json;

use super::approvals::NOTE;
use super::tools::ECHO;
use crate::support::Home;
use crate::support::model::{Model, Reply};

#[test]
fn lines_are_answered_plainly() {
    let model = Model::script([
        Reply::call("echo", json!({"text": "x"})),
        Reply::text("**One** `line`\n- two"),
        Reply::text("Three."),
    ]);
    let home = Home::with_model(&model, ECHO);
    let ended = home.piped(["chat"], "first\n\nsecond");
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        ("**One** `line`\n- two\nThree.\n", "", Some(0))
    );
    assert_eq!(model.asked().len(), 3);
}

#[test]
fn a_failure_ends_it() {
    let model = Model::script([Reply::Status(401, "bad key".to_owned())]);
    let home = Home::with_model(&model, "");
    let ended = home.piped(["chat"], "first\nsecond\n");
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(1)));
    assert!(ended.stderr.starts_with("allm: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("bad key"), "{}", ended.stderr);
    assert_eq!(model.asked().len(), 1);
}

#[test]
fn nobody_is_asked_and_the_next_line_is_no_answer() {
    let model = Model::script([Reply::call("note", json!({"text": "milk"}))]);
    let home = Home::with_model(&model, NOTE);
    let ended = home.piped(["chat"], "go\ny\n");
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(3)));
    assert!(
        ended.stderr.contains("waits for a person (approval)"),
        "{}",
        ended.stderr
    );
    assert!(!home.path().join("notes").exists());
    assert_eq!(model.asked().len(), 1);
}

#[test]
fn an_unknown_model_is_told_and_leaves_nothing() {
    let model = Model::script([]);
    let home = Home::with_model(&model, "");
    let ended = home.allm(["chat", "--model", "nobody:x"]);
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
    assert!(ended.stderr.contains("nobody"), "{}", ended.stderr);
    assert!(!home.path().join(".local/share/allm/sessions.db").exists());
}

/// What is no command is told, and ends it: nobody sees a note in a pipe.
#[test]
fn an_unknown_command_is_a_failure() {
    let model = Model::script([Reply::text("One.")]);
    let home = Home::with_model(&model, "");
    let ended = home.piped(["chat"], "first\n/modle x\nsecond\n");
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        (
            "One.\n",
            "allm: There is no command /modle; /help shows those that are.\n",
            Some(2)
        )
    );
    assert_eq!(model.asked().len(), 1);
}

/// As `allm run` does it: only a terminal has to be protected.
#[test]
fn control_characters_of_an_answer_are_passed_on() {
    let text = "a\x1b[1mb\tc\u{202e}d";
    let model = Model::script([Reply::text(text), Reply::text(text)]);
    let home = Home::with_model(&model, "");
    let chat = home.piped(["chat"], "go\n");
    assert_eq!(chat.stdout, format!("{text}\n"));
    assert_eq!(home.allm(["run", "go"]).stdout, chat.stdout);
}
