//! What the program says of itself, and wrong arguments.

use crate::support::Home;

#[test]
fn it_says_its_version_and_how_it_is_used() {
    let home = Home::new();
    let version = home.allm(["--version"]);
    assert_eq!(
        version.stdout,
        concat!("allm ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!((version.stderr.as_str(), version.code), ("", Some(0)));
    let help = home.allm(["--help"]);
    for command in ["chat", "run", "sessions", "replay", "models", "doctor"] {
        assert!(help.stdout.contains(command), "{}", help.stdout);
    }
}

/// Every command that the help names, and the program itself.
#[test]
fn every_help_has_examples() {
    let home = Home::new();
    let whole = home.allm(["--help"]).stdout;
    let (_, commands) = whole.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let mut names: Vec<&str> = commands
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert_eq!(names.len(), 9, "{whole}");
    names.push("");
    for name in names {
        let words = [name, "--help"].into_iter().filter(|word| !word.is_empty());
        let help = home.allm(words);
        assert_eq!(help.code, Some(0));
        let example = format!("\n  allm {name}");
        let examples = help.stdout.split_once("Examples:\n");
        let text = examples.map(|(_, text)| format!("\n{text}"));
        assert!(
            text.is_some_and(|text| text.contains(&example)),
            "{name}: {}",
            help.stdout
        );
    }
}

#[test]
fn wrong_arguments_end_with_2_and_say_what_is_wrong() {
    let home = Home::new();
    let ended = home.allm(["run", "--jsn"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("--jsn") && ended.stderr.contains("--json"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stdout, "");
}
