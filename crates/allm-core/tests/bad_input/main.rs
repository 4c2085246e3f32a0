//! Documents that are none (core.md, C167 to C169, C172, C174): each gives an error with its place, and none a panic.

#[cfg(test)]
mod bytes;
#[cfg(test)]
mod envelope;
#[cfg(test)]
mod fields;
#[cfg(test)]
mod runs;

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use allm_core::json::{self, Document, Limits};
use allm_core::{
    ChatResult, Error, Event, JsonError, JsonReason, Message, Request, Response, Run, StepResult,
    Thread, Tool, ToolCall, ToolSpec, Usage,
};

type Read = fn(&[u8], Limits) -> Result<(), JsonError>;

fn read<T: Document + Debug>(bytes: &[u8], limits: Limits) -> Result<(), JsonError> {
    json::from_slice_with::<T>(bytes, limits).map(drop)
}

/// Every document type with its reader.
fn types() -> Vec<(&'static str, Read)> {
    macro_rules! types {
        ($($type:ty),+) => { vec![$((<$type>::TYPE, read::<$type> as Read)),+] };
    }
    types![
        Message, Thread, Request, Response, Usage, ToolCall, ToolSpec, Tool, Event, StepResult,
        ChatResult, Error, Run
    ]
}

fn place(result: Result<(), JsonError>) -> Option<(JsonReason, String)> {
    result
        .err()
        .map(|error| (error.reason, error.path.to_string()))
}

fn at(reason: JsonReason, path: &str) -> Option<(JsonReason, String)> {
    Some((reason, path.to_owned()))
}

/// The golden files of a type.
fn files(type_name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/v1")
        .join(type_name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files: Vec<_> = entries
        .filter_map(|entry| {
            Some((
                entry.file_name().display().to_string(),
                fs::read(entry.path()).ok()?,
            ))
        })
        .collect();
    assert!(!files.is_empty(), "no golden file of {type_name}");
    files
}
