//! `allm mcp`: tools of MCP servers, and tools for MCP clients.

mod accept;
mod call;
mod changes;
mod known;
mod list;
mod serve;
mod servers;

use crate::arguments::{Common, McpCommand};
use crate::config::{Ask, Config};
use crate::problem::{Exit, Problem};

pub(crate) use changes::Changed;
pub(crate) use servers::{Connected, OnFailure, attempt, close, connect};

pub(crate) async fn perform(common: &Common, asked: McpCommand) -> Result<Exit, Problem> {
    match asked {
        McpCommand::List { json } => list::servers(&Config::load(common, Ask::Person)?, json).await,
        McpCommand::Tools { server, json } => {
            let config = Config::load(common, Ask::Person)?;
            list::tools(&config, server.as_deref(), json).await
        }
        McpCommand::Call {
            tool,
            arguments,
            yes,
        } => call::perform(&Config::load(common, Ask::Person)?, &tool, &arguments, yes).await,
        McpCommand::Accept { tools, yes } => {
            accept::perform(&Config::load(common, Ask::Person)?, &tools, yes).await
        }
        McpCommand::Serve(asked) => {
            // Standard input is the client's, unless it comes over HTTP.
            let ask = match asked.http.is_some() {
                true => Ask::Person,
                false => Ask::Nobody,
            };
            serve::perform(&Config::load(common, ask)?, asked).await
        }
    }
}
