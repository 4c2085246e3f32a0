//! `allm run` that waits for a person, is interrupted, or is read by nobody.

use std::io::Read as _;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::home::Ended;
use crate::support::model::{Model, Reply};
use crate::support::screen::Started;
use crate::support::stored::Stored;
use crate::support::{self, Home};

const PAY: &str = "[[tools]]\nname = \"pay\"\ndescription = \"Pays.\"\ncommand = [\"tee\", \"-a\", \"paid\"]\nschema = { type = \"object\", properties = { cents = { type = \"integer\" } } }\n";

fn paying() -> (Model, Home) {
    let model = Model::answering(|_, number| match number % 2 {
        0 => Reply::call("pay", json!({"cents": 5})),
        _ => Reply::text("Paid."),
    });
    let home = Home::with_model(&model, PAY);
    (model, home)
}

fn ids(home: &Home) -> Vec<String> {
    let listed = home.allm(["sessions", "list", "--json"]);
    let lines = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_call_that_needs_approval_ends_with_3_and_keeps_the_session() {
    let (_, home) = paying();
    let ended = home.allm(["run", "Pay 5 cents"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""));
    let id = ended
        .stderr
        .split("session ")
        .nth(1)
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(
        ended.stderr,
        format!(
            "allm: the call pay({{\"cents\":5}}) waits for approval\n  session {id}; go on with: allm sessions approve {id} --resume, or allm sessions deny {id} --resume\n"
        )
    );
    assert!(!home.path().join("paid").exists());
    // Somebody else says something in the meantime.
    let again = home.allm(["run", "--session", &id, "Well?"]);
    assert_eq!(
        (again.code, again.stderr),
        (
            Some(3),
            format!(
                "allm: the session `{id}` waits for a decision about a call\n  allm sessions approve {id} --resume, or allm sessions deny {id} --resume\n"
            )
        )
    );
    let (_, home) = paying();
    let json = home.allm(["run", "--json", "Pay 5 cents"]);
    let object: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (json.code, &object["halted_reason"]),
        (Some(3), &json!("manual_tool_calls"))
    );
    let waiting = &object["waiting"][0];
    assert_eq!(
        (&waiting["for"], &waiting["tool"], &waiting["arguments"]),
        (&json!("approval"), &json!("pay"), &json!({"cents": 5}))
    );
    assert!(waiting["approval"].is_string() && object["session"].is_string());
}

#[test]
fn with_yes_it_runs_and_nothing_is_kept() {
    let (_, home) = paying();
    let ended = home.allm(["run", "--yes", "Pay 5 cents"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (Some(0), "Paid.\n", "")
    );
    let paid = std::fs::read_to_string(home.path().join("paid")).unwrap();
    assert_eq!(paid.lines().count(), 1);
    assert!(!home.path().join(".local/share/allm/sessions.db").exists());
}

/// A run that could have waited and did not is deleted.
#[test]
fn a_run_that_did_not_wait_is_not_kept() {
    let model = Model::script([Reply::text("No need.")]);
    let home = Home::with_model(&model, PAY);
    assert_eq!(home.allm(["run", "Pay?"]).stdout, "No need.\n");
    assert!(home.path().join(".local/share/allm/sessions.db").exists());
    let listed = home.allm(["sessions", "list", "--json"]);
    assert_eq!(listed.stdout, "", "{listed:?}");
}

#[test]
fn a_tool_that_asks_ends_with_3() {
    let model = Model::script([Reply::call("ask", json!({})), Reply::text("Red it is.")]);
    let home = Home::with_model(
        &model,
        "[[tools]]\nname = \"ask\"\ndescription = \"d\"\neffect = \"pure\"\noutput = \"reply\"\ncommand = [\"echo\", '{{\"ask_user\": {{\"question\": \"Which colour?\"}}}}']\n",
    );
    let ended = home.allm(["run", "Paint it", "--session", "house"]);
    assert_eq!(
        ended,
        Ended {
            code: Some(3),
            stdout: String::new(),
            stderr: "allm: ask asks: Which colour?\n  session house; go on with: allm sessions answer house \"…\" --resume\n".to_owned()
        }
    );
    // What is said next is the answer.
    let ended = home.allm(["run", "--session", "house", "Red"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "Red it is.\n"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_session_goes_on() {
    let model = Model::script([Reply::text("Hello Ada."), Reply::text("Ada.")]);
    let home = Home::with_model(&model, "system = \"Be kind.\"");
    assert_eq!(
        home.allm(["run", "--session", "s1", "I am Ada"]).stdout,
        "Hello Ada.\n"
    );
    let told = home.allm(["run", "--session", "s1", "--json", "Who am I?"]);
    let object: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&object["text"], &object["session"]),
        (&json!("Ada."), &json!("s1"))
    );
    let said: Vec<Value> = model.asked()[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(said, ["Be kind.", "I am Ada", "Hello Ada.", "Who am I?"]);
    let late = home.allm(["run", "--session", "s1", "--system", "Be rude.", "Hi"]);
    assert_eq!(
        (late.code, late.stderr.as_str()),
        (
            Some(2),
            "allm: the session `s1` has begun: --system comes too late\n  leave it out, or begin another session\n"
        )
    );
}

fn signal(child: &Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

#[test]
fn ctrl_c_cancels_and_ends_with_130() {
    for name in [Signal::INT, Signal::TERM] {
        let model = Model::script([Reply::Held("Half ".to_owned(), "an answer".to_owned())]);
        let home = Home::with_model(&model, "");
        let mut child = home.spawned(&["run", "Go"]);
        let mut first = [0; 5];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut first)
            .unwrap();
        signal(&child, name);
        let ended = support::ended(child);
        let expected = Ended {
            code: Some(130),
            stdout: "\n".to_owned(),
            stderr: "allm: interrupted\n".to_owned(),
        };
        assert_eq!(ended, expected);
    }
}

/// The first Ctrl-C also ends a tool, and everything that it started.
#[test]
fn ctrl_c_kills_tools() {
    let model = Model::script([Reply::call("slow", json!({})), Reply::text("Done.")]);
    let home = Home::with_model(
        &model,
        "[[tools]]\nname = \"slow\"\ndescription = \"d\"\neffect = \"pure\"\ntimeout = \"10m\"\ncommand = [\"sh\", \"-c\", 'exec 3>pipe; echo begun >&3; sleep 1000 & sleep 1000']\n",
    );
    let pipe = home.path().join("pipe");
    std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    let child = home.spawned(&["run", "Go"]);
    let mut reader = std::io::BufReader::new(std::fs::File::open(pipe).unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    signal(&child, Signal::INT);
    // The end of the pipe is the end of all that had it open.
    reader.read_to_string(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    assert_eq!(support::ended(child).code, Some(130));
}

/// A cancelled run in a session leaves one that goes on.
#[test]
fn a_session_survives_ctrl_c() {
    let model = Model::script([
        Reply::Silent("never heard".to_owned()),
        Reply::text("Here."),
    ]);
    let home = Home::with_model(&model, "");
    let child = home.spawned(&["run", "--session", "s", "Go"]);
    model.wait_until_held();
    signal(&child, Signal::INT);
    assert_eq!(support::ended(child).code, Some(130));
    let ended = home.allm(["run", "--session", "s", "Are you there?"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "Here.\n"),
        "{}",
        ended.stderr
    );
    assert_eq!(ids(&home), ["s"]);
}

/// The second Ctrl-C does not wait, not even for a database that another program holds.
#[test]
fn the_second_ctrl_c_ends_at_once() {
    let model = Model::script([
        Reply::Silent("never heard".to_owned()),
        Reply::text("Here."),
    ]);
    let home = Home::with_model(&model, "");
    let child = home.spawned(&["run", "--session", "s", "Go"]);
    model.wait_until_held();
    let stored = Stored::new(&home);
    let locked = stored.locked();
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    let ended = support::ended(child);
    let expected = Ended {
        code: Some(130),
        stdout: String::new(),
        stderr: String::new(),
    };
    assert_eq!(ended, expected);
    drop(locked);
    // What it held is free, since it is gone.
    let resumed = home.allm(["sessions", "resume", "s"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "Here.\n"),
        "{}",
        resumed.stderr
    );
}

/// `allm run … | head -1`
#[test]
fn a_reader_who_goes_away_is_no_failure() {
    let model = Model::script([Reply::Held("One\n".to_owned(), "two\nthree\n".to_owned())]);
    let home = Home::with_model(&model, "");
    let mut child = home.spawned(&["run", "Count"]);
    let mut first = [0; 4];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut first)
        .unwrap();
    drop(child.stdout.take());
    model.release();
    let ended = support::ended(child);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

/// What waits is kept, and whoever reads the output is not the only one who needs to know.
#[test]
fn a_reader_who_goes_away_does_not_hide_that_it_waits() {
    let (_, home) = paying();
    let mut command = home.command(["run", "--json", "Pay 5 cents"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command
        .stdin(std::process::Stdio::null())
        .stdout(writer)
        .output()
        .unwrap();
    let ended = Ended::from(output);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let id = &ids(&home)[0];
    assert!(
        ended
            .stderr
            .contains(&format!("allm sessions approve {id} --resume")),
        "{ended:?}"
    );
}

/// Notes are for a person, and nothing that a model says makes a terminal do anything.
#[test]
fn in_a_terminal_there_are_notes() {
    let expression = "6*7+0".to_owned() + &"+0".repeat(40);
    let call = ("calculator".to_owned(), json!({"expression": expression}));
    let model = Model::script([
        Reply::Calls("Let me see. ".to_owned(), vec![call]),
        Reply::text("It is \x1b[31m42."),
    ]);
    let home = Home::with_model(&model, "");
    let screen = Started::new(&home, &["run", "--with", "calculator", "6*7?"])
        .size(20, 40)
        .start();
    screen.wait_for("42.");
    assert_eq!(
        screen.text(),
        "Let me see.\n→ calculator({\"expression\":\"6*7+0+0+0+0…\n✓ calculator\nIt is ␛[31m42."
    );
    assert!(!screen.raw().contains("\x1b[31m"));
}

/// A server that takes no more for now is waited for: a person is told, a script is not, and Ctrl-C ends it.
#[test]
fn a_busy_server_is_waited_for() {
    let model = Model::script([Reply::Later(1), Reply::text("Here."), Reply::Later(20)]);
    let home = Home::with_model(&model, "");
    let ended = home.allm(["run", "Hi"]);
    let expected = Ended {
        code: Some(0),
        stdout: "Here.\n".to_owned(),
        stderr: String::new(),
    };
    assert_eq!(ended, expected);
    let mut screen = Started::new(&home, &["run", "Hi"]).size(20, 100).start();
    screen.wait_for(
        "(`scripted` takes no more requests for now; asking again in 20 s, Ctrl-C stops it)",
    );
    screen.keys("\x03");
    screen.wait_for("allm: interrupted");
    assert_eq!(screen.ended(), 130);
    assert_eq!(model.asked().len(), 3);
}

#[test]
fn ctrl_c_is_typed() {
    let model = Model::script([Reply::Held("Half ".to_owned(), "an answer".to_owned())]);
    let home = Home::with_model(&model, "");
    let mut screen = Started::new(&home, &["run", "Go"]).start();
    screen.wait_for("Half");
    screen.keys("\x03");
    screen.wait_for("allm: interrupted");
    assert_eq!(screen.ended(), 130);
}
