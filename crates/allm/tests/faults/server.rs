//! A server on this machine that does what no server should.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// What the server does with a request, one after the other. At the end it closes the connection.
#[derive(Clone, Debug)]
pub(crate) enum Do {
    Send(Vec<u8>),
    /// One byte at a time, each by itself.
    Drip(Vec<u8>),
    Wait(Duration),
    /// Again and again, with a wait before each, until the other side has gone.
    Repeat(Vec<u8>, Duration),
    /// The connection breaks.
    Reset,
    /// Nothing, for ever.
    Hang,
    /// The connection stays open for the next request.
    KeepAlive,
}

pub(crate) type Script = Vec<Do>;

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    /// The head, as it came.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Each request gets the next script; the last one stays.
    pub(crate) async fn start(scripts: Vec<Script>) -> Self {
        Self::listen(scripts, true).await
    }

    /// A server that breaks every connection before it has read anything.
    pub(crate) async fn breaking() -> Self {
        Self::listen(vec![vec![Do::Reset]], false).await
    }

    async fn listen(scripts: Vec<Script>, reads: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (log, count) = (Arc::clone(&seen), Arc::clone(&connections));
        let scripts = Arc::new(scripts);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).unwrap();
                if reads {
                    tokio::spawn(serve(stream, Arc::clone(&scripts), Arc::clone(&log)));
                } else {
                    stream.set_zero_linger().unwrap();
                }
            }
        });
        Self {
            url,
            seen,
            connections,
        }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A head with this status and these headers. Unless they say otherwise, the body ends with the connection.
pub(crate) fn head(status: u16, headers: &[(&str, &str)]) -> Do {
    let mut text = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    Do::Send(text.into_bytes())
}

pub(crate) fn send(text: impl AsRef<[u8]>) -> Do {
    Do::Send(text.as_ref().to_vec())
}

/// A whole answer.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Script {
    let length = body.as_ref().len().to_string();
    let headers = [headers, &[("content-length", length.as_str())]].concat();
    vec![head(status, &headers), send(body)]
}

async fn serve(mut stream: TcpStream, scripts: Arc<Vec<Script>>, log: Arc<Mutex<Vec<Seen>>>) {
    while let Some(seen) = read(&mut stream).await {
        let script = {
            let mut log = log.lock().unwrap();
            log.push(seen);
            scripts[(log.len() - 1).min(scripts.len() - 1)].clone()
        };
        if !matches!(play(&mut stream, script).await, Ok(true)) {
            return;
        }
    }
}

/// Whether the connection stays.
async fn play(stream: &mut TcpStream, script: Script) -> std::io::Result<bool> {
    for step in script {
        match step {
            Do::Send(bytes) => stream.write_all(&bytes).await?,
            Do::Drip(bytes) => {
                for byte in bytes {
                    stream.write_all(&[byte]).await?;
                    tokio::task::yield_now().await;
                }
            }
            Do::Wait(time) => tokio::time::sleep(time).await,
            Do::Repeat(bytes, wait) => loop {
                tokio::time::sleep(wait).await;
                stream.write_all(&bytes).await?;
            },
            Do::Reset => {
                stream.set_zero_linger()?;
                return Ok(false);
            }
            Do::Hang => std::future::pending().await,
            Do::KeepAlive => return Ok(true),
        }
    }
    // What the other side has not read yet must not be lost in a reset.
    stream.shutdown().await?;
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(false)
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix("content-length:")?.trim().parse().ok()
    });
    let whole = end + 4 + length.unwrap_or(0);
    while bytes.len() < whole {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Seen {
        at: Instant::now(),
        head,
        body: bytes[end + 4..].to_vec(),
    })
}
