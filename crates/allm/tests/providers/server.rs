//! A server on this machine that gives everybody the same answer.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a client sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) struct Server {
    pub(crate) url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Server {
    /// Answers every request with this body.
    pub(crate) async fn start(body: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&sent);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                log.lock().unwrap().push(request);
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
                // The client may have left already.
                let _ = stream.shutdown().await;
            }
        });
        Self { url, sent }
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Sent {
        self.sent().pop().expect("a request")
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
    let head = head.to_ascii_lowercase();
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    let length = headers.find(|(name, _)| *name == "content-length");
    let length: usize = length.unwrap().1.parse().unwrap();
    while bytes.len() < end + 4 + length {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no body");
    }
    let body = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
    Sent { head, body }
}
