//! The programs do what they say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::io::Write;
use std::process::{Command, Stdio};

fn run(program: &str, arguments: &[&str], typed: &str) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(typed.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// What is decided in one start of the program stays decided in the next.
#[test]
fn the_approval_desk_remembers() {
    let folder = allm_examples::folder("desk-test");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("desk.db");
    let file = file.to_str().unwrap();
    let program = env!("CARGO_BIN_EXE_approval_desk");

    let first = run(program, &[file], "y\nq\n");
    assert!(
        first.contains(r#"refund wants {"euros":20,"order":41}"#),
        "{first}"
    );
    assert!(first.contains("Not decided"), "{first}");
    assert!(
        !first.contains("sending"),
        "nothing is run before a resume: {first}"
    );

    // What does not fit is asked again.
    let second = run(program, &[file], "yes\n0\n100.5\n");
    assert_eq!(second.matches("That does not fit").count(), 2, "{second}");
    assert!(
        !second.contains(r#""euros":20,"order":41}. Agree"#),
        "{second}"
    );
    assert!(
        second.contains(r#"sending {"euros":20,"order":41}"#),
        "{second}"
    );
    assert!(
        second.contains(r#"sending {"euros":100.5,"order":42}"#),
        "{second}"
    );
    assert!(second.contains("The session is completed"), "{second}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_killed_process_loses_nothing() {
    let told = run(env!("CARGO_BIN_EXE_crash_and_recovery"), &[], "");
    for line in [
        "The first process ended: killed by signal 9.",
        "The session is in_progress",
        "The second process went on. The session is completed.",
        "look_up acted 2 times",
        "send_invoice acted 2 times; keys: 1.",
        "pay acted 1 times; keys: 1.",
        "unknown_outcome",
    ] {
        assert!(told.contains(line), "{line} is not in:\n{told}");
    }
}

#[test]
fn two_processes_hand_over() {
    if allm_postgres_test::Server::shared().is_none() {
        return;
    }
    let told = run(env!("CARGO_BIN_EXE_hand_over"), &[], "");
    assert!(told.contains("left: found 0 messages"), "{told}");
    assert!(told.contains("right: found 6 messages"), "{told}");
    assert!(told.contains("left 8 messages"), "{told}");
}
