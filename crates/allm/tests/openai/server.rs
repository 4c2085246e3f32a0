//! A server on this machine that says what it is told to say.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a client sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The method and the target.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Sent {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What the server answers.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) pieces: Vec<String>,
    /// How long the server waits before each piece.
    pub(crate) pause: Duration,
    /// Whether the connection is closed before the promised end.
    pub(crate) breaks: bool,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            pieces: vec![body.into()],
            pause: Duration::ZERO,
            breaks: false,
        }
    }

    /// Frames of `data` lines.
    pub(crate) fn frames(data: &[String]) -> Self {
        let frames: String = data
            .iter()
            .map(|data| format!("data: {data}\n\n"))
            .collect();
        Self::new(200, frames)
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Server {
    /// One reply a request, each on a connection of its own.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&sent);
        tokio::spawn(async move {
            for reply in replies {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                log.lock().unwrap().push(request);
                answer(&mut stream, reply).await;
            }
        });
        Self { url, sent }
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Sent {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no request");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.unwrap().1.parse().unwrap();
    while bytes.len() < end + 4 + length {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no body");
    }
    Sent {
        line,
        headers,
        body: serde_json::from_slice(&bytes[end + 4..]).unwrap(),
    }
}

async fn answer(stream: &mut TcpStream, reply: Reply) {
    let head = format!(
        "HTTP/1.1 {} X\r\nconnection: close\r\ntransfer-encoding: chunked\r\nx-request-id: req-1\r\n\r\n",
        reply.status
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    for piece in reply.pieces {
        tokio::time::sleep(reply.pause).await;
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            return;
        }
    }
    if !reply.breaks {
        // The client may have left after the marker.
        let _ = stream.write_all(b"0\r\n\r\n").await;
    }
    let _ = stream.shutdown().await;
}
