//! The program `allm`: talk to a language model that calls tools, asks back, stops for approval and remembers.

mod alive;
mod answer;
mod arguments;
mod attach;
mod chat;
mod config;
mod doctor;
mod engine;
mod failure;
mod form;
mod hold;
#[cfg_attr(not(feature = "local"), path = "no_local.rs")]
mod local;
mod mcp;
mod model;
mod models;
mod pages;
mod patience;
mod places;
mod problem;
mod replay;
mod run;
mod session_id;
mod sessions;
mod store;
mod terminal;
mod tools;
mod transcript;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use arguments::{Arguments, Command};
use problem::{Exit, Problem};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match perform(arguments) {
        Ok(exit) => exit.into(),
        Err(problem) => {
            problem.tell();
            problem.exit.into()
        }
    }
}

fn perform(arguments: Arguments) -> Result<Exit, Problem> {
    let Arguments { common, command } = arguments;
    let command = match command {
        // These need nothing, and are done at once.
        Command::Completions(asked) => return pages::completions(&asked),
        Command::Man(asked) => return pages::manual(&asked),
        command => command,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::failed(format!("no runtime could be started: {error}")))?;
    let ended = runtime.block_on(async {
        match command {
            Command::Chat(asked) => chat::perform(&common, asked).await,
            Command::Run(asked) => run::perform(&common, asked).await,
            Command::Sessions(asked) => sessions::perform(&common, asked.command).await,
            Command::Replay(asked) => replay::perform(&common, asked).await,
            Command::Models(asked) => models::perform(&common, asked.command).await,
            Command::Mcp(asked) => mcp::perform(&common, asked.command).await,
            Command::Doctor => doctor::perform(&common).await,
            Command::Completions(_) | Command::Man(_) => Ok(Exit::Done),
        }
    });
    // Tasks that still run are dropped, and with them the processes of tools. A thread that cannot be stopped is left.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}
