//! `read_file`: the text of a file, or some lines of it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use allm::{Effect, ReportedError, Tool};
use serde::Deserialize;
use serde_json::json;

use crate::config::{Reading, Source};
use crate::problem::Problem;

use super::roots::Roots;

#[derive(Deserialize)]
struct Asked {
    path: String,
    first_line: Option<u64>,
    last_line: Option<u64>,
}

pub(super) fn tool(settings: &Reading, source: &Source) -> Result<Tool, Problem> {
    let roots = Roots::new("read_file", &settings.roots, source)?;
    let limit = settings.max_bytes;
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "first_line": {"type": "integer", "minimum": 1, "description": "Begin with this line."},
            "last_line": {"type": "integer", "minimum": 1, "description": "End with this line."}
        },
        "required": ["path"]
    });
    let tool = Tool::new(
        "read_file",
        "Reads a text file, or a range of its lines.",
        schema,
    );
    Ok(tool.effect(Effect::Pure).blocking(move |asked: Asked| {
        let file = roots.resolve(&asked.path)?;
        read(&file, &asked, limit)
    }))
}

fn read(file: &Path, asked: &Asked, limit: u64) -> Result<String, ReportedError> {
    let path = &asked.path;
    let failed = |error: std::io::Error| ReportedError::new(format!("`{path}`: {error}"));
    let about = std::fs::metadata(file).map_err(failed)?;
    if about.is_dir() {
        return Err(ReportedError::new(format!("`{path}` is a folder")));
    }
    // A pipe or a device could be waited for without end.
    if !about.is_file() {
        return Err(ReportedError::new(format!("`{path}` is no ordinary file")));
    }
    let opened = File::open(file).map_err(failed)?;
    let bytes = match (asked.first_line, asked.last_line) {
        (None, None) => {
            let mut bytes = Vec::new();
            let mut bounded = opened.take(limit.saturating_add(1));
            bounded.read_to_end(&mut bytes).map_err(failed)?;
            if too_long(&bytes, limit) {
                return Err(ReportedError::new(format!(
                    "`{path}` has {} bytes, and {limit} may be read at once: ask for a range of lines",
                    about.len().max(limit.saturating_add(1))
                )));
            }
            bytes
        }
        (first, last) => {
            let (first, last) = (first.unwrap_or(1).max(1), last.unwrap_or(u64::MAX));
            if last < first {
                let what = format!("line {last} comes before line {first}");
                return Err(ReportedError::new(what));
            }
            lines(opened, path, (first, last), limit)?
        }
    };
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'));
    text.ok_or_else(|| ReportedError::new(format!("`{path}` is not text")))
}

fn lines(
    file: File,
    path: &str,
    (first, last): (u64, u64),
    limit: u64,
) -> Result<Vec<u8>, ReportedError> {
    let failed = |error: std::io::Error| ReportedError::new(format!("`{path}`: {error}"));
    let mut reader = BufReader::new(file);
    let mut number = 1;
    while number < first {
        // A line before the range may be of any length, so it is not kept.
        if reader.skip_until(b'\n').map_err(failed)? == 0 {
            let lines = number - 1;
            return Err(ReportedError::new(format!(
                "`{path}` has only {lines} lines"
            )));
        }
        number += 1;
    }
    let mut bytes = Vec::new();
    while number <= last {
        let room = limit.saturating_add(1).saturating_sub(bytes.len() as u64);
        let mut bounded = (&mut reader).take(room);
        let read = bounded.read_until(b'\n', &mut bytes).map_err(failed)?;
        if too_long(&bytes, limit) {
            return Err(ReportedError::new(format!(
                "lines {first} to {number} have more than the {limit} bytes that may be read at once: ask for fewer lines"
            )));
        }
        if read == 0 {
            break;
        }
        number += 1;
    }
    if bytes.is_empty() && number == first {
        let lines = number - 1;
        return Err(ReportedError::new(format!(
            "`{path}` has only {lines} lines"
        )));
    }
    Ok(bytes)
}

fn too_long(bytes: &[u8], limit: u64) -> bool {
    bytes.len() as u64 > limit
}
