//! Counts the instructions of a program.

use std::process::{Command, Stdio};

/// Whether instructions can be counted here. `ALLM_VALGRIND=required` makes it a fault that they cannot.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if version.is_ok_and(|status| status.success()) {
        return true;
    }
    let required = std::env::var("ALLM_VALGRIND").is_ok_and(|value| value == "required");
    assert!(
        !required,
        "valgrind is not there: run scripts/setup-valgrind"
    );
    eprintln!("SKIPPED: valgrind is not there; scripts/setup-valgrind installs it");
    false
}

/// How many instructions the program for work takes, from its start to its end.
pub(crate) fn instructions(work: &str, url: &str, size: usize) -> u64 {
    // Of the tools that count every instruction, this one without its caches is the quickest.
    let output = Command::new("valgrind")
        .args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ])
        .arg(env!("CARGO_BIN_EXE_costs-work"))
        .args([work, url, &size.to_string()])
        .stdin(Stdio::null())
        .output()
        .expect("valgrind starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{work} {size}: {told}");
    let count = told.lines().find_map(|line| line.split_once("I   refs:"));
    let (_, count) = count.unwrap_or_else(|| panic!("no count: {told}"));
    count.replace(',', "").trim().parse().expect("a number")
}
