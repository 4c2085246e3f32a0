//! A folder of files that declare tools.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::{Declared, Source};
use crate::problem::Problem;

/// A file with several tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    tools: Vec<Declared>,
}

/// The tools in the `*.toml` files of a folder, in the order of the files' names.
pub(super) fn read(folder: &Path) -> Result<Vec<Declared>, Problem> {
    let unreadable = |error: std::io::Error| {
        let what = format!("the tools in {} cannot be read: {error}", folder.display());
        Problem::usage(what).advice("name a folder with --tools")
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
            && file.is_file()
        {
            files.push(file);
        }
    }
    if files.is_empty() {
        let what = format!("there is no *.toml file in {}", folder.display());
        return Err(Problem::usage(what).advice("name another folder with --tools"));
    }
    files.sort();
    let mut tools = Vec::new();
    for file in files {
        // It was there a moment ago; one that is gone is none.
        if let Some(source) = Source::read(&file)? {
            tools.extend(in_file(&source)?);
        }
    }
    Ok(tools)
}

/// `[[tools]]`, or one tool at the top.
fn in_file(source: &Source) -> Result<Vec<Declared>, Problem> {
    let table: toml::Table = source.parse()?;
    let mut tools = match table.contains_key("tools") {
        true => source.parse::<Several>()?.tools,
        false => vec![source.parse::<Declared>()?],
    };
    for tool in &mut tools {
        tool.source = source.clone();
    }
    Ok(tools)
}
