//! Bodies for the providers' own packages to read.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::dialect::Dialect;

/// A body that the library sends.
#[derive(Clone, Debug)]
pub struct Line {
    /// The wire.
    pub dialect: Dialect,
    /// What it is.
    pub id: String,
    /// The body.
    pub body: Value,
}

/// What the providers' own packages find wrong with bodies.
///
/// The bodies are written to `target/requests/<name>.jsonl`; `reader/check_requests.py` reads them with the packages of
/// `scripts/setup-reader`. Without these nothing is checked, and standard output says so.
#[must_use]
pub fn check(name: &str, lines: &[Line]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = target(&root).join("requests");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.jsonl"));
    let text: String = lines
        .iter()
        .map(|line| {
            let dialect = line.dialect.name();
            format!(
                "{}\n",
                json!({"dialect": dialect, "id": line.id, "body": line.body})
            )
        })
        .collect();
    std::fs::write(&file, text).unwrap();
    let python = root.join("target/reader-venv/bin/python");
    if !python.exists() {
        println!("SKIPPED: no {}; run scripts/setup-reader", python.display());
        return Vec::new();
    }
    let script = root.join("crates/allm-recordings/reader/check_requests.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&file)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "check_requests.py failed: {errors}"
    );
    let (faults, rest): (Vec<&str>, Vec<&str>) =
        told.lines().partition(|line| line.starts_with("FAULT "));
    println!("{}", rest.join("\n"));
    faults.into_iter().map(str::to_owned).collect()
}

fn target(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => folder.into(),
        None => root.join("target"),
    }
}
