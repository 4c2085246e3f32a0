//! A server on this machine that gives every request the same answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allm_conformance::adapter::Traffic;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: String,
    /// In pieces, each sent by itself.
    body: Vec<String>,
    end: End,
}

/// What the server does at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Close,
    /// Nothing, for ever.
    Hang,
    /// As well, and not even a head before it.
    Silent,
}

impl Answer {
    /// Frames, as they are.
    pub(crate) fn frames(body: Vec<String>) -> Self {
        Self {
            status: 200,
            headers: "content-type: text/event-stream\r\n".to_owned(),
            body,
            end: End::Close,
        }
    }

    /// A failure.
    pub(crate) fn failure(status: u16, body: String) -> Self {
        Self {
            status,
            headers: "content-type: application/json\r\n".to_owned(),
            body: vec![body],
            end: End::Close,
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn then_hangs(mut self) -> Self {
        self.end = End::Hang;
        self
    }

    pub(crate) fn silence() -> Self {
        Self {
            end: End::Silent,
            ..Self::frames(Vec::new())
        }
    }
}

/// What the server has seen so far.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    opened: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl Seen {
    pub(crate) fn traffic(&self) -> Traffic {
        Traffic {
            opened: self.opened.load(Ordering::SeqCst),
            open: self.open.load(Ordering::SeqCst),
        }
    }
}

/// Starts a server; gives its address.
pub(crate) fn start(answer: Answer) -> (String, Seen) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Seen::default();
    let log = seen.clone();
    tokio::spawn(async move {
        let listener = TcpListener::from_std(listener).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            let (answer, log) = (answer.clone(), log.clone());
            tokio::spawn(async move { serve(stream, answer, log).await });
        }
    });
    (url, seen)
}

async fn serve(mut stream: TcpStream, answer: Answer, seen: Seen) {
    if !read(&mut stream).await {
        return;
    }
    seen.open.fetch_add(1, Ordering::SeqCst);
    seen.opened.fetch_add(1, Ordering::SeqCst);
    // The client may go at any time.
    let _ = say(&mut stream, &answer).await;
    if answer.end == End::Close {
        let _ = stream.shutdown().await;
    }
    let mut rest = [0; 64];
    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
    seen.open.fetch_sub(1, Ordering::SeqCst);
}

async fn say(stream: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    if answer.end == End::Silent {
        return Ok(());
    }
    let head = format!(
        "HTTP/1.1 {} X\r\nconnection: close\r\n{}\r\n",
        answer.status, answer.headers
    );
    stream.write_all(head.as_bytes()).await?;
    for piece in &answer.body {
        stream.write_all(piece.as_bytes()).await?;
    }
    Ok(())
}

/// Whether a whole request came.
async fn read(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let line = line.to_ascii_lowercase();
                line.strip_prefix("content-length:")?
                    .trim()
                    .parse::<usize>()
                    .ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return true;
            }
        }
        if !matches!(stream.read_buf(&mut bytes).await, Ok(read) if read > 0) {
            return false;
        }
    }
}
