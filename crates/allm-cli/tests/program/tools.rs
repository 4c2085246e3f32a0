//! Tools: declared commands and built-in ones, called by a model.

use serde_json::{Value, json};

use crate::support::Home;
use crate::support::home::run;
use crate::support::model::{Model, Reply};
use crate::support::pages::Pages;

/// What a call of a tool comes to: its result, and whether that is an error.
fn result(home: &Home, model: &Model, arguments: &[&str]) -> (String, bool) {
    let mut all = vec!["run", "Go", "--json"];
    all.extend(arguments);
    let ended = home.allm(all);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ended.stdout
    );
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let calls = told["tool_calls"].as_array().unwrap();
    assert_eq!((calls.len(), model.asked().len()), (1, 2));
    let text = calls[0]["result"].as_str().unwrap().to_owned();
    // What the model was told is what is told here.
    let messages = model.asked()[1]["messages"].as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["content"], json!(text));
    match calls[0]["is_error"].as_bool().unwrap() {
        false => (text, false),
        true => {
            let error: Value = serde_json::from_str(&text).unwrap();
            (error["error"]["message"].as_str().unwrap().to_owned(), true)
        }
    }
}

fn calling(tool: &str, arguments: Value) -> Model {
    Model::script([Reply::call(tool, arguments), Reply::text("Done.")])
}

/// A tool of the configuration, called with these arguments.
fn declared(lines: &str, arguments: Value) -> (String, bool) {
    let model = calling("t", arguments);
    let tool =
        format!("[[tools]]\nname = \"t\"\ndescription = \"d\"\neffect = \"pure\"\n{lines}\n");
    let home = Home::with_model(&model, &tool);
    home.write("sub/note.txt", "hello\n");
    result(&home, &model, &[])
}

const ANY: &str = "schema = { type = \"object\", properties = { a = {}, b = {} } }";

#[test]
fn words_come_from_the_arguments_and_stay_whole() {
    let command = format!(
        "command = [\"printf\", \"<%s>\", \"x\", \"--a={{a}}\", \"{{b}}\", \"{{{{}}}}\"]\n{ANY}"
    );
    let a = "1 2; $(id) `id` 'q' \"r\" *\n{b}";
    assert_eq!(
        declared(&command, json!({"a": a, "b": [1, {"c": null}]})),
        (format!("<x><--a={a}><[1,{{\"c\":null}}]><{{}}>"), false)
    );
    // A word whose argument is absent is left out.
    assert_eq!(
        declared(&command, json!({"b": 7})),
        ("<x><7><{}>".to_owned(), false)
    );
    assert_eq!(
        declared(&command, json!({"b": "-n"})),
        ("the argument `b` must not begin with `-`".to_owned(), true)
    );
}

#[test]
fn what_a_command_prints_and_how_it_ends() {
    let sh = |script: &str| {
        declared(
            &format!("command = [\"sh\", \"-c\", '''{script}''']"),
            json!({}),
        )
    };
    assert_eq!(sh("printf 'a\\nb\\n\\n'"), ("a\nb".to_owned(), false));
    assert_eq!(
        sh("echo out; echo why >&2; exit 3"),
        ("it ended with status 3: why".to_owned(), true)
    );
    let (told, is_error) = sh("kill -9 $$");
    assert!(is_error);
    assert_eq!(told, "the tool `t` ended without a reply");
}

#[test]
fn what_a_command_is_told() {
    let (told, is_error) = declared(&format!("command = [\"cat\"]\n{ANY}"), json!({"a": 1}));
    assert!(!is_error);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["name"], "t");
    assert_eq!(told["arguments"], json!({"a": 1}));
    let nothing = declared(
        &format!("command = [\"cat\"]\ninput = \"none\"\n{ANY}"),
        json!({"a": 1}),
    );
    assert_eq!(nothing, (String::new(), false));
    let reply = "command = [\"echo\", '{{\"ok\": {{\"n\": 1}}}}']\noutput = \"reply\"";
    assert_eq!(declared(reply, json!({})), ("{\"n\":1}".to_owned(), false));
}

/// A command sees what it needs, and no keys.
#[test]
fn the_environment_of_a_command() {
    let model = calling("t", json!({}));
    let tool = "[[tools]]\nname = \"t\"\ndescription = \"d\"\neffect = \"pure\"\ncommand = [\"env\"]\nenv = { OWN = \"1\", HOME = \"/nowhere\" }\npass_env = [\"PASSED\", \"NOT_SET\"]\ncurrent_dir = \"sub\"\n";
    let home = Home::with_model(&model, tool);
    home.write("sub/x", "");
    let mut command = home.command(["run", "Go", "--json"]);
    command
        .env("OPENAI_API_KEY", "sk-secret")
        .env("PASSED", "2")
        .env("LANG", "C");
    let ended = run(&mut command);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let text = told["tool_calls"][0]["result"].as_str().unwrap();
    let mut names: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("PATH="))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME=/nowhere", "LANG=C", "OWN=1", "PASSED=2"]);
}

#[test]
fn a_command_that_takes_too_long() {
    let (told, is_error) = declared(
        "command = [\"sleep\", \"1000\"]\ntimeout = \"50ms\"",
        json!({}),
    );
    assert!(is_error);
    assert_eq!(told, "the tool `t` did not finish in time");
}

#[test]
fn a_folder_of_tools() {
    let model = calling("two", json!({}));
    let home = Home::with_model(&model, "");
    home.write(
        "tools/a.toml",
        "name = \"one\"\ndescription = \"d\"\ncommand = [\"echo\", \"1\"]\n",
    );
    home.write(
        "tools/b.toml",
        "[[tools]]\nname = \"two\"\ndescription = \"d\"\ncommand = [\"../say.sh\"]\neffect = \"idempotent\"\ncurrent_dir = \"..\"\n",
    );
    let script = home.write("say.sh", "#!/bin/sh\npwd\n");
    std::process::Command::new("chmod")
        .arg("+x")
        .arg(&script)
        .status()
        .unwrap();
    home.write("tools/notes.txt", "not a tool");
    let here = home.path().canonicalize().unwrap().display().to_string();
    assert_eq!(result(&home, &model, &["--tools", "tools"]), (here, false));
    let offered = model.asked()[0]["tools"].as_array().unwrap().len();
    assert_eq!(offered, 2);
    let none = Model::script([Reply::text("Hi.")]);
    let home = Home::with_model(&none, "builtin = { date = true }");
    assert_eq!(home.allm(["run", "Hi", "--no-tools"]).stdout, "Hi.\n");
    assert_eq!(none.asked()[0].get("tools"), None);
}

fn built_in(config: &str, tool: &str, arguments: Value, more: &[&str]) -> (String, bool) {
    let model = calling(tool, arguments);
    let home = Home::with_model(&model, config);
    prepare(&home);
    result(&home, &model, more)
}

/// Files to look at: inside, outside, and links between them.
fn prepare(home: &Home) {
    home.write("in/a.txt", "one\ntwo\nthree\n");
    home.write("in/deep/b.txt", "b");
    home.write("out/secret.txt", "secret");
    std::fs::write(home.path().join("in/binary"), b"\x00\x01").unwrap();
    std::fs::write(home.path().join("in/latin"), b"caf\xe9").unwrap();
    std::os::unix::fs::symlink("../out/secret.txt", home.path().join("in/leak")).unwrap();
    std::os::unix::fs::symlink("a.txt", home.path().join("in/alias")).unwrap();
    let pipe = home.path().join("in/pipe");
    std::process::Command::new("mkfifo")
        .arg(pipe)
        .status()
        .unwrap();
}

#[test]
fn read_file_reads_below_its_roots_and_nowhere_else() {
    let config = "builtin = { read_file = { roots = [\"in\"], max_bytes = 20 } }";
    let read = |arguments| built_in(config, "read_file", arguments, &[]);
    let good = |text: &str| (text.to_owned(), false);
    let bad = |text: &str| (text.to_owned(), true);
    assert_eq!(read(json!({"path": "a.txt"})), good("one\ntwo\nthree\n"));
    assert_eq!(
        read(json!({"path": "deep/../alias"})),
        good("one\ntwo\nthree\n")
    );
    assert_eq!(
        read(json!({"path": "a.txt", "first_line": 2, "last_line": 2})),
        good("two\n")
    );
    assert_eq!(
        read(json!({"path": "a.txt", "first_line": 3})),
        good("three\n")
    );
    assert_eq!(
        read(json!({"path": "a.txt", "first_line": 4})),
        bad("`a.txt` has only 3 lines")
    );
    assert_eq!(
        read(json!({"path": "a.txt", "first_line": 3, "last_line": 2})),
        bad("line 2 comes before line 3")
    );
    assert_eq!(
        read(json!({"path": "none.txt"})),
        bad("`none.txt` is not there")
    );
    assert_eq!(read(json!({"path": "deep"})), bad("`deep` is a folder"));
    assert_eq!(
        read(json!({"path": "pipe"})),
        bad("`pipe` is no ordinary file")
    );
    assert_eq!(read(json!({"path": "binary"})), bad("`binary` is not text"));
    assert_eq!(read(json!({"path": "latin"})), bad("`latin` is not text"));
    for path in [
        "leak",
        "../out/secret.txt",
        "../out/no-such-file",
        "/etc/passwd",
        "deep/../../out/secret.txt",
    ] {
        let (told, is_error) = read(json!({"path": path}));
        assert!(
            is_error
                && told.starts_with(&format!(
                    "`{path}` is not below a folder that may be looked at: "
                )),
            "{told}"
        );
    }
    let small = "builtin = { read_file = { roots = [\"in\"], max_bytes = 8 } }";
    let read = |arguments| built_in(small, "read_file", arguments, &[]);
    assert_eq!(
        read(json!({"path": "a.txt"})),
        bad("`a.txt` has 14 bytes, and 8 may be read at once: ask for a range of lines")
    );
    assert_eq!(
        read(json!({"path": "a.txt", "last_line": 2})),
        good("one\ntwo\n")
    );
    assert_eq!(
        read(json!({"path": "a.txt", "last_line": 3})),
        bad(
            "lines 1 to 3 have more than the 8 bytes that may be read at once: ask for fewer lines"
        )
    );
}

#[test]
fn list_directory_lists() {
    let config = "builtin = { list_directory = { roots = [\"in\"], max_entries = 6 } }";
    let list = |arguments| built_in(config, "list_directory", arguments, &[]);
    assert_eq!(
        list(json!({})),
        (
            "a.txt  14 bytes\nalias -> a.txt\nbinary  2 bytes\ndeep/\nlatin  4 bytes\nleak -> ../out/secret.txt\n… and 1 more".to_owned(),
            false
        )
    );
    assert_eq!(
        list(json!({"path": "deep"})),
        ("b.txt  1 bytes".to_owned(), false)
    );
    assert_eq!(
        list(json!({"path": "a.txt"})),
        ("`a.txt` is no folder".to_owned(), true)
    );
    let (told, is_error) = list(json!({"path": ".."}));
    assert!(is_error && told.starts_with("`..` is not below"), "{told}");
}

#[test]
fn the_small_ones() {
    assert_eq!(
        built_in(
            "",
            "calculator",
            json!({"expression": "2^64 - 1"}),
            &["--with", "calculator"]
        ),
        ("18446744073709551615".to_owned(), false)
    );
    assert_eq!(
        built_in(
            "builtin = { calculator = {} }",
            "calculator",
            json!({"expression": "1 +"}),
            &[]
        ),
        ("column 4: a number is missing".to_owned(), true)
    );
    let (told, is_error) = built_in("", "date", json!({"zone": "UTC"}), &["--with", "date"]);
    assert!(!is_error && told.contains(" +00:00, UTC, week "), "{told}");
}

#[test]
fn a_shell_runs_what_a_person_agreed_to() {
    let shell = |command: &str| {
        built_in(
            "",
            "shell",
            json!({"command": command}),
            &["--with", "shell", "--yes"],
        )
    };
    assert_eq!(shell("echo a; echo b >&2"), ("a\nb".to_owned(), false));
    assert_eq!(
        shell("echo a; exit 4"),
        ("it ended with status 4: a".to_owned(), true)
    );
    let slow = "builtin = { shell = { timeout = \"50ms\" } }";
    let (told, is_error) = built_in(slow, "shell", json!({"command": "sleep 1000"}), &["--yes"]);
    assert!(is_error);
    assert_eq!(
        told,
        "the tool `shell` did not finish in time; it may have taken effect"
    );
}

#[test]
fn http_get_fetches_from_hosts_that_are_allowed() {
    let pages = Pages::new();
    let host = pages.host();
    let other = Pages::new();
    let config = format!(
        "builtin = {{ http_get = {{ allow = [\"{host}\", \"*.example.org\"], max_bytes = 100, timeout = \"5s\" }} }}"
    );
    let get = |url: String| built_in(&config, "http_get", json!({"url": url}), &[]);
    let at = |path: &str| get(format!("http://{host}{path}"));
    let bad = |text: String| (text, true);
    assert_eq!(at("/hello"), ("hello\n".to_owned(), false));
    assert_eq!(at("/hello#part"), ("hello\n".to_owned(), false));
    assert_eq!(at("/moved"), ("hello\n".to_owned(), false));
    assert_eq!(
        at("/none"),
        bad("the server answered 404 Not Found: nothing here".to_owned())
    );
    assert_eq!(
        at("/long"),
        bad("the page has more than the 100 bytes that may be read".to_owned())
    );
    assert_eq!(
        at("/binary"),
        bad("the page is not text in UTF-8: image/png".to_owned())
    );
    assert_eq!(
        at("/round"),
        bad("the page has moved more than 5 times".to_owned())
    );
    let refused = |host: &str| {
        bad(format!(
            "`{host}` is not allowed; allowed: {}, *.example.org",
            pages.host()
        ))
    };
    assert_eq!(
        at(&format!("/away?{}", other.host())),
        refused(&other.host())
    );
    assert_eq!(
        get(format!("http://{}/hello", other.host())),
        refused(&other.host())
    );
    assert_eq!(get("http://127.0.0.1/".to_owned()), refused("127.0.0.1"));
    assert_eq!(other.asked(), Vec::<String>::new());
    assert_eq!(
        get("file:///etc/passwd".to_owned()),
        bad("`file:///etc/passwd` does not begin with https:// or http://".to_owned())
    );
    assert_eq!(
        get(format!("http://user:pass@{host}/hello")),
        bad("a URL with a name and a password in it is not asked for".to_owned())
    );
}

/// Without a list a person agrees to each call, and then only to what is public.
#[test]
fn http_get_without_a_list() {
    let pages = Pages::new();
    let url = format!("http://{}/hello", pages.host());
    let (told, is_error) = built_in(
        "",
        "http_get",
        json!({"url": url}),
        &["--with", "http_get", "--yes"],
    );
    assert!(is_error);
    assert_eq!(
        told,
        "`127.0.0.1` is not on the public network; it must be allowed by its name"
    );
    let port = pages.host().split_once(':').unwrap().1.to_owned();
    let url = format!("http://localhost:{port}/hello");
    let (told, is_error) = built_in(
        "",
        "http_get",
        json!({"url": url}),
        &["--with", "http_get", "--yes"],
    );
    assert!(is_error);
    assert_eq!(
        told,
        "`localhost` cannot be reached: `localhost` is not on the public network; it must be allowed by its name"
    );
    assert_eq!(pages.asked(), Vec::<String>::new());
    let model = calling("http_get", json!({"url": "https://example.com/"}));
    let home = Home::with_model(&model, "");
    assert_eq!(home.allm(["run", "Go", "--with", "http_get"]).code, Some(3));
}

/// The reference of the configuration is one that works, and it has every key.
#[test]
fn the_example_can_be_used() {
    let example = include_str!("../../allm.example.toml");
    let model = calling("count_words", json!({"file": "poem.txt"}));
    let office = "base_url = \"http://127.0.0.1:9000/v1\"";
    let asked = "model = \"anthropic:claude-sonnet-4-5\"";
    assert!(example.contains(office) && example.contains(asked));
    let config = example
        .replace(office, &format!("base_url = \"{}\"", model.url()))
        .replace(asked, "model = \"office:any\"");
    let home = Home::new();
    home.write("allm.toml", &config);
    home.write("poem.txt", "one two three");
    assert_eq!(result(&home, &model, &[]), ("3 poem.txt".to_owned(), false));
    let request = &model.asked()[0];
    assert_eq!(request["messages"][0]["content"], "Answer in one sentence.");
    assert_eq!(request["max_tokens"], 2000);
    let offered = request["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = offered
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    let expected = [
        "read_file",
        "list_directory",
        "http_get",
        "shell",
        "date",
        "calculator",
        "count_words",
        "keep_note",
        "deploy",
    ];
    assert_eq!(names, expected);
    for key in [
        "kind",
        "base_url",
        "key_env",
        "headers",
        "default_model",
        "schema_file",
        "manual",
        "effect",
        "approval",
        "timeout",
        "env",
        "pass_env",
        "current_dir",
        "output",
        "input",
        "roots",
        "max_bytes",
        "max_entries",
        "allow",
        "store",
        "max_turns",
        "temperature",
        "enabled",
        "command",
        "args",
        "url",
        "bearer_env",
        "prefix",
        "only",
        "without",
        "start_timeout",
    ] {
        assert!(example.contains(&format!("{key} = ")), "{key}");
    }
}
