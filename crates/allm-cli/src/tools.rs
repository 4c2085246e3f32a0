//! The tools that are offered to the model: built-in ones that were switched on, and commands of the configuration.

mod builtin;
mod calculator;
mod date;
mod declared;
pub(crate) mod duration;
mod environment;
mod folder;
mod http_get;
mod list_directory;
pub(crate) mod program;
mod read_file;
mod roots;
mod shell;
mod words;

use std::collections::HashMap;

use allm::{Tool, ToolName};

use crate::arguments::Asking;
use crate::config::Config;
use crate::mcp::Connected;
use crate::problem::Problem;

pub(crate) use declared::{can_wait, tool as declared};

/// A tool, and where it comes from, in words.
struct Found {
    tool: Tool,
    place: String,
}

/// The tools that the arguments and the configuration switch on.
pub(crate) fn offered(asking: &Asking, config: &Config) -> Result<Vec<Tool>, Problem> {
    with_servers(asking, config, &Connected::default())
}

/// The same, and those of these servers.
pub(crate) fn with_servers(
    asking: &Asking,
    config: &Config,
    connected: &Connected,
) -> Result<Vec<Tool>, Problem> {
    if asking.no_tools {
        return Ok(Vec::new());
    }
    let mut found = builtin::switched_on(&asking.with, &config.builtin)?;
    let in_folders = asking.tools.iter().map(|folder| folder::read(folder));
    let in_folders = in_folders.collect::<Result<Vec<_>, _>>()?;
    for said in config.tools.iter().chain(in_folders.iter().flatten()) {
        found.push(Found {
            tool: declared::tool(said)?,
            place: said.source.place(&said.name.span()),
        });
    }
    for (server, tool) in connected.tools() {
        found.push(Found {
            tool: tool.clone(),
            place: format!("it is of the MCP server `{server}`"),
        });
    }
    let mut places: HashMap<ToolName, String> = HashMap::new();
    let mut tools = Vec::with_capacity(found.len());
    for Found { tool, place } in found {
        if let Some(first) = places.insert(tool.name.clone(), place.clone()) {
            let name = &tool.name;
            let what = format!("{place}: there is another tool `{name}`: {first}");
            return Err(Problem::usage(what).advice("give one of them another name"));
        }
        tools.push(tool);
    }
    Ok(tools)
}
