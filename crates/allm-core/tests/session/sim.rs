//! A driver that does what a session says, by a script, through entries only. After every entry it checks what must hold
//! after any.

use std::collections::{BTreeMap, VecDeque};

use allm_core::run::{CallToRun, Command, HaltWhen, Planning, RunEnd, RunOptions, ToolOutcome};
use allm_core::session::{
    Append, Applied, ApprovalRef, ApprovePlan, CallKey, CallPlan, CallRef, CallsPlanned, Decision,
    Delivery, EntryBody, Halted, Hooks, Input, ManualPlan, ModelEnd, ModelFailed, ModelResponded,
    Operation, Outcome, OutcomeSource, PlanOfCall, RecordedTool, Recovered, RunPlan, RunStarted,
    Session, ToolIntent, ToolOutcomeEntry, WentOn, arguments_hash, tool_fingerprint,
};
use allm_core::{
    AppendId, ApprovalId, ChatResult, Content, Effect, Entry, Event, HaltReason, Hash, InputId,
    Link, Map, Message, Request, Response, RunId, SessionError, SessionStatus, SessionUid, Thread,
    Timestamp, WriterId, idempotency_key, json,
};

use super::check;
use super::script::{Answer, effect_of, failure, outcome_of, text, tool};

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

    fn id_bytes(&mut self) -> [u8; 16] {
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
                    return Ok(self.session.waiting_result());
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

    pub(crate) fn start(&mut self, op: Operation) -> Applied {
        let mut options = self.options.clone();
        if op == Operation::Step {
            options.max_turns = 1;
            options.structured_finalize = None;
        }
        let recorded = |name: &str| RecordedTool {
            name: name.into(),
            fingerprint: tool_fingerprint(&tool(name)),
            effect: effect_of(name),
        };
        let body = EntryBody::RunStarted(Box::new(RunStarted {
            run: RunId::from_bytes(self.id_bytes()),
            op,
            hooks: Hooks {
                halt_when: options.halt_when == HaltWhen::Set,
                ..Hooks::default()
            },
            options,
            request: self.request.clone(),
            model: None,
            request_id: None,
            tools: vec![recorded("a")],
        }));
        self.ended = None;
        self.seal(body)
    }

    /// Does what the session says until its run has ended.
    pub(crate) fn drive(&mut self) -> HaltReason {
        self.drive_result().halted_reason
    }

    pub(crate) fn drive_result(&mut self) -> ChatResult {
        for _ in 0..200 {
            if !self.step() {
                return match self.ended.clone().expect("the run has ended") {
                    RunEnd::Result(result) => (*result).clone(),
                    _ => self.refused_result(),
                };
            }
        }
        panic!("the run always ends");
    }

    /// The driver gives an error for this; the tests look at the session.
    fn refused_result(&self) -> ChatResult {
        ChatResult {
            halted_reason: HaltReason::Error,
            ..self.session.waiting_result()
        }
    }

    /// Does the next thing; false when there is none.
    pub(crate) fn step(&mut self) -> bool {
        match self.session.command() {
            Command::CallModel(call) => self.call_model(&call.request),
            Command::StopModel => {
                let partial = self.session.run().and_then(|run| run.partial.clone());
                self.model_failed(ModelEnd::Stopped, partial);
            }
            Command::PlanCalls(calls) => self.plan(&calls),
            Command::RunTools(calls) => self.run_call(&calls[0]),
            Command::StopTools(calls) => {
                let key = self.key(calls[0].index);
                let attempts = self.call(key).attempts;
                self.outcome(key, attempts, ToolOutcome::NotStarted);
            }
            Command::AskHaltWhen(_) => {
                let turn = self.session.turn();
                self.seal(if self.halts {
                    EntryBody::Halted(Halted {
                        turn,
                        reason: HaltReason::HaltWhen,
                        scope: None,
                    })
                } else {
                    EntryBody::WentOn(WentOn { turn })
                });
            }
            _ => return false,
        }
        true
    }

    /// Goes on until the machine wants this.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Command) -> bool) {
        for _ in 0..100 {
            if wanted(&self.session.command()) {
                return;
            }
            assert!(self.step(), "the run ended before it came to that");
        }
        panic!("the run never comes to that");
    }

    fn call_model(&mut self, request: &Request) {
        self.requests.push(request.clone());
        match self.answers.pop_front().unwrap_or_else(|| text("ok")) {
            Answer::Whole(response) => self.responded(response),
            Answer::Breaks(partial) => self.model_failed(ModelEnd::Failed, Some(partial)),
            Answer::Refused => self.model_failed(ModelEnd::Failed, None),
        }
    }

    pub(crate) fn responded(&mut self, response: Response) {
        let body = self.responded_body(response);
        self.seal(body);
    }

    pub(crate) fn responded_body(&self, response: Response) -> EntryBody {
        EntryBody::ModelResponded(Box::new(ModelResponded {
            turn: self.session.turn() + 1,
            attempt: self.session.run().map_or(1, |run| run.attempt),
            request_hash: Hash::of_bytes(b"request"),
            response,
        }))
    }

    pub(crate) fn model_failed(&mut self, end: ModelEnd, partial: Option<Response>) {
        let body = self.failed_body(end, partial);
        self.seal(body);
    }

    pub(crate) fn failed_body(&self, end: ModelEnd, partial: Option<Response>) -> EntryBody {
        EntryBody::ModelFailed(Box::new(ModelFailed {
            turn: self.session.turn() + 1,
            attempt: self.session.run().map_or(1, |run| run.attempt),
            end,
            error: failure(),
            usage: partial
                .as_ref()
                .map(|partial| partial.usage.clone())
                .unwrap_or_default(),
            partial,
        }))
    }

    fn plan(&mut self, calls: &[CallToRun]) {
        let expires_at = self.expiry.map(|after| at(self.now + after));
        let mut plans = Vec::new();
        for call in calls {
            let name = call.call.original_name();
            let plan = match name.chars().next() {
                Some('m') => CallPlan::Manual(ManualPlan { expires_at }),
                Some('g') => CallPlan::Approve(ApprovePlan {
                    approval_id: ApprovalId::from_bytes(self.id_bytes()),
                    tool_fingerprint: tool_fingerprint(&tool(name)),
                    expires_at,
                    reason: None,
                }),
                Some('u') => CallPlan::Unknown,
                _ => CallPlan::Run(RunPlan::default()),
            };
            plans.push(PlanOfCall {
                index: call.index,
                plan,
            });
        }
        self.seal(EntryBody::CallsPlanned(CallsPlanned {
            turn: self.session.turn(),
            calls: plans,
        }));
    }

    pub(crate) fn key(&self, index: u32) -> CallKey {
        CallKey {
            turn: self.session.turn(),
            index,
        }
    }

    pub(crate) fn call(&self, key: CallKey) -> &allm_core::session::TurnCall {
        self.session.open_turn().unwrap().get(key).unwrap()
    }

    /// Writes the intent if the tool needs one, and runs the call.
    pub(crate) fn run_call(&mut self, to_run: &CallToRun) {
        let key = self.key(to_run.index);
        let name = to_run.call.original_name().to_owned();
        if effect_of(&name) != Effect::Pure {
            self.intend(key);
        }
        self.run_handler(key);
    }

    pub(crate) fn run_handler(&mut self, key: CallKey) {
        let call = self.call(key);
        let name = call.call.original_name().to_owned();
        let attempts = call.attempts;
        self.ran.push((name.clone(), call.arguments()));
        self.outcome(key, attempts, outcome_of(&name));
    }

    pub(crate) fn intend(&mut self, key: CallKey) {
        let body = self.intent_body(key);
        self.seal(body);
    }

    pub(crate) fn intent_body(&self, key: CallKey) -> EntryBody {
        let call = self.call(key);
        let name = call.call.original_name().to_owned();
        let arguments = call.arguments();
        EntryBody::ToolIntent(Box::new(ToolIntent {
            call: key,
            attempt: call.attempts + 1,
            tool: name.as_str().into(),
            effect: effect_of(&name),
            key: idempotency_key(
                self.session.uid().unwrap().as_bytes(),
                key.turn,
                key.index,
                &name,
                &arguments,
            ),
            arguments_hash: arguments_hash(&arguments),
            deadline: at(self.now + 1_000),
            approval_id: None,
        }))
    }

    pub(crate) fn outcome(&mut self, key: CallKey, attempt: u32, outcome: ToolOutcome) {
        self.seal(EntryBody::ToolOutcome(Box::new(ToolOutcomeEntry::new(
            key,
            attempt,
            outcome,
            OutcomeSource::Handler,
        ))));
    }

    /// Another driver takes the run over.
    pub(crate) fn recover(&mut self, lost_model_call: bool) -> Applied {
        let run = self.session.run().expect("a run is unfinished").id;
        self.seal(EntryBody::Recovered(Recovered {
            run,
            previous_writer: None,
            open_intents: Vec::new(),
            lost_model_call,
            limit: 3,
        }))
    }

    /// The kinds of the entries so far.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.bodies.iter().map(EntryBody::kind).collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        json::to_vec(&self.session).unwrap()
    }
}
