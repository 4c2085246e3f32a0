//! Programs that a test starts: this one again, with a task.

use std::process::{Command, Output};

const TASK: &str = "ALLM_OWNERSHIP_TASK";

/// What a program that was started so says at its end: that it did its task.
const DONE: &str = "the task is done";

/// Runs an ignored test of this program, in another process and by way of `before`, and waits for its end.
pub(crate) fn run(before: &[&str], test: &str, task: &str, environment: &[(&str, &str)]) -> Output {
    let own = std::env::current_exe().expect("this program");
    let mut command = match before.split_first() {
        None => Command::new(own),
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(own);
            command
        }
    };
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env(TASK, task).envs(environment.iter().copied());
    let out = command.output().expect("it starts");
    let is_done = String::from_utf8_lossy(&out.stdout).contains(DONE);
    assert!(is_done || !out.status.success(), "{}", said(&out));
    out
}

/// What a program that was started so has to do.
pub(crate) fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// Tells whoever started this program that it came to its end: a test that is not found succeeds, too.
pub(crate) fn done() {
    println!("{DONE}");
}

pub(crate) fn said(out: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&out.stdout), text(&out.stderr))
}
