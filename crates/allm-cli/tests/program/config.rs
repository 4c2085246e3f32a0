//! Mistakes in `allm.toml`: what is said, where, and how the program ends.

use crate::support::{Home, home::Ended};

fn mistake(toml: &str) -> String {
    let home = Home::new();
    home.write("allm.toml", toml);
    home.write("bad.json", "{\"type\": ");
    told(home.allm(["run", "Hi"]))
}

fn told(ended: Ended) -> String {
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(2), ""),
        "{ended:?}"
    );
    ended.stderr
}

/// A tool with this command and these lines besides.
fn tool(command: &str, more: &str) -> String {
    format!("[[tools]]\nname = \"t\"\ndescription = \"d\"\ncommand = {command}\n{more}\n")
}

#[test]
fn what_is_no_toml() {
    assert_eq!(
        mistake("model = \"a:b\"\nsystem = hello\n"),
        "allm: allm.toml:2:10: string values must be quoted, expected literal string\n  2 | system = hello\n    |          ^^^^^\n"
    );
}

#[test]
fn a_key_that_is_not_known() {
    let told = mistake("# é\nmodle = \"a:b\"\n");
    assert_eq!(
        told,
        "allm: allm.toml:2:1: unknown field `modle`, expected one of `model`, `system`, `max_turns`, `max_tokens`, `temperature`, `store`, `providers`, `tools`, `builtin`, `mcp`\n  2 | modle = \"a:b\"\n    | ^^^^^\n"
    );
    let told = mistake(&tool("[\"true\"]", "\tefect = \"pure\""));
    assert_eq!(
        told.lines().next(),
        Some(
            "allm: allm.toml:5:2: unknown field `efect`, expected one of `name`, `description`, `schema`, `schema_file`, `command`, `manual`, `effect`, `approval`, `timeout`, `env`, `pass_env`, `current_dir`, `output`, `input`, `progress`"
        )
    );
    let told = mistake("[builtin]\nread_file = { root = [\".\"] }\n");
    assert_eq!(
        told,
        "allm: allm.toml:2:15: unknown field `root`, expected `roots` or `max_bytes`\n  2 | read_file = { root = [\".\"] }\n    |               ^^^^\n"
    );
}

#[test]
fn a_value_that_is_none() {
    for (toml, expected) in [
        (
            "max_turns = -1\n".to_owned(),
            "allm: allm.toml:1:13: invalid value: integer `-1`, expected u32\n  1 | max_turns = -1\n    |             ^^\n",
        ),
        (
            tool("[\"true\"]", "effect = \"harmless\""),
            "allm: allm.toml:5:10: unknown variant `harmless`, expected one of `pure`, `idempotent`, `at_most_once`\n  5 | effect = \"harmless\"\n    |          ^^^^^^^^^^\n",
        ),
        (
            tool("[\"true\"]", "timeout = \"soon\""),
            "allm: allm.toml:5:11: `soon` is no length of time\n  5 | timeout = \"soon\"\n    |           ^^^^^^\n  write it as \"10s\", \"1m 30s\" or \"250ms\"\n",
        ),
        (
            tool("[\"true\"]", "timeout = \"-3s\""),
            "allm: allm.toml:5:11: `-3s` is no length of time\n  5 | timeout = \"-3s\"\n    |           ^^^^^\n  write it as \"10s\", \"1m 30s\" or \"250ms\"\n",
        ),
        (
            "[builtin]\nshell = { approval = \"never\" }\n".to_owned(),
            "allm: allm.toml:2:22: unknown variant `never`, expected `always`\n  2 | shell = { approval = \"never\" }\n    |                      ^^^^^^^\n",
        ),
        (
            "[builtin]\nhttp_get = { allow = [\"https://a.com\"] }\n".to_owned(),
            "allm: allm.toml:2:23: `https://a.com` is no host\n  2 | http_get = { allow = [\"https://a.com\"] }\n    |                       ^^^^^^^^^^^^^^^\n  write it as \"api.example.com\", \"*.example.org\" or \"localhost:8080\"\n",
        ),
        (
            "[builtin]\ndate = 7\n".to_owned(),
            "allm: allm.toml:2:8: invalid type: integer `7`, expected true, false or a table of settings\n  2 | date = 7\n    |        ^\n",
        ),
    ] {
        assert_eq!(mistake(&toml), expected, "{toml}");
    }
}

#[test]
fn a_command_that_cannot_be() {
    let schema = "schema = { type = \"object\", properties = { a = { type = \"string\" } } }";
    for (toml, expected) in [
        (
            tool("[\"no-such-program-anywhere\"]", ""),
            "allm: allm.toml:4:12: there is no program `no-such-program-anywhere` on PATH\n  4 | command = [\"no-such-program-anywhere\"]\n    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^\n  install it, or name it by its whole path\n",
        ),
        (
            tool("[\"./bad.json\"]", ""),
            "allm: allm.toml:4:12: ./bad.json is no program that can be run\n  4 | command = [\"./bad.json\"]\n    |            ^^^^^^^^^^^^\n  install it, or name it by its whole path\n",
        ),
        (
            tool("[]", ""),
            "allm: allm.toml:4:11: the command is empty; it begins with the program\n  4 | command = []\n    |           ^^\n",
        ),
        (
            tool("[\"true\"]", "manual = true"),
            "allm: allm.toml:4:11: a manual tool has no command: a person gives its results\n  4 | command = [\"true\"]\n    |           ^^^^^^^^\n  leave out `command`, or `manual`\n",
        ),
        (
            tool("[\"{a}\"]", schema),
            "allm: allm.toml:4:12: the program itself cannot come from an argument\n  4 | command = [\"{a}\"]\n    |            ^^^^^\n",
        ),
        (
            tool("[\"echo\", \"{a}\", \"{b}\"]", schema),
            "allm: allm.toml:4:27: `{b}` is no property of the schema\n  4 | command = [\"echo\", \"{a}\", \"{b}\"]\n    |                           ^^^^^\n  add it to the schema's properties, or write `{{` for a brace\n",
        ),
        (
            tool("[\"echo\", \"{a\"]", schema),
            "allm: allm.toml:4:20: a `{` is not closed; write `{{` for a brace\n  4 | command = [\"echo\", \"{a\"]\n    |                    ^^^^\n",
        ),
        (
            tool("[\"true\"]", "current_dir = \"nowhere\""),
            "allm: allm.toml:5:15: there is no folder nowhere\n  5 | current_dir = \"nowhere\"\n    |               ^^^^^^^^^\n",
        ),
        (
            tool("[\"true\"]", "schema = { type = 7 }"),
            "allm: allm.toml:5:10: the schema is wrong: #/type: must be a type or a list of different types\n  5 | schema = { type = 7 }\n    |          ^^^^^^^^^^^^\n",
        ),
        (
            tool("[\"true\"]", "schema_file = \"bad.json\""),
            "allm: allm.toml:5:15: bad.json is no JSON: EOF while parsing a value at line 1 column 9\n  5 | schema_file = \"bad.json\"\n    |               ^^^^^^^^^^\n",
        ),
        (
            tool("[\"true\"]", "schema_file = \"none.json\""),
            "allm: allm.toml:5:15: none.json cannot be read: No such file or directory (os error 2)\n  5 | schema_file = \"none.json\"\n    |               ^^^^^^^^^^^\n",
        ),
        (
            tool("[\"true\"]", "schema = {}\nschema_file = \"bad.json\""),
            "allm: allm.toml:6:15: there is a `schema` already; leave one of the two out\n  6 | schema_file = \"bad.json\"\n    |               ^^^^^^^^^^\n",
        ),
    ] {
        assert_eq!(mistake(&toml), expected, "{toml}");
    }
}

#[test]
fn names_that_cannot_be() {
    let twice = format!("{}{}", tool("[\"true\"]", ""), tool("[\"false\"]", ""));
    assert_eq!(
        mistake(&twice),
        "allm: allm.toml:7:8: there is another tool `t`: allm.toml:2:8\n  give one of them another name\n"
    );
    let built_in = tool("[\"true\"]", "[builtin]\ndate = true").replace("\"t\"", "\"date\"");
    assert_eq!(
        mistake(&built_in),
        "allm: allm.toml:2:8: there is another tool `date`: it is built in\n  give one of them another name\n"
    );
    let spaced = tool("[\"true\"]", "").replace("\"t\"", "\"my tool\"");
    assert_eq!(
        mistake(&spaced),
        "allm: allm.toml:2:8: a name is 1 to 64 of A-Z a-z 0-9 _ -\n  2 | name = \"my tool\"\n    |        ^^^^^^^^^\n"
    );
    let home = Home::new();
    assert_eq!(
        told(home.allm(["run", "Hi", "--with", "teleport"])),
        "allm: --with teleport: there is no built-in tool of this name\n  there are read_file, list_directory, http_get, shell, date, calculator\n"
    );
}

#[test]
fn files_and_folders_that_are_not_there() {
    let home = Home::new();
    assert_eq!(
        told(home.allm(["run", "Hi", "--config", "other.toml"])),
        "allm: the configuration other.toml is not there\n  name a file with --config, or leave it out\n"
    );
    assert_eq!(
        told(home.allm(["run", "Hi", "--tools", "tools"])),
        "allm: the tools in tools cannot be read: No such file or directory (os error 2)\n  name a folder with --tools\n"
    );
    std::fs::create_dir(home.path().join("tools")).unwrap();
    assert_eq!(
        told(home.allm(["run", "Hi", "--tools", "tools"])),
        "allm: there is no *.toml file in tools\n  name another folder with --tools\n"
    );
    home.write("tools/a.toml", "name = \"a\"\ndescription = \"d\"\n");
    assert_eq!(
        told(home.allm(["run", "Hi", "--tools", "tools"])),
        "allm: tools/a.toml:1:8: the tool has no `command`\n  1 | name = \"a\"\n    |        ^^^\n  say what it runs: command = [\"program\", \"word\"]; or manual = true\n"
    );
    let home = Home::new();
    home.write(
        "allm.toml",
        "[builtin]\nread_file = { roots = [\"nowhere\"] }\n",
    );
    assert_eq!(
        told(home.allm(["run", "Hi"])),
        "allm: the root nowhere of read_file is no folder\n  mend `roots` of `read_file` in [builtin]\n"
    );
}

/// The user's own file is below the project's, and a mistake in it is told with its own place.
#[test]
fn the_users_own_file() {
    let home = Home::new();
    let file = home.write(".config/allm/config.toml", "max_turns = true\n");
    assert_eq!(
        told(home.allm(["run", "Hi"])),
        format!(
            "allm: {}:1:13: invalid type: boolean `true`, expected u32\n  1 | max_turns = true\n    |             ^^^^\n",
            file.display()
        )
    );
}
