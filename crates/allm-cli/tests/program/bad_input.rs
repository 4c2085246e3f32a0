//! Bad input to every command: what is said, how the program ends, and that nothing is half-written.

use serde_json::{Value, json};

use crate::support::home::Ended;
use crate::support::model::{Model, Reply};
use crate::support::stored::{Stored, waits_for_approval};
use crate::support::{Home, ended};

const PAY: &str = "[[tools]]\nname = \"pay\"\ndescription = \"Pays.\"\ncommand = [\"true\"]\n";

/// It ended so, said nothing else, and left no trace.
fn refused(home: &Home, command: &[&str], code: i32, told: &str) {
    let before = home.files();
    let ended = home.allm(command);
    let expected = Ended {
        code: Some(code),
        stdout: String::new(),
        stderr: told.to_owned(),
    };
    assert_eq!(ended, expected, "{command:?}");
    assert_eq!(home.files(), before, "{command:?}");
}

#[test]
fn an_unknown_model() {
    let model = Model::script([]);
    let home = Home::with_model(&model, PAY);
    let told = "allm: there is no provider `nobody` for the model `nobody:x`\n  there are anthropic, cerebras, deepseek, fireworks, gemini, groq, llamacpp, lmstudio, local, mistral, ollama, openai, openrouter, scripted, together, vllm, xai; or describe it: [providers.nobody] with base_url in allm.toml\n";
    for command in [
        &["run", "-m", "nobody:x", "Hi"][..],
        &["run", "-m", "nobody:x", "--session", "s", "Hi"],
        &["run", "-m", "nobody:x", "--json", "Hi"],
        &["chat", "-m", "nobody:x"],
        &["chat", "-m", "nobody:x", "Hi"],
    ] {
        refused(&home, command, 2, told);
    }
    // A session that is there stays as it is.
    waits_for_approval(&Stored::new(&home), "waits");
    let shown = || home.allm(["sessions", "show", "waits", "--format", "json"]);
    let before = shown();
    for command in [
        &["sessions", "approve", "waits", "--resume", "-m", "nobody:x"][..],
        &["sessions", "deny", "waits", "--resume", "-m", "nobody:x"],
        &["chat", "--resume", "waits", "-m", "nobody:x"],
    ] {
        let ended = home.allm(command);
        assert_eq!(
            (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
            (Some(2), "", told)
        );
        assert_eq!(shown(), before, "{command:?}");
    }
    assert!(model.asked().is_empty());
}

#[test]
fn a_missing_file() {
    let model = Model::script([]);
    let home = Home::with_model(&model, PAY);
    for (command, told) in [
        (
            &["run", "--session", "s", "-a", "none.txt", "Hi"][..],
            "allm: the file none.txt is not there\n  name a file with -a\n",
        ),
        (
            &["run", "--session", "s", "--schema", "none.json", "Hi"],
            "allm: the schema none.json is not there\n  name a file with a JSON Schema\n",
        ),
        (
            &["run", "--session", "s", "--tools", "none", "Hi"],
            "allm: the tools in none cannot be read: No such file or directory (os error 2)\n  name a folder with --tools\n",
        ),
        (
            &["chat", "--tools", "none", "Hi"],
            "allm: the tools in none cannot be read: No such file or directory (os error 2)\n  name a folder with --tools\n",
        ),
        (
            &["chat", "--config", "none.toml", "Hi"],
            "allm: the configuration none.toml is not there\n  name a file with --config, or leave it out\n",
        ),
        (
            &["sessions", "import", "none.json"],
            "allm: none.json is not there\n  name a file that `allm sessions export` has written\n",
        ),
    ] {
        refused(&home, command, 2, told);
    }
    assert!(model.asked().is_empty());
}

#[test]
fn a_broken_configuration() {
    let home = Home::new();
    home.write("allm.toml", "model = \"a:b\"\n\nsystem = hello\n");
    home.write("session.json", "{}");
    let told = "allm: allm.toml:3:10: string values must be quoted, expected literal string\n  3 | system = hello\n    |          ^^^^^\n";
    for command in [
        &["run", "Hi"][..],
        &["run", "--trust", "Hi"],
        &["chat"],
        &["chat", "Hi"],
        &["sessions", "list"],
        &["sessions", "show"],
        &["sessions", "answer", "s", "yes"],
        &["sessions", "approve", "s"],
        &["sessions", "deny", "s"],
        &["sessions", "resume", "s"],
        &["sessions", "export", "s"],
        &["sessions", "delete", "s"],
        &["replay", "s"],
        &["models"],
    ] {
        refused(&home, command, 2, told);
    }
    let before = home.files();
    let doctor = home.allm(["doctor"]);
    assert_eq!(doctor.code, Some(1));
    assert!(
        doctor
            .stdout
            .starts_with("missing  configuration  allm.toml:3:10: "),
        "{}",
        doctor.stdout
    );
    assert_eq!(home.files(), before);
}

#[test]
fn a_wrong_schema() {
    let model = Model::script([]);
    let home = Home::with_model(&model, PAY);
    home.write("wrong.json", "{\"type\": \"objekt\"}");
    home.write(
        "tools/bad.toml",
        "name = \"t\"\ndescription = \"d\"\ncommand = [\"true\"]\nschema = { type = \"objekt\" }\n",
    );
    refused(
        &home,
        &["run", "--session", "s", "--schema", "wrong.json", "Hi"],
        2,
        "allm: the schema wrong.json is wrong at #/type: must be one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"\n",
    );
    let told = "allm: tools/bad.toml:4:10: the schema is wrong: #/type: must be a type or a list of different types\n  4 | schema = { type = \"objekt\" }\n    |          ^^^^^^^^^^^^^^^^^^^\n";
    refused(
        &home,
        &["run", "--session", "s", "--tools", "tools", "Hi"],
        2,
        told,
    );
    refused(&home, &["chat", "--tools", "tools", "Hi"], 2, told);
    assert!(model.asked().is_empty());
}

/// Another program holds the file: nothing is asked before it is known that the answer can be kept.
#[test]
fn a_locked_database() {
    let model = Model::script([]);
    let home = Home::with_model(&model, PAY);
    let stored = Stored::new(&home);
    waits_for_approval(&stored, "waits");
    let locked = stored.locked();
    for command in [
        &["run", "--session", "s", "Hi"][..],
        // It could have to wait for a person, and then would have to be kept.
        &["run", "Hi"],
        &["chat", "Hi"],
    ] {
        let ended = home.allm(command);
        let expected = Ended {
            code: Some(1),
            stdout: String::new(),
            stderr: "allm: the database of sessions does not answer: another program holds it\n  close the program that holds the file, and do it again\n".to_owned(),
        };
        assert_eq!(ended, expected, "{command:?}");
    }
    assert!(model.asked().is_empty());
    drop(locked);
    let listed = home.allm(["sessions", "list", "--json"]).stdout;
    let lines: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (&lines[0]["id"], &lines[0]["status"]),
        (&json!("waits"), &json!("awaiting_approval"))
    );
}

/// Another program takes the file while the model answers, and does not let go.
#[test]
fn a_database_that_is_locked_in_the_middle() {
    let model = Model::script([
        Reply::Held("Half ".to_owned(), "an answer.".to_owned()),
        Reply::text("The whole answer."),
    ]);
    let home = Home::with_model(&model, "");
    let run = home.spawned(&["run", "--session", "s", "Hi"]);
    model.wait_until_held();
    let stored = Stored::new(&home);
    let locked = stored.locked();
    model.release();
    let ended = ended(run);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.stderr,
        "allm: the database of sessions does not answer: another program holds it\n  close the program that holds the file, and do it again\n"
    );
    drop(locked);
    // The answer was never kept, so that it is asked for again; the question was.
    let resumed = home.allm(["sessions", "resume", "s"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "The whole answer.\n"),
        "{}",
        resumed.stderr
    );
    assert_eq!(
        model.asked()[1]["messages"],
        json!([{"role": "user", "content": "Hi"}])
    );
}
