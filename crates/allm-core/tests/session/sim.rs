//! A driver that does what a session says, by a script, through entries only. After every entry it checks what must hold
//! after any.

use std::collections::{BTreeMap, VecDeque};

use allm_core::run::{Planning, RunEnd, RunOptions};
use allm_core::session::{
    Append, Applied, ApprovalRef, CallRef, Decision, Delivery, EntryBody, Input, Operation,
    Outcome, Session,
};
use allm_core::{
    AppendId, ChatResult, Content, Entry, Event, HaltReason, InputId, Link, Map, Message, Request,
    SessionError, SessionStatus, SessionUid, Thread, Timestamp, WriterId, json,
};

use super::check;
use super::script::Answer;

/// 2026-08-22T09:00:00.000Z
pub(crate) const START: i64 = 1_787_389_200_000;

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis).unwrap()
}

/// A session with its journal and its script.
pub(crate) struct Sim {
    pub(crate) session: Session,
    /// The session of another process, which only reads the journal.
    pub(crate) replica: Session,
    pub(crate) journal: Vec<Entry>,
    pub(crate) bodies: Vec<EntryBody>,
    pub(crate) events: Vec<Event>,
    pub(crate) requests: Vec<Request>,
    pub(crate) answers: VecDeque<Answer>,
    /// The handlers that were entered, in order.
    pub(crate) ran: Vec<(String, Map)>,
    pub(crate) options: RunOptions,
    pub(crate) request: Request,
    /// What `halt_when` says.
    pub(crate) halts: bool,
    pub(crate) now: i64,
    /// When gated and manual calls expire, from their planning on.
    pub(crate) expiry: Option<i64>,
    /// The end of the last run.
    pub(crate) ended: Option<RunEnd>,
    link: Link,
    made: u8,
}

impl Sim {
    pub(crate) fn new() -> Self {
        Self::created(Session::created(
            SessionUid::from_bytes([0x9f; 16]),
            Thread::new(),
            Map::new(),
            Map::new(),
            BTreeMap::new(),
        ))
    }

    pub(crate) fn created(created: EntryBody) -> Self {
        let mut sim = Self {
            session: Session::new("order-42").unwrap(),
            replica: Session::new("order-42").unwrap(),
            journal: Vec::new(),
            bodies: Vec::new(),
            events: Vec::new(),
            requests: Vec::new(),
            answers: VecDeque::new(),
            ran: Vec::new(),
            options: RunOptions {
                planning: Planning::Driver,
                max_turns: 8,
                ..RunOptions::default()
            },
            request: Request::default(),
            halts: false,
            now: 0,
            expiry: None,
            ended: None,
            link: Link::START,
            made: 0,
        };
        sim.seal(created);
        sim
    }

    /// A session in which this was asked and the run has stopped.
    pub(crate) fn after(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut sim = Self::new();
        sim.answers.extend(answers);
        sim.reply("hi").unwrap();
        sim
    }

    /// The same, but the run has not gone on since its start.
    pub(crate) fn started(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut sim = Self::new();
        sim.answers.extend(answers);
        sim.send("hi", Delivery::NextTurn).unwrap();
        sim.start(Operation::Reply);
        sim
    }

    pub(crate) fn status(&self) -> SessionStatus {
        self.session.status()
    }

    pub(crate) fn id_bytes(&mut self) -> [u8; 16] {
        self.made = self.made.wrapping_add(1);
        [self.made; 16]
    }

    pub(crate) fn append(&mut self) -> Append {
        self.now += 1;
        Append {
            id: AppendId::from_bytes(self.id_bytes()),
            writer: WriterId::new("w1"),
            at: at(self.now),
            input_id: None,
        }
    }

    /// Seals an entry, and checks what must hold after any.
    pub(crate) fn seal(&mut self, body: EntryBody) -> Applied {
        let append = self.append();
        self.seal_as(body, &append).expect("the entry fits")
    }

    pub(crate) fn seal_as(
        &mut self,
        body: EntryBody,
        append: &Append,
    ) -> Result<Applied, SessionError> {
        let before = self.session.clone();
        let sealed = match self.session.seal(&body, append, &self.link) {
            Ok(sealed) => sealed,
            Err(error) => {
                assert_eq!(self.session, before, "a misfit changes nothing");
                return Err(error);
            }
        };
        self.link = sealed.entry.link();
        check::after_entry(self, &before, &sealed.entry, &sealed.applied);
        self.journal.push(sealed.entry);
        self.bodies.push(body);
        self.events.extend(sealed.applied.events.iter().cloned());
        if let Some(end) = &sealed.applied.ended {
            self.ended = Some(end.clone());
        }
        Ok(sealed.applied)
    }

    /// Appends an input if it may be and has to be.
    pub(crate) fn input(&mut self, body: EntryBody) -> Result<Input, SessionError> {
        let answer = self.session.check_input(&body, at(self.now))?;
        if answer == Input::New {
            self.seal(body);
        }
        Ok(answer)
    }

    /// The same, with the caller's name for it.
    pub(crate) fn named_input(&mut self, id: &str, body: EntryBody) -> Result<Input, SessionError> {
        let id = InputId::new(id)?;
        if self.session.is_repeated(&id, &body)? {
            return Ok(Input::Known);
        }
        let answer = self.session.check_input(&body, at(self.now))?;
        if answer == Input::New {
            let append = Append {
                input_id: Some(id),
                ..self.append()
            };
            self.seal_as(body, &append)?;
        }
        Ok(answer)
    }

    pub(crate) fn send(&mut self, text: &str, delivery: Delivery) -> Result<Input, SessionError> {
        self.input(Session::message_entry(Message::user(text), delivery))
    }

    pub(crate) fn answer(
        &mut self,
        call: impl Into<CallRef>,
        text: &str,
    ) -> Result<Input, SessionError> {
        let body = self.session.answer_entry(&call.into(), text.into(), None)?;
        self.input(body)
    }

    pub(crate) fn submit(
        &mut self,
        call: impl Into<CallRef>,
        content: impl Into<Content>,
    ) -> Result<Input, SessionError> {
        let body = self
            .session
            .result_entry(&call.into(), Outcome::Ok, content.into(), None)?;
        self.input(body)
    }

    pub(crate) fn decide(
        &mut self,
        approval: impl Into<ApprovalRef>,
        decision: Decision,
    ) -> Result<Input, SessionError> {
        let body = self
            .session
            .decision_entry(&approval.into(), decision, None)?;
        self.input(body)
    }

    pub(crate) fn rerun(&mut self, call: impl Into<CallRef>) -> Result<Input, SessionError> {
        let body = self.session.rerun_entry(&call.into(), None)?;
        self.input(body)
    }

    pub(crate) fn cancel(&mut self) -> Result<Input, SessionError> {
        self.input(Session::stop_entry("enough", None))
    }

    /// Closes the waits that have expired.
    pub(crate) fn sweep(&mut self) {
        for body in self.session.expired_entries(at(self.now)) {
            self.input(body).unwrap();
        }
    }

    /// A whole operation: `reply` answers the open question if there is one. Gives why it halted.
    pub(crate) fn reply(&mut self, text: &str) -> Result<HaltReason, SessionError> {
        let result = self.reply_result(text);
        result.map(|result| result.halted_reason)
    }

    pub(crate) fn reply_result(&mut self, text: &str) -> Result<ChatResult, SessionError> {
        self.session.check_drive(Operation::Reply)?;
        match self.session.question() {
            Some(question) => {
                self.answer(question.call, text)?;
                if !self.session.waits().is_empty() && !self.session.has_ready_call() {
                    return Ok(self.session.standing_result());
                }
            }
            None => {
                self.send(text, Delivery::NextTurn)?;
            }
        }
        self.start(Operation::Reply);
        Ok(self.drive_result())
    }

    pub(crate) fn operate(&mut self, op: Operation) -> Result<HaltReason, SessionError> {
        if op == Operation::Reply {
            return self.reply("and then?");
        }
        self.session.check_drive(op)?;
        if self.session.run().is_none() {
            self.start(op);
        }
        Ok(self.drive())
    }

    /// The kinds of the entries so far.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.bodies.iter().map(EntryBody::kind).collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        json::to_vec(&self.session).unwrap()
    }
}
