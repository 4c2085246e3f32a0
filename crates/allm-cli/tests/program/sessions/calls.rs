//! Calls that wait for a word: results of manual tools, calls of unknown end, one of several questions.

use serde_json::{Value, json};

use super::decide::{home, note, until, waits};
use crate::chat::resuming::PAY;
use crate::support::Home;
use crate::support::home::Ended;
use crate::support::model::{Model, Reply};
use crate::support::screen::Screen;

/// It ended so, and said this on standard output and standard error.
fn ended(home: &Home, command: &[&str], code: i32, stdout: &str, stderr: &str) {
    let expected = Ended {
        code: Some(code),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    };
    assert_eq!(home.allm(command), expected, "{command:?}");
}

/// What the model was told last.
fn told(model: &Model) -> Value {
    let asked = model.asked();
    let messages = asked.last().unwrap()["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].clone()
}

const DEPLOY: &str = r#"
[[tools]]
name = "deploy"
description = "Brings a version to the customers, by hand."
manual = true
schema = { type = "object", properties = { version = { type = "string" } } }
"#;

fn deploying() -> (Model, Home) {
    let model = Model::script([
        Reply::call("deploy", json!({"version": "1.2"})),
        Reply::text("It is out."),
    ]);
    let home = Home::with_model(&model, DEPLOY);
    (model, home)
}

#[test]
fn the_result_of_a_manual_tool_is_submitted() {
    for (more, content) in [
        (&["{\"ok\": true}"][..], json!("{\"ok\": true}")),
        (&["-7"], json!("-7")),
        (
            &["no time", "--failed"],
            json!("{\"error\":{\"reason\":\"reported\",\"message\":\"no time\"}}"),
        ),
    ] {
        let (model, home) = deploying();
        let submit = "allm sessions submit shop t1.c0 \"…\" --resume";
        ended(
            &home,
            &["run", "--session", "shop", "Deploy it."],
            3,
            "",
            &format!(
                "allm: the call deploy({{\"version\":\"1.2\"}}) waits for its result\n  session shop; go on with: {submit}\n"
            ),
        );
        ended(
            &home,
            &["run", "--session", "shop", "Well?"],
            3,
            "",
            &format!("allm: the session `shop` waits for the result of a call\n  {submit}\n"),
        );
        ended(
            &home,
            &["sessions", "resume", "shop"],
            3,
            "",
            &format!("allm: `shop` waits for the result of deploy\n  {submit}\n"),
        );
        ended(
            &home,
            &["sessions", "rerun", "shop"],
            2,
            "",
            "allm: `shop` has nothing to rerun: it is awaiting tools\n  it waits for the result of deploy\n",
        );
        ended(
            &home,
            &["sessions", "submit", "shop", "nothing", "x"],
            2,
            "",
            "allm: `shop` has no call `nothing` to submit\n  it waits for:\n    t1.c0  the result of deploy\n",
        );
        let command = [&["sessions", "submit", "shop", "t1.c0", "--resume"], more].concat();
        ended(&home, &command, 0, "It is out.\n", "");
        assert_eq!(told(&model), content);
        ended(
            &home,
            &["sessions", "submit", "shop", "t1.c0", "other"],
            2,
            "",
            "allm: `shop`: the open turn has no call t1.c0\n  see how it stands: allm sessions show shop\n",
        );
    }
}

#[test]
fn the_result_of_a_manual_tool_is_given_in_place() {
    let (model, home) = deploying();
    let mut screen = Screen::saying(&home, "Deploy it.");
    screen.wait_at("result >");
    let text = screen.text();
    assert!(
        text.contains("The result of deploy({\"version\":\"1.2\"}) is yours to give.\n"),
        "{text}"
    );
    screen.line("done at noon");
    screen.wait_done("It is out.");
    assert_eq!(told(&model), "done at noon");
}

#[test]
fn one_of_several_questions_is_answered() {
    let ask = || ("ask".to_owned(), json!({}));
    let (model, home) = home(vec![
        Reply::Calls(String::new(), vec![ask(), ask()]),
        Reply::text("I see."),
    ]);
    waits(&home, "paint");
    ended(
        &home,
        &["sessions", "answer", "paint", "blue"],
        2,
        "",
        "allm: `paint` has 2 calls to answer\n  name one of them:\n    t1.c0  an answer: Which colour?\n    t1.c1  an answer: Which colour?\n",
    );
    ended(
        &home,
        &[
            "sessions", "answer", "paint", "blue", "--call", "t1.c1", "--resume",
        ],
        3,
        "",
        "allm: `paint` waits for an answer: Which colour?\n  allm sessions answer paint \"…\" --resume\n",
    );
    ended(
        &home,
        &["sessions", "answer", "paint", "red", "--resume"],
        0,
        "I see.\n",
        "",
    );
    let asked = model.asked();
    let said = asked[1]["messages"].as_array().unwrap().iter().skip(4);
    let said: Vec<&str> = said
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["Which colour?", "red", "Which colour?", "blue"]);
}

/// A program died while a tool ran that must not run twice, and the person left the decision for later.
fn unknown() -> (Model, Home, String) {
    let model = Model::script([Reply::call("pay", json!({})), Reply::text("I see.")]);
    let home = Home::with_model(&model, PAY);
    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    let id = screen.id();
    screen.line("go");
    until(&home, "payments");
    screen.kill();
    home.write("fast", "");
    let mut screen = Screen::chat(&home, &["--resume"]);
    screen.wait_at("outcome >");
    screen.keys("\x03");
    screen.wait_at("(result open, /resume) >");
    screen.keys("\x04");
    assert_eq!(screen.ended(), 0);
    (model, home, id)
}

fn payments(home: &Home) -> usize {
    let paid = std::fs::read_to_string(home.path().join("payments")).unwrap();
    paid.lines().count()
}

/// S93: a person says that it did not happen, and it runs once more.
#[test]
fn s93_a_call_of_unknown_end_is_run_again() {
    let (_, home, id) = unknown();
    ended(
        &home,
        &["sessions", "resume", &id],
        3,
        "",
        &format!(
            "allm: `{id}` waits for word on what became of pay\n  allm sessions rerun {id} t1.c0 --resume, or allm sessions submit {id} t1.c0 \"…\" --resume\n"
        ),
    );
    ended(
        &home,
        &["sessions", "rerun", &id, "t7.c0"],
        2,
        "",
        &format!(
            "allm: `{id}`: the open turn has no call t7.c0\n  see how it stands: allm sessions show {id}\n"
        ),
    );
    assert_eq!(payments(&home), 1);
    ended(
        &home,
        &["sessions", "rerun", &id, "t1.c0", "--resume"],
        0,
        "I see.\n",
        "",
    );
    assert_eq!(payments(&home), 2);
}

/// S93: a person knows what became of it, and it does not run.
#[test]
fn s93_the_end_of_a_call_is_told() {
    let (model, home, id) = unknown();
    ended(
        &home,
        &["sessions", "submit", &id, "t1.c0", "receipt 7", "--resume"],
        0,
        "I see.\n",
        "",
    );
    assert_eq!((told(&model), payments(&home)), (json!("receipt 7"), 1));
}

/// What a run was asked to fit is asked of whoever goes on with it, and nothing else is printed.
#[test]
fn a_run_with_a_schema_goes_on_with_it() {
    for (answer, code, stdout, stderr) in [
        ("{\"n\": 1}", 0, "{\"n\": 1}\n", ""),
        (
            "one",
            4,
            "",
            "allm: the answer does not fit the schema:\n  it is no JSON: expected value at line 1 column 1\n  ask again, or ask a larger model\n",
        ),
    ] {
        let (model, home) = home(vec![
            note("milk"),
            Reply::text("It is noted."),
            Reply::text(answer),
        ]);
        home.write(
            "n.json",
            "{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}",
        );
        let command = ["run", "--session", "shop", "--schema", "n.json", "Note it."];
        assert_eq!(home.allm(command).code, Some(3));
        ended(
            &home,
            &["sessions", "approve", "shop", "--resume"],
            code,
            stdout,
            stderr,
        );
        let asked = model.asked();
        assert!(asked[1].get("response_format").is_none());
        assert!(asked[2].get("response_format").is_some() && asked[2].get("tools").is_none());
    }
}
