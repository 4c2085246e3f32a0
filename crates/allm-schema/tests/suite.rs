//! The JSON Schema Test Suite. `scripts/setup-schema-suite` installs it in `target/schema-suite`; where it is not,
//! the tests say that they are skipped, or fail if `ALLM_SCHEMA_SUITE=required`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests may fail"
)]

use std::fs;
use std::path::{Path, PathBuf};

use allm_schema::Schema;
use serde_json::{Value, json};

/// A group of tests that does not apply.
struct Exception {
    /// The start of the draft's name.
    draft: &'static str,
    /// The start of the file's name.
    file: &'static str,
    /// The start of the group's description.
    group: &'static str,
    #[expect(dead_code, reason = "it is for those who read")]
    reason: &'static str,
}

const fn exception(
    draft: &'static str,
    file: &'static str,
    group: &'static str,
    reason: &'static str,
) -> Exception {
    Exception {
        draft,
        file,
        group,
        reason,
    }
}

const REMOTE: &str = "its schema refers to another document, and nothing is fetched";
const DIALECT: &str = "its schema has a meta-schema of its own, in another document";
const FORMATS: &str = "formats are not checked in this draft";
const TABLES: &str = "international names would need large tables";

const NOT_APPLICABLE: &[Exception] = &[
    exception("draft", "refRemote.json", "", REMOTE),
    exception("draft", "optional/cross-draft.json", "", REMOTE),
    exception(
        "draft2020-12",
        "dynamicRef.json",
        "strict-tree schema",
        REMOTE,
    ),
    exception(
        "draft2020-12",
        "dynamicRef.json",
        "tests for implementation dynamic anchor",
        REMOTE,
    ),
    exception(
        "draft2020-12",
        "dynamicRef.json",
        "$ref and $dynamicAnchor are independent",
        REMOTE,
    ),
    exception(
        "draft2020-12",
        "dynamicRef.json",
        "$ref to $dynamicRef finds detached",
        REMOTE,
    ),
    exception(
        "draft20",
        "vocabulary.json",
        "schema that uses custom metaschema",
        DIALECT,
    ),
    exception(
        "draft20",
        "vocabulary.json",
        "ignore unrecognized optional vocabulary",
        DIALECT,
    ),
    exception(
        "draft2020-12",
        "optional/format-assertion.json",
        "",
        DIALECT,
    ),
    exception("draft20", "optional/format/", "", FORMATS),
    exception("draft7", "optional/format/idn-", "", TABLES),
    exception("draft7", "optional/format/iri", "", TABLES),
];

fn suite() -> Option<PathBuf> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/schema-suite");
    if suite.join("version").exists() {
        return Some(suite);
    }
    let required = std::env::var("ALLM_SCHEMA_SUITE").is_ok_and(|value| value == "required");
    assert!(
        !required,
        "target/schema-suite is not there: run scripts/setup-schema-suite"
    );
    eprintln!("SKIPPED: target/schema-suite is not there; scripts/setup-schema-suite installs it");
    None
}

/// Draft 2020-12 is what is taken without `$schema`; the others must be named.
fn in_draft(schema: &Value, address: &str) -> Value {
    match schema {
        Value::Object(object) if !object.contains_key("$schema") => {
            let mut object = object.clone();
            object.insert("$schema".to_owned(), json!(address));
            Value::Object(object)
        }
        other => other.clone(),
    }
}

fn run(draft: &str, address: &str) {
    let Some(suite) = suite() else {
        return;
    };
    let folder = suite.join("tests").join(draft);
    let mut files = Vec::new();
    for part in ["", "optional", "optional/format"] {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    let (mut passed, mut skipped) = (0, 0);
    let mut failures = Vec::new();
    for file in &files {
        let name = file.strip_prefix(&folder).unwrap().to_str().unwrap();
        let groups: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            let description = group["description"].as_str().unwrap();
            let tests = group["tests"].as_array().unwrap();
            let applies = !NOT_APPLICABLE.iter().any(|exception| {
                draft.starts_with(exception.draft)
                    && name.starts_with(exception.file)
                    && description.starts_with(exception.group)
            });
            if !applies {
                skipped += tests.len();
                continue;
            }
            let schema = match Schema::compile(&in_draft(&group["schema"], address)) {
                Ok(schema) => schema,
                Err(error) => {
                    failures.push(format!(
                        "{name}: {description}: {} at {}",
                        error,
                        error.place()
                    ));
                    continue;
                }
            };
            for test in tests {
                let value = &test["data"];
                let wanted = test["valid"].as_bool().unwrap();
                let accepted = schema.accepts(value);
                let faults = schema.faults(value, 100);
                if accepted == wanted && faults.is_empty() == wanted {
                    passed += 1;
                } else {
                    failures.push(format!("{name}: {description}: {}", test["description"]));
                }
            }
        }
    }
    println!(
        "{draft}: {passed} passed, {} failed, {skipped} do not apply",
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// L304
#[test]
fn draft_4() {
    run("draft4", "http://json-schema.org/draft-04/schema#");
}

/// L304
#[test]
fn draft_6() {
    run("draft6", "http://json-schema.org/draft-06/schema#");
}

/// L304
#[test]
fn draft_7() {
    run("draft7", "http://json-schema.org/draft-07/schema#");
}

/// L304
#[test]
fn draft_2019_09() {
    run(
        "draft2019-09",
        "https://json-schema.org/draft/2019-09/schema",
    );
}

/// L304
#[test]
fn draft_2020_12() {
    run(
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    );
}
