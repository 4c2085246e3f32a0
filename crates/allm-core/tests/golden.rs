//! Golden files: the bytes of every document type, by version of the format (core.md, C166; §18).
//!
//! Each file under `golden/v1` holds one value that is built here in code. The test fails when the bytes of a value
//! change, when a file is missing, and when there is a file that no value names.
//!
//! New values get their files with `ALLM_BLESS=1 cargo test --test golden`. A file that is there is never written again:
//! a released format stays as it is. To change one that was never released, delete it by hand first.

#[cfg(test)]
#[allow(dead_code, unused_imports, reason = "each test uses a part of it")]
#[path = "support/values.rs"]
mod support;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use allm_core::json::{self, Document};
use allm_core::{Event, SessionStatus};
use support::backwards;
use support::golden::{self, Named};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

/// Writes the files that are not there, if asked to.
fn bless<T: Document>(values: &[Named<T>]) -> Result<(), Box<dyn std::error::Error>> {
    if std::env::var_os("ALLM_BLESS").is_none() {
        return Ok(());
    }
    let folder = folder().join(T::TYPE);
    fs::create_dir_all(&folder)?;
    for (name, value) in values {
        let file = folder.join(format!("{name}.json"));
        if !file.exists() {
            fs::write(file, json::to_vec(value)?)?;
        }
    }
    Ok(())
}

/// What is wrong with the files of these values.
fn faults<T: Document + PartialEq + Debug>(values: &[Named<T>]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault =
        |name: &str, text: String| faults.push(format!("{}/{name}.json: {text}", T::TYPE));
    if let Err(error) = bless(values) {
        fault("*", error.to_string());
    }
    for (name, value) in values {
        let file = folder().join(T::TYPE).join(format!("{name}.json"));
        let bytes = match fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) => {
                fault(name, error.to_string());
                continue;
            }
        };
        match json::to_vec(value) {
            Ok(written) if written == bytes => {}
            Ok(written) => fault(
                name,
                format!("writes {}", String::from_utf8_lossy(&written)),
            ),
            Err(error) => fault(name, error.to_string()),
        }
        match json::from_slice::<T>(&bytes) {
            Ok(read) if read == *value => {}
            Ok(read) => fault(name, format!("reads {read:?}")),
            Err(error) => fault(name, error.to_string()),
        }
    }
    faults
}

/// The files that are not written as they are when their keys were read in another order.
fn turned<T: Document>(_: &[Named<T>]) -> std::io::Result<Vec<String>> {
    let mut faults = Vec::new();
    for file in fs::read_dir(folder().join(T::TYPE))? {
        let file = file?.path();
        let bytes = fs::read(&file)?;
        let again = json::from_str::<T>(&backwards(&bytes)).and_then(|value| json::to_vec(&value));
        match again {
            Ok(written) if written == bytes => {}
            Ok(written) => {
                let written = String::from_utf8_lossy(&written);
                faults.push(format!("{}: writes {written}", file.display()));
            }
            Err(error) => faults.push(format!("{}: {error}", file.display())),
        }
    }
    Ok(faults)
}

macro_rules! golden {
    ($($test:ident => $field:ident),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                assert_eq!(faults(&golden::all().$field), Vec::<String>::new());
            }
        )+

        /// C199: also hashes, which a run and a session carry.
        #[test]
        fn c199_bytes_do_not_depend_on_the_order_of_keys() {
            let (all, mut found) = (golden::all(), Vec::new());
            $(found.extend(turned(&all.$field).unwrap());)+
            assert_eq!(found, Vec::<String>::new());
        }

        /// The files that the values name.
        fn named_files() -> Vec<String> {
            let all = golden::all();
            let mut files = Vec::new();
            $(files.extend(all.$field.iter().map(|(name, _)| format!("{}/{name}.json", stringify!($field))));)+
            files
        }
    };
}

golden! {
    c166_message => message,
    c166_thread => thread,
    c166_request => request,
    c166_response => response,
    c166_usage => usage,
    c166_tool_call => tool_call,
    c166_tool_spec => tool_spec,
    c166_tool => tool,
    c166_event => event,
    c166_step_result => step_result,
    c166_chat_result => chat_result,
    c166_error => error,
    c166_run => run,
    c166_s59_session => session,
    c166_s59_entry => entry,
    c166_s59_approval => approval,
    c166_s59_approval_token => approval_token,
}

#[test]
fn c166_no_file_is_without_a_value() {
    let mut found = BTreeSet::new();
    for folder in fs::read_dir(folder()).unwrap() {
        let folder = folder.unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap().file_name();
            found.insert(format!(
                "{}/{}",
                folder.file_name().display(),
                file.display()
            ));
        }
    }
    let named = named_files();
    let distinct: BTreeSet<String> = named.iter().cloned().collect();
    assert_eq!(distinct.len(), named.len(), "two values of one name");
    assert_eq!(found, distinct);
}

#[test]
fn l203_every_tag_of_the_events_has_a_file() {
    let events = golden::all().event;
    let tags: BTreeSet<&str> = events.iter().map(|(_, event)| event.tag()).collect();
    assert_eq!(tags, BTreeSet::from(Event::TAGS));
}

#[test]
fn s59_every_kind_of_entry_and_every_status_has_a_file() {
    let entries = golden::all().entry;
    let kinds: BTreeSet<&str> = entries.iter().map(|(_, entry)| entry.body.kind()).collect();
    let expected = "created user_message answered result_submitted approval_decided rerun_allowed stop_requested \
        annotated late_outcome expired run_started model_responded model_failed calls_planned tool_intent \
        tool_outcome halted went_on run_failed recovered";
    assert_eq!(kinds, expected.split_whitespace().collect());
    let sessions = golden::all().session;
    let statuses: BTreeSet<SessionStatus> = sessions
        .iter()
        .map(|(_, session)| session.status())
        .collect();
    assert_eq!(statuses, BTreeSet::from(SessionStatus::ALL));
}
