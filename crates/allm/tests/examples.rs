//! The examples say what their files in `examples/expected` say. Each is run as the program that it is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "these are tests"
)]

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Examples that are not there without a feature or on other systems.
fn is_left_out(example: &str) -> bool {
    match example {
        "14_process_tool" => !cfg!(all(unix, feature = "process")),
        // Without `process` they are built without any feature.
        "18_record_and_replay" => !cfg!(all(feature = "openai", feature = "process")),
        _ => false,
    }
}

#[test]
fn examples_say_what_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let expected = folder.join("expected");
    let examples = names(&folder, "rs");
    assert!(!examples.is_empty(), "no examples in {}", folder.display());
    assert_eq!(
        examples,
        names(&expected, "txt"),
        "each examples/NAME.rs (left) has an examples/expected/NAME.txt (right), and each text an example"
    );

    let programs = build();
    let wrong: Vec<String> = examples
        .iter()
        .filter(|example| !is_left_out(example))
        .filter_map(|example| {
            let expected = fs::read_to_string(expected.join(format!("{example}.txt"))).unwrap();
            let fault = fault_of(&programs, example, &expected)?;
            Some(format!("{example}: {fault}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// The names of the files with this ending.
fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension() == Some(OsStr::new(ending)))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// Builds the examples where this test was built, and gives their folder. `cargo test --test examples` builds no example,
/// and an old one must not be taken for the present one; where they are up to date this takes no time. A run of all tests
/// builds them with the features of the whole workspace, and says so with `ALLM_EXAMPLES=built`: by themselves they would be
/// built once more, with all that they use.
fn build() -> PathBuf {
    let this = env::current_exe().unwrap();
    // target/<profile folder>/deps/<this test>
    let profile_folder = this.parent().and_then(Path::parent).unwrap();
    if env::var_os("ALLM_EXAMPLES").is_some_and(|state| state == "built") {
        return profile_folder.join("examples");
    }
    let target = profile_folder.parent().unwrap();
    let profile = match profile_folder.file_name().and_then(OsStr::to_str) {
        Some("debug") => "test",
        Some(name) => name,
        None => panic!("no profile in {}", this.display()),
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut build = Command::new(cargo);
    build
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--frozen", "-p", "allm", "--examples"])
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(target)
        .stdin(Stdio::null());
    if !cfg!(feature = "process") {
        build.arg("--no-default-features");
    }
    let built = build.output().expect("cargo starts");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "the examples do not build:\n{said}");
    profile_folder.join("examples")
}

/// How what the example says differs from what is expected, if it does.
fn fault_of(programs: &Path, example: &str, expected: &str) -> Option<String> {
    let program = programs.join(format!("{example}{}", env::consts::EXE_SUFFIX));
    let ran = Command::new(&program).stdin(Stdio::null()).output();
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => return Some(format!("{} does not start: {error}", program.display())),
    };
    let said = String::from_utf8_lossy(&ran.stdout);
    if !ran.status.success() {
        let errors = String::from_utf8_lossy(&ran.stderr);
        return Some(format!("it ended with {}\n{said}{errors}", ran.status));
    }
    difference(expected, &said)
}

/// The first line that differs, with its number.
fn difference(expected: &str, said: &str) -> Option<String> {
    if expected == said {
        return None;
    }
    let (mut left, mut right) = (expected.lines(), said.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (left, right) if left == right => {}
            (left, right) => {
                let shown = |line: Option<&str>| line.map_or("(the end)".to_owned(), str::to_owned);
                return Some(format!(
                    "line {number} differs\n  expected: {}\n  said:     {}\nall that it said:\n{said}",
                    shown(left),
                    shown(right)
                ));
            }
        }
    }
    Some("only the line ends differ".to_owned())
}

#[test]
fn a_difference_is_told_by_its_line() {
    assert_eq!(difference("a\nb\n", "a\nb\n"), None);
    let told = |expected, said| difference(expected, said).expect("they differ");
    assert!(told("a\nb\n", "a\nc\n").contains("line 2 differs\n  expected: b\n  said:     c\n"));
    assert!(
        told("a\n", "a\nb\n").contains("line 2 differs\n  expected: (the end)\n  said:     b\n")
    );
    assert!(told("a\n", "a").contains("only the line ends differ"));
}
