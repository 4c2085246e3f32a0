//! The recordings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::hex::sha256;

/// The dialects that the library speaks, as the files are named.
pub const DIALECTS: [&str; 4] = [
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
];

/// One recorded exchange.
#[derive(Clone, Debug)]
pub struct Record {
    /// The first 16 hex digits of the SHA-256 of the record's line, without its line end.
    pub hash: String,
    /// The name of the record.
    pub id: String,
    /// Which wire it is, as the file is named.
    pub dialect: String,
    /// Who answered.
    pub provider: String,
    /// The model that was asked.
    pub model: Option<String>,
    /// Whether a stream was asked for.
    pub streaming: bool,
    /// The conversation that it belongs to.
    pub conversation: Option<String>,
    /// Its place in the conversation.
    pub ordinal: Option<u64>,
    /// The record that it goes on from.
    pub continues: Option<Continues>,
    /// Whether no request was kept.
    pub response_only: bool,
    /// How much of the bytes is as it was received; begins with `raw` when all of it is.
    pub fidelity: String,
    /// What was sent.
    pub request: Request,
    /// What was answered.
    pub response: Response,
}

impl Record {
    /// Whether the body is byte for byte as it was received.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        self.fidelity.starts_with("raw")
    }

    /// Whether the answer is a stream of events that was received in full.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.streaming && self.response.status == 200
    }
}

/// The record that another one goes on from.
#[derive(Clone, Debug, Deserialize)]
pub struct Continues {
    /// Its id.
    pub id: String,
    /// How they are linked.
    #[serde(default)]
    pub link: Value,
}

/// What was sent.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The HTTP method.
    pub method: String,
    /// The server.
    pub host: Option<String>,
    /// The target.
    #[serde(default)]
    pub path: String,
    /// The JSON body.
    #[serde(default)]
    pub body: Value,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes.
    pub body: Vec<u8>,
    /// The lengths of the pieces in which it came, where they are known.
    pub chunk_lengths: Vec<usize>,
}

/// The recordings of all dialects.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    records: Vec<Arc<Record>>,
    by_hash: HashMap<String, Arc<Record>>,
    by_id: HashMap<String, Arc<Record>>,
}

impl Recordings {
    /// Every record, in the order of the files.
    #[must_use]
    pub fn all(&self) -> &[Arc<Record>] {
        &self.records
    }

    /// Every record of a dialect, in the order of its file.
    pub fn of<'a>(&'a self, dialect: &'a str) -> impl Iterator<Item = &'a Arc<Record>> {
        self.records
            .iter()
            .filter(move |record| record.dialect == dialect)
    }

    /// The record with this hash.
    #[must_use]
    pub fn by_hash(&self, hash: &str) -> Option<&Arc<Record>> {
        self.by_hash.get(hash)
    }

    /// The record with this id.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<&Arc<Record>> {
        self.by_id.get(id)
    }

    fn load(folder: &Path) -> Self {
        let mut recordings = Self::default();
        for dialect in DIALECTS {
            let file = folder.join("recordings").join(format!("{dialect}.jsonl"));
            let bytes = std::fs::read(&file)
                .unwrap_or_else(|error| panic!("{} cannot be read: {error}", file.display()));
            for line in bytes.split(|byte| *byte == b'\n') {
                if !line.is_empty() {
                    recordings.add(Arc::new(read(line)));
                }
            }
        }
        recordings
    }

    /// Adds a record.
    pub fn add(&mut self, record: Arc<Record>) {
        self.by_hash
            .insert(record.hash.clone(), Arc::clone(&record));
        self.by_id.insert(record.id.clone(), Arc::clone(&record));
        self.records.push(record);
    }
}

/// The recordings of the supported dialects; without them `None`, and standard output says so.
#[must_use]
pub fn recordings() -> Option<Recordings> {
    let folder = folder();
    if !folder.join("recordings").is_dir() {
        println!(
            "SKIPPED: no recordings at {}; set ALLM_RECORDINGS to their folder",
            folder.display()
        );
        return None;
    }
    Some(Recordings::load(&folder))
}

pub(crate) fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("ALLM_RECORDINGS") {
        return folder.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap_or(root);
    root.parent().unwrap_or(&root).join("shared/wire")
}

#[derive(Deserialize)]
struct Line {
    id: String,
    dialect: String,
    provider: String,
    model: Option<String>,
    #[serde(default)]
    streaming: bool,
    conversation: Option<String>,
    ordinal: Option<u64>,
    continues: Option<Continues>,
    #[serde(default)]
    response_only: bool,
    fidelity: String,
    request: Request,
    response: Answer,
}

#[derive(Deserialize)]
struct Answer {
    status: u16,
    #[serde(default)]
    headers: HashMap<String, String>,
    body: String,
    body_encoding: String,
    #[serde(default)]
    chunk_lengths: Vec<usize>,
}

fn read(line: &[u8]) -> Record {
    let hash = sha256(line, 16);
    let line: Line = serde_json::from_slice(line)
        .unwrap_or_else(|error| panic!("the record {hash} cannot be read: {error}"));
    assert_eq!(
        line.response.body_encoding, "utf-8",
        "{}: these dialects are text",
        line.id
    );
    let mut headers: Vec<(String, String)> = line
        .response
        .headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    headers.sort();
    Record {
        hash,
        id: line.id,
        dialect: line.dialect,
        provider: line.provider,
        model: line.model,
        streaming: line.streaming,
        conversation: line.conversation,
        ordinal: line.ordinal,
        continues: line.continues,
        response_only: line.response_only,
        fidelity: line.fidelity,
        request: line.request,
        response: Response {
            status: line.response.status,
            headers,
            body: line.response.body.into_bytes(),
            chunk_lengths: line.response.chunk_lengths,
        },
    }
}
