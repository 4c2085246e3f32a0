//! The model server as a program of its own: it prints its port and answers until it is killed, or until the time in
//! seconds is over that its argument says.

use std::net::TcpListener;
use std::time::Duration;

use anyhow::Context;

/// How long it lives when nothing else is said.
const SECONDS: u64 = 4 * 60 * 60;

fn main() -> anyhow::Result<()> {
    let seconds = match std::env::args().nth(1) {
        Some(text) => text.parse().context("wanted: seconds to live")?,
        None => SECONDS,
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    bench_server::serve(listener, Duration::from_secs(seconds))
}
