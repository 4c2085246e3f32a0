//! What holds for every provider over HTTP alike.
#![cfg(all(feature = "openai", feature = "anthropic", feature = "gemini"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod capabilities;
mod configurations;
mod moving;
mod secrets;
mod server;

use allm::tool;
use tokio::net::TcpListener;

/// Tells the weather of a city.
#[tool]
async fn weather(city: String) -> Result<String, String> {
    Ok(format!("rain in {city}"))
}

/// An address where nobody listens.
async fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
