//! What is asked of `allm mcp` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `allm mcp`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  allm mcp list                                   the servers of the configuration, and whether they work
  allm mcp tools files
  allm mcp call files_read_text_file '{\"path\": \"notes.txt\"}'
  allm mcp accept files_read_text_file            uses it as it is now, after it has changed
  allm mcp serve --with calculator,date           on standard input and output, for a client that starts it
  allm mcp serve --http 127.0.0.1:8080 --token-env TOOLS_TOKEN

Servers are named in allm.toml, as [mcp.servers.NAME]. `allm chat` and `allm run` offer their tools to the model."
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// What is asked about MCP.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Connect to the servers of the configuration, and say what became of it
    List {
        /// As lines of JSON
        #[arg(long)]
        json: bool,
    },
    /// List the tools of the servers, as the model is told of them
    Tools {
        /// Only those of this server
        server: Option<String>,
        /// As lines of JSON
        #[arg(long)]
        json: bool,
    },
    /// Call a tool of a server
    Call {
        /// The tool, as `allm mcp tools` names it
        tool: String,
        /// Its arguments, as JSON
        #[arg(default_value = "{}", value_name = "JSON")]
        arguments: String,
        /// Do not ask whether it may run
        #[arg(short, long)]
        yes: bool,
    },
    /// Agree to tools that are not what they were when they were last used
    Accept {
        /// The tools, as `allm mcp tools` names them
        #[arg(required = true)]
        tools: Vec<String>,
        /// Do not ask at a terminal
        #[arg(short, long)]
        yes: bool,
    },
    /// Serve the tools of the configuration and built-in ones to MCP clients
    Serve(McpServe),
}

/// `allm mcp serve`.
#[derive(Debug, Args)]
pub(crate) struct McpServe {
    /// Listen on this address, instead of standard input and output; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<String>,
    /// Answer only who has the token that this variable of the environment holds
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) token_env: Option<String>,
    /// Also answer to this name in the header Host
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Also answer pages from there, as in the header Origin
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Who agrees to calls that need it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) approvals: McpApprovals,
    /// Read more tools from the *.toml files of this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
    /// Switch on a built-in tool: read_file, list_directory, http_get, shell, date, calculator
    #[arg(long = "with", value_name = "TOOL", value_delimiter = ',')]
    pub(crate) with: Vec<String>,
}

/// Who agrees to calls that need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpApprovals {
    /// The person at the client, who is asked by elicitation; a client that cannot ask is refused
    #[default]
    Ask,
    /// The client decides by itself
    Client,
}
