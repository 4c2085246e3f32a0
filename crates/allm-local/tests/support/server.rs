//! A server on this machine that behaves as the test says.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What comes for a path.
#[derive(Clone)]
pub(crate) enum Reply {
    /// This body, also in parts if parts are asked for.
    Body(Vec<u8>),
    /// This body of this type.
    Page(&'static str, String),
    /// The body, of which the first answers break off after so many bytes.
    Breaks {
        body: Vec<u8>,
        after: usize,
        times: usize,
    },
    /// As before, from a server that knows no parts.
    BreaksWithoutParts {
        body: Vec<u8>,
        after: usize,
        times: usize,
    },
    Redirect(String),
    Status(u16),
}

/// A request that came: its path and its headers.
pub(crate) type Seen = (String, HashMap<String, String>);

pub(crate) struct Server {
    pub(crate) address: String,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            replies: Arc::default(),
            seen: Arc::default(),
        };
        let (replies, seen) = (Arc::clone(&server.replies), Arc::clone(&server.seen));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (replies, seen) = (Arc::clone(&replies), Arc::clone(&seen));
                std::thread::spawn(move || answer(stream.unwrap(), &replies, &seen));
            }
        });
        server
    }

    pub(crate) fn at(&self, path: &str, reply: Reply) -> String {
        self.replies.lock().unwrap().insert(path.to_owned(), reply);
        format!("{}{path}", self.address)
    }

    /// The requests that came, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, replies: &Mutex<HashMap<String, Reply>>, seen: &Mutex<Vec<Seen>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    let path = first.split(' ').nth(1).unwrap().to_owned();
    let mut headers = HashMap::new();
    for line in lines {
        let Ok(line) = line else { return };
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    seen.lock().unwrap().push((path.clone(), headers.clone()));
    let reply = {
        let mut replies = replies.lock().unwrap();
        let reply = replies.get_mut(&path);
        let now = reply.as_deref().cloned().unwrap_or(Reply::Status(404));
        // One break less to come.
        if let Some(Reply::Breaks { times, .. } | Reply::BreaksWithoutParts { times, .. }) = reply {
            *times = times.saturating_sub(1);
        }
        now
    };
    let part = headers.get("range").and_then(|range| {
        range
            .strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse()
            .ok()
    });
    let written = match reply {
        Reply::Body(body) => send(&mut stream, &body, part, usize::MAX),
        Reply::Page(kind, body) => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(body.as_bytes()))
        }
        Reply::Breaks { body, after, times } => send(
            &mut stream,
            &body,
            part,
            if times > 0 { after } else { usize::MAX },
        ),
        Reply::BreaksWithoutParts { body, after, times } => send(
            &mut stream,
            &body,
            None,
            if times > 0 { after } else { usize::MAX },
        ),
        Reply::Redirect(to) => {
            let head = format!(
                "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes())
        }
        Reply::Status(status) => {
            let head =
                format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes())
        }
    };
    // Who asked may be gone.
    drop(written);
}

fn send(
    stream: &mut TcpStream,
    body: &[u8],
    part: Option<usize>,
    most: usize,
) -> std::io::Result<()> {
    let from = part.unwrap_or(0);
    let rest = &body[from..];
    let status = match part {
        None => "200 OK".to_owned(),
        Some(_) => format!(
            "206 Partial Content\r\ncontent-range: bytes {from}-{}/{}",
            body.len() - 1,
            body.len()
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\netag: \"one\"\r\nconnection: close\r\n\r\n",
        rest.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&rest[..most.min(rest.len())])?;
    stream.flush()
}
