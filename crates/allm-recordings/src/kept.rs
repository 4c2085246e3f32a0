//! What is kept in this crate: the verdicts of the providers' own packages, and where the library rightly disagrees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::verdict::{Line, Verdict};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The kept verdicts of a dialect, by the hash of the record.
///
/// # Panics
///
/// When the file is not as [`crate::verdict`] says.
#[must_use]
pub fn verdicts(dialect: &str) -> BTreeMap<String, Verdict> {
    let file = folder().join(format!("verdicts/{dialect}.jsonl"));
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", file.display()));
    let mut verdicts = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let line: Line = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), at + 1));
        verdicts.insert(line.hash, line.verdict);
    }
    verdicts
}

/// The records of `disagreements.md`, by id, each with the fields in which the verdicts differ.
///
/// A record has a heading of its own, ``## `id` ``, and a line that begins with `Differs in: ` and names the fields.
///
/// # Panics
///
/// When the file is not like that.
#[must_use]
pub fn disagreements() -> BTreeMap<String, Vec<String>> {
    let file = folder().join("disagreements.md");
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", file.display()));
    let mut listed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut id = None;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            id = Some(heading.trim_matches('`').to_owned());
        } else if let Some(fields) = line.strip_prefix("Differs in: ") {
            let id = id.take().expect("a heading stands before the fields");
            let fields = fields.trim_end_matches('.').split(", ");
            listed.insert(id, fields.map(str::to_owned).collect());
        }
    }
    listed
}
