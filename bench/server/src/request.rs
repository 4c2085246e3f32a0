//! A request, as far as an answer depends on it.

use anyhow::{Context, bail};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::wires::Wire;

/// What was asked.
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    pub(crate) wire: Option<Wire>,
}

impl Request {
    /// Whether the answer is to be streamed.
    pub(crate) fn is_streamed(&self) -> bool {
        let says = |text: &str| memmem::find(&self.body, text.as_bytes()).is_some();
        match self.wire {
            Some(Wire::Gemini) => self.path.contains(":streamGenerateContent"),
            _ => says(r#""stream":true"#) || says(r#""stream": true"#),
        }
    }

    /// How many results of calls the request brings.
    pub(crate) fn results(&self) -> usize {
        let marks: &[&str] = match self.wire {
            Some(Wire::Chat) => &[r#""role":"tool""#],
            Some(Wire::Responses) => &[r#""type":"function_call_output""#],
            Some(Wire::Anthropic) => &[r#""type":"tool_result""#],
            Some(Wire::Gemini) => &[r#""functionResponse":"#],
            None => &[],
        };
        let count = |mark: &&str| memmem::find_iter(&self.body, mark.as_bytes()).count();
        marks.iter().map(count).sum()
    }
}

/// Bytes of a connection that were read and not yet used.
#[derive(Default)]
pub(crate) struct Inbox {
    held: Vec<u8>,
}

impl Inbox {
    /// The next request; `None` when the client has closed.
    pub(crate) async fn next(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> anyhow::Result<Option<Request>> {
        let head = loop {
            if let Some(end) = memmem::find(&self.held, b"\r\n\r\n") {
                break end + 4;
            }
            if !self.more(stream).await? {
                return Ok(None);
            }
        };
        let text = String::from_utf8_lossy(&self.held[..head]).into_owned();
        self.held.drain(..head);
        let target = text.split(' ').nth(1).context("no path")?;
        let path = target.to_owned();
        let body = match header(&text, "content-length") {
            Some(length) => self.sized(length.parse()?, stream).await?,
            None if header(&text, "transfer-encoding").is_some() => self.chunked(stream).await?,
            None => Vec::new(),
        };
        let wire = Wire::of(&path);
        Ok(Some(Request { path, body, wire }))
    }

    async fn more(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> anyhow::Result<bool> {
        self.held.reserve(64 * 1024);
        Ok(stream.read_buf(&mut self.held).await? > 0)
    }

    async fn sized(
        &mut self,
        length: usize,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> anyhow::Result<Vec<u8>> {
        while self.held.len() < length {
            if !self.more(stream).await? {
                bail!("the body was cut");
            }
        }
        let rest = self.held.split_off(length);
        Ok(std::mem::replace(&mut self.held, rest))
    }

    async fn chunked(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                if let Some(end) = memmem::find(&self.held, b"\r\n") {
                    break end;
                }
                if !self.more(stream).await? {
                    bail!("the body was cut");
                }
            };
            let size = std::str::from_utf8(&self.held[..end])?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or(size).trim(), 16)?;
            self.held.drain(..end + 2);
            let chunk = self.sized(size + 2, stream).await?;
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
}

/// The value of a header.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
