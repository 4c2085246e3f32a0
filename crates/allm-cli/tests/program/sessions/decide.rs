//! `allm sessions answer`, `approve` and `deny`, of sessions that real runs have left.

use serde_json::{Value, json};

use crate::support::home::{Ended, run};
use crate::support::model::{Model, Reply};
use crate::support::{self, Home};

/// A tool that writes a line to `notes.txt` and may do so only when a person agrees, one that runs until `go` is there,
/// and one that asks.
const TOOLS: &str = r#"
[[tools]]
name = "note"
description = "Writes a note."
schema = { type = "object", properties = { text = { type = "string", minLength = 2 } }, required = ["text"] }
command = ["sh", "-c", "echo \"$1\" >> notes.txt; echo \"noted: $1\"", "sh", "{text}"]
input = "none"
approval = "always"

[[tools]]
name = "slow"
description = "Takes its time."
schema = { type = "object" }
command = ["sh", "-c", "touch began; while [ ! -e go ]; do sleep 0.02; done; echo slow"]
input = "none"
approval = "never"

[[tools]]
name = "ask"
description = "Asks."
schema = { type = "object" }
command = ["cat", "question.json"]
input = "none"
output = "reply"
approval = "never"
"#;

pub(super) fn home(replies: Vec<Reply>) -> (Model, Home) {
    let model = Model::script(replies);
    let home = Home::with_model(&model, TOOLS);
    let question = json!({"ask_user": {"question": "Which colour?"}});
    home.write("question.json", &question.to_string());
    (model, home)
}

pub(super) fn note(text: &str) -> Reply {
    Reply::call("note", json!({"text": text}))
}

/// Runs a question that has to wait.
pub(super) fn waits(home: &Home, id: &str) {
    let ended = home.allm(["run", "--session", id, "Take a note."]);
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("", Some(3)),
        "{}",
        ended.stderr
    );
}

fn as_ada(home: &Home, arguments: &[&str]) -> Ended {
    let mut command = home.command(arguments);
    run(command.env("USER", "ada"))
}

pub(super) fn notes(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("notes.txt")).unwrap_or_default()
}

/// What the model was told last.
fn told(model: &Model) -> Value {
    let asked = model.asked();
    let messages = asked.last().unwrap()["messages"].as_array().unwrap();
    messages.last().unwrap().clone()
}

/// S134: agreed to by another process than the one that asked.
#[test]
fn s134_an_approved_call_runs_once_and_the_answer_is_printed() {
    let (model, home) = home(vec![note("milk"), Reply::text("I have noted it.")]);
    waits(&home, "shop");
    assert_eq!(notes(&home), "");
    let ended = as_ada(&home, &["sessions", "approve", "shop", "--resume"]);
    assert_eq!(
        ended,
        Ended {
            code: Some(0),
            stdout: "I have noted it.\n".to_owned(),
            stderr: String::new()
        }
    );
    assert_eq!(notes(&home), "milk\n");
    assert_eq!(told(&model)["content"], "noted: milk");
    let shown = home.allm(["sessions", "show", "shop"]).stdout;
    assert!(shown.contains("approved by ada\n"), "{shown}");
    // S143: once more is nothing, and otherwise is too late.
    let again = home.allm(["sessions", "approve", "shop"]);
    assert_eq!(
        (again.stderr.as_str(), again.code),
        (
            "allm: `shop` has nothing to approve: it is completed\n  see what was decided: allm sessions show shop\n",
            Some(2)
        )
    );
    assert_eq!(notes(&home), "milk\n");
}

/// S138
#[test]
fn s138_a_denied_call_does_not_run_and_the_model_reads_why() {
    let (model, home) = home(vec![note("milk"), Reply::text("Then not.")]);
    waits(&home, "shop");
    let ended = as_ada(
        &home,
        &[
            "sessions",
            "deny",
            "shop",
            "--reason",
            "we have milk",
            "--resume",
        ],
    );
    assert_eq!(
        ended,
        Ended {
            code: Some(0),
            stdout: "Then not.\n".to_owned(),
            stderr: String::new()
        }
    );
    assert_eq!(notes(&home), "");
    assert!(
        told(&model)["content"]
            .as_str()
            .unwrap()
            .contains("we have milk")
    );
    let shown = home.allm(["sessions", "show", "shop"]).stdout;
    assert!(shown.contains("denied by ada: we have milk\n"), "{shown}");
}

/// S139, S140
#[test]
fn s139_other_arguments_must_fit_the_schema() {
    let (_model, home) = home(vec![note("milk"), Reply::text("Done.")]);
    waits(&home, "shop");
    let approve = |arguments: &str| {
        home.allm([
            "sessions",
            "approve",
            "shop",
            "--arguments",
            arguments,
            "--resume",
        ])
    };
    let bad = approve("{\"text\": ");
    assert_eq!(
        (bad.stderr.as_str(), bad.code),
        (
            "allm: the arguments are no JSON object: EOF while parsing a value at line 1 column 9\n  \
             for example --arguments '{\"path\": \"notes.txt\"}'\n",
            Some(2)
        )
    );
    let bad = approve("[1]");
    assert_eq!((bad.stdout.as_str(), bad.code), ("", Some(2)));
    let bad = approve("{\"text\": \"x\"}");
    assert_eq!(
        (bad.stderr.as_str(), bad.code),
        (
            "allm: the arguments do not fit the schema of `note`\n  at /text: must have at least 2 characters\n",
            Some(2)
        )
    );
    // It still waits, and nothing has run.
    assert_eq!(
        home.allm(["sessions", "list", "--waiting", "--json"])
            .stdout
            .lines()
            .count(),
        1
    );
    assert_eq!(notes(&home), "");
    let good = approve("{\"text\": \"oat milk\"}");
    assert_eq!(
        (good.stdout.as_str(), good.stderr.as_str(), good.code),
        ("Done.\n", "", Some(0))
    );
    assert_eq!(notes(&home), "oat milk\n");
    let shown = home.allm(["sessions", "show", "shop"]).stdout;
    assert!(
        shown.contains("approved with other arguments\n    {\"text\":\"oat milk\"}\n"),
        "{shown}"
    );
}

/// S136, S137: several approvals, one by one.
#[test]
fn s137_several_calls_are_decided_by_their_names() {
    let calls = [("note", "one"), ("note", "two")]
        .map(|(name, text)| (name.to_owned(), json!({"text": text})));
    let (_model, home) = home(vec![
        Reply::Calls(String::new(), calls.to_vec()),
        Reply::text("Both decided."),
    ]);
    waits(&home, "shop");
    let which = home.allm(["sessions", "approve", "shop"]);
    let listed = "\n    t1.c0  approval of note({\"text\":\"one\"})\n    t1.c1  approval of note({\"text\":\"two\"})\n";
    assert_eq!(
        (which.stderr, which.code),
        (
            format!("allm: `shop` has 2 calls to approve\n  name one of them:{listed}"),
            Some(2)
        )
    );
    let unknown = home.allm(["sessions", "deny", "shop", "--call", "apr_1"]);
    assert_eq!(
        (unknown.stderr, unknown.code),
        (
            format!("allm: `shop` has no call `apr_1` to deny\n  it waits for:{listed}"),
            Some(2)
        )
    );
    let second = home.allm(["sessions", "approve", "shop", "--call", "t1.c1", "--resume"]);
    assert_eq!(
        (second.stdout.as_str(), second.stderr.as_str(), second.code),
        (
            "",
            "allm: `shop` waits for approval of note({\"text\":\"one\"})\n  \
             allm sessions approve shop --resume, or allm sessions deny shop --resume\n",
            Some(3)
        )
    );
    assert_eq!(notes(&home), "two\n");
    // S143: it was decided, and otherwise.
    let other = home.allm(["sessions", "deny", "shop", "--call", "t1.c1"]);
    assert_eq!(
        (other.stderr.as_str(), other.code),
        (
            "allm: this call of `shop` was decided before, and otherwise\n  see by whom: allm sessions show shop\n",
            Some(2)
        )
    );
    let gone = home.allm(["sessions", "deny", "shop", "--call", "t7.c0"]);
    assert_eq!(
        (gone.stderr.as_str(), gone.code),
        (
            "allm: `shop`: the open turn has no call t7.c0\n  see how it stands: allm sessions show shop\n",
            Some(2)
        )
    );
    let line: Value =
        serde_json::from_str(&home.allm(["sessions", "list", "--json"]).stdout).unwrap();
    let approval = line["waits"][0]["approval"].as_str().unwrap();
    let first = home.allm(["sessions", "deny", "shop", "--call", approval, "--resume"]);
    assert_eq!(
        (first.stdout.as_str(), first.code),
        ("Both decided.\n", Some(0))
    );
    assert_eq!(notes(&home), "two\n");
}

#[test]
fn a_decision_alone_starts_nothing() {
    let (model, home) = home(vec![note("milk"), Reply::text("Noted.")]);
    waits(&home, "shop");
    let ended = home.allm(["sessions", "approve", "shop"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str(), ended.code),
        ("", "", Some(0))
    );
    assert_eq!((notes(&home).as_str(), model.asked().len()), ("", 1));
    let resumed = home.allm(["sessions", "resume", "shop"]);
    assert_eq!(
        (resumed.stdout.as_str(), resumed.code),
        ("Noted.\n", Some(0))
    );
    assert_eq!(notes(&home), "milk\n");
    let over = home.allm(["sessions", "resume", "shop"]);
    assert_eq!(
        (over.stderr.as_str(), over.code),
        (
            "allm: the session `shop` has nothing to go on with\n  say something: allm chat --resume shop\n",
            Some(2)
        )
    );
}

#[test]
fn a_question_is_answered() {
    let (model, home) = home(vec![
        Reply::call("ask", json!({})),
        Reply::text("Blue it is."),
    ]);
    waits(&home, "paint");
    let wrong = home.allm(["sessions", "approve", "paint"]);
    assert_eq!(
        (wrong.stderr.as_str(), wrong.code),
        (
            "allm: `paint` has nothing to approve: it is awaiting user\n  it waits for an answer: Which colour?\n",
            Some(2)
        )
    );
    let waits = home.allm(["sessions", "resume", "paint"]);
    assert_eq!(
        (waits.stderr.as_str(), waits.code),
        (
            "allm: `paint` waits for an answer: Which colour?\n  allm sessions answer paint \"…\" --resume\n",
            Some(3)
        )
    );
    let ended = as_ada(&home, &["sessions", "answer", "paint", "blue", "--resume"]);
    assert_eq!(
        ended,
        Ended {
            code: Some(0),
            stdout: "Blue it is.\n".to_owned(),
            stderr: String::new()
        }
    );
    assert_eq!(told(&model), json!({"role": "user", "content": "blue"}));
    let nothing = home.allm(["sessions", "answer", "paint", "red"]);
    assert_eq!(
        (nothing.stderr.as_str(), nothing.code),
        (
            "allm: `paint` has nothing to answer: it is completed\n  see what was decided: allm sessions show paint\n",
            Some(2)
        )
    );
}

/// S129: while another process drives the session, the decision is stored, and that process acts by it.
#[test]
fn s129_a_decision_about_a_session_that_is_driven_is_stored() {
    let calls = vec![
        ("slow".to_owned(), json!({})),
        ("note".to_owned(), json!({"text": "milk"})),
    ];
    let (_model, home) = home(vec![
        Reply::Calls(String::new(), calls),
        Reply::text("All done."),
    ]);
    let run = home.spawned(&["run", "--session", "shop", "Take a note."]);
    until(&home, "began");
    let ended = home.allm(["sessions", "approve", "shop", "--resume"]);
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(1)));
    let (what, advice) = ended.stderr.split_once("\n  ").unwrap();
    assert!(
        what.starts_with("allm: another process drives the session `shop` (writer "),
        "{what}"
    );
    assert_eq!(
        advice,
        "the decision is stored all the same, and the process that drives the session takes it up\n"
    );
    home.write("go", "");
    let ended = support::ended(run);
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("All done.\n", Some(0)),
        "{}",
        ended.stderr
    );
    assert_eq!(notes(&home), "milk\n");
}

/// Waits until the file is there.
pub(super) fn until(home: &Home, name: &str) {
    support::until(name, || home.path().join(name).exists().then_some(()));
}

/// Nothing is decided when it could not be carried out.
#[test]
fn a_tool_that_is_not_switched_on_is_told_before_the_decision() {
    let (model, home) = home(vec![note("milk"), Reply::text("Noted.")]);
    waits(&home, "shop");
    let with_tools = std::fs::read_to_string(home.path().join("allm.toml")).unwrap();
    let url = model.url();
    home.write(
        "allm.toml",
        &format!("model = \"scripted:any\"\n[providers.scripted]\nbase_url = \"{url}\"\n"),
    );
    let ended = home.allm(["sessions", "approve", "shop", "--resume"]);
    assert_eq!(
        (ended.stderr.as_str(), ended.code),
        (
            "allm: the session `shop` calls the tool `note`, which is not switched on here\n  \
             switch it on as when the session was begun: in allm.toml, with --tools DIR or --with note\n",
            Some(2)
        )
    );
    home.write("allm.toml", &with_tools);
    let ended = home.allm(["sessions", "deny", "shop"]);
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
}

/// The model that the session was begun with is asked, whatever the configuration says today.
#[test]
fn a_session_keeps_its_model() {
    let (model, home) = home(vec![note("milk"), Reply::text("Noted.")]);
    waits(&home, "shop");
    let config = std::fs::read_to_string(home.path().join("allm.toml")).unwrap();
    home.write("allm.toml", &config.replace("scripted:any", "openai:gpt-5"));
    let ended = home.allm(["sessions", "approve", "shop", "--resume"]);
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("Noted.\n", Some(0)),
        "{}",
        ended.stderr
    );
    assert_eq!(model.asked().last().unwrap()["model"], "any");
}
