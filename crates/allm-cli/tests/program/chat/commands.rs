//! What is said to the program and not to the model.

use serde_json::json;

use super::tools::{ECHO, last};
use crate::support::Home;
use crate::support::model::{Model, Reply};
use crate::support::screen::Screen;

/// A model that counts its answers, and a conversation with it.
fn counting(more: &str) -> (Model, Home) {
    let model = Model::answering(|_, number| Reply::Text(format!("answer {number}")));
    let home = Home::with_model(&model, more);
    (model, home)
}

#[test]
fn help_and_unknown_commands() {
    let (model, home) = counting("");
    let mut screen = Screen::saying(&home, "/help");
    screen.wait_done("/resume             goes on with what is open");
    screen.line("/hlep");
    screen.wait_done("There is no command /hlep; /help shows those that are.");
    // Completed by the tabulator.
    screen.keys("/us\t");
    screen.wait_at("> /usage");
    screen.keys("\r");
    screen.wait_done("in sum: not known");
    // With a space before it, it is for the model.
    screen.line(" /etc/hosts is what?");
    screen.wait_done("answer 0");
    assert_eq!(last(&model)["content"], "/etc/hosts is what?");
}

#[test]
fn another_model() {
    let (model, home) = counting("");
    let mut screen = Screen::saying(&home, "/model");
    screen.wait_for("\nscripted:any (by the configuration)");
    screen.line("/model nobody:x");
    screen.wait_for("there is no provider `nobody` for the model `nobody:x`");
    screen.line("/model scripted:other");
    screen.wait_done("(scripted:other from here on)");
    screen.line("hi");
    screen.wait_done("answer 0");
    assert_eq!(model.asked()[0]["model"], "other");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let screen = Screen::chat(&home, &["--resume"]);
    screen.wait_done("answer 0");
    assert!(
        screen
            .text()
            .starts_with("scripted:other (of this conversation)")
    );
    let screen = Screen::chat(&home, &["--resume", "--model", "scripted:third"]);
    screen.wait_done("answer 0");
    assert!(screen.text().starts_with("scripted:third (as asked)"));
}

#[test]
fn tools_on_and_off() {
    let (model, home) = counting(ECHO);
    let mut screen = Screen::saying(&home, "/tools");
    screen.wait_done("echo (on): Says a text.");
    screen.line("/tools off nothing");
    screen.wait_done("There is no tool nothing; /tools shows those that are.");
    screen.line("/tools off echo");
    screen.wait_done("(echo is not offered)");
    screen.line("one");
    screen.wait_done("answer 0");
    screen.line("/tools on echo");
    screen.wait_done("(echo is offered)");
    screen.line("two");
    screen.wait_done("answer 1");
    assert_eq!(model.asked()[0].get("tools"), None);
    assert_eq!(model.asked()[1]["tools"][0]["function"]["name"], "echo");
    screen.line("/tools dance echo");
    screen.wait_done("/tools, and on, off, ask or accept with the NAME of one");
}

#[test]
fn undo_takes_back_the_last_exchange_and_keeps_the_old_session() {
    let (model, home) = counting("");
    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    let old = screen.id();
    screen.line("/undo");
    screen.wait_done("There is nothing to take back.");
    screen.line("one");
    screen.wait_done("answer 0");
    screen.line("two");
    screen.wait_done("answer 1");
    screen.line("/undo");
    // What was said stands in the line, to be said otherwise.
    screen.wait_at("> two");
    screen.keys("!\r");
    screen.wait_done("answer 2");
    assert_eq!(
        model.asked()[2]["messages"],
        json!([
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "answer 0"},
            {"role": "user", "content": "two!"}
        ])
    );
    let text = screen.text();
    let note = text
        .lines()
        .find(|line| line.starts_with("(session "))
        .unwrap();
    assert!(
        note.ends_with(&format!("{old} is kept as it was)")),
        "{note}"
    );
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let screen = Screen::chat(&home, &["--resume", &old]);
    screen.wait_done("answer 1");
}

#[test]
fn retry_tries_again_what_failed_and_says_again_what_did_not() {
    let model = Model::script([
        Reply::Status(401, "bad key".to_owned()),
        Reply::text("There."),
        Reply::text("There again."),
    ]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "/retry");
    screen.wait_done("There is nothing to ask again.");
    screen.line("hello");
    screen.wait_done("/retry tries again");
    assert!(screen.text().contains("bad key"), "{}", screen.text());
    screen.line("/retry");
    screen.wait_done("There.");
    screen.line("/retry");
    screen.wait_done("There again.");
    let hello = json!([{"role": "user", "content": "hello"}]);
    for place in 0..3 {
        assert_eq!(model.asked()[place]["messages"], hello);
    }
}

#[test]
fn a_broken_answer_is_told_and_can_be_retried() {
    let model = Model::script([
        Reply::Broken("Half of ".to_owned()),
        Reply::text("All of it."),
    ]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "go");
    screen.wait_done("/retry tries again");
    assert!(
        screen.shown().starts_with("\n> go\nHalf of\n✗ "),
        "{}",
        screen.shown()
    );
    screen.line("/retry");
    screen.wait_done("All of it.");
}

#[test]
fn usage_for_each_turn_and_in_sum() {
    let (_model, home) = counting("");
    let mut screen = Screen::saying(&home, "one");
    screen.wait_done("answer 0");
    screen.line("two");
    screen.wait_done("answer 1");
    screen.line("/usage");
    screen.wait_done("in sum");
    assert!(
        screen.shown().ends_with(
            "> /usage\nturn 1: 12 tokens in, 5 out\nturn 2: 12 tokens in, 5 out\nin sum: 24 tokens in, 10 out\n>"
        ),
        "{}",
        screen.shown()
    );
}

#[test]
fn what_the_model_is_told_first_is_shown_and_changed() {
    let (model, home) = counting("system = \"Be brief.\"");
    let mut screen = Screen::saying(&home, "/system");
    screen.wait_done("\nBe brief.");
    screen.line("one");
    screen.wait_done("answer 0");
    screen.line("/system Be long.");
    screen.wait_done("is kept as it was)");
    screen.line("two");
    screen.wait_done("answer 1");
    assert_eq!(
        model.asked()[1]["messages"],
        json!([
            {"role": "system", "content": "Be long."},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "answer 0"},
            {"role": "user", "content": "two"}
        ])
    );
}

#[test]
fn the_conversation_is_written_to_files() {
    let model = Model::script([
        Reply::call("echo", json!({"text": "```"})),
        Reply::text("*Done.*"),
    ]);
    let home = Home::with_model(&model, ECHO);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_done("Done.");
    let id = screen.id();
    screen.line("/save talk.md");
    screen.wait_done("(written to talk.md)");
    screen.line("/save talk.md");
    screen.wait_done("✗ talk.md is there already");
    screen.line("/save talk.json");
    screen.wait_done("(written to talk.json)");
    screen.line("/save talk.html");
    screen.wait_done("(written to talk.html)");
    screen.line("/save talk.doc");
    screen.wait_done("✗ talk.doc should end with");
    screen.line("/save nowhere/talk.md");
    screen.wait_done("✗ nowhere/talk.md cannot be written");
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
    let markdown = read("talk.md");
    for part in [id.as_str(), "go", "*Done.*", "echo"] {
        assert!(markdown.contains(part), "{markdown}");
    }
    assert!(read("talk.html").starts_with("<!doctype html>"));
    let json: serde_json::Value = serde_json::from_str(&read("talk.json")).unwrap();
    assert_eq!(
        (&json["type"], &json["data"]["id"]),
        (&json!("session"), &json!(id))
    );
}
