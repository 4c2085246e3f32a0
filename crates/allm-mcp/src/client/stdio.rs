//! Messages as lines, to and from a process, none longer than a limit.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use super::child::{Pipes, Process};
use super::end::End;

/// How many lines in a row may be no message before the server is given up.
const STRANGE_LINES: u32 = 100;
/// How many open requests are remembered.
const REMEMBERED: usize = 10_000;
/// How many messages may wait to be written.
const UNREAD: usize = 1_024;
/// After how many messages other tasks get their turn.
const BURST: u32 = 64;

type Writer = Arc<tokio::sync::Mutex<Option<ChildStdin>>>;

/// Talks to a process.
pub(super) struct Lines {
    from: BufReader<ChildStdout>,
    line: Vec<u8>,
    limit: usize,
    /// Messages of a batch that wait to be taken.
    batch: VecDeque<Value>,
    strange: u32,
    burst: u32,
    open: Open,
    to: Writer,
    /// How many messages wait to be written.
    unread: Arc<AtomicUsize>,
    process: Option<Process>,
    end: End,
    server: String,
}

/// The requests that wait for an answer: an answer to anything else is a fault of the server.
#[derive(Clone, Default)]
struct Open(Arc<Mutex<HashSet<String>>>);

impl Open {
    fn add(&self, id: &RequestId) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() < REMEMBERED {
            open.insert(id.to_string());
        }
    }

    /// Whether it was open. With very many open ones it cannot be told, and counts as open.
    fn close(&self, id: &RequestId) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&id.to_string()) || open.len() >= REMEMBERED
    }
}

/// A message that waits to be written.
struct Unread(Arc<AtomicUsize>);

impl Unread {
    fn new(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(all))
    }

    fn is_too_many(&self) -> bool {
        self.0.load(Ordering::Relaxed) > UNREAD
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lines {
    pub(super) fn new(
        process: Process,
        (from, to): Pipes,
        limit: usize,
        end: End,
        server: &str,
    ) -> Self {
        Self {
            from: BufReader::new(from),
            line: Vec::new(),
            limit,
            batch: VecDeque::new(),
            strange: 0,
            burst: 0,
            open: Open::default(),
            to: Arc::new(tokio::sync::Mutex::new(Some(to))),
            unread: Arc::default(),
            process: Some(process),
            end,
            server: server.to_owned(),
        }
    }

    /// The next line, without its end. `None` when there will be none.
    ///
    /// # Cancel safety
    ///
    /// What was read of a line is kept.
    async fn next_line(&mut self) -> Option<()> {
        loop {
            let piece = match self.from.fill_buf().await {
                Ok([]) => {
                    self.end.note("the server closed its output");
                    return None;
                }
                Err(error) => {
                    self.end
                        .note(format!("the server could not be read: {error}"));
                    return None;
                }
                Ok(piece) => piece,
            };
            let at = piece.iter().position(|byte| *byte == b'\n');
            let taken = at.map_or(piece.len(), |at| at.saturating_add(1));
            if self.line.len().saturating_add(taken) > self.limit.saturating_add(1) {
                let limit = self.limit;
                self.end.note(format!(
                    "the server sent a message of more than {limit} bytes"
                ));
                return None;
            }
            self.line.extend(piece.iter().take(at.unwrap_or(taken)));
            self.from.consume(taken);
            if at.is_some() {
                return Some(());
            }
        }
    }

    /// What the line says, if it is a message.
    fn read(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        if text.starts_with(b"[")
            && let Ok(batch) = serde_json::from_slice::<Vec<Value>>(text)
            && !batch.is_empty()
        {
            self.batch.extend(batch);
            return None;
        }
        if text.is_empty() {
            // Not worth a word, but a server that says nothing else is given up like any.
            self.strange = self.strange.saturating_add(1);
            return None;
        }
        match serde_json::from_slice(text) {
            Ok(message) => Some(message),
            Err(_) => self.strange(serde_json::from_slice(text).unwrap_or_default()),
        }
    }

    /// A line that is no message. If it was meant to answer a request, that is told to whoever asked.
    fn strange(&mut self, value: Value) -> Option<ServerJsonRpcMessage> {
        self.strange = self.strange.saturating_add(1);
        tracing::warn!(
            server = self.server,
            "a line of the server is no message of the protocol"
        );
        let is_answer = value.get("result").is_some() || value.get("error").is_some();
        let id = value.get("id").filter(|_| is_answer).cloned()?;
        let id = serde_json::from_value::<RequestId>(id).ok()?;
        let error = ErrorData::parse_error("the server's answer could not be read", None);
        Some(JsonRpcMessage::error(error, Some(id)))
    }

    /// Whether a message may be passed on.
    fn is_fit(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        match id {
            Some(id) if !self.open.close(id) => {
                self.end.note(format!(
                    "the server answered a request that is not open ({id})"
                ));
                false
            }
            _ => true,
        }
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message {
            self.open.add(&request.id);
        }
        let to = Arc::clone(&self.to);
        let unread = Unread::new(&self.unread);
        async move {
            if unread.is_too_many() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut to = to.lock().await;
            let to = to.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            to.write_all(&line).await?;
            to.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        // A flood of messages is always ready; what they cause has to get its turn. Nothing is held here that could be
        // lost when this is dropped.
        self.burst = self.burst.saturating_add(1);
        if self.burst >= BURST {
            self.burst = 0;
            tokio::task::yield_now().await;
        }
        if self.unread.load(Ordering::Relaxed) > UNREAD {
            self.end.note("the server does not read what it is told");
            return None;
        }
        loop {
            let message = match self.batch.pop_front() {
                Some(value) => serde_json::from_value(value.clone())
                    .ok()
                    .or_else(|| self.strange(value)),
                None => {
                    self.next_line().await?;
                    self.read()
                }
            };
            if self.strange > STRANGE_LINES {
                self.end
                    .note("the server does not speak the protocol: its output is no messages");
                return None;
            }
            let Some(message) = message else {
                continue;
            };
            self.strange = 0;
            if !self.is_fit(&message) {
                return None;
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A write that hangs holds the pipe; the end of the process frees it.
        if let Ok(mut to) = self.to.try_lock() {
            to.take();
        }
        if let Some(process) = self.process.take() {
            process.end().await;
        }
        Ok(())
    }
}
