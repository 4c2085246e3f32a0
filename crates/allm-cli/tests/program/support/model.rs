//! A server that speaks as many do (Chat Completions, streamed) and says what the test wants.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::patience::LIMIT;

/// What the model says to a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A text, a piece for each word.
    Text(String),
    /// Calls of tools, after a text.
    Calls(String, Vec<(String, Value)>),
    /// The first pieces of a text, and then nothing before [`Model::release`]; then the rest.
    Held(String, String),
    /// A thought, and then a text.
    Thinks(String, String),
    /// Nothing at all before [`Model::release`], and then the text.
    Silent(String),
    /// A refusal of the server, with its status.
    Status(u16, String),
    /// A refusal of the server, with its status and its own words and code.
    Refused(u16, Value),
    /// The server takes no more for now, and says for how many seconds.
    Later(u32),
    /// A text, and this reason for its end.
    Ended(String, String),
    /// The connection breaks in the middle of this text.
    Broken(String),
}

impl Reply {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn call(name: &str, arguments: Value) -> Self {
        Self::Calls(String::new(), vec![(name.to_owned(), arguments)])
    }
}

type Answer = dyn Fn(&Value, usize) -> Reply + Send + Sync;

/// A model behind a server on the loopback address.
pub(crate) struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    release: Sender<()>,
    /// Told when a held reply has said its first part.
    held: Mutex<Receiver<()>>,
}

struct Server {
    answer: Box<Answer>,
    asked: Arc<Mutex<Vec<Value>>>,
    released: Mutex<Receiver<()>>,
    holding: Sender<()>,
}

impl Model {
    /// Says these one after another, and refuses what comes after them.
    pub(crate) fn script(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::answering(move |_, number| {
            let over = || Reply::Status(500, "the script is over".to_owned());
            replies.get(number).cloned().unwrap_or_else(over)
        })
    }

    /// Says what this makes of a request and of how many came before it.
    pub(crate) fn answering(
        answer: impl Fn(&Value, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (release, released) = channel();
        let (holding, held) = channel();
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let server = Arc::new(Server {
            answer: Box::new(answer),
            asked: Arc::clone(&asked),
            released: Mutex::new(released),
            holding,
        });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = Arc::clone(&server);
                // A client that goes away is no failure of the server.
                thread::spawn(move || server.serve(stream).ok());
            }
        });
        Self {
            address,
            asked,
            release,
            held: Mutex::new(held),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests that came, in their order.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until a held reply has said its first part.
    pub(crate) fn wait_until_held(&self) {
        let held = self.held.lock().unwrap().recv_timeout(LIMIT);
        held.expect("waited for the model to be asked");
    }

    /// Lets a held reply go on.
    pub(crate) fn release(&self) {
        self.release.send(()).unwrap();
    }
}

impl Server {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        loop {
            let Some(body) = read_request(&mut reader)? else {
                return Ok(());
            };
            let number = {
                let mut asked = self.asked.lock().unwrap();
                asked.push(body.clone());
                asked.len() - 1
            };
            let reply = (self.answer)(&body, number);
            if !self.reply(&mut stream, reply)? {
                return Ok(());
            }
        }
    }

    /// Whether the connection can be used again.
    fn reply(&self, stream: &mut TcpStream, reply: Reply) -> std::io::Result<bool> {
        let refused = match &reply {
            Reply::Status(status, message) => {
                Some((status, json!({"message": message, "type": "scripted"})))
            }
            Reply::Refused(status, error) => Some((status, error.clone())),
            Reply::Later(_) => Some((&429, json!({"message": "slow down"}))),
            _ => None,
        };
        if let Some((status, error)) = refused {
            let later = match &reply {
                Reply::Later(seconds) => format!("retry-after: {seconds}\r\n"),
                _ => String::new(),
            };
            let body = json!({"error": error}).to_string();
            write!(
                stream,
                "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{later}content-length: {}\r\n\r\n{body}",
                body.len()
            )?;
            return Ok(true);
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        )?;
        stream.flush()?;
        let mut finish = "stop".to_owned();
        match reply {
            Reply::Text(text) => say(stream, &text)?,
            Reply::Ended(text, reason) => {
                say(stream, &text)?;
                finish = reason;
            }
            Reply::Calls(text, calls) => {
                say(stream, &text)?;
                for (index, (name, arguments)) in calls.iter().enumerate() {
                    let function = json!({"name": name, "arguments": arguments.to_string()});
                    let id = format!("call_{index}");
                    let call =
                        json!({"index": index, "id": id, "type": "function", "function": function});
                    chunk(stream, &json!({"tool_calls": [call]}), None)?;
                }
                finish = "tool_calls".to_owned();
            }
            Reply::Held(first, rest) => {
                say(stream, &first)?;
                self.hold();
                say(stream, &rest)?;
            }
            Reply::Thinks(thought, text) => {
                for piece in thought.split_inclusive(' ') {
                    chunk(stream, &json!({"reasoning_content": piece}), None)?;
                }
                say(stream, &text)?;
            }
            Reply::Silent(text) => {
                self.hold();
                say(stream, &text)?;
            }
            Reply::Broken(text) => {
                say(stream, &text)?;
                return Ok(false);
            }
            Reply::Status(..) | Reply::Refused(..) | Reply::Later(_) => {}
        }
        chunk(stream, &json!({}), Some(&finish))?;
        let usage = json!({"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17});
        let last = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "any", "choices": [], "usage": usage});
        write!(stream, "data: {last}\n\ndata: [DONE]\n\n")?;
        stream.flush()?;
        Ok(false)
    }

    fn hold(&self) {
        let _ = self.holding.send(());
        let _ = self.released.lock().unwrap().recv();
    }
}

fn say(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    for piece in text.split_inclusive(' ') {
        chunk(stream, &json!({"content": piece}), None)?;
    }
    Ok(())
}

fn chunk(stream: &mut TcpStream, delta: &Value, finish: Option<&str>) -> std::io::Result<()> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let event = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "any", "choices": [choice]});
    write!(stream, "data: {event}\n\n")?;
    stream.flush()
}

/// The body of the next request; `None` when the client is gone.
fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Value>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body).unwrap()))
}
