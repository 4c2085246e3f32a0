//! The far side of the tools, as a child sees it.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::world::Word;

/// A line to the world.
#[derive(Debug)]
pub(crate) struct FarSide(Mutex<BufReader<TcpStream>>);

impl FarSide {
    pub(crate) async fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await;
        let stream = stream.expect("the world listens");
        stream.set_nodelay(true).expect("a socket");
        Self(Mutex::new(BufReader::new(stream)))
    }

    /// Says something and waits for the answer.
    pub(crate) async fn say(&self, word: &Word) -> Value {
        let mut line = serde_json::to_string(word).expect("a word is JSON");
        line.push('\n');
        let mut stream = self.0.lock().await;
        let sent = stream.get_mut().write_all(line.as_bytes()).await;
        sent.expect("the world listens");
        let mut answer = String::new();
        let read = stream.read_line(&mut answer).await;
        read.expect("the world answers");
        serde_json::from_str(&answer).expect("the world answers with JSON")
    }
}
