//! `allm run` in pipes: what goes in, what comes out, and how it ends.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::home::Ended;
use crate::support::model::{Model, Reply};
use crate::support::{self, Home};

fn ended(code: i32, stdout: &str, stderr: &str) -> Ended {
    Ended {
        code: Some(code),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}

/// Answers this to everything.
fn saying(text: &str) -> (Model, Home) {
    let text = text.to_owned();
    let model = Model::answering(move |_, _| Reply::text(&text));
    let home = Home::with_model(&model, "");
    (model, home)
}

fn asked(model: &Model) -> Value {
    let asked = model.asked();
    asked.last().unwrap()["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()["content"]
        .clone()
}

#[test]
fn nothing_but_the_answer() {
    let (model, home) = saying("Four, I think.");
    assert_eq!(
        home.allm(["run", "2 + 2?"]),
        ended(0, "Four, I think.\n", "")
    );
    assert_eq!(asked(&model), "2 + 2?");
    let (_, home) = saying("ends its line\n");
    assert_eq!(home.allm(["run", "Hi"]), ended(0, "ends its line\n", ""));
    // Nothing was kept.
    assert!(!home.database().exists());
}

#[test]
fn the_question_comes_from_the_argument_and_from_standard_input() {
    let (model, home) = saying("Ok.");
    home.piped(["run"], "from the pipe\n");
    assert_eq!(asked(&model), "from the pipe");
    home.piped(["run", "Shorten:"], "a text\nof lines\n");
    assert_eq!(asked(&model), "Shorten:\n\na text\nof lines");
    assert_eq!(
        home.allm(["run"]),
        ended(
            2,
            "",
            "allm: nothing was asked\n  give a question: allm run \"What is …?\", or text on standard input\n"
        )
    );
    home.allm(["run", "Hi", "--system", "Be short."]);
    let first = model.asked().last().unwrap()["messages"][0].clone();
    assert_eq!(first, json!({"role": "system", "content": "Be short."}));
}

#[test]
fn files_go_along() {
    let (model, home) = saying("Ok.");
    home.write("notes.txt", "first\nsecond");
    let png = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0];
    std::fs::write(home.path().join("picture.dat"), png).unwrap();
    assert_eq!(
        home.allm(["run", "-a", "notes.txt", "-a", "picture.dat", "What?"])
            .code,
        Some(0)
    );
    let parts = asked(&model);
    assert_eq!(
        parts[0],
        json!({"type": "text", "text": "<file name=\"notes.txt\">\nfirst\nsecond\n</file>"})
    );
    assert_eq!(parts[1]["type"], "image_url");
    assert_eq!(
        parts[1]["image_url"]["url"],
        "data:image/png;base64,iVBORw0KGgoA"
    );
    assert_eq!(parts[2], json!({"type": "text", "text": "What?"}));

    std::fs::write(home.path().join("a.pdf"), "%PDF-1.4 …").unwrap();
    let told = home.allm(["run", "-a", "a.pdf", "What?"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_eq!(asked(&model)[0]["file"]["filename"], "a.pdf");
}

#[test]
fn files_that_cannot_go_along() {
    let (model, home) = saying("Ok.");
    std::fs::write(home.path().join("program"), b"\x7fELF\0\0").unwrap();
    std::fs::create_dir(home.path().join("folder")).unwrap();
    for (file, expected) in [
        (
            "none.txt",
            "allm: the file none.txt is not there\n  name a file with -a\n",
        ),
        (
            "folder",
            "allm: folder is a folder\n  name a file with -a\n",
        ),
        (
            "program",
            "allm: program is neither text nor a picture nor a PDF\n  attach text in UTF-8, PNG, JPEG, GIF, WebP or PDF\n",
        ),
    ] {
        assert_eq!(
            home.allm(["run", "-a", file, "What?"]),
            ended(2, "", expected)
        );
    }
    let mut child = home.command(["run", "Read this"]);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\xff\xfe").unwrap();
    let told = support::ended(child);
    assert_eq!(
        told,
        ended(
            2,
            "",
            "allm: standard input is not text in UTF-8\n  attach a picture or a PDF with -a\n"
        )
    );
    assert_eq!(model.asked().len(), 0);
}

const PERSON: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"], "additionalProperties": false}"#;

#[test]
fn an_answer_that_fits_its_schema() {
    let (model, home) = saying("{\"name\": \"Ada\", \"age\": 36}");
    home.write("person.json", PERSON);
    assert_eq!(
        home.allm(["run", "--schema", "person.json", "Who?"]),
        ended(0, "{\"name\": \"Ada\", \"age\": 36}\n", "")
    );
    let schema: Value = serde_json::from_str(PERSON).unwrap();
    assert_eq!(
        model.asked()[0]["response_format"]["json_schema"]["schema"],
        schema
    );
    let told = home.allm(["run", "--schema", "person.json", "--json", "Who?"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told["parsed"], json!({"name": "Ada", "age": 36}));
}

#[test]
fn an_answer_that_does_not_fit() {
    let (_, home) = saying("{\"name\": 7, \"age\": 1.5}");
    home.write("person.json", PERSON);
    assert_eq!(
        home.allm(["run", "--schema", "person.json", "Who?"]),
        ended(
            4,
            "",
            "allm: the answer does not fit the schema:\n  /age: must be an integer\n  /name: must be a string\n  ask again, or ask a larger model\n"
        )
    );
    let (_, home) = saying("Ada, I think");
    home.write("person.json", PERSON);
    assert_eq!(
        home.allm(["run", "--schema", "person.json", "Who?"]),
        ended(
            4,
            "",
            "allm: the answer does not fit the schema:\n  it is no JSON: expected value at line 1 column 1\n  ask again, or ask a larger model\n"
        )
    );
}

/// L230: the tools come first, without the form; then the form, without tools.
#[test]
fn l230_an_answer_that_fits_its_schema_after_tools() {
    let call = || Reply::call("calculator", json!({"expression": "6*6"}));
    let model = Model::script([
        call(),
        Reply::text("Ada is 36."),
        Reply::text("{\"name\": \"Ada\", \"age\": 36}"),
        call(),
        Reply::text("Ada is 36."),
        Reply::text("{\"name\": \"Ada\"}"),
    ]);
    let home = Home::with_model(&model, "");
    home.write("person.json", PERSON);
    let command = [
        "run",
        "--schema",
        "person.json",
        "--with",
        "calculator",
        "Who?",
    ];
    assert_eq!(
        home.allm(command),
        ended(0, "{\"name\": \"Ada\", \"age\": 36}\n", "")
    );
    let asked = model.asked();
    let forms: Vec<(bool, bool)> = asked
        .iter()
        .map(|asked| {
            (
                asked.get("tools").is_some(),
                asked.get("response_format").is_some(),
            )
        })
        .collect();
    assert_eq!(forms, [(true, false), (true, false), (false, true)]);
    assert_eq!(
        home.allm(command),
        ended(
            4,
            "",
            "allm: the answer does not fit the schema:\n  /age: must be there\n  ask again, or ask a larger model\n"
        )
    );
}

#[test]
fn schemas_that_are_none() {
    let (model, home) = saying("{}");
    home.write("cut.json", "{\n  \"type\": \n}");
    home.write("list.json", "[]");
    home.write("wrong.json", "{\"type\": \"objekt\"}");
    for (file, expected) in [
        (
            "none.json",
            "allm: the schema none.json is not there\n  name a file with a JSON Schema\n",
        ),
        (
            "cut.json",
            "allm: cut.json:3:1: the schema is no JSON: expected value\n",
        ),
        (
            "list.json",
            "allm: the schema list.json is no JSON object\n  it looks like {\"type\": \"object\", …}\n",
        ),
        (
            "wrong.json",
            "allm: the schema wrong.json is wrong at #/type: must be one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"\n",
        ),
    ] {
        assert_eq!(
            home.allm(["run", "--schema", file, "Who?"]),
            ended(2, "", expected)
        );
    }
    assert_eq!(model.asked().len(), 0);
}

#[test]
fn one_object_with_all_of_it() {
    let model = Model::script([
        Reply::Calls(
            "Let me see. ".to_owned(),
            vec![("calculator".to_owned(), json!({"expression": "6*7"}))],
        ),
        Reply::text("It is 42."),
    ]);
    let home = Home::with_model(&model, "");
    let told = home.allm(["run", "--json", "--with", "calculator", "What is 6*7?"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    assert_eq!(told.stdout.matches('\n').count(), 1);
    let object: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        object,
        json!({
            "text": "It is 42.",
            "parsed": null,
            "model": "scripted:any",
            "halted_reason": "completed",
            "session": null,
            "usage": {"input_tokens": 24, "output_tokens": 10, "total_tokens": 34},
            "cost": null,
            "tool_calls": [{"name": "calculator", "arguments": {"expression": "6*7"}, "result": "42", "is_error": false}],
            "waiting": [],
            "error": null,
        })
    );
}

/// What the model says before it calls a tool is not the answer.
#[test]
fn only_the_last_answer_is_printed() {
    let model = Model::script([
        Reply::Calls(
            "Let me see. ".to_owned(),
            vec![("calculator".to_owned(), json!({"expression": "6*7"}))],
        ),
        Reply::text("It is 42."),
    ]);
    let home = Home::with_model(&model, "");
    assert_eq!(
        home.allm(["run", "--with", "calculator", "What is 6*7?"]),
        ended(0, "It is 42.\n", "")
    );
}

#[test]
fn every_event_as_a_line() {
    let (_, home) = saying("One two");
    let told = home.allm(["run", "--events", "Count"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    let events: Vec<Value> = told
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let tags: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        tags,
        [
            "message_started",
            "text_delta",
            "text_delta",
            "text_completed",
            "message_completed",
            "step_completed",
            "chat_completed"
        ]
    );
    assert_eq!(events[1]["delta"], "One ");
}

/// Text is there before the answer is whole.
#[test]
fn the_answer_is_streamed() {
    let model = Model::script([Reply::Held("One ".to_owned(), "two".to_owned())]);
    let home = Home::with_model(&model, "");
    let mut command = home.command(["run", "Count"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    assert_eq!(&first, b"One ");
    model.release();
    assert_eq!(support::ended(child).stdout, "two\n");
}

#[test]
fn limits_end_with_4() {
    let model = Model::answering(|_, _| Reply::call("calculator", json!({"expression": "1"})));
    let home = Home::with_model(&model, "");
    assert_eq!(
        home.allm(["run", "--with", "calculator", "--max-turns", "2", "Go"]),
        ended(
            4,
            "",
            "allm: there is no final answer after 2 turns\n  allow more with --max-turns\n"
        )
    );
    let told = home.allm([
        "run",
        "--json",
        "--with",
        "calculator",
        "--max-turns",
        "1",
        "Go",
    ]);
    let object: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (told.code, &object["halted_reason"]),
        (Some(4), &json!("max_turns"))
    );
    assert_eq!(object["error"], "there is no final answer after 1 turns");
}

#[test]
fn a_cut_answer_and_a_filtered_one_end_with_4() {
    for (finish, expected) in [
        (
            "length",
            "allm: the answer was cut: it ran into the limit of tokens\n  allow more with --max-tokens\n",
        ),
        (
            "content_filter",
            "allm: the answer was cut: the provider filtered it\n",
        ),
    ] {
        let model = Model::script([Reply::Ended("Half an".to_owned(), finish.to_owned())]);
        let home = Home::with_model(&model, "");
        assert_eq!(home.allm(["run", "Go"]), ended(4, "Half an\n", expected));
    }
}
