//! MCP in the program: servers whose tools it offers, and its own tools for others. The server is the program itself, or
//! one that others wrote.

mod changing;
mod serving;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::Home;
use crate::support::model::{Model, Reply};
use crate::support::screen::Screen;

/// What the server serves: `say` changes nothing, `note` cannot be taken back.
const SERVED: &str = r#"
[[tools]]
name = "say"
description = "Says a text."
effect = "pure"
command = ["printf", "%s", "{text}"]
input = "none"
schema = { type = "object", required = ["text"], properties = { text = { type = "string" } } }

[[tools]]
name = "note"
description = "Writes a note."
command = ["sh", "-c", "echo \"$1\" >> notes; echo noted", "sh", "{text}"]
input = "none"
schema = { type = "object", required = ["text"], properties = { text = { type = "string" } } }

[[tools]]
name = "seat"
description = "Asks for a seat."
effect = "pure"
output = "reply"
command = ["cat", "seat.json"]

[[tools]]
name = "wait"
description = "A person does it."
manual = true
"#;

/// An entry for a server that is this program, with these words more.
fn entry(more: &str) -> String {
    let allm = env!("CARGO_BIN_EXE_allm");
    format!(
        "[mcp.servers.own]\ncommand = \"{allm}\"\nargs = [\"mcp\", \"serve\", \"--config\", \"served.toml\", \"--approvals\", \"client\"]\n{more}\n"
    )
}

fn home(model: &Model, more: &str) -> Home {
    let home = Home::with_model(model, &entry(more));
    home.write("served.toml", SERVED);
    let form = json!({
        "type": "object",
        "properties": {
            "hot": {"type": "boolean", "default": false},
            "row": {"type": "integer", "description": "which row"},
            "side": {"type": "string", "enum": ["window", "aisle"]}
        },
        "required": ["row", "side"]
    });
    let asks = json!({"ask_user": {"question": "Which seat?", "opts": {"schema": form}}});
    home.write("seat.json", &asks.to_string());
    home
}

fn notes(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("notes")).unwrap_or_default()
}

/// M170
#[test]
fn a_run_offers_and_calls_the_tools_of_a_server() {
    let model = Model::script([
        Reply::call("own_say", json!({"text": "hello"})),
        Reply::text("It said hello."),
    ]);
    let home = home(&model, "");
    let ended = home.allm(["run", "Go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("It said hello."), "{ended:?}");
    let asked = model.asked();
    let offered = asked[0]["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = offered
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["own_say", "own_note", "own_seat"]);
    let last = asked[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"], "hello");
    // Without tools no server is started, and nothing is offered.
    let model = Model::script([Reply::text("Nothing.")]);
    let home = home_of(&model, "command = \"/bin/false\"");
    assert_eq!(home.allm(["run", "Go", "--no-tools"]).code, Some(0));
}

fn home_of(model: &Model, entry: &str) -> Home {
    Home::with_model(model, &format!("[mcp.servers.own]\n{entry}\n"))
}

/// M173
#[test]
fn what_a_server_does_not_call_harmless_waits_for_a_person() {
    let model = Model::script([
        Reply::call("own_note", json!({"text": "milk"})),
        Reply::text("Noted."),
    ]);
    let home = home(&model, "");
    let ended = home.allm(["run", "Go"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(notes(&home), "");
    let model = Model::script([
        Reply::call("own_note", json!({"text": "milk"})),
        Reply::text("Noted."),
    ]);
    let home = self::home(&model, "approval = \"never\"");
    let ended = home.allm(["run", "Go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(notes(&home), "milk\n");
}

/// M173, in a terminal
#[test]
fn an_approval_by_annotation_is_asked_in_place() {
    let model = Model::script([
        Reply::call("own_note", json!({"text": "milk"})),
        Reply::text("Noted."),
    ]);
    let home = home(&model, "");
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    assert!(screen.text().contains("own_note wants to run:"));
    assert_eq!(notes(&home), "");
    screen.line("y");
    screen.wait_done("Noted.");
    assert_eq!(notes(&home), "milk\n");
}

/// M174
#[test]
fn a_question_of_a_server_is_asked_in_place() {
    let model = Model::script([Reply::call("own_seat", json!({})), Reply::text("Booked.")]);
    let home = home(&model, "");
    let mut screen = Screen::saying(&home, "go");
    screen.wait_for("own_seat asks: Which seat?");
    screen.wait_at("hot >");
    screen.line("");
    screen.wait_at("row >");
    screen.line("many");
    screen.wait_for("This is no integer.");
    screen.wait_at("row >");
    screen.line("12");
    screen.wait_at("side >");
    screen.line("2");
    screen.wait_done("Booked.");
    let asked = model.asked();
    let last = asked[1]["messages"].as_array().unwrap().last().unwrap();
    let told: Value = serde_json::from_str(last["content"].as_str().unwrap()).unwrap();
    assert_eq!(told, json!({"row": 12, "side": "aisle", "hot": false}));
}

/// M174
#[test]
fn a_question_of_a_server_can_be_declined() {
    let model = Model::script([Reply::call("own_seat", json!({})), Reply::text("Well.")]);
    let home = home(&model, "");
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("hot >");
    screen.line("/decline");
    screen.wait_done("Well.");
    let asked = model.asked();
    let last = asked[1]["messages"].as_array().unwrap().last().unwrap();
    let told = last["content"].as_str().unwrap();
    assert!(told.contains("declined to answer"), "{told}");
}

/// M171
#[test]
fn what_is_wrong_with_an_entry_is_told_with_its_place() {
    let model = Model::script([]);
    for (entry, place, what) in [
        (
            "args = [\"x\"]",
            "allm.toml:2:1:",
            "neither a `command` nor a `url`",
        ),
        (
            "command = \"no-such-program-here\"",
            "allm.toml:3:11:",
            "there is no program",
        ),
        (
            "command = \"sh\"\nurl = \"http://127.0.0.1:1\"",
            "allm.toml:4:7:",
            "not both",
        ),
        (
            "command = \"sh\"\nprefix = \"a b\"",
            "allm.toml:4:10:",
            "cannot begin the names",
        ),
        (
            "command = \"sh\"\ntimeout = \"soon\"",
            "allm.toml:4:11:",
            "no length of time",
        ),
        (
            "command = \"sh\"\ncurrent_dir = \"gone\"",
            "allm.toml:4:15:",
            "there is no folder",
        ),
        (
            "url = \"http://127.0.0.1:1\"\nbearer_env = \"NOPE\"",
            "allm.toml:4:14:",
            "NOPE is not set",
        ),
        ("command = 7", "allm.toml:3:11:", "invalid type"),
        ("comand = \"sh\"", "allm.toml:3:1:", "unknown field"),
    ] {
        let home = home_of(&model, entry);
        let ended = home.allm(["run", "Go"]);
        assert_eq!(ended.code, Some(2), "{entry}: {ended:?}");
        assert!(ended.stderr.contains(place), "{entry}: {}", ended.stderr);
        assert!(ended.stderr.contains(what), "{entry}: {}", ended.stderr);
    }
    assert_eq!(model.asked(), Vec::<Value>::new());
}

const BROKEN: &str = "command = \"sh\"\nargs = [\"-c\", \"echo the disk is full >&2; exit 7\"]";

/// M172
#[test]
fn a_server_that_does_not_start_ends_a_run_and_not_a_conversation() {
    let model = Model::script([Reply::text("Hello.")]);
    let home = home_of(&model, BROKEN);
    let ended = home.allm(["run", "Go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("MCP server `own`"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("the disk is full"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("try it by hand: sh -c"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("enabled = false"), "{}", ended.stderr);
    assert_eq!(model.asked(), Vec::<Value>::new());

    let mut screen = Screen::chat(&home, &[]);
    screen.wait_at(">");
    assert!(
        screen.text().contains("the disk is full"),
        "{}",
        screen.text()
    );
    screen.line("go");
    screen.wait_done("Hello.");

    let ended = home.allm(["doctor"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("MCP server own"), "{}", ended.stdout);
    let ended = home.allm(["mcp", "list"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stdout.contains("the disk is full"),
        "{}",
        ended.stdout
    );
}

/// M175
#[test]
fn a_configuration_that_names_a_server_is_trusted_first() {
    let model = Model::script([]);
    let home = Home::new();
    let text = format!(
        "model = \"scripted:any\"\n[providers.scripted]\nbase_url = \"{}\"\n[mcp.servers.x]\ncommand = \"touch\"\nargs = [\"ran\"]\n",
        model.url()
    );
    std::fs::write(home.path().join("allm.toml"), text).unwrap();
    for words in [
        &["run", "Go"][..],
        &["mcp", "list"],
        &["mcp", "serve"],
        &["doctor"],
    ] {
        let ended = home.allm(words);
        let told = ended.stderr + &ended.stdout;
        assert!(told.contains("MCP server \"x\""), "{words:?}: {told}");
        assert!(told.contains(": touch ran"), "{words:?}: {told}");
    }
    assert!(!home.path().join("ran").exists());
}

/// M176
#[test]
fn servers_and_tools_are_listed_and_called_by_hand() {
    let model = Model::script([]);
    let home = home(&model, "");
    let ended = home.allm(["mcp", "list"]);
    assert_eq!(ended.stdout, "own  works, 3 tools\n", "{ended:?}");
    let ended = home.allm(["mcp", "tools"]);
    assert_eq!(
        ended.stdout,
        "own_say  (pure, without approval)\n    Says a text.\n\
         own_note  (at_most_once, after approval)\n    Writes a note.\n\
         own_seat  (pure, without approval)\n    Asks for a seat.\n"
    );
    let ended = home.allm(["mcp", "tools", "own", "--json"]);
    let first: Value = serde_json::from_str(ended.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["name"], "own_say");
    assert_eq!(first["schema"]["required"], json!(["text"]));
    let ended = home.allm(["mcp", "tools", "other"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("there are own"), "{}", ended.stderr);

    let ended = home.allm(["mcp", "call", "own_say", r#"{"text": "hi"}"#]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "hi\n"));
    let ended = home.allm(["mcp", "call", "own_note", r#"{"text": "milk"}"#]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(notes(&home), "");
    let ended = home.allm(["mcp", "call", "own_note", r#"{"text": "milk"}"#, "--yes"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "noted\n"));
    assert_eq!(notes(&home), "milk\n");
    let ended = home.allm(["mcp", "call", "own_seat"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("Which seat?"), "{}", ended.stderr);
    let ended = home.allm(["mcp", "call", "own_say", r#"{"text": 7}"#]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for (words, what) in [
        (
            &["mcp", "call", "nope"][..],
            "no server that works has a tool `nope`",
        ),
        (&["mcp", "call", "own_say", "{"], "no JSON"),
        (&["mcp", "call", "own_say", "[]"], "no JSON object"),
    ] {
        let ended = home.allm(words);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(what), "{}", ended.stderr);
    }
}

/// A server that others wrote, if it is installed.
fn installed(name: &str) -> Option<PathBuf> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp/node/node_modules/.bin");
    let path = folder.join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    let required = std::env::var("ALLM_MCP").is_ok_and(|value| value == "required");
    assert!(!required, "{name} is not there: run scripts/setup-mcp");
    #[expect(
        clippy::print_stderr,
        reason = "that is where a test says that it is skipped"
    )]
    {
        eprintln!("SKIPPED: {name} is not there; scripts/setup-mcp installs it");
    }
    None
}

/// M170, M173: the files of a folder, by a server that others wrote.
#[test]
fn a_conversation_with_a_server_that_others_wrote() {
    let Some(program) = installed("mcp-server-filesystem") else {
        return;
    };
    let model = Model::script([]);
    let home = Home::new();
    let folder = home.path().canonicalize().unwrap();
    let poem = folder.join("poem.txt");
    let script = Model::script([
        Reply::call("fs_read_text_file", json!({"path": poem})),
        Reply::call(
            "fs_write_file",
            json!({"path": folder.join("new.txt"), "content": "x"}),
        ),
        Reply::text("Both done."),
    ]);
    drop(model);
    home.write("poem.txt", "roses are red");
    let config = format!(
        "model = \"scripted:any\"\n[providers.scripted]\nbase_url = \"{}\"\n[mcp.servers.fs]\ncommand = {:?}\nargs = [{folder:?}]\n",
        script.url(),
        program
    );
    home.write("allm.toml", &config);
    let mut screen = Screen::saying(&home, "go");
    screen.wait_at("approve >");
    assert!(
        screen.text().contains("fs_write_file wants to run:"),
        "{}",
        screen.text()
    );
    assert!(!folder.join("new.txt").exists());
    screen.line("y");
    screen.wait_done("Both done.");
    assert_eq!(
        std::fs::read_to_string(folder.join("new.txt")).unwrap(),
        "x"
    );
    let asked = script.asked();
    let read = asked[1]["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert!(
        read["content"].as_str().unwrap().contains("roses are red"),
        "{read}"
    );
}
