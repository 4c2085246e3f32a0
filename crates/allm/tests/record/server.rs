//! A server on this machine that says what it is told to say, and is gone afterwards.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server answers.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Vec<u8>>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Whole,
    Broken,
    /// The server waits for its client to leave.
    Open,
}

impl Reply {
    /// A body, cut in the middle of whatever stands there.
    pub(crate) fn new(status: u16, body: impl AsRef<[u8]>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            pieces: body.as_ref().chunks(47).map(<[u8]>::to_vec).collect(),
            end: End::Whole,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn broken(self) -> Self {
        let end = End::Broken;
        Self { end, ..self }
    }

    pub(crate) fn open(self) -> Self {
        let end = End::Open;
        Self { end, ..self }
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// One reply a request, each on a connection of its own. After the last one nobody listens.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heads);
        tokio::spawn(async move {
            for reply in replies {
                let (mut stream, _) = listener.accept().await.unwrap();
                let head = read(&mut stream).await;
                log.lock().unwrap().push(head);
                answer(&mut stream, reply).await;
            }
        });
        Self { url, heads }
    }

    /// The heads of the requests that came.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no request");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.unwrap().1.parse().unwrap();
    while bytes.len() < end + 4 + length {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no body");
    }
    head
}

async fn answer(stream: &mut TcpStream, reply: Reply) {
    let mut head = format!(
        "HTTP/1.1 {} X\r\nconnection: close\r\ntransfer-encoding: chunked\r\nx-request-id: req-1\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    let mut bytes = head.into_bytes();
    for piece in &reply.pieces {
        bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
        bytes.extend(piece);
        bytes.extend(b"\r\n");
    }
    if reply.end == End::Whole {
        bytes.extend(b"0\r\n\r\n");
    }
    // The client may leave as soon as it has what counts.
    let _ = stream.write_all(&bytes).await;
    if reply.end == End::Open {
        let _ = stream.read_u8().await;
    }
    let _ = stream.shutdown().await;
}
