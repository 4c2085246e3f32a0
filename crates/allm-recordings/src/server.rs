//! A server on this machine that answers with what was recorded.
//!
//! `POST /r/<hash>/<cut>/…anything…` is answered with the status, the headers and the body of the record with that hash.
//! The cut says how the body travels, see [`Cut`]. A header `x-cut` beats that of the path, so that one client can ask for
//! many.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::record::{Record, Recordings};

/// How a body travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// `whole`: with its length.
    Whole,
    /// `recorded`: in the pieces in which it was received; where they are not known, in pieces of 1 KiB.
    Recorded,
    /// `bytes`: every byte is a piece.
    Bytes,
    /// `at-N`: in two pieces, the first of N bytes.
    At(usize),
    /// `end-N`: only the first N bytes, and then the proper end.
    End(usize),
    /// `break-N`: only the first N bytes, and then the connection is closed.
    Break(usize),
}

impl Cut {
    fn parse(text: &str) -> Option<Self> {
        let at = |name: &str| text.strip_prefix(name)?.parse().ok();
        match text {
            "whole" => Some(Self::Whole),
            "recorded" => Some(Self::Recorded),
            "bytes" => Some(Self::Bytes),
            _ => at("at-")
                .map(Self::At)
                .or_else(|| at("end-").map(Self::End))
                .or_else(|| at("break-").map(Self::Break)),
        }
    }

    /// As it stands in the path.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Whole => "whole".to_owned(),
            Self::Recorded => "recorded".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::At(at) => format!("at-{at}"),
            Self::End(at) => format!("end-{at}"),
            Self::Break(at) => format!("break-{at}"),
        }
    }
}

/// The header that names a cut.
pub const CUT_HEADER: &str = "x-cut";

/// What a client sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The hash of the record that it was answered with.
    pub hash: String,
    /// The target after the cut, with its query: `/chat/completions`.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The JSON body; `null` when it is none.
    pub body: Value,
    /// The body, byte for byte.
    pub bytes: Vec<u8>,
}

/// Whether the server keeps what clients send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All of it.
    Sent,
    /// Nothing.
    Nothing,
}

/// The server. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<Sent>>>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts to serve on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub async fn start(recordings: Arc<Recordings>, keep: Keep) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let log = (keep == Keep::Sent).then(|| Arc::clone(&sent));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let connection = Connection {
                    stream,
                    unread: Vec::new(),
                    recordings: Arc::clone(&recordings),
                    log: log.clone(),
                };
                tokio::spawn(connection.serve());
            }
        });
        Self {
            address,
            sent,
            accepting,
        }
    }

    /// The address of the server, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL at which every request is answered with this record.
    #[must_use]
    pub fn base_url(&self, record: &Record, cut: Cut) -> String {
        format!("http://{}/r/{}/{}", self.address, record.hash, cut.text())
    }

    /// What was sent since this was last asked, in order.
    #[must_use]
    pub fn take_sent(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.sent.lock().unwrap())
    }

    /// What was sent to this record, in order. Empty when nothing is kept.
    #[must_use]
    pub fn sent_to(&self, record: &Record) -> Vec<Sent> {
        let sent = self.sent.lock().unwrap();
        sent.iter()
            .filter(|sent| sent.hash == record.hash)
            .cloned()
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The head and the body of a request.
struct Request {
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
    recordings: Arc<Recordings>,
    log: Option<Arc<Mutex<Vec<Sent>>>>,
}

impl Connection {
    async fn serve(mut self) {
        // A client that leaves is no fault of ours.
        while let Ok(Some(request)) = self.read().await {
            match self.answer(request).await {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
        }
    }

    /// The next request; `None` when the client closed the connection.
    async fn read(&mut self) -> io::Result<Option<Request>> {
        let end = loop {
            let found = self.unread.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = found {
                break end;
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&self.unread[..end]).into_owned();
        let mut lines = head.lines();
        let target = lines.next().and_then(|line| line.split(' ').nth(1));
        let path = target.unwrap_or_default().to_owned();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok());
        let whole = end + 4 + length.unwrap_or(0);
        while self.unread.len() < whole {
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Ok(None);
            }
        }
        let rest = self.unread.split_off(whole);
        let mut body = std::mem::replace(&mut self.unread, rest);
        body.drain(..end + 4);
        Ok(Some(Request {
            path,
            headers,
            body,
        }))
    }

    /// Answers; `false` when the connection is to be closed.
    async fn answer(&mut self, request: Request) -> io::Result<bool> {
        let Some((record, mut cut, path)) = self.find(&request.path) else {
            let none = b"HTTP/1.1 410 Gone\r\ncontent-length: 14\r\n\r\nno such record";
            self.stream.write_all(none).await?;
            return Ok(true);
        };
        let asked = request.headers.iter().find(|(name, _)| name == CUT_HEADER);
        if let Some(asked) = asked.and_then(|(_, value)| Cut::parse(value)) {
            cut = asked;
        }
        if let Some(log) = &self.log {
            log.lock().unwrap().push(Sent {
                hash: record.hash.clone(),
                path,
                headers: request.headers,
                body: serde_json::from_slice(&request.body).unwrap_or_default(),
                bytes: request.body,
            });
        }
        self.stream.write_all(&answer(&record, cut)).await?;
        Ok(!matches!(cut, Cut::Break(_)))
    }

    fn find(&self, path: &str) -> Option<(Arc<Record>, Cut, String)> {
        let (hash, rest) = path.strip_prefix("/r/")?.split_once('/')?;
        let (cut, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let record = Arc::clone(self.recordings.by_hash(hash)?);
        Some((record, Cut::parse(cut)?, rest.to_owned()))
    }
}

/// The bytes of the answer.
fn answer(record: &Record, cut: Cut) -> Vec<u8> {
    let response = &record.response;
    let body = &response.body;
    let mut bytes = format!("HTTP/1.1 {} Recorded\r\n", response.status).into_bytes();
    for (name, value) in &response.headers {
        if !is_of_the_transport(name) && is_sendable(name) && is_sendable(value) {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
    }
    let before = |at: usize| &body[..at.min(body.len())];
    match cut {
        Cut::Whole => {
            bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(body);
        }
        Cut::Recorded if response.chunk_lengths.is_empty() => {
            chunked(&mut bytes, body.chunks(1024), true);
        }
        Cut::Recorded => chunked(&mut bytes, pieces(body, &response.chunk_lengths), true),
        Cut::Bytes => chunked(&mut bytes, body.chunks(1), true),
        Cut::At(at) => {
            let first = before(at);
            chunked(&mut bytes, [first, &body[first.len()..]].into_iter(), true);
        }
        Cut::End(at) => chunked(&mut bytes, [before(at)].into_iter(), true),
        Cut::Break(at) => chunked(&mut bytes, [before(at)].into_iter(), false),
    }
    bytes
}

fn chunked<'a>(bytes: &mut Vec<u8>, pieces: impl Iterator<Item = &'a [u8]>, ends: bool) {
    bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    // A reader sees each chunk as a piece of its own, however many of them arrive at once.
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    if ends {
        bytes.extend_from_slice(b"0\r\n\r\n");
    }
}

/// The body in pieces of these lengths; what they leave is the last piece.
fn pieces<'a>(body: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = body;
    lengths
        .iter()
        .copied()
        .chain([usize::MAX])
        .map(move |length| {
            let (piece, left) = rest.split_at(length.min(rest.len()));
            rest = left;
            piece
        })
}

fn is_of_the_transport(name: &str) -> bool {
    matches!(
        name,
        "content-length" | "transfer-encoding" | "content-encoding" | "connection" | "keep-alive"
    )
}

fn is_sendable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte >= b' ' && byte != 0x7f)
}
