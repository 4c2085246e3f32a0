//! Plays conversations: what was recorded is read, what comes next is sent.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::sync::Arc;

use allm::run::Repair;
use allm::{Adapter, Fold, Message, ModelCall, ModelRef, Request, Response, ToolSpec};
use serde_json::Value;

use super::case::{Case, How};
use super::dialect::{Dialect, Speaker};
use super::normal::{Block, Normal, Side, Turn};
use super::thread::{self, Renamed, Why};
use crate::hex::sha256;
use crate::record::{Record, Recordings};
use crate::server::{Cut, Keep, Server};

/// Plays recordings.
#[derive(Debug)]
pub struct Player {
    recordings: Arc<Recordings>,
    server: Server,
    speakers: HashMap<(Dialect, String), Speaker>,
    played: HashMap<String, Result<Arc<Played>, Why>>,
    /// Every request that could be made.
    pub cases: Vec<Case>,
    /// The records of which none could be made, by the reason.
    pub left_out: BTreeMap<(Dialect, Why), Vec<String>>,
    /// The continued records that were read anew, by the reason.
    pub not_continued: BTreeMap<(Dialect, Why), Vec<String>>,
    /// The requests that the library refuses to send, by record and fault.
    pub refused: Vec<(String, How, String)>,
}

/// An exchange that was played.
#[derive(Debug)]
struct Played {
    recorded: Normal,
    /// What was said before the answer.
    said: Vec<Message>,
    answers: Vec<Message>,
    answer: Result<Message, Why>,
}

/// What is said before an answer, and the answers in it.
struct Said {
    messages: Vec<Message>,
    answers: Vec<Message>,
    renamed: Renamed,
}

impl Player {
    /// A player of these recordings.
    pub async fn new(mut recordings: Recordings) -> Self {
        let made = made_answers(&recordings);
        for record in made {
            recordings.add(Arc::new(record));
        }
        let recordings = Arc::new(recordings);
        let mut speakers = HashMap::new();
        for record in recordings.all() {
            if let Some(dialect) = Dialect::of(&record.dialect) {
                let key = (dialect, record.provider.clone());
                let speaker = speakers.entry(key);
                speaker.or_insert_with(|| dialect.speaker(&record.provider));
            }
        }
        let server = Server::start(Arc::clone(&recordings), Keep::Sent).await;
        Self {
            recordings,
            server,
            speakers,
            played: HashMap::new(),
            cases: Vec::new(),
            left_out: BTreeMap::new(),
            not_continued: BTreeMap::new(),
            refused: Vec::new(),
        }
    }

    /// Plays all recordings of a wire.
    pub async fn play(&mut self, dialect: Dialect) {
        let recordings = Arc::clone(&self.recordings);
        let records = recordings.of(dialect.name());
        for record in records.filter(|record| record.fidelity != MADE) {
            let mut chain = vec![Arc::clone(record)];
            while let Some(before) = chain.last().and_then(|last| self.before(last)) {
                chain.push(before);
            }
            while let Some(next) = chain.pop() {
                if self.played.contains_key(&next.id) {
                    continue;
                }
                let played = self.exchange(dialect, &next).await;
                if let Err(why) = &played {
                    let left_out = self.left_out.entry((dialect, why)).or_default();
                    left_out.push(next.id.clone());
                }
                self.played.insert(next.id.clone(), played.map(Arc::new));
            }
        }
    }

    /// The record that this one goes on from.
    fn before(&self, record: &Record) -> Option<Arc<Record>> {
        let continues = record.continues.as_ref()?;
        if continues.link == "retry" {
            return None;
        }
        self.recordings.by_id(&continues.id).cloned()
    }

    async fn exchange(&mut self, dialect: Dialect, record: &Arc<Record>) -> Result<Played, Why> {
        let recorded = Normal::of(dialect, &record.request.body)
            .ok_or("no request of the wire was recorded")?;
        if record
            .request
            .body
            .get("previous_response_id")
            .is_some_and(|id| !id.is_null())
        {
            return Err(
                "the rest of the conversation is with the provider (`previous_response_id`)",
            );
        }
        let before = self.before(record);
        let has_before = before.is_some();
        let continued = match before {
            Some(before) => match self.played.get(&before.id) {
                Some(Ok(played)) => {
                    self.go_on((dialect, &record.provider), &Arc::clone(played), &recorded)
                        .await
                }
                _ => Err("the exchange before could not be played"),
            },
            None => Err("the first exchange"),
        };
        let has_history = recorded
            .turns
            .iter()
            .any(|turn| turn.side == Side::Assistant);
        let continued = match continued {
            Ok(said) => Some(
                self.send(dialect, record, &recorded, said, How::Continued)
                    .await?,
            ),
            Err(why) => {
                if has_before {
                    let list = self.not_continued.entry((dialect, why)).or_default();
                    list.push(record.id.clone());
                }
                None
            }
        };
        if continued.is_some() && !has_history {
            return continued.ok_or("continued");
        }
        let how = if has_history {
            How::History
        } else {
            How::First
        };
        let said = self
            .read((dialect, &record.provider), &recorded.turns)
            .await;
        let read = match said {
            Ok(said) => self.send(dialect, record, &recorded, said, how).await,
            Err(why) => Err(why),
        };
        match continued {
            Some(played) => Ok(played),
            None => read,
        }
    }

    /// The conversation before an answer, the answer, and what the next request adds.
    async fn go_on(
        &self,
        peer: (Dialect, &str),
        before: &Played,
        next: &Normal,
    ) -> Result<Said, Why> {
        let known = before.recorded.turns.len();
        let (old, added) = next
            .turns
            .split_at_checked(known)
            .ok_or("turns were taken away")?;
        if !same_turns(old, &before.recorded.turns) {
            return Err("the client changed what it had said before");
        }
        let answer = before.answer.clone()?;
        let mut said = Said {
            messages: before.said.clone(),
            answers: before.answers.clone(),
            renamed: renamed(added, &answer),
        };
        let mut added = added.iter();
        match added.next() {
            Some(first) if first.side == Side::Assistant => {}
            _ => return Err("the client did not send the answer back"),
        }
        said.messages.push(answer.clone());
        said.answers.push(answer.clone());
        for turn in added {
            let is_rest = turn.side == Side::Assistant
                && turn.calls().count() > 0
                && turn.calls().all(|(id, _)| {
                    let mut calls = answer.tool_calls.iter();
                    let own = id.and_then(|id| said.renamed.get(id));
                    calls.any(|call| Some(call.id.as_str()) == id || Some(&call.id) == own)
                });
            if !is_rest {
                self.add(peer, turn, &mut said).await?;
            }
        }
        Ok(said)
    }

    /// A conversation as it stands in a request.
    async fn read(&self, peer: (Dialect, &str), turns: &[Turn]) -> Result<Said, Why> {
        let mut said = Said {
            messages: Vec::new(),
            answers: Vec::new(),
            renamed: Renamed::new(),
        };
        for turn in turns {
            self.add(peer, turn, &mut said).await?;
        }
        Ok(said)
    }

    async fn add(
        &self,
        (dialect, provider): (Dialect, &str),
        turn: &Turn,
        said: &mut Said,
    ) -> Result<(), Why> {
        let adapter = self.adapter(dialect, provider, "http://127.0.0.1");
        let name = adapter.provider().clone();
        if turn.side != Side::Assistant {
            return thread::say(turn, name.as_str(), &said.renamed, &mut said.messages);
        }
        if turn.blocks.iter().any(is_reference) {
            return Err("an answer that is with the provider (`item_reference`)");
        }
        let made = made_answer(dialect, turn);
        let record = self
            .recordings
            .by_hash(&made.hash)
            .ok_or("made answers are known")?;
        let request = Request::new("again");
        let (answer, _) = self
            .ask(
                dialect,
                record,
                provider,
                request.into(),
                said.answers.len(),
            )
            .await;
        let answer = answer
            .ok_or("an answer in a request that cannot be read")?
            .message;
        said.messages.push(answer.clone());
        said.answers.push(answer);
        Ok(())
    }

    async fn send(
        &mut self,
        dialect: Dialect,
        record: &Arc<Record>,
        recorded: &Normal,
        said: Said,
        how: How,
    ) -> Result<Played, Why> {
        let adapter = self.adapter(dialect, &record.provider, "http://127.0.0.1");
        let provider = adapter.provider().as_str();
        let mut messages = Vec::new();
        if !recorded.system.is_empty() {
            messages.push(Message::system(thread::parts(&recorded.system, provider)?));
        }
        messages.extend(said.messages.iter().cloned());
        let mut request = Request::new(messages);
        let tools = recorded
            .tools
            .iter()
            .map(|tool| thread::tool(tool, provider));
        request.tools = tools.collect::<Vec<ToolSpec>>();
        let request = Arc::new(request);
        let model = record.model.clone().unwrap_or_default();
        let call = ModelCall::new(Arc::clone(&request), reference(provider, &model), "r");
        if let Err(error) = adapter.check(&call) {
            self.refused
                .push((record.id.clone(), how, error.to_string()));
            return Err("the library refuses the request");
        }
        let turn = said.answers.len();
        let (response, bytes) = self
            .ask(
                dialect,
                record,
                &record.provider,
                Arc::clone(&request),
                turn,
            )
            .await;
        let bytes = bytes.ok_or("the request was not sent")?;
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        self.cases.push(Case {
            record: Arc::clone(record),
            dialect,
            how,
            request,
            bytes,
            ours: Normal::of(dialect, &body).unwrap(),
            recorded: recorded.clone(),
            answers: said.answers.clone(),
        });
        Ok(Played {
            recorded: recorded.clone(),
            said: said.messages,
            answers: said.answers,
            answer: response
                .map(|r| r.message)
                .ok_or("the recorded answer failed"),
        })
    }

    fn adapter(&self, dialect: Dialect, provider: &str, url: &str) -> Arc<dyn Adapter> {
        self.speakers[&(dialect, provider.to_owned())].at(url)
    }

    /// What a provider is sent for a request, byte for byte.
    pub async fn bytes(
        &self,
        dialect: Dialect,
        provider: &str,
        model: &str,
        request: Arc<Request>,
    ) -> Option<Vec<u8>> {
        let of_wire = self.recordings.of(dialect.name());
        let mut made = of_wire.filter(|record| record.fidelity == MADE);
        let mut record = Record::clone(made.next()?);
        record.model = Some(model.to_owned());
        let (_, bytes) = self.ask(dialect, &record, provider, request, 0).await;
        bytes
    }

    /// Asks the server that answers with this record; gives what it said and what was sent to it.
    async fn ask(
        &self,
        dialect: Dialect,
        record: &Record,
        provider: &str,
        request: Arc<Request>,
        turn: usize,
    ) -> (Option<Response>, Option<Vec<u8>>) {
        let url = self.server.base_url(record, Cut::Recorded);
        let adapter = self.adapter(dialect, provider, &url);
        let model = record.model.clone().unwrap_or_else(|| "model".to_owned());
        let call = ModelCall::new(request, reference(adapter.provider().as_str(), &model), "r");
        let mut stream = adapter.stream(call);
        let mut repair = Repair::new(u32::try_from(turn).unwrap());
        let mut fold = Fold::new();
        while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            fold.push(&repair.event(event));
        }
        let response = fold.response();
        let sent = self.server.take_sent().pop();
        let response = response.into_result().ok();
        (response, sent.map(|sent| sent.bytes))
    }
}

fn reference(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        provider: provider.into(),
        model: model.to_owned(),
    }
}

fn is_reference(block: &Block) -> bool {
    matches!(block, Block::Other(item) if item.get("type") == Some(&"item_reference".into()))
}

/// Whether turns are the same but for marks of what to remember, which clients move on.
fn same_turns(first: &[Turn], second: &[Turn]) -> bool {
    let plain = |turns: &[Turn]| -> Vec<Turn> {
        let mut turns = turns.to_vec();
        for turn in &mut turns {
            turn.raw.clear();
            turn.with.remove("cache_control");
            for block in &mut turn.blocks {
                if let Some(with) = block.with_mut() {
                    with.remove("cache_control");
                }
            }
        }
        turns
    };
    plain(first) == plain(second)
}

/// The ids that a client gave to the calls of an answer, by their places.
fn renamed(added: &[Turn], answer: &Message) -> Renamed {
    let first = added
        .iter()
        .take_while(|turn| turn.side != Side::User || turn.blocks.iter().all(Block::is_result));
    let theirs = first
        .filter(|turn| turn.side == Side::Assistant)
        .flat_map(Turn::calls);
    let pairs = theirs.zip(&answer.tool_calls);
    pairs
        .filter(|((_, name), call)| call.name == *name)
        .filter_map(|((id, _), call)| Some((id?.to_owned(), call.id.clone())))
        .filter(|(id, _)| answer.tool_calls.iter().all(|call| call.id.as_str() != id))
        .collect()
}

/// The fidelity of records that were made here.
const MADE: &str = "made";

/// The answers that stand in requests, as answers of their own.
fn made_answers(recordings: &Recordings) -> Vec<Record> {
    let mut made = BTreeMap::new();
    for record in recordings.all() {
        let Some(dialect) = Dialect::of(&record.dialect) else {
            continue;
        };
        let Some(normal) = Normal::of(dialect, &record.request.body) else {
            continue;
        };
        for turn in normal
            .turns
            .iter()
            .filter(|turn| turn.side == Side::Assistant)
        {
            let record = made_answer(dialect, turn);
            made.insert(record.hash.clone(), record);
        }
    }
    made.into_values().collect()
}

fn made_answer(dialect: Dialect, turn: &Turn) -> Record {
    let body = dialect.answer(&turn.raw).to_string().into_bytes();
    let hash = format!("made-{}-{}", dialect.name(), sha256(&body, 16));
    Record {
        id: hash.clone(),
        hash,
        dialect: dialect.name().to_owned(),
        provider: String::new(),
        model: None,
        streaming: false,
        conversation: None,
        ordinal: None,
        continues: None,
        response_only: true,
        fidelity: MADE.to_owned(),
        request: crate::record::Request {
            method: "POST".to_owned(),
            host: None,
            path: String::new(),
            body: Value::Null,
        },
        response: crate::record::Response {
            status: 200,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body,
            chunk_lengths: Vec::new(),
        },
    }
}
