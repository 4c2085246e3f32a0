//! `allm chat` in a terminal: what is said, and what is shown of it.

mod approvals;
mod commands;
mod interrupts;
mod pipes;
pub(crate) mod resuming;
mod tools;

use serde_json::json;

use crate::support::Home;
use crate::support::model::{Model, Reply};
use crate::support::screen::{Screen, Started};

#[test]
fn a_conversation() {
    let model = Model::script([Reply::text("Hello, Zoë."), Reply::text("Still here.")]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "Hi there");
    screen.wait_done("Hello, Zoë.");
    screen.line("And now?");
    screen.wait_done("Still here.");
    let id = screen.id();
    assert_eq!(
        screen.text().replace(&id, "ID"),
        "scripted:any (by the configuration)\nsession ID\nno tools\n/help tells more, Ctrl-D leaves\n\n\
         > Hi there\nHello, Zoë.\n\n> And now?\nStill here.\n\n>"
    );
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    assert!(screen.is_as_before());
    assert!(screen.text().contains(&format!("allm chat --resume {id}")));
    let asked = model.asked();
    assert_eq!(
        asked[1]["messages"],
        json!([
            {"role": "user", "content": "Hi there"},
            {"role": "assistant", "content": "Hello, Zoë."},
            {"role": "user", "content": "And now?"}
        ])
    );
}

#[test]
fn the_first_message_and_what_the_model_is_told_come_from_the_command_line() {
    let model = Model::script([Reply::text("Yes.")]);
    let home = Home::with_model(&model, "");
    let screen = Screen::chat(&home, &["--system", "Be brief.", "Are you there?"]);
    screen.wait_done("Yes.");
    assert_eq!(screen.shown(), "\n\n> Are you there?\nYes.\n\n>");
    assert_eq!(
        model.asked()[0]["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Are you there?"}
        ])
    );
}

#[test]
fn nothing_is_kept_of_a_conversation_that_never_began() {
    let model = Model::script([]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "/quit");
    assert_eq!(screen.ended(), 0);
    let ended = home.allm(["chat", "--resume"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "allm: there is no conversation to go on with\n  allm chat begins one\n"
    );
}

#[test]
fn markdown_is_rendered_while_it_comes() {
    let text = "# Plan\n\nTake **two** eggs and *one* `pan`:\n\n- heat it\n- see [this](https://a.example)\n\n\
                ```sh\necho   \"**hi**\"\n```\n\n| a | b |\n|---|---|\n\n> said";
    let model = Model::script([Reply::text(text)]);
    let home = Home::with_model(&model, "");
    let screen = Screen::saying(&home, "go");
    screen.wait_done("│ said");
    assert_eq!(
        screen.shown(),
        "\n> go\nPlan\n\nTake two eggs and one pan:\n\n• heat it\n• see this (https://a.example)\n\n\
         ```sh\necho   \"**hi**\"\n```\n\n| a | b |\n|---|---|\n\n│ said\n\n>"
    );
    assert_eq!(screen.style_of("Plan"), "bold");
    assert_eq!(screen.style_of("two eggs"), "bold");
    assert_eq!(screen.style_of("one"), "italic");
    assert_eq!(screen.style_of("pan:"), "Idx(6)");
    assert_eq!(screen.style_of("echo"), "Idx(6)");
    assert_eq!(screen.style_of("Take"), "");
}

#[test]
fn wide_characters_in_a_narrow_window() {
    let text = "日本語のテキストは、幅が二桁です。 Short words wrap here, and averyveryverylongword does not.";
    let model = Model::script([Reply::text(text)]);
    let home = Home::with_model(&model, "");
    let mut screen = Started::new(&home, &["chat"]).size(30, 20).start();
    screen.wait_at(">");
    screen.line("話して");
    screen.wait_done("not.");
    assert_eq!(
        screen.shown(),
        "\n> 話して\n日本語のテキストは、\n幅が二桁です。 Short\nwords wrap here, and\naveryveryverylongwor\nd does not.\n\n>"
    );
}

#[test]
fn a_window_that_is_resized_in_the_middle_of_an_answer() {
    let first = "One line that fits into the window as it is at first. ".to_owned();
    let rest = "And then the window is narrow, and lines are broken sooner.".to_owned();
    let model = Model::script([Reply::Held(first, rest)]);
    let home = Home::with_model(&model, "");
    let mut screen = Started::new(&home, &["chat"]).size(30, 60).start();
    screen.wait_at(">");
    screen.line("go");
    screen.wait_for("at first.");
    screen.resize(30, 24);
    model.release();
    screen.wait_done("sooner.");
    let shown = screen.shown();
    let end = "\nAnd then the window is\nnarrow, and lines are\nbroken sooner.\n\n>";
    assert!(shown.ends_with(end), "{shown}");
}

#[test]
fn thinking_is_dimmed_and_apart_from_the_answer() {
    let thought = "Hm, two and two.".to_owned();
    let model = Model::script([Reply::Thinks(thought, "Four.".to_owned())]);
    let home = Home::with_model(&model, "");
    let screen = Screen::saying(&home, "2+2?");
    screen.wait_done("Four.");
    assert_eq!(screen.shown(), "\n> 2+2?\nHm, two and two.\n\nFour.\n\n>");
    assert_eq!(screen.style_of("Hm,"), "dim");
    assert_eq!(screen.style_of("Four."), "");
}

#[test]
fn escape_sequences_of_a_model_are_shown_and_not_obeyed() {
    let text = "a\x1b[2Jb \x1b]0;owned\x07c \u{9b}31md\r\x08 `\x1b[5m` \u{202e}e";
    let model = Model::script([Reply::text(text)]);
    let home = Home::with_model(&model, "");
    let screen = Screen::saying(&home, "go");
    screen.wait_done("a␛[2Jb");
    assert_eq!(
        screen.shown(),
        "\n> go\na␛[2Jb ␛]0;owned␇c <009B>31md␍␈ ␛[5m <202E>e\n\n>"
    );
    let raw = screen.raw();
    for bad in [
        "\x1b[2J", "\x1b]0;", "\x07", "\u{9b}", "\x1b[5m", "\u{202e}", "\x08",
    ] {
        assert!(!raw.contains(bad), "{bad:?} was passed on");
    }
}

#[test]
fn several_lines_by_a_backslash_by_alt_enter_and_by_pasting() {
    let model = Model::answering(|_, number| Reply::Text(format!("answer {number}")));
    let home = Home::with_model(&model, "");
    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    screen.keys("one\\\rtwo\r");
    screen.wait_done("answer 0");
    screen.keys("three\x1b\rfour\r");
    screen.wait_done("answer 1");
    screen.keys("\x1b[200~five\nsix\n\x1b[201~seven\r");
    screen.wait_done("answer 2");
    let said: Vec<String> = [0, 1, 2]
        .into_iter()
        .map(|place| {
            let asked = &model.asked()[place];
            let last = asked["messages"].as_array().unwrap().last().unwrap();
            last["content"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(said, ["one\ntwo", "three\nfour", "five\nsix\nseven"]);
}

#[test]
fn what_was_said_is_remembered_for_the_next_time_and_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let model = Model::answering(|_, number| Reply::Text(format!("answer {number}")));
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "remember me");
    screen.wait_done("answer 0");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    screen.keys("\x1b[A");
    screen.wait_at("> remember me");
    screen.keys("\r");
    screen.wait_done("answer 1");
    let file = home.path().join(".local/share/allm/history");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn without_colours_nothing_but_text_is_written() {
    let model = Model::script([Reply::text("**Bold** and `code`.")]);
    let home = Home::with_model(&model, "");
    let start = Started::new(&home, &["chat"]).env("NO_COLOR", "1");
    let mut screen = start.start();
    screen.wait_at(">");
    screen.line("go");
    screen.wait_done("**Bold** and `code`.");
    let raw = screen.raw();
    let styled = raw.split("\x1b[").skip(1).any(|rest| {
        let code = rest.find(|next: char| next.is_ascii_alphabetic());
        code.is_some_and(|place| rest[place..].starts_with('m') && &rest[..place] != "0")
    });
    assert!(!styled, "{raw:?}");
}

#[test]
fn a_dumb_terminal_gets_no_sequences_at_all() {
    let model = Model::script([Reply::text("**Bold** words.")]);
    let home = Home::with_model(&model, "");
    let start = Started::new(&home, &["chat"]).env("TERM", "dumb");
    let mut screen = start.start();
    screen.wait_at(">");
    screen.line("go");
    screen.wait_for("**Bold** words.");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    assert!(!screen.raw().contains('\x1b'), "{:?}", screen.raw());
}
