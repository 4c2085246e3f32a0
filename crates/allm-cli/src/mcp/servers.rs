//! The servers that the configuration names, connected.

use allm::{ApprovalRule, Tool};
use allm_mcp::{McpConnection, McpError, McpErrorKind, McpServer, connect_each};
use tokio::task::JoinSet;
use toml::Spanned;

use crate::config::{Approval, Config, Server};
use crate::problem::Problem;
use crate::tools::{duration, program};

use super::known::Known;

/// What becomes of the program when a server does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// It ends: nobody is there who would see that tools are missing.
    End,
    /// It goes on without the server's tools, and says so.
    GoOn,
}

/// The servers that work, and why others do not, or some of their tools.
#[derive(Default)]
pub(crate) struct Connected {
    pub(crate) servers: Vec<Reached>,
    pub(crate) failures: Vec<Problem>,
}

/// A server that works.
pub(crate) struct Reached {
    pub(crate) name: String,
    pub(crate) connection: McpConnection,
    /// The tools that are offered.
    pub(crate) tools: Vec<Tool>,
    /// What its tools were before.
    pub(super) known: Known,
}

impl Connected {
    /// The tools of all of them.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (&str, &Tool)> {
        let servers = self.servers.iter();
        servers.flat_map(|server| {
            let tools = server.tools.iter();
            tools.map(|tool| (server.name.as_str(), tool))
        })
    }

    /// Their names.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.tools().map(|(_, tool)| tool.name.to_string())
    }

    /// Ends them in an orderly way.
    pub(crate) async fn close(&self) {
        close(&self.servers).await;
    }
}

/// Ends servers in an orderly way, all at once: each may take its time.
pub(crate) async fn close(servers: impl IntoIterator<Item = &Reached>) {
    let mut closing = JoinSet::new();
    for server in servers {
        let connection = server.connection.clone();
        closing.spawn(async move { connection.close().await });
    }
    closing.join_all().await;
}

/// Connects to the servers of the configuration.
pub(crate) async fn connect(config: &Config, on_failure: OnFailure) -> Result<Connected, Problem> {
    let mut connected = Connected::default();
    for (name, tried) in attempt(config).await? {
        match tried {
            Ok(mut reached) => {
                if let Err(problem) = reached.known.keep(&reached.tools) {
                    problem.tell();
                }
                let changes = reached.changes();
                connected.servers.push(reached);
                for changed in changes {
                    let problem = changed.problem();
                    failed_in(&mut connected, &name, problem, on_failure).await?;
                }
            }
            Err(problem) => failed_in(&mut connected, &name, problem, on_failure).await?,
        }
    }
    Ok(connected)
}

/// Something is wrong with a server, or with one of its tools.
async fn failed_in(
    connected: &mut Connected,
    name: &str,
    problem: Problem,
    on_failure: OnFailure,
) -> Result<(), Problem> {
    if on_failure == OnFailure::GoOn {
        connected.failures.push(problem);
        return Ok(());
    }
    connected.close().await;
    let advice = problem.what_to_do().unwrap_or_default().to_owned();
    let more = format!("{advice}\n  enabled = false in [mcp.servers.{name}] does without it");
    Err(problem.advice(more.trim_start().to_owned()))
}

/// What became of each server.
pub(crate) async fn attempt(
    config: &Config,
) -> Result<Vec<(String, Result<Reached, Problem>)>, Problem> {
    let mut described = Vec::new();
    let mut servers = Vec::new();
    for (name, said) in config.mcp.used() {
        // Where the file itself is wrong, that is for whoever wrote it, whatever the others do.
        let server = server(name, said)?;
        let known = Known::read(name, said.get_ref());
        servers.push(server.known_as(known.fingerprints()));
        described.push((name.to_owned(), said.get_ref(), known));
    }
    let connections = connect_each(servers).await;
    let tried = described.into_iter().zip(connections);
    let tried = tried.map(|((name, said, known), outcome)| match outcome {
        Ok(connection) => {
            let mut reached = Reached {
                name: name.clone(),
                connection,
                tools: Vec::new(),
                known,
            };
            reached.tools = reached.unchanged();
            (name, Ok(reached))
        }
        Err(error) => {
            let problem = failed(&name, said, &error);
            (name, Err(problem))
        }
    });
    Ok(tried.collect())
}

/// The server that a file describes.
fn server(name: &str, said: &Spanned<Server>) -> Result<McpServer, Problem> {
    let span = said.span();
    let said = said.get_ref();
    let source = &said.source;
    let mut server = match (&said.command, &said.url) {
        (Some(command), None) => {
            let path = program::find(command.get_ref(), source).map_err(|what| {
                source
                    .problem(&command.span(), what)
                    .advice("install it, or name it by its whole path")
            })?;
            let mut server = McpServer::command(path).args(&said.args);
            for name in &said.pass_env {
                if let Some(value) = std::env::var_os(name) {
                    server = server.env(name, value);
                }
            }
            for (name, value) in &said.env {
                server = server.env(name, value);
            }
            if let Some(folder) = &said.current_dir {
                let path = source.resolve(folder.get_ref());
                if !path.is_dir() {
                    let what = format!("there is no folder {}", path.display());
                    return Err(source.problem(&folder.span(), what));
                }
                server = server.current_dir(path);
            }
            server
        }
        (None, Some(url)) => {
            let mut server = McpServer::http(url.get_ref());
            if let Some(variable) = &said.bearer_env {
                let token = std::env::var(variable.get_ref()).unwrap_or_default();
                if token.trim().is_empty() {
                    let name = variable.get_ref();
                    let what = format!("the variable {name} is not set");
                    return Err(source
                        .problem(&variable.span(), what)
                        .advice(format!("export {name}=…")));
                }
                server = server.bearer(token.trim());
            }
            for (name, value) in &said.headers {
                server = server.header(name, value);
            }
            server
        }
        (Some(_), Some(url)) => {
            let what = "a server has a `command` or a `url`, not both";
            return Err(source.problem(&url.span(), what));
        }
        (None, None) => {
            let what = format!("the MCP server `{name}` has neither a `command` nor a `url`");
            return Err(source.problem(&span, what).advice(
                "say what it runs: command = \"program\", args = [\"word\"]; or where it is: url = \"https://…\"",
            ));
        }
    };
    server = server.name(name);
    let prefix = said.prefix.as_ref().map_or(name, |prefix| prefix.get_ref());
    if !prefix.is_empty() {
        let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !prefix.chars().all(is_good) || prefix.len() > 32 {
            let place = said.prefix.as_ref().map_or(span, Spanned::span);
            let what = format!("`{prefix}` cannot begin the names of tools");
            return Err(source
                .problem(&place, what)
                .advice("set prefix to 1 to 32 of A-Z a-z 0-9 _ -, or to \"\" for none"));
        }
        server = server.prefix(prefix);
    }
    if let Some(only) = &said.only {
        server = server.only(only);
    }
    server = server.without(&said.without);
    // Where the file does not say otherwise, a person agrees to what the server calls neither read-only nor idempotent.
    server = server.approval_unless_repeatable(ApprovalRule::Always);
    if let Some(approval) = said.approval {
        server = server.approval_of_all(approval.into());
    }
    if let Some(limit) = &said.timeout {
        server = server.timeout(duration::read(limit, source)?);
    }
    if let Some(limit) = &said.start_timeout {
        server = server.start_timeout(duration::read(limit, source)?);
    }
    for (tool, more) in &said.tools {
        if let Some(name) = &more.name {
            server = server.rename(tool, name);
        }
        if let Some(effect) = more.effect {
            server = server.effect(tool, effect.into());
        }
        if let Some(approval) = more.approval {
            server = server.approval(tool, approval.into());
        }
    }
    Ok(server)
}

/// Why a server does not work, and what can be done about it.
fn failed(name: &str, said: &Server, error: &McpError) -> Problem {
    let mut what = error.to_string();
    if let Some(last) = error.server_said() {
        let last: Vec<&str> = last.trim().lines().rev().take(5).collect();
        for line in last.iter().rev() {
            what.push_str("\n    it said: ");
            what.push_str(line);
        }
    }
    let words = said
        .command
        .iter()
        .map(|command| command.get_ref())
        .chain(&said.args);
    let command = words.cloned().collect::<Vec<_>>().join(" ");
    let advice = match error.kind() {
        McpErrorKind::Unauthorized => match &said.bearer_env {
            Some(variable) => format!("look at the token in {}", variable.get_ref()),
            None => {
                format!("name the variable that has its token: bearer_env in [mcp.servers.{name}]")
            }
        },
        McpErrorKind::UnknownTool | McpErrorKind::DuplicateTool | McpErrorKind::InvalidSettings => {
            format!("look at [mcp.servers.{name}]")
        }
        McpErrorKind::Timeout => {
            format!("it may need longer: start_timeout in [mcp.servers.{name}]")
        }
        _ => match &said.url {
            Some(url) => format!("look whether {} is there", url.get_ref()),
            None => format!("try it by hand: {command}"),
        },
    };
    Problem::failed(what).advice(advice)
}

/// Whether a person must agree, in words.
pub(super) fn approval_in_words(tool: &Tool) -> &'static str {
    match Approval::from(tool.approval) {
        Approval::Always => "after approval",
        Approval::Never => "without approval",
    }
}
