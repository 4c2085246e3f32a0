//! Going on with a conversation, also after the program was killed.

use serde_json::json;

use super::approvals::NOTE;
use super::tools::last;
use crate::support::home::run;
use crate::support::model::{Model, Reply};
use crate::support::screen::{Screen, Started};
use crate::support::{Home, until};

/// Pays, which must not happen twice, and takes long unless there is a file `fast`.
pub(crate) const PAY: &str = r#"
[[tools]]
name = "pay"
description = "Pays."
effect = "at_most_once"
approval = "never"
command = ["sh", "-c", "echo paid >> payments; test -e fast || exec sleep 600"]
"#;

#[test]
fn the_end_of_what_was_said_is_shown() {
    let model = Model::answering(|_, number| Reply::Text(format!("**answer** {number}")));
    let home = Home::with_model(&model, "");
    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    for number in 0..3 {
        screen.line(&format!("question {number}"));
        screen.wait_done(&format!("answer {number}"));
    }
    let id = screen.id();
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    // By its id, and as the last one.
    for arguments in [vec!["--resume", &id], vec!["--resume"]] {
        let screen = Screen::chat(&home, &arguments);
        screen.wait_done("answer 2");
        assert_eq!(screen.id(), id);
        assert_eq!(
            screen.shown(),
            "\n… 2 messages before this\n\n> question 1\nanswer 1\n\n> question 2\nanswer 2\n\n>"
        );
    }
    let mut screen = Screen::chat(&home, &["--resume", &id]);
    screen.wait_done("answer 2");
    assert!(
        screen
            .text()
            .starts_with("scripted:any (of this conversation)")
    );
    screen.line("question 3");
    screen.wait_done("answer 3");
    assert_eq!(model.asked()[3]["messages"].as_array().unwrap().len(), 7);
}

/// What answers today is no matter: here it would be the embedded model, which is not there.
#[test]
fn a_conversation_needs_no_model_but_its_own() {
    let model = Model::script([Reply::text("Hello."), Reply::text("Still.")]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "hello");
    screen.wait_done("Hello.");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let config = format!("[providers.scripted]\nbase_url = \"{}\"\n", model.url());
    home.write("allm.toml", &config);
    let mut screen = Screen::chat(&home, &["--resume"]);
    screen.wait_done("Hello.");
    let header = "scripted:any (of this conversation)";
    assert!(screen.text().starts_with(header), "{}", screen.text());
    screen.line("still there?");
    screen.wait_done("Still.");
}

/// The variable is for where nothing else is said; `--model` is for now.
#[test]
fn a_conversation_keeps_its_model_whatever_the_environment_says() {
    let model = Model::answering(|asked, _| Reply::Text(format!("I am {}.", asked["model"])));
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "hello");
    screen.wait_done("I am \"any\".");
    let id = screen.id();
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let mut screen = Started::new(&home, &["chat", "--resume"])
        .env("ALLM_MODEL", "scripted:other")
        .start();
    screen.wait_done("I am \"any\".");
    screen.line("and now?");
    screen.wait("both answers", |text| {
        text.matches("I am \"any\".").count() == 2
    });
    screen.wait_at(">");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let mut command = home.command(["sessions", "resume", &id]);
    let ended = run(command.env("ALLM_MODEL", "nobody:x"));
    assert!(!ended.stderr.contains("nobody"), "{ended:?}");
    // The configuration beats it, too, and it beats what keys say.
    let mut command = home.command(["run", "Hi"]);
    let ended = run(command.env("ALLM_MODEL", "scripted:other"));
    assert_eq!(ended.stdout, "I am \"any\".\n", "{ended:?}");
    let config = format!("[providers.scripted]\nbase_url = \"{}\"\n", model.url());
    home.write("allm.toml", &config);
    let mut command = home.command(["run", "Hi"]);
    command.env("OPENAI_API_KEY", "x");
    let ended = run(command.env("ALLM_MODEL", "scripted:other"));
    assert_eq!(ended.stdout, "I am \"other\".\n", "{ended:?}");
    let mut screen = Screen::chat(&home, &["--resume", &id, "--model", "scripted:third"]);
    screen.wait_at(">");
    let header = "scripted:third (as asked)";
    assert!(screen.text().starts_with(header), "{}", screen.text());
    screen.line("who?");
    screen.wait_done("I am \"third\".");
}

/// A local model that was removed since is told, and what to do.
#[cfg(feature = "local")]
#[test]
fn a_conversation_whose_local_model_is_gone_says_how_to_go_on() {
    let model = Model::script([Reply::text("Hello."), Reply::text("Still.")]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::saying(&home, "hello");
    screen.wait_done("Hello.");
    // As if it had been held with it: no conversation here is, because the file is none.
    home.write(".local/share/allm/models/tiny.gguf", "GGUF and nothing");
    screen.line("/model local:tiny");
    screen.wait_done("(local:tiny from here on)");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let removed = home.allm(["models", "remove", "tiny"]);
    assert_eq!(removed.code, Some(0));
    let ended = home.allm(["chat", "--resume"]);
    let file = home.path().join(".local/share/allm/models/tiny.gguf");
    assert_eq!(
        (ended.stderr, ended.code),
        (
            format!(
                "allm: the model `local:tiny` is not here: there is no {}\n  \
                 fetch it: allm models pull FILE-OR-URL --name tiny; `allm models` lists what is here\n  \
                 the conversation was held with local:tiny; --model names another one\n",
                file.display()
            ),
            Some(2)
        )
    );
    let mut screen = Screen::chat(&home, &["--resume", "--model", "scripted:any"]);
    screen.wait_done("Hello.");
    screen.line("still there?");
    screen.wait_done("Still.");
}

#[test]
fn an_unknown_id_is_told_with_near_ones() {
    let model = Model::script([Reply::text("Hello.")]);
    let home = Home::with_model(&model, "");
    let mut screen = Screen::chat(&home, &["hello"]);
    screen.wait_done("Hello.");
    let id = screen.id();
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    let letters = id.rsplit('-').next().unwrap();
    let ended = home.allm(["chat", "--resume", letters]);
    let told = format!("allm: there is no session `{letters}`\n  did you mean `{id}`?\n");
    assert_eq!((ended.code, ended.stderr), (Some(2), told));
}

#[test]
fn killed_in_the_middle_of_an_answer() {
    let model = Model::script([
        Reply::Held("The first half ".to_owned(), String::new()),
        Reply::text("The whole answer."),
    ]);
    let home = Home::with_model(&model, "");
    let screen = Screen::saying(&home, "go");
    screen.wait_for("The first half");
    screen.kill();
    let mut screen = Screen::chat(&home, &["--resume"]);
    screen.wait_done("The whole answer.");
    assert_eq!(
        screen.shown(),
        "\n\n> go\n\n(the last answer did not come to its end; it goes on)\n(asking again)\nThe whole answer.\n\n>"
    );
    assert_eq!(
        model.asked()[1]["messages"],
        json!([{"role": "user", "content": "go"}])
    );
    screen.line("/usage");
    screen.wait_for("1 more calls of the model");
}

#[test]
fn killed_while_a_tool_ran_it_is_not_run_again_unless_the_person_says_so() {
    for (answer, payments, told) in [
        ("f", 1, "did not do its work"),
        ("r", 2, ""),
        ("t", 1, "the receipt is number 7"),
    ] {
        let model = Model::script([Reply::call("pay", json!({})), Reply::text("I see.")]);
        let home = Home::with_model(&model, PAY);
        let file = home.path().join("payments");
        let screen = Screen::saying(&home, "go");
        screen.wait_for("→ pay()");
        until("the payment", || file.exists().then_some(()));
        screen.kill();
        home.write("fast", "");
        let mut screen = Screen::chat(&home, &["--resume"]);
        screen.wait_at("outcome >");
        assert!(screen.text().contains("It may have done its work or not."));
        screen.line(answer);
        if answer == "t" {
            screen.wait_at("result >");
            screen.line("the receipt is number 7");
        }
        screen.wait_done("I see.");
        let paid = std::fs::read_to_string(&file).unwrap();
        assert_eq!(paid.lines().count(), payments);
        let content = last(&model)["content"].to_string();
        assert!(content.contains(told), "{content}");
    }
}

#[test]
fn killed_in_an_approval_it_is_asked_again() {
    let model = Model::script([
        Reply::call("note", json!({"text": "milk"})),
        Reply::text("Noted."),
    ]);
    let home = Home::with_model(&model, NOTE);
    let screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    screen.kill();
    let mut screen = Screen::chat(&home, &["--resume"]);
    screen.wait_at("approve >");
    screen.line("y");
    screen.wait_done("Noted.");
    let notes = std::fs::read_to_string(home.path().join("notes")).unwrap();
    assert_eq!(notes, "milk\n");
}

#[test]
fn a_conversation_that_another_process_drives_is_left_alone() {
    let model = Model::script([Reply::Held("Busy ".to_owned(), "no more.".to_owned())]);
    let home = Home::with_model(&model, "");
    let mut first = Screen::chat(&home, &[]);
    first.wait_at(">");
    let id = first.id();
    first.line("go");
    first.wait_for("Busy");
    let mut second = Screen::chat(&home, &["--resume", &id]);
    assert_eq!(second.ended(), 1);
    let text = second.text();
    assert!(
        text.contains(&format!(
            "allm: another allm goes on with the conversation {id} just now\n  wait until it is done, or end it, and try again"
        )),
        "{text}"
    );
    model.release();
    first.wait_done("Busy no more.");
}

#[test]
fn two_at_one_conversation_see_what_the_other_said() {
    let model = Model::answering(|_, number| Reply::Text(format!("answer {number}")));
    let home = Home::with_model(&model, "");
    let mut first = Screen::chat(&home, &["hello"]);
    first.wait_done("answer 0");
    let mut second = Screen::chat(&home, &["--resume", &first.id()]);
    second.wait_done("answer 0");
    second.line("from the second");
    second.wait_done("answer 1");
    first.line("from the first");
    first.wait("what was said elsewhere", |text| {
        text.contains("(what you said was not sent; Enter sends it)")
            && text.lines().last() == Some("> from the first")
    });
    assert!(
        first.text().contains("> from the second\nanswer 1"),
        "{}",
        first.text()
    );
    assert_eq!(model.asked().len(), 2);
    first.keys("\r");
    first.wait_done("answer 2");
    assert_eq!(model.asked()[2]["messages"].as_array().unwrap().len(), 5);
}

/// The other one was killed in the middle of its answer: it is gone on with at once.
#[test]
fn of_two_at_one_conversation_one_is_killed() {
    let model = Model::script([
        Reply::text("Hello."),
        Reply::Held("The first half ".to_owned(), String::new()),
        Reply::text("The whole answer."),
    ]);
    let home = Home::with_model(&model, "");
    let mut first = Screen::saying(&home, "hello");
    first.wait_done("Hello.");
    let mut second = Screen::chat(&home, &["--resume", &first.id()]);
    second.wait_done("Hello.");
    second.line("from the second");
    second.wait_for("The first half");
    second.kill();
    first.line("from the first");
    first.wait_at("> from the first");
    first.wait_for("(what you said was not sent; Enter sends it)");
    first.wait_at("> from the first");
    first.keys("\r");
    first.wait_done("The whole answer.");
    let said = last(&model)["content"].clone();
    assert_eq!(said, "from the first");
    let text = first.text();
    assert!(!text.contains("another process"), "{text}");
}
