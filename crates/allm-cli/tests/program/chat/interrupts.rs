//! Ctrl-C in each phase, and signals.

use rustix::process::Signal;
use serde_json::json;

use super::approvals::NOTE;
use super::tools::last;
use crate::support::model::{Model, Reply};
use crate::support::screen::{Screen, Started};
use crate::support::stored::Stored;
use crate::support::{Home, until};

/// Says that it runs, and then does nothing for long.
const SLOW: &str = r#"
[[tools]]
name = "slow"
description = "Takes long."
effect = "at_most_once"
approval = "never"
command = ["sh", "-c", "echo $$ > running; exec sleep 600"]
"#;

#[test]
fn while_the_model_is_silent() {
    let model = Model::script([Reply::Silent("Late.".to_owned()), Reply::text("Here.")]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "hello?");
    model.wait_until_held();
    screen.keys("\x03");
    screen.wait_done("(interrupted)");
    screen.line("still there?");
    screen.wait_done("Here.");
    assert_eq!(
        screen.shown(),
        "\n> hello?\n(interrupted)\n\n> still there?\nHere.\n\n>"
    );
    assert_eq!(
        model.asked()[1]["messages"],
        json!([
            {"role": "user", "content": "hello?"},
            {"role": "user", "content": "still there?"}
        ])
    );
}

#[test]
fn while_it_streams_what_was_said_stays() {
    let model = Model::script([
        Reply::Held("Once upon a time ".to_owned(), "there was".to_owned()),
        Reply::text("Sorry."),
    ]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "a story");
    screen.wait_for("Once upon a time");
    screen.keys("\x03");
    screen.wait_done("(interrupted)");
    screen.line("shorter");
    screen.wait_done("Sorry.");
    assert_eq!(
        screen.shown(),
        "\n> a story\nOnce upon a time\n(interrupted)\n\n> shorter\nSorry.\n\n>"
    );
    let said = &model.asked()[1]["messages"];
    assert_eq!(said[1]["role"], "assistant");
    assert_eq!(said[1]["content"], "Once upon a time ");
}

#[test]
fn while_a_tool_runs_it_is_killed() {
    let model = Model::script([Reply::call("slow", json!({})), Reply::text("Stopped.")]);
    let home = Home::with_model(&model, SLOW);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_for("→ slow()");
    let running = home.path().join("running");
    let id = until("the tool to run", || {
        let text = std::fs::read_to_string(&running).ok()?;
        Some(text.strip_suffix('\n')?.to_owned())
    });
    screen.keys("\x03");
    screen.wait_done("(interrupted)");
    until("the end of the tool", || {
        let is_there = std::fs::exists(format!("/proc/{id}/exe")).unwrap_or(false);
        (!is_there).then_some(())
    });
    screen.line("what happened?");
    screen.wait_done("Stopped.");
    assert_eq!(last(&model)["content"], "what happened?");
    let told = model.asked()[1]["messages"][2]["content"].to_string();
    assert!(told.contains("may have taken effect"), "{told}");
}

/// At the arguments and at the reason it leads back to the choice, where it leaves the approval open.
#[test]
fn in_an_approval_it_leads_back_step_by_step() {
    let model = Model::script([
        Reply::call("note", json!({"text": "milk"})),
        Reply::text("Noted."),
    ]);
    let home = Home::with_model(&model, NOTE);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.line("e");
    screen.wait_at("arguments > {\"text\":\"milk\"}");
    screen.keys("\x03");
    screen.wait_at("approve >");
    screen.line("n");
    screen.wait_at("why (for the model) >");
    screen.keys("because");
    screen.wait_at("why (for the model) > because");
    screen.keys("\x03");
    screen.wait_at("approve >");
    assert!(!home.path().join("notes").exists());
    assert_eq!(model.asked().len(), 1);
    screen.keys("\x03");
    screen.wait_at("(approval open, /resume) >");
    screen.line("/resume");
    screen.wait_at("approve >");
    screen.line("y");
    screen.wait_done("Noted.");
    let notes = std::fs::read_to_string(home.path().join("notes")).unwrap();
    assert_eq!(notes, "milk\n");
}

/// In the middle of a form it is left open, and asked again from its first field.
#[test]
fn in_a_form_it_is_left_open() {
    let tool = r#"
[[tools]]
name = "seat"
description = "Asks for a seat."
effect = "pure"
output = "reply"
command = ["cat", "seat.json"]
"#;
    let model = Model::script([Reply::call("seat", json!({})), Reply::text("Booked.")]);
    let home = Home::with_model(&model, tool);
    let form = json!({
        "type": "object",
        "properties": {"row": {"type": "integer"}, "side": {"type": "string"}},
        "required": ["row", "side"]
    });
    let asks = json!({"ask_user": {"question": "Which seat?", "opts": {"schema": form}}});
    home.write("seat.json", &asks.to_string());
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("row >");
    screen.line("12");
    screen.wait_at("side >");
    screen.keys("\x03");
    screen.wait_at("(question open, /resume) >");
    assert_eq!(model.asked().len(), 1);
    screen.line("/resume");
    screen.wait_at("row >");
    screen.line("7");
    screen.wait_at("side >");
    screen.line("window");
    screen.wait_done("Booked.");
    let told = model.asked()[1].to_string();
    assert!(told.contains("window") && !told.contains("12"), "{told}");
}

/// At the question whether a folder is trusted, nothing is agreed to and nothing is done.
#[test]
fn at_the_question_of_trust_nothing_is_done() {
    let model = Model::script([]);
    let home = Home::new();
    let text = format!(
        "model = \"scripted:any\"\n[providers.scripted]\nbase_url = \"{}\"\n",
        model.url()
    );
    std::fs::write(home.path().join("allm.toml"), text).unwrap();
    let before = home.files();
    let mut screen = Screen::chat(&home, &["hello"]);
    screen.wait("the question", |text| {
        text.ends_with("Trust it from now on? [y/N]")
    });
    screen.keys("\x03");
    assert_ne!(screen.ended(), 0);
    assert!(screen.is_as_before());
    assert_eq!(home.files(), before);
    assert!(model.asked().is_empty());
}

/// The real model in the process stops, and what it wrote stays.
#[cfg(feature = "local")]
#[test]
fn while_the_embedded_model_writes() {
    let Some(file) = crate::local::model() else {
        return;
    };
    let home = Home::new();
    let models = home.path().join(".local/share/allm/models");
    std::fs::create_dir_all(&models).unwrap();
    std::os::unix::fs::symlink(file, models.join("smollm2-135m.gguf")).unwrap();
    let mut screen = Screen::chat(&home, &["--max-tokens", "2000"]);
    screen.wait_at(">");
    let header = "local:smollm2-135m (embedded: no key and no configuration was found)";
    assert!(screen.text().starts_with(header), "{}", screen.text());
    let question = "Write a long story about a fox, with many chapters.";
    screen.line(question);
    screen.wait("some words", |text| {
        let said = text.split_once(question).map(|(_, said)| said);
        said.is_some_and(|said| said.split_whitespace().count() > 4)
    });
    screen.keys("\x03");
    screen.wait_done("(interrupted)");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let shown = home.allm(["sessions", "show", "--format", "json"]).stdout;
    assert!(shown.contains("a long story about a fox"), "{shown}");
    let screen = Screen::chat(&home, &["--resume"]);
    screen.wait_done("(interrupted)");
}

#[test]
fn at_the_prompt_it_clears_the_line_and_twice_it_leaves() {
    let model = Model::script([]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    screen.keys("never mind");
    screen.wait_at("> never mind");
    screen.keys("\x03");
    screen.wait_at(">");
    screen.keys("or this");
    screen.wait_at("> or this");
    screen.keys("\x03");
    screen.wait_at(">");
    screen.keys("\x03");
    screen.wait_done("(Ctrl-C again leaves; so does Ctrl-D)");
    screen.keys("\x03");
    assert_eq!(screen.ended(), 130);
    assert!(screen.is_as_before());
    assert!(model.asked().is_empty());
}

/// Another program holds the database, so that it cannot be stored that the answer was stopped.
#[test]
fn while_it_stops_the_second_time_leaves_at_once() {
    let model = Model::script([Reply::Silent("Late.".to_owned()), Reply::text("Here.")]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "hello?");
    model.wait_until_held();
    let stored = Stored::new(&home);
    let locked = stored.locked();
    screen.keys("\x03");
    screen.wait_for("(stopping; Ctrl-C again leaves at once)");
    screen.keys("\x03");
    assert_eq!(screen.ended(), 130);
    assert!(screen.is_as_before());
    let text = screen.text();
    assert!(text.contains("(left; it may still go on)"), "{text}");
    drop(locked);
    // It is gone on with at once.
    let screen = Screen::chat(&home, &["--resume"]);
    screen.wait_done("Here.");
    let text = screen.text();
    assert!(!text.contains("another process holds"), "{text}");
}

/// A server that takes no more for now is waited for, and a person is told so.
#[test]
fn while_a_busy_server_is_waited_for() {
    let model = Model::script([Reply::Later(20), Reply::Later(1), Reply::text("Here.")]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "hello?");
    let told =
        "(`scripted` takes no more requests for now; asking again in 20 s, Ctrl-C stops\nit)";
    screen.wait_for(told);
    assert_eq!(screen.style_of("takes no more requests"), "dim");
    screen.keys("\x03");
    screen.wait_done("(interrupted)");
    assert_eq!(model.asked().len(), 1);
    screen.line("still there?");
    screen.wait_done("Here.");
    assert_eq!(
        screen.shown(),
        format!(
            "\n> hello?\n{told}\n(interrupted)\n\n> still there?\n{}\nHere.\n\n>",
            told.replace("20", "1")
        )
    );
}

/// What breaks before anything of it was shown is asked for again, and nothing is shown twice.
#[test]
fn an_answer_that_breaks_before_it_begins_is_asked_for_again() {
    let model = Model::script([Reply::Broken(String::new()), Reply::text("Here.")]);
    let home = Home::with_model(&model, "");
    let screen = Screen::saying(&home, "hello?");
    screen.wait_done("Here.");
    assert_eq!(screen.shown(), "\n> hello?\nHere.\n\n>");
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn what_is_typed_during_an_answer_is_not_shown_and_not_lost() {
    let model = Model::script([
        Reply::Held("One ".to_owned(), "two.".to_owned()),
        Reply::text("Three."),
    ]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "count");
    screen.wait_for("One");
    screen.keys("go on");
    model.release();
    screen.wait_at("> go on");
    screen.keys("\r");
    screen.wait_done("Three.");
    assert_eq!(
        screen.shown(),
        "\n> count\nOne two.\n\n> go on\nThree.\n\n>"
    );
}

#[test]
fn a_signal_at_the_prompt_leaves_the_terminal_as_it_was() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let model = Model::script([]);
        let home = Home::with_model(&model, "");
        let mut screen = Screen::chat(&home, &[]);
        screen.wait_at(">");
        screen.keys("half a line");
        screen.wait_at("> half a line");
        screen.signal(signal);
        assert_eq!(screen.ended(), code);
        assert!(screen.is_as_before());
    }
}

#[test]
fn a_signal_during_an_answer_leaves_it_to_be_gone_on_with() {
    let model = Model::script([
        Reply::Held("Begun ".to_owned(), String::new()),
        Reply::text("Done now."),
    ]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "go");
    screen.wait_for("Begun");
    screen.signal(Signal::TERM);
    assert_eq!(screen.ended(), 143);
    assert!(screen.is_as_before());
    let screen = Screen::chat(&home, &["--resume"]);
    screen.wait_done("Done now.");
}

#[test]
fn where_no_lines_are_edited_ctrl_c_leaves() {
    let model = Model::script([]);
    let home = Home::with_model(&model, "");
    let mut screen = Started::new(&home, &["chat"]).env("TERM", "dumb").start();
    screen.wait_at(">");
    screen.keys("\x03");
    assert_eq!(screen.ended(), 0);
    assert!(screen.is_as_before());
}
