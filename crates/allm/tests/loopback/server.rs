//! A small HTTP server that answers each request with the next reply of a list.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What is answered.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Lines of the head.
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the connection closes before the body is whole.
    pub(crate) breaks: bool,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self {
            status: 200,
            head: "request-id: req_head\r\n".to_owned(),
            body: body.into(),
            breaks: false,
        }
    }
}

/// What was asked.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) target: String,
    head: String,
    pub(crate) body: Value,
}

impl Sent {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Server {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&sent);
        tokio::spawn(async move {
            for reply in replies {
                let (mut socket, _) = listener.accept().await.unwrap();
                let request = read(&mut socket).await;
                log.lock().unwrap().push(request);
                write(&mut socket, reply).await;
            }
        });
        Self { url, sent }
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

async fn read(socket: &mut TcpStream) -> Sent {
    let mut bytes = Vec::new();
    let head = loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            break String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
        }
        assert_ne!(socket.read_buf(&mut bytes).await.unwrap(), 0);
    };
    let mut sent = Sent {
        target: head.split(' ').nth(1).unwrap().to_owned(),
        head,
        body: Value::Null,
    };
    let length: usize = sent.header("content-length").unwrap().parse().unwrap();
    while bytes.len() < length {
        assert_ne!(socket.read_buf(&mut bytes).await.unwrap(), 0);
    }
    sent.body = serde_json::from_slice(&bytes).unwrap();
    sent
}

async fn write(socket: &mut TcpStream, reply: Reply) {
    let Reply {
        status,
        head,
        body,
        breaks,
    } = reply;
    let length = body.len() + usize::from(breaks);
    let text = format!(
        "HTTP/1.1 {status} X\r\n{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    socket.write_all(text.as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
}
