//! `allm mcp serve`: the tools of the configuration, for MCP clients.

use allm::CancelToken;
use allm_mcp::server::{Approvals, McpService, ServeError, ServeReason};
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{Asking, McpApprovals, McpServe};
use crate::config::Config;
use crate::problem::{Exit, Problem};
use crate::tools;

pub(super) async fn perform(config: &Config, asked: McpServe) -> Result<Exit, Problem> {
    let asking = Asking {
        tools: asked.tools,
        with: asked.with,
        ..Asking::default()
    };
    let offered = tools::offered(&asking, config)?;
    let cancel = CancelToken::new();
    let service = McpService::new("allm")
        .version(env!("CARGO_PKG_VERSION"))
        .tools(offered)
        .approvals(match asked.approvals {
            McpApprovals::Ask => Approvals::Ask,
            McpApprovals::Client => Approvals::LeaveToClient,
        })
        .cancel(cancel.clone());
    for tool in service.left_out() {
        note(&format!("`{}` is manual and not served", tool.name));
    }
    stop_at_signals(cancel)?;
    let Some(address) = asked.http else {
        service.stdio().await.map_err(|error| problem(&error))?;
        return Ok(Exit::Done);
    };
    let mut http = service.http(address);
    if let Some(name) = &asked.token_env {
        let token = std::env::var(name).unwrap_or_default();
        if token.trim().is_empty() {
            let what = format!("--token-env {name}: the variable is not set");
            return Err(Problem::usage(what).advice(format!("export {name}=…")));
        }
        http = http.bearer_token(token.trim());
    }
    for host in asked.allow_host {
        http = http.allow_host(host);
    }
    for origin in asked.allow_origin {
        http = http.allow_origin(origin);
    }
    let listening = http.bind().await.map_err(|error| problem(&error))?;
    note(&format!("serving {}; Ctrl-C ends it", listening.url()));
    listening.run().await.map_err(|error| problem(&error))?;
    Ok(Exit::Done)
}

/// Standard output is the client's.
#[expect(clippy::print_stderr, reason = "that is where it is told")]
fn note(text: &str) {
    eprintln!("allm: {text}");
}

fn problem(error: &ServeError) -> Problem {
    let what = error.to_string();
    match error.reason() {
        ServeReason::InvalidConfig if what.contains("bearer token") => {
            Problem::usage(what).advice("--token-env NAME names the variable that has the token")
        }
        ServeReason::InvalidConfig | ServeReason::InvalidTool | ServeReason::Address => {
            Problem::usage(what)
        }
        ServeReason::Handshake => Problem::failed(what).advice(
            "this is for MCP clients: name `allm mcp serve` as the command of a server there",
        ),
        _ => Problem::failed(what),
    }
}

/// Stops the service when the program is told to end.
fn stop_at_signals(cancel: CancelToken) -> Result<(), Problem> {
    let failed = |error| Problem::failed(format!("signals cannot be listened to: {error}"));
    let mut told = [
        signal(SignalKind::interrupt()).map_err(failed)?,
        signal(SignalKind::terminate()).map_err(failed)?,
        signal(SignalKind::hangup()).map_err(failed)?,
    ];
    tokio::spawn(async move {
        let [interrupt, terminate, hangup] = &mut told;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        cancel.cancel();
    });
    Ok(())
}
