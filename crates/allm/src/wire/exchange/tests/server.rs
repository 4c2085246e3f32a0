//! A server on this machine that does as it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a connection, after it has read the request.
#[derive(Clone)]
pub(super) enum Do {
    Send(Vec<u8>),
    Wait(Duration),
    /// Sends this again and again, with a wait before each.
    Drip(Vec<u8>, Duration),
    Reset,
    Hang,
}

pub(super) struct Server {
    pub(super) url: String,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// A server that does this with every connection, and then closes it.
    pub(super) async fn start(script: Vec<Do>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, script.clone()));
            }
        });
        Self { url, connections }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A head with this status and these headers; the body ends with the connection.
pub(super) fn head(status: u16, headers: &[(&str, &str)]) -> Do {
    let mut text = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    Do::Send(text.into_bytes())
}

pub(super) fn send(text: &str) -> Do {
    Do::Send(text.as_bytes().to_vec())
}

async fn serve(mut stream: TcpStream, script: Vec<Do>) {
    read_request(&mut stream).await;
    for step in script {
        let sent = match step {
            Do::Send(bytes) => stream.write_all(&bytes).await,
            Do::Wait(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Do::Drip(bytes, time) => loop {
                tokio::time::sleep(time).await;
                if let Err(error) = stream.write_all(&bytes).await {
                    break Err(error);
                }
            },
            Do::Reset => {
                drop(stream.set_zero_linger());
                return;
            }
            Do::Hang => {
                std::future::pending::<()>().await;
                Ok(())
            }
        };
        if sent.is_err() {
            return;
        }
    }
    // What the other side has not read yet must not be lost in a reset.
    drop(stream.shutdown().await);
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

async fn read_request(stream: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        seen.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length:")?
                    .trim()
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        if body.len() >= length {
            return;
        }
    }
}
