//! A provider on this machine that knows its users' keys, and repeats them when it can.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{End, PURE};

pub(crate) struct Provider {
    pub(crate) url: String,
    keys: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    pub(crate) async fn start(key: &str, end: End) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("a port"));
        let keys = Arc::new(Mutex::new(Vec::new()));
        let (seen, key) = (Arc::clone(&keys), key.to_owned());
        tokio::spawn(async move {
            for asked in 0.. {
                let Ok((mut stream, _)) = listener.accept().await else {
                    return;
                };
                let sent = read(&mut stream).await;
                seen.lock().expect("not poisoned").push(sent);
                let (status, body) = answer(&key, end, asked);
                // Whoever asked may have heard enough.
                let _ = write(&mut stream, status, &key, &body).await;
            }
        });
        Self { url, keys }
    }

    /// The keys that came, one for each request.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.keys.lock().expect("not poisoned").clone()
    }

    pub(crate) fn asked(&self) -> usize {
        self.keys().len()
    }
}

fn answer(key: &str, end: End, asked: usize) -> (u16, String) {
    let repeated = |kind: &str| {
        json!({"error": {
            "message": format!("Incorrect API key provided: {key}. {key}"),
            "type": kind, "param": key, "code": key, "headers": {"authorization": format!("Bearer {key}")},
        }})
    };
    match (end, asked) {
        (End::Refused, _) => (401, repeated("invalid_request_error").to_string()),
        (End::BrokenOff, _) => {
            let text = chunk(&json!({"role": "assistant", "content": "Hel"}), Value::Null);
            (200, frames(&[text, repeated("server_error").to_string()]))
        }
        (_, 0) => {
            let call = json!({"index": 0, "id": "call_1", "type": "function",
                "function": {"name": PURE, "arguments": "{}"}});
            let call = chunk(
                &json!({"role": "assistant", "tool_calls": [call]}),
                Value::Null,
            );
            let end = chunk(&json!({}), json!("tool_calls"));
            (200, frames(&[call, end, "[DONE]".to_owned()]))
        }
        _ => {
            let text = chunk(
                &json!({"role": "assistant", "content": "Hello."}),
                Value::Null,
            );
            let end = chunk(&json!({}), json!("stop"));
            (200, frames(&[text, end, "[DONE]".to_owned()]))
        }
    }
}

fn chunk(delta: &Value, finish: Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    json!({"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-any",
        "choices": [choice]})
    .to_string()
}

fn frames(data: &[String]) -> String {
    let frames = data.iter().map(|data| format!("data: {data}\n\n"));
    frames.collect()
}

/// Reads a request, and gives the key that it came with.
async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        assert!(stream.read_buf(&mut bytes).await.expect("read") > 0);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.expect("a header").1.to_owned()
    };
    let length: usize = header("content-length").parse().expect("a number");
    while bytes.len() < end + 4 + length {
        assert!(stream.read_buf(&mut bytes).await.expect("read") > 0);
    }
    let key = header("authorization");
    key.strip_prefix("Bearer ").expect("a key").to_owned()
}

async fn write(stream: &mut TcpStream, status: u16, key: &str, body: &str) -> std::io::Result<()> {
    let kind = if status == 200 {
        "text/event-stream"
    } else {
        "application/json"
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {}\r\nx-request-id: req-{key}\r\nx-echo: {key}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
