//! Tools in a conversation: how their calls are shown, and their questions.

use serde_json::{Value, json};

use crate::support::Home;
use crate::support::model::{Model, Reply};
use crate::support::screen::{Screen, Started};

/// A tool that needs no agreement and says what it was told, or fails.
pub(super) const ECHO: &str = r#"
[[tools]]
name = "echo"
description = "Says a text."
effect = "pure"
command = ["sh", "-c", "test \"$1\" = bad && {{ echo no such thing >&2; exit 3; }}; printf %s \"$1\"", "sh", "{text}"]
input = "none"
[tools.schema]
type = "object"
required = ["text"]
properties = { text = { type = "string" } }
"#;

/// Tools that ask a person, in the words of these files.
const ASKING: &str = r#"
[[tools]]
name = "colour"
description = "Asks for a colour."
effect = "pure"
output = "reply"
command = ["cat", "colour.json"]

[[tools]]
name = "name"
description = "Asks for a name."
effect = "pure"
output = "reply"
command = ["cat", "name.json"]
"#;

fn asking(model: &Model) -> Home {
    let home = Home::with_model(model, ASKING);
    let opts = json!({"schema": {"enum": ["red", "green"]}});
    let colour = json!({"ask_user": {"question": "Which colour?", "opts": opts}});
    home.write("colour.json", &colour.to_string());
    let name = json!({"ask_user": {"question": "What is your name?"}});
    home.write("name.json", &name.to_string());
    home
}

#[test]
fn calls_are_shown_as_they_begin_and_end() {
    let model = Model::script([
        Reply::Calls(
            "Let me see.".to_owned(),
            vec![("echo".to_owned(), json!({"text": "hello"}))],
        ),
        Reply::call("echo", json!({"text": "bad"})),
        Reply::text("Done."),
    ]);
    let home = Home::with_model(&model, ECHO);
    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    assert!(screen.text().contains("tools: echo"));
    screen.line("go");
    screen.wait_done("Done.");
    let shown = screen.shown();
    let failed = shown.lines().find(|line| line.starts_with('✗')).unwrap();
    assert!(
        failed.starts_with("✗ echo 0.0 s: ") && failed.contains("no such thing"),
        "{failed}"
    );
    assert_eq!(
        shown.replace(failed, "✗ FAILED"),
        "\n> go\nLet me see.\n→ echo({\"text\":\"hello\"})\n✓ echo 0.0 s\n→ echo({\"text\":\"bad\"})\n✗ FAILED\nDone.\n\n>"
    );
    assert_eq!(screen.style_of("✓"), "Idx(2)");
    assert_eq!(screen.style_of("✗"), "Idx(1)");
}

/// A command tells how far it is on standard error, and waits here until that was seen.
#[test]
fn how_far_a_call_is_is_shown_while_it_runs() {
    let tool = r#"
[[tools]]
name = "copy"
description = "Copies."
effect = "pure"
progress = true
command = ["sh", "-c", "echo half of it >&2; while [ ! -e go ]; do sleep 0.02; done"]
"#;
    let model = Model::script([Reply::call("copy", json!({})), Reply::text("Done.")]);
    let home = Home::with_model(&model, tool);
    let screen = Screen::saying(&home, "go");
    screen.wait_for("→ copy()\n… copy half of it");
    home.write("go", "");
    screen.wait_done("Done.");
    assert_eq!(
        screen.shown(),
        "\n> go\n→ copy()\n… copy half of it\n✓ copy 0.0 s\nDone.\n\n>"
    );
}

#[test]
fn parallel_calls_of_one_tool_are_told_apart_and_long_arguments_are_cut() {
    let long = "x".repeat(200);
    let calls = vec![
        ("echo".to_owned(), json!({"text": "one"})),
        ("echo".to_owned(), json!({"text": long})),
    ];
    let model = Model::script([Reply::Calls(String::new(), calls), Reply::text("Done.")]);
    let home = Home::with_model(&model, ECHO);
    let mut screen = Started::new(&home, &["chat"]).size(40, 30).start();
    screen.wait_at(">");
    screen.line("go");
    screen.wait_done("Done.");
    let shown = screen.shown();
    let mut lines: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with(['→', '✓']))
        .collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "→ echo #1({\"text\":\"one\"})",
            "→ echo #2({\"text\":\"xxxxxxxxxx…",
            "✓ echo #1 0.0 s",
            "✓ echo #2 0.0 s"
        ]
    );
}

#[test]
fn what_tools_say_cannot_do_anything_to_the_terminal() {
    let tool = r#"
[[tools]]
name = "evil"
description = "Fails loudly."
effect = "pure"
command = ["sh", "-c", "printf '\\033]0;owned\\007\\033[2J' >&2; exit 1"]
"#;
    let model = Model::script([Reply::call("evil", json!({})), Reply::text("Done.")]);
    let home = Home::with_model(&model, tool);
    let screen = Screen::saying(&home, "go");
    screen.wait_done("Done.");
    assert!(screen.text().contains("␛]0;owned"), "{}", screen.text());
    let raw = screen.raw();
    assert!(
        !raw.contains("\x1b]0;") && !raw.contains("\x1b[2J"),
        "{raw:?}"
    );
}

#[test]
fn a_question_with_choices_is_answered_in_place() {
    let model = Model::script([Reply::call("colour", json!({})), Reply::text("Nice.")]);
    let home = asking(&model);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("answer >");
    screen.line("blue");
    screen.wait_for("Choose one");
    screen.wait_at("answer >");
    screen.line("2");
    screen.wait_done("Nice.");
    assert_eq!(
        screen.shown(),
        "\n> go\n→ colour()\n… colour asks 0.0 s\n\ncolour asks: Which colour?\n  1. red\n  2. green\n\
         answer > blue\nChoose one, by its number (1 to 2) or its name.\nanswer > 2\nNice.\n\n>"
    );
    assert_eq!(last(&model), json!({"role": "user", "content": "green"}));
}

#[test]
fn a_question_that_is_left_open_is_answered_by_the_next_message() {
    let model = Model::script([Reply::call("name", json!({})), Reply::text("Hello, Ada.")]);
    let home = asking(&model);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("answer >");
    screen.keys("\x03");
    screen.wait_at("(question open, /resume) >");
    screen.line("/resume");
    screen.wait("asked again", |text| {
        text.matches("name asks: What is your name?").count() == 2
            && text.lines().last() == Some("answer >")
    });
    screen.keys("\x03");
    screen.wait_at("(question open, /resume) >");
    screen.line("Ada");
    screen.wait_done("Hello, Ada.");
    assert_eq!(last(&model), json!({"role": "user", "content": "Ada"}));
}

#[test]
fn undo_takes_back_a_question_together_with_what_led_to_it() {
    let model = Model::script([
        Reply::call("name", json!({})),
        Reply::text("Hello, Ada."),
        Reply::text("Fine."),
    ]);
    let home = asking(&model);
    let mut screen = Screen::saying(&home, "greet me");
    screen.wait_at("answer >");
    screen.line("Ada");
    screen.wait_done("Hello, Ada.");
    screen.line("/undo");
    screen.wait_at("> greet me");
    screen.keys("\x03");
    screen.wait_at(">");
    screen.line("how are you?");
    screen.wait_done("Fine.");
    assert_eq!(
        model.asked()[2]["messages"],
        json!([{"role": "user", "content": "how are you?"}])
    );
}

/// The last message of the last request.
pub(super) fn last(model: &Model) -> Value {
    let asked = model.asked();
    let messages = asked.last().unwrap()["messages"]
        .as_array()
        .unwrap()
        .clone();
    messages.last().unwrap().clone()
}
