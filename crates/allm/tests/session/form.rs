//! One test for every form of a session.
//!
//! A body is run with a value that stays as it is, with one that is written and read before each operation, with one
//! whose operations are streamed, and with a stored session that is opened anew, by another process as it were, before
//! each operation: in memory, in SQLite and in PostgreSQL. What each operation did and what was sent must be the same in
//! all of them.

mod inputs;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use allm::session::{EntryBody, Session as Data, read};
use allm::{
    Beginning, ChatResult, DurableSession, Engine, Event, Fake, InputId, LoadFrom, Message,
    Session, SessionCall, SessionError, SessionId, SessionReason, SessionStore, Sessions,
    SessionsOptions, Timestamp, Tool, Version,
};
use allm_store::Clock;
use allm_store_test::{Place, memory, places};
use serde_json::{Value, json};

use crate::support;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Kept,
    ReadBack,
    Streamed,
    Durable,
}

const FORMS: [Form; 4] = [Form::Kept, Form::ReadBack, Form::Streamed, Form::Durable];

/// A driving operation.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Reply(Message),
    Resume,
    Step,
    Retry,
}

impl Op {
    fn name(&self) -> &'static str {
        match self {
            Self::Reply(_) => "reply",
            Self::Resume => "resume",
            Self::Step => "step",
            Self::Retry => "retry",
        }
    }
}

pub(crate) fn reply(message: impl Into<Message>) -> Op {
    Op::Reply(message.into())
}

/// A session in one of the forms. It shows how the session stands.
pub(crate) struct Talk {
    pub(crate) form: Form,
    value: Session,
    /// It goes with its last holder.
    _place: Place,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) clock: Clock,
    seen: Data,
    /// The name of the next input.
    next_id: Option<InputId>,
    /// What was told in the last driving operation; only where it was streamed.
    pub(crate) events: Vec<Event>,
    trace: Vec<Value>,
    fakes: Vec<Fake>,
}

const ID: &str = "order-42";

impl Deref for Talk {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.seen
    }
}

/// Runs the body with each form, and compares what they did.
pub(crate) async fn on_every_form(body: impl AsyncFn(&mut Talk)) {
    on_forms(&FORMS, Beginning::new(), body).await;
}

/// As [`on_every_form`], with a session that begins with this.
pub(crate) async fn beginning(with: Beginning, body: impl AsyncFn(&mut Talk)) {
    on_forms(&FORMS, with, body).await;
}

pub(crate) async fn on_forms(forms: &[Form], with: Beginning, body: impl AsyncFn(&mut Talk)) {
    let mut first: Option<Vec<Value>> = None;
    for form in forms {
        let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000).unwrap());
        let places = match form {
            Form::Durable => places(Some(&clock)),
            _ => vec![memory(None)],
        };
        for place in places {
            let what = format!("{form:?} in {}", place.name);
            clock.set(Timestamp::from_millis(1_700_000_000_000).unwrap());
            let mut talk = Talk::begin(*form, with.clone(), place, &clock).await;
            body(&mut talk).await;
            let trace = talk.finish();
            match &first {
                None => first = Some(trace),
                Some(first) => compare(first, &trace, &what),
            }
        }
    }
}

/// As [`on_every_form`], with the stored form alone.
pub(crate) async fn on_durable(body: impl AsyncFn(&mut Talk)) {
    on_forms(&[Form::Durable], Beginning::new(), body).await;
}

fn compare(first: &[Value], other: &[Value], form: &str) {
    for (place, (first, other)) in first.iter().zip(other).enumerate() {
        assert!(
            first == other,
            "{form} differs from the first at {place}:\n{other:#}\nThe first:\n{first:#}"
        );
    }
    assert_eq!(
        first.len(),
        other.len(),
        "{form} did another number of things"
    );
}

impl Talk {
    async fn begin(form: Form, with: Beginning, place: Place, clock: &Clock) -> Self {
        let tags = with.tags.clone().into_iter();
        let value = Session::new(ID).unwrap();
        let value = value
            .with_thread(with.thread.clone())
            .with_context(with.context.clone())
            .with_metadata(with.metadata.clone());
        let value = tags.fold(value, |value, (key, tag)| value.with_tag(key, tag));
        let mut talk = Self {
            form,
            seen: value.clone().into(),
            value,
            store: Arc::clone(&place.store),
            _place: place,
            clock: clock.clone(),
            next_id: None,
            events: Vec::new(),
            trace: Vec::new(),
            fakes: Vec::new(),
        };
        if form == Form::Durable {
            let sessions = talk.sessions();
            let created = sessions.create_with(ID, with).await.unwrap();
            talk.look(Some(&created)).await;
        }
        talk
    }

    /// Another process, as far as the store can tell.
    pub(crate) fn sessions(&self) -> Sessions {
        Sessions::with(self.store.clone(), SessionsOptions::default())
    }

    pub(crate) async fn open(&self) -> DurableSession {
        self.sessions().open(ID).await.unwrap()
    }

    /// An engine with this model, which is asked at the end what it was sent.
    pub(crate) fn engine(&mut self, fake: &Fake, tools: Vec<Tool>) -> Engine {
        self.watch(fake);
        support::engine(fake, tools)
    }

    /// What this model is sent is compared at the end.
    pub(crate) fn watch(&mut self, fake: &Fake) {
        self.fakes.push(fake.clone());
    }

    fn read_back(&mut self) {
        if self.form == Form::ReadBack {
            self.value = read_back(&self.value);
        }
    }

    /// Looks at how the session stands: it is what its JSON and its journal say.
    async fn look(&mut self, live: Option<&DurableSession>) {
        match live {
            None => {
                let data: Data = self.value.clone().into();
                assert_eq!(Data::from(read_back(&self.value)), data, "its JSON");
                self.seen = data;
            }
            Some(live) => {
                let opened = self.open().await;
                assert_eq!(*opened, **live, "what is in the store");
                let id = SessionId::new(ID).unwrap();
                let whole = self.store.load(&id, LoadFrom::After(Version(0))).await;
                let (replayed, _) = Data::from_journal(&whole.unwrap()).unwrap();
                assert_eq!(replayed, *opened, "without its snapshot");
                self.seen = replayed;
                read_back(&Session::from(self.seen.clone()));
            }
        }
    }

    /// Looks again, after something was done to the session elsewhere.
    pub(crate) async fn reload(&mut self) {
        match self.form {
            Form::Durable => {
                let session = self.open().await;
                self.look(Some(&session)).await;
            }
            _ => self.look(None).await,
        }
    }

    fn note(&mut self, what: &str, error: Option<&SessionError>, more: Value) {
        let error = error.map(|error| {
            json!({
                "reason": error.reason.as_str(), "status": error.status, "waits": error.waits,
                "outcome": error.outcome,
            })
        });
        self.trace.push(json!({
            "what": what, "error": error, "more": more, "session": canonical(&self.seen),
        }));
    }

    fn finish(self) -> Vec<Value> {
        let mut trace = self.trace;
        for fake in self.fakes {
            let requests = fake
                .calls()
                .into_iter()
                .map(|call| serde_json::to_value(&*call.request).unwrap());
            trace.push(requests.collect());
        }
        trace
    }

    pub(crate) async fn drive(
        &mut self,
        engine: &Engine,
        op: Op,
        set: impl for<'a> FnOnce(SessionCall<'a>) -> SessionCall<'a>,
    ) -> Result<ChatResult, SessionError> {
        let name = op.name();
        let before = (self.seen.version(), self.seen.uid().is_some());
        self.events.clear();
        let result = match self.form {
            Form::Durable => {
                let mut session = self.open().await;
                let call = match op {
                    Op::Reply(message) => session.reply(engine, message),
                    Op::Resume => session.resume(engine),
                    Op::Step => session.step(engine),
                    Op::Retry => session.retry(engine),
                };
                let result = set(call).await;
                self.look(Some(&session)).await;
                result
            }
            form => {
                self.read_back();
                let session = &mut self.value;
                let call = match op {
                    Op::Reply(message) => session.reply(engine, message),
                    Op::Resume => session.resume(engine),
                    Op::Step => session.step(engine),
                    Op::Retry => session.retry(engine),
                };
                let call = set(call);
                let result = if form == Form::Streamed {
                    let mut stream = call.stream();
                    while let Some(event) = stream.next().await {
                        self.events.push(event);
                    }
                    let result = stream.finish().await;
                    told_is_done(&self.events, &result);
                    result
                } else {
                    call.await
                };
                self.look(None).await;
                result
            }
        };
        if let Err(error) = &result
            && !matches!(error.reason, SessionReason::Engine | SessionReason::Invalid)
            && before.1
        {
            assert_eq!(
                self.seen.version(),
                before.0,
                "a refusal writes nothing: {error}"
            );
        }
        let more = result.as_ref().ok().map(|result| {
            json!({
                "halted": result.halted_reason, "steps": result.steps.len(),
                "question": result.pending_question, "thread": result.thread,
            })
        });
        self.note(name, result.as_ref().err(), json!(more));
        result
    }

    pub(crate) async fn reply(
        &mut self,
        engine: &Engine,
        message: impl Into<Message>,
    ) -> Result<ChatResult, SessionError> {
        self.drive(engine, reply(message), |call| call).await
    }

    pub(crate) async fn resume(&mut self, engine: &Engine) -> Result<ChatResult, SessionError> {
        self.drive(engine, Op::Resume, |call| call).await
    }

    pub(crate) async fn step(&mut self, engine: &Engine) -> Result<ChatResult, SessionError> {
        self.drive(engine, Op::Step, |call| call).await
    }

    pub(crate) async fn retry(&mut self, engine: &Engine) -> Result<ChatResult, SessionError> {
        self.drive(engine, Op::Retry, |call| call).await
    }

    /// Lets the next expiry pass.
    pub(crate) fn pass_expiry(&self) {
        self.pass_to(self.next_expiry().expect("something expires"));
    }

    /// Lets it become as late as this.
    pub(crate) fn pass_to(&self, due: Timestamp) {
        self.clock.set(due);
        if self.form != Form::Durable {
            // A value goes by the machine's clock.
            while Clock::system().now() < due {
                std::thread::yield_now();
            }
        }
    }

    /// Begins an operation and crashes when `until` says so: the stream is dropped, or the process of the driver ends.
    pub(crate) async fn crash(
        &mut self,
        engine: &Engine,
        op: Op,
        until: impl Fn(&[Event]) -> bool + Send + Sync,
    ) {
        if self.form == Form::Durable {
            let sessions = self.sessions();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut runtime = tokio::runtime::Builder::new_current_thread();
                    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
                    runtime.block_on(async {
                        let mut session = sessions.open(ID).await.unwrap();
                        let call = match op {
                            Op::Reply(message) => session.reply(engine, message),
                            Op::Resume => session.resume(engine),
                            Op::Step => session.step(engine),
                            Op::Retry => session.retry(engine),
                        };
                        stop_at(call, until).await;
                    });
                });
            });
            // Its lease has run out.
            self.clock.advance(Duration::from_secs(31));
        } else {
            let session = &mut self.value;
            let call = match op {
                Op::Reply(message) => session.reply(engine, message),
                Op::Resume => session.resume(engine),
                Op::Step => session.step(engine),
                Op::Retry => session.retry(engine),
            };
            stop_at(call, until).await;
        }
        self.reload().await;
    }

    /// The bodies of the journal; of the stored form alone.
    pub(crate) async fn entries(&self) -> Vec<EntryBody> {
        let id = SessionId::new(ID).unwrap();
        let whole = self.store.load(&id, LoadFrom::After(Version(0))).await;
        let entries = whole.unwrap().entries;
        entries
            .iter()
            .map(|entry| read(entry).unwrap().body)
            .collect()
    }
}

async fn stop_at(call: SessionCall<'_>, until: impl Fn(&[Event]) -> bool) {
    let mut stream = call.stream();
    let mut events = Vec::new();
    while !until(&events) {
        tokio::select! {
            biased;
            event = stream.next() => events.push(event.expect("it came to its end first")),
            // Time is paused, so it passes only when nothing else can happen.
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
    }
}

fn read_back(session: &Session) -> Session {
    let text = allm::json::to_string(session).expect("it can be written");
    let back: Result<Session, _> = allm::json::from_str(&text);
    let back = back.unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&back, session, "{text}");
    back
}

/// The last event tells the result; a refusal is one error and nothing else.
fn told_is_done(events: &[Event], result: &Result<ChatResult, SessionError>) {
    match (result, events.last()) {
        (Ok(result), Some(Event::ChatCompleted(told))) => assert_eq!(*told.result, *result),
        // Nothing was run, so there is nothing to tell.
        (Ok(result), None) => assert!(result.steps.is_empty()),
        (Err(_), Some(Event::Error(_))) => {}
        (result, last) => panic!("{result:?} after {last:?}"),
    }
}

/// A session without what differs from one to the next: ids, keys, hashes and times.
fn canonical(session: &Data) -> Value {
    let mut value = serde_json::to_value(session).unwrap();
    if session.uid().is_none() {
        // A stored session has its first entry from the beginning.
        value["version"] = json!(1);
        value["uid"] = json!("…");
        value["created_at"] = json!("…");
        value["updated_at"] = json!("…");
    }
    if let Some(run) = value.get_mut("run").and_then(Value::as_object_mut) {
        // Only a value keeps what had come of an answer when its stream was dropped.
        run.remove("partial");
    }
    blank(&mut value);
    value
}

pub(crate) fn blank(value: &mut Value) {
    match value {
        Value::String(text) if is_chance(text) => *text = "…".to_owned(),
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(fields) => {
            fields.remove("request_id");
            fields.values_mut().for_each(blank);
        }
        _ => {}
    }
}

fn is_chance(text: &str) -> bool {
    let is_time = text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    let known = ["sha256:", "allm1-", "apr_", "run_"].into_iter();
    let hex = known.fold(text, |text, start| text.strip_prefix(start).unwrap_or(text));
    is_time || hex.len() >= 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}
