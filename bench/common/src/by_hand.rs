//! What the clients by hand share: a request is sent, and a streamed answer is split into lines.

use memchr::memchr;
use reqwest::{Client, Response};

/// Sends a body and gives the answer, if it is one.
///
/// # Errors
///
/// When there is no answer, or a failure.
pub async fn post(client: &Client, url: String, body: Vec<u8>) -> anyhow::Result<Response> {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("authorization", "Bearer sk-of-nobody-at-all")
        .body(body);
    Ok(request.send().await?.error_for_status()?)
}

/// Calls back with what follows `data:` in every line of a streamed answer.
///
/// # Errors
///
/// When the answer is cut, or what is called back fails.
pub async fn each_data(
    mut response: Response,
    mut take: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut held: Vec<u8> = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        held.extend_from_slice(&chunk);
        let mut begin = 0;
        while let Some(length) = memchr(b'\n', &held[begin..]) {
            let line = &held[begin..begin + length];
            begin += length + 1;
            if let Some(data) = line.strip_prefix(b"data:") {
                take(data.trim_ascii())?;
            }
        }
        held.drain(..begin);
    }
    Ok(())
}
