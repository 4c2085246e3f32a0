//! Serves the recordings to readers in other languages. The first line of standard output is the address; the program
//! ends when its standard input is closed.
#![allow(clippy::print_stdout, reason = "the address is its output")]

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use allm_recordings::server::{Keep, Server};

#[tokio::main]
async fn main() -> ExitCode {
    let Some(recordings) = allm_recordings::recordings() else {
        return ExitCode::FAILURE;
    };
    let server = Server::start(Arc::new(recordings), Keep::Nothing).await;
    println!("{}", server.url());
    let _ = std::io::stdout().flush();
    let closed = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let _ = closed.await;
    ExitCode::SUCCESS
}
