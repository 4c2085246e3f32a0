//! Calls that a person must agree to: the four answers, and leaving it open.

use serde_json::json;

use super::tools::last;
use crate::support::Home;
use crate::support::model::{Model, Reply};
use crate::support::screen::Screen;
use crate::support::stored::{Stored, waits_for_approval};

/// Writes a line into `notes`, and cannot take it back.
pub(super) const NOTE: &str = r#"
[[tools]]
name = "note"
description = "Writes a note."
effect = "at_most_once"
approval = "always"
command = ["sh", "-c", "echo \"$1\" >> notes; echo noted", "sh", "{text}"]
input = "none"
[tools.schema]
type = "object"
required = ["text"]
additionalProperties = false
properties = { text = { type = "string", maxLength = 10 } }
"#;

fn notes(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("notes")).unwrap_or_default()
}

/// A model that wants to write a note, and says something when that is settled.
fn noting(answer: &str) -> Model {
    Model::script([
        Reply::call("note", json!({"text": "milk"})),
        Reply::text(answer),
    ])
}

const ASKED: &str =
    "\n> go\n\nnote wants to run:\n  text: \"milk\"\n[y]es, [e]dit, [n]o, [a]lways for this tool\n";

#[test]
fn yes() {
    let model = noting("Noted.");
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    assert_eq!(notes(&home), "");
    screen.line("x");
    screen.wait_for("Type y, e, n or a");
    screen.wait_at("approve >");
    screen.line("y");
    screen.wait_done("Noted.");
    assert_eq!(
        screen.shown(),
        format!(
            "{ASKED}approve > x\nType y, e, n or a; Ctrl-C leaves it open.\napprove > y\n→ note({{\"text\":\"milk\"}})\n✓ note 0.0 s\nNoted.\n\n>"
        )
    );
    assert_eq!(notes(&home), "milk\n");
    assert_eq!(last(&model)["content"], "noted");
}

#[test]
fn edited_with_mistakes_on_the_way() {
    let model = noting("Noted.");
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.line("e");
    screen.wait_at("arguments > {\"text\":\"milk\"}");
    // No JSON: the last bracket is gone.
    screen.keys("\x7f\r");
    screen.wait_for("this is no JSON");
    screen.wait_at("arguments > {\"text\":\"milk\"");
    // Too long for the schema, and it stays in the line.
    screen.keys("\x7f, eggs and bread\"}\r");
    screen.wait_for("these arguments do not fit the tool:");
    screen.wait_at("arguments > {\"text\":\"milk, eggs and bread\"}");
    // Back to the whole line, and another one.
    screen.keys("\x15{\"text\":\"eggs\"}\r");
    screen.wait_done("Noted.");
    assert!(screen.text().contains("  /text: "), "{}", screen.text());
    assert!(
        screen
            .shown()
            .contains("→ note({\"text\":\"eggs\"})\n✓ note 0.0 s\nNoted.")
    );
    assert_eq!(notes(&home), "eggs\n");
}

#[test]
fn arguments_cannot_do_anything_to_the_terminal_and_are_edited_as_they_are() {
    let text = "\x1b\u{9b}1m\u{202e}\x7f";
    let model = Model::script([
        Reply::call("note", json!({"text": text})),
        Reply::text("Noted."),
    ]);
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    let shown = screen.shown();
    assert!(
        shown.contains("text: \"\\u001b<009B>1m<202E>␡\""),
        "{shown}"
    );
    screen.line("e");
    screen.wait_at("arguments > {\"text\":\"\\u001b\\u009b1m\\u202e\\u007f\"}");
    screen.keys("\r");
    screen.wait_done("Noted.");
    let raw = screen.raw();
    for bad in ["\u{9b}", "\u{202e}", "\x7f", "\x1b\u{9b}"] {
        assert!(!raw.contains(bad), "{bad:?} was passed on");
    }
    assert_eq!(notes(&home), format!("{text}\n"));
}

#[test]
fn no_with_a_reason() {
    let model = noting("Then not.");
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.line("n");
    screen.wait_at("why (for the model) >");
    screen.line("we have milk");
    screen.wait_done("Then not.");
    assert_eq!(
        screen.shown(),
        format!(
            "{ASKED}approve > n\nwhy (for the model) > we have milk\n✗ note: not approved: we have milk\nThen not.\n\n>"
        )
    );
    assert_eq!(notes(&home), "");
    let told = last(&model)["content"].as_str().unwrap().to_owned();
    assert!(told.contains("we have milk"), "{told}");
}

#[test]
fn always_holds_for_the_conversation_and_after_it_is_resumed() {
    let model = Model::script([
        Reply::call("note", json!({"text": "one"})),
        Reply::text("First."),
        Reply::call("note", json!({"text": "two"})),
        Reply::text("Second."),
        Reply::call("note", json!({"text": "three"})),
        Reply::text("Third."),
        Reply::call("note", json!({"text": "four"})),
    ]);
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.line("a");
    screen.wait_done("First.");
    screen.line("again");
    screen.wait_done("Second.");
    assert!(
        screen
            .text()
            .contains("(note is approved, as always in this conversation)")
    );
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let mut screen = Screen::chat(&home, &["--resume"]);
    screen.wait_done("Second.");
    assert!(
        screen.text().contains("always approved here: note"),
        "{}",
        screen.text()
    );
    screen.line("once more");
    screen.wait_done("Third.");
    assert_eq!(notes(&home), "one\ntwo\nthree\n");
    // And it can be taken back.
    screen.line("/tools ask note");
    screen.wait_for("(note is asked about)");
    screen.line("and again");
    screen.wait_at("approve >");
    assert_eq!(notes(&home), "one\ntwo\nthree\n");
    drop(screen);
    // Another conversation knows nothing of it.
    let model = noting("x");
    let home = Home::with_model(&model, NOTE);
    let screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
}

/// What was agreed to is the tool as it was: one that has changed is asked about again.
#[test]
fn always_ends_when_the_tool_changes() {
    let model = Model::script([
        Reply::call("note", json!({"text": "one"})),
        Reply::text("First."),
        Reply::call("note", json!({"text": "two"})),
        Reply::text("Second."),
        Reply::call("note", json!({"text": "three"})),
        Reply::text("Third."),
    ]);
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.line("a");
    screen.wait_done("First.");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let config = std::fs::read_to_string(home.path().join("allm.toml")).unwrap();
    home.write(
        "allm.toml",
        &config.replace("Writes a note.", "Writes a note anywhere."),
    );
    // Where nobody can be asked, it waits.
    let ended = home.piped(["chat", "--resume"], "again\n");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let changed = "note has changed since you agreed to every call of it";
    assert!(ended.stderr.contains(changed), "{ended:?}");
    assert_eq!(notes(&home), "one\n");
    let mut screen = Screen::chat(&home, &["--resume"]);
    screen.wait_at("approve >");
    screen.line("a");
    screen.wait_done("Second.");
    screen.line("once more");
    screen.wait_done("Third.");
    assert_eq!(notes(&home), "one\ntwo\nthree\n");
}

/// A session from elsewhere agrees to nothing here.
#[test]
fn always_does_not_come_along_with_an_imported_session() {
    let model = Model::script([
        Reply::call("note", json!({"text": "one"})),
        Reply::text("First."),
        Reply::call("note", json!({"text": "two"})),
        Reply::call("note", json!({"text": "three"})),
    ]);
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.line("a");
    screen.wait_done("First.");
    let id = screen.id();
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let exported = home.allm(["sessions", "export", &id, "-o", "talk.json"]);
    assert_eq!(exported.code, Some(0));
    assert_eq!(home.allm(["sessions", "delete", &id]).code, Some(0));
    for (words, id) in [
        (&["sessions", "import", "talk.json"][..], id.as_str()),
        (&["sessions", "import", "talk.json", "--as", "copy"], "copy"),
    ] {
        let imported = home.allm(words);
        assert_eq!(imported.code, Some(0), "{imported:?}");
        assert_eq!(home.allm(["replay", id]).code, Some(0));
        let mut screen = Screen::chat(&home, &["--resume", id]);
        screen.wait_done("First.");
        assert!(
            !screen.text().contains("always approved"),
            "{}",
            screen.text()
        );
        screen.line("again");
        screen.wait_at("approve >");
        assert_eq!(notes(&home), "one\n");
    }
}

#[test]
fn several_are_asked_about_one_after_another() {
    let calls = ["one", "two", "three"].map(|text| ("note".to_owned(), json!({"text": text})));
    let model = Model::script([
        Reply::Calls(String::new(), calls.to_vec()),
        Reply::text("All done."),
    ]);
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_for("text: \"one\"");
    screen.wait_at("approve >");
    screen.line("y");
    screen.wait_for("text: \"two\"");
    screen.wait_at("approve >");
    screen.line("n");
    screen.wait_at("why (for the model) >");
    screen.line("");
    screen.wait_for("text: \"three\"");
    screen.wait_at("approve >");
    screen.line("y");
    screen.wait_done("All done.");
    let written = notes(&home);
    let mut lines: Vec<&str> = written.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one", "three"]);
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn an_approval_that_is_left_open_is_asked_again_and_a_message_waits_for_it() {
    let model = noting("Noted, and yes.");
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.keys("\x03");
    screen.wait_at("(approval open, /resume) >");
    assert!(screen.text().contains("(left open; /resume asks again"));
    assert_eq!((notes(&home).as_str(), model.asked().len()), ("", 1));
    screen.line("and hurry");
    screen.wait("asked again", |text| {
        text.matches("note wants to run:").count() == 2 && text.lines().last() == Some("approve >")
    });
    screen.line("y");
    screen.wait_done("Noted, and yes.");
    assert_eq!(notes(&home), "milk\n");
    assert_eq!(
        last(&model),
        json!({"role": "user", "content": "and hurry"})
    );
}

/// A home whose session `old` waits for an approval that is over about so many seconds from now, and when that is.
fn expiring(model: &Model, seconds: i64) -> (Home, i64) {
    let home = Home::with_model(model, "");
    // It is good for a day.
    let asked = allm::Timestamp::from_millis(now() + seconds * 1_000 - 86_400_000).unwrap();
    let session = waits_for_approval(&Stored::at(&home, &asked.to_string()), "old");
    // The time of an entry goes on while it is made, so that it is asked for and not computed.
    let over = session.waits()[0].wait.expires_at().unwrap();
    (home, over.as_millis())
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap().as_millis()).unwrap()
}

/// S144: what was not decided in time is over, and the model is told so.
#[test]
fn s144_an_approval_that_expires_while_it_is_asked_about() {
    let model = Model::script([Reply::text("Then not.")]);
    let (home, over) = expiring(&model, 15);
    let mut screen = Screen::chat(&home, &["--resume", "old"]);
    screen.wait_at("approve >");
    // The clock of the program is the machine's.
    while now() <= over {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    screen.line("y");
    screen.wait_done("Then not.");
    let text = screen.text();
    assert!(
        text.contains("✗ it is too late: the time for this decision is over\n"),
        "{text}"
    );
    assert_eq!(told(&model), "expired");
}

/// S144
#[test]
fn s144_an_approval_that_has_expired_is_not_asked_about() {
    let model = Model::script([Reply::text("Then not.")]);
    let (home, _) = expiring(&model, -600);
    let screen = Screen::chat(&home, &["--resume", "old"]);
    screen.wait_done("Then not.");
    assert!(!screen.raw().contains("approve"), "{}", screen.text());
    assert_eq!(told(&model), "expired");
}

/// Why the call was not run, as the model was told.
fn told(model: &Model) -> String {
    let content = last(model)["content"].as_str().unwrap().to_owned();
    let content: serde_json::Value = serde_json::from_str(&content).unwrap();
    content["error"]["reason"].as_str().unwrap().to_owned()
}
