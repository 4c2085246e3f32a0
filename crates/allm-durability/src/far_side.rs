//! The far side of the tools, as a child sees it.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::world::Word;

/// A line to the world.
#[derive(Debug)]
pub(crate) struct FarSide(Arc<Mutex<BufReader<TcpStream>>>);

impl FarSide {
    pub(crate) async fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await;
        let stream = stream.expect("the world listens");
        stream.set_nodelay(true).expect("a socket");
        Self(Arc::new(Mutex::new(BufReader::new(stream))))
    }

    /// Says something and waits for the answer. Who stops waiting does not leave the answer to the next who asks.
    pub(crate) async fn say(&self, word: &Word) -> Value {
        let mut line = serde_json::to_string(word).expect("a word is JSON");
        line.push('\n');
        let stream = Arc::clone(&self.0);
        let talk = tokio::spawn(async move {
            let mut stream = stream.lock().await;
            let sent = stream.get_mut().write_all(line.as_bytes()).await;
            let mut answer = String::new();
            let read = stream.read_line(&mut answer).await;
            if sent.is_err() || !read.is_ok_and(|read| read > 0) {
                // Whoever looked at this is gone.
                std::process::exit(1);
            }
            serde_json::from_str(&answer).expect("the world answers with JSON")
        });
        talk.await.expect("the world answers")
    }
}
