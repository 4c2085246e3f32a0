//! Test programs that a test starts: this program again, with a task.

use std::process::{Child, Command, Stdio};

const TASK: &str = "ALLM_STORE_TASK";

/// This program as another one, which runs the ignored test of that name with a task.
pub fn start(test: &str, task: &str) -> Child {
    let own = std::env::current_exe().expect("this program");
    Command::new(own)
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(TASK, task)
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// What a program that was started so has to do.
pub fn task() -> Option<Vec<String>> {
    let task = std::env::var(TASK).ok()?;
    Some(task.split('\n').map(str::to_owned).collect())
}

pub fn all_succeed(programs: Vec<Child>) {
    for mut program in programs {
        assert!(program.wait().expect("it ran").success());
    }
}
