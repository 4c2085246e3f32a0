//! A server of a few pages.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server of a few pages on the loopback address.
pub(crate) struct Pages {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Pages {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(stream, &seen).ok());
            }
        });
        Self { address, asked }
    }

    /// Address and port.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// The paths that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(path.clone());
    let moved = |to: &str| ("302 Found", format!("location: {to}\r\n"), Vec::new());
    let (status, headers, body) = match path.as_str() {
        "/hello" => ("200 OK", String::new(), b"hello\n".to_vec()),
        "/moved" => moved("hello"),
        "/round" => moved("/round"),
        "/long" => ("200 OK", String::new(), vec![b'x'; 101]),
        "/binary" => (
            "200 OK",
            "content-type: image/png\r\n".to_owned(),
            vec![0x89, 0],
        ),
        away if away.starts_with("/away?") => moved(&format!("http://{}/hello", &away[6..])),
        _ => ("404 Not Found", String::new(), b"nothing here".to_vec()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}
