//! `list_directory`: what is in a folder.

use std::path::Path;

use allm::{Effect, ReportedError, Tool};
use serde::Deserialize;
use serde_json::json;

use crate::config::{Listing, Source};
use crate::problem::Problem;

use super::roots::Roots;

#[derive(Deserialize)]
struct Asked {
    path: Option<String>,
}

pub(super) fn tool(settings: &Listing, source: &Source) -> Result<Tool, Problem> {
    let roots = Roots::new("list_directory", &settings.roots, source)?;
    let limit = settings.max_entries;
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The folder; without it, the first that may be listed."}}
    });
    let tool = Tool::new(
        "list_directory",
        "Lists the files and folders in a folder.",
        schema,
    );
    Ok(tool.effect(Effect::Pure).blocking(move |asked: Asked| {
        let path = asked.path.as_deref().unwrap_or(".");
        let folder = roots.resolve(path)?;
        list(&folder, path, limit)
    }))
}

/// A line for each entry: folders with a slash at the end, files with their size, links with an arrow.
fn list(folder: &Path, path: &str, limit: usize) -> Result<String, ReportedError> {
    let failed = |error: std::io::Error| ReportedError::new(format!("`{path}`: {error}"));
    if !folder.is_dir() {
        return Err(ReportedError::new(format!("`{path}` is no folder")));
    }
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // One that is gone by now is none.
        let Ok(about) = entry.metadata() else {
            continue;
        };
        lines.push(match about.file_type() {
            kind if kind.is_dir() => format!("{name}/"),
            kind if kind.is_symlink() => match std::fs::read_link(entry.path()) {
                Ok(to) => format!("{name} -> {}", to.display()),
                Err(_) => format!("{name} ->"),
            },
            kind if kind.is_file() => format!("{name}  {} bytes", about.len()),
            _ => format!("{name}  (no ordinary file)"),
        });
    }
    lines.sort();
    let more = lines.len().saturating_sub(limit);
    lines.truncate(limit);
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    match lines.is_empty() {
        true => Ok("(empty)".to_owned()),
        false => Ok(lines.join("\n")),
    }
}
