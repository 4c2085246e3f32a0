//! `allm mcp list` and `allm mcp tools`.

use std::io::{self, Write as _};

use serde_json::json;

use crate::config::Config;
use crate::models::written;
use crate::problem::{Exit, Problem};
use crate::transcript::plain::harmless;

use super::servers::{OnFailure, approval_in_words, attempt, close, connect};

/// What became of each server.
pub(super) async fn servers(config: &Config, as_json: bool) -> Result<Exit, Problem> {
    let tried = attempt(config).await?;
    let mut text = String::new();
    let mut is_bad = false;
    let width = tried.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default();
    for (name, outcome) in &tried {
        let line = match outcome {
            Ok(reached) if as_json => json!({
                "name": name,
                "works": true,
                "tools": reached.tools.len(),
                "changed": reached.changes().iter().map(|changed| &changed.name).collect::<Vec<_>>(),
                "left_out": reached.connection.left_out(),
            })
            .to_string(),
            Ok(reached) => {
                let count = reached.tools.len();
                let mut line = format!("{name:width$}  works, {count} tools");
                for (tool, why) in reached.connection.left_out() {
                    line.push_str(&format!("\n{:width$}  without {tool}: {why}", ""));
                }
                for changed in reached.changes() {
                    is_bad = true;
                    let problem = changed.problem();
                    let fix = problem.what_to_do().unwrap_or_default();
                    line.push_str(&format!("\n{:width$}  {}\n{:width$}  {fix}", "", problem.what(), ""));
                }
                line
            }
            Err(problem) => {
                is_bad = true;
                match as_json {
                    true => {
                        json!({"name": name, "works": false, "error": problem.what()}).to_string()
                    }
                    false => {
                        let fix = problem.what_to_do().unwrap_or_default();
                        format!("{name:width$}  {}\n{:width$}  {fix}", problem.what(), "")
                    }
                }
            }
        };
        text.push_str(&line);
        text.push('\n');
    }
    if tried.is_empty() && !as_json {
        text.push_str("no server is named; [mcp.servers.NAME] in allm.toml names one\n");
    }
    close(
        tried
            .iter()
            .filter_map(|(_, outcome)| outcome.as_ref().ok()),
    )
    .await;
    let told = written(io::stdout().write_all(shown(&text, as_json).as_bytes()))?;
    Ok(match is_bad {
        true => Exit::Failed,
        false => told,
    })
}

/// The tools, as the model is told of them.
pub(super) async fn tools(
    config: &Config,
    only: Option<&str>,
    as_json: bool,
) -> Result<Exit, Problem> {
    let mut config = config.clone();
    if let Some(only) = only {
        if !config.mcp.servers.contains_key(only) {
            let names: Vec<&str> = config.mcp.servers.keys().map(String::as_str).collect();
            let what = format!("there is no MCP server `{only}`");
            return Err(Problem::usage(what).advice(match names.is_empty() {
                true => "[mcp.servers.NAME] in allm.toml names one".to_owned(),
                false => format!("there are {}", names.join(", ")),
            }));
        }
        config.mcp.servers.retain(|name, _| name == only);
    }
    let connected = connect(&config, OnFailure::GoOn).await?;
    let mut text = String::new();
    for (server, tool) in connected.tools() {
        let effect = tool.effect.as_str();
        let line = match as_json {
            true => json!({
                "name": tool.name,
                "server": server,
                "description": tool.description,
                "schema": tool.schema,
                "effect": effect,
                "approval": tool.approval,
            })
            .to_string(),
            false => {
                let about = tool.description.lines().next().unwrap_or_default();
                let approval = approval_in_words(tool);
                format!("{}  ({effect}, {approval})\n    {about}", tool.name)
            }
        };
        text.push_str(&line);
        text.push('\n');
    }
    connected.close().await;
    let told = written(io::stdout().write_all(shown(&text, as_json).as_bytes()))?;
    for problem in &connected.failures {
        problem.tell();
    }
    Ok(match connected.failures.is_empty() {
        true => told,
        false => Exit::Failed,
    })
}

/// What a server said makes a terminal do nothing; JSON has no such characters.
fn shown(text: &str, as_json: bool) -> String {
    match as_json {
        true => text.to_owned(),
        false => harmless(text).to_string(),
    }
}
