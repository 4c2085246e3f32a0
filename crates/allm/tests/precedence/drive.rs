//! Runs a case, and gathers what there is to see.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::{
    ChatResult, Engine, Error, Event, Fold, Message, Request, Response, Session, SessionCall,
    Setting, StepResult, Thread, ToolBatch, ToolRunOptions, run_tool_calls, stream_tool_calls,
};
use futures_core::Stream;
use tokio::time::Instant;

use crate::row::{Levels, Row, Said};
use crate::scene::{Notes, Probe, STUCK, Shared, tools};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Generate,
    Step,
    Chat,
    /// `run_tool_calls` and `stream_tool_calls`; its options are the level of the call.
    Runner,
    /// A session: a reply, or a resume after a crash in a tool that does not come back.
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Awaited,
    Streamed,
}

pub(crate) const MODES: [Mode; 2] = [Mode::Awaited, Mode::Streamed];

pub(crate) struct Case<'a> {
    pub(crate) row: &'a Row,
    pub(crate) levels: Levels,
    pub(crate) entry: Entry,
    pub(crate) mode: Mode,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (setting, entry, mode) = (self.row.setting, self.entry, self.mode);
        write!(f, "{setting:?}{} in {entry:?}, {mode:?}", self.levels)
    }
}

/// What there is to see of a case.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) notes: Notes,
    pub(crate) took: Duration,
    /// The reason of the failure, whether it came as an error or inside a result.
    pub(crate) failed: Option<String>,
    /// Why it halted.
    pub(crate) halted: Option<String>,
    /// The texts of the tool messages.
    pub(crate) results: Vec<String>,
    /// The tags of the events; none when awaited.
    pub(crate) tags: Vec<&'static str>,
    /// The session, where there is one.
    pub(crate) session: Option<Session>,
}

impl Seen {
    fn messages<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>) {
        self.results.extend(messages.into_iter().map(Message::text));
    }

    fn response(&mut self, result: Result<Response, Error>) {
        match result {
            Ok(response) => self.failed = response.error.map(|error| error.reason.to_string()),
            Err(error) => self.failed = Some(error.reason().to_owned()),
        }
    }

    fn step(&mut self, result: Result<StepResult, Error>) {
        match result {
            Ok(step) => {
                self.messages(step.tool_results.iter().map(|message| &**message));
                self.failed = step.failure().map(|failure| failure.reason.to_string());
                let halted = step.metadata.get("halted_reason");
                self.halted = halted.and_then(|reason| reason.as_str()).map(Into::into);
            }
            Err(error) => self.failed = Some(error.reason().to_owned()),
        }
    }

    fn chat(&mut self, result: Result<ChatResult, Error>) {
        match result {
            Ok(result) => {
                for step in &result.steps {
                    self.messages(step.tool_results.iter().map(|message| &**message));
                }
                self.failed = result.failure().map(|failure| failure.reason.to_string());
                self.halted = Some(result.halted_reason.as_str().to_owned());
            }
            Err(error) => self.failed = Some(error.reason().to_owned()),
        }
    }

    fn batch(&mut self, result: Result<ToolBatch, Error>) {
        match result {
            Ok(batch) => {
                self.messages(&batch.messages);
                let reason = batch.halt.map(|halt| halt.reason().as_str().to_owned());
                self.halted = reason;
            }
            Err(error) => self.failed = Some(error.reason().to_owned()),
        }
    }

    fn runner_events(&mut self, events: &[Event]) {
        let mut results = Vec::new();
        for event in events {
            match event {
                Event::ToolResultEncoded(result) => {
                    results.push((result.index, result.content.to_string()));
                }
                Event::Error(error) => self.failed = Some(error.error.reason.to_string()),
                _ => {}
            }
        }
        results.sort();
        self.results = results.into_iter().map(|(_, text)| text).collect();
    }

    /// What the events come to; an error that is the only event is a refusal.
    fn events(&mut self, events: &[Event]) -> (Fold, Option<Error>) {
        self.tags = events.iter().map(Event::tag).collect();
        let mut fold = Fold::with_thread(Thread::from("hi"));
        events.iter().for_each(|event| fold.push(event));
        let refused = match events {
            [Event::Error(error)] => Some(Error::from(error.error.clone())),
            _ => None,
        };
        (fold, refused)
    }
}

/// Sets what a level says.
fn say<B>(
    builder: B,
    said: Option<Said>,
    set: Option<fn(B, usize) -> B>,
    off: impl Fn(B) -> B,
) -> B {
    match (said, set) {
        (None, _) => builder,
        (Some(Said::Off), _) => off(builder),
        (Some(Said::Value(value)), Some(set)) => set(builder, value),
        (Some(Said::Value(_)), None) => panic!("a level that the setting does not have"),
    }
}

pub(crate) fn engine(row: &Row, said: Option<Said>, notes: &Shared) -> Engine {
    let mut builder = Engine::builder().provider(Probe::new(row.scene, notes));
    if row.setting != Setting::Model {
        builder = builder.model("fake:any");
    }
    let builder = (row.base)(builder.tools(tools(notes)));
    let builder = say(builder, said, row.engine, |b| b.off(row.setting));
    builder.build().unwrap()
}

/// Begins a run and drops it in the tool that does not come back.
async fn crash(session: &mut Session, engine: &Engine, notes: &Shared) {
    let mut stream = session.reply(engine, "hi").stream();
    while notes.lock().unwrap().handled.is_empty() {
        tokio::select! {
            biased;
            event = stream.next() => assert!(event.is_some(), "it came to its end"),
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
    }
}

pub(crate) async fn seen(case: &Case<'_>) -> Seen {
    let Case { row, levels, .. } = case;
    let notes: Shared = Arc::new(Mutex::new(Notes::default()));
    let engine = engine(row, levels.engine, &notes);
    let no_word_for_off = |request| request;
    let input = say(
        Request::new("hi"),
        levels.request,
        row.request,
        no_word_for_off,
    );
    let begun = Instant::now();
    let mut seen = Seen::default();
    let off = row.setting;
    match (case.entry, case.mode) {
        (Entry::Generate, mode) => {
            let call = say(engine.generate(input), levels.call, row.generate, |b| {
                b.off(off)
            });
            let result = match mode {
                Mode::Awaited => call.await,
                Mode::Streamed => {
                    let (fold, refused) = seen.events(&call.stream().collect().await);
                    refused.map_or_else(|| Ok(fold.response()), Err)
                }
            };
            seen.response(result);
        }
        (Entry::Step, mode) => {
            let call = say(engine.step(input), levels.call, row.step, |b| b.off(off));
            let result = match mode {
                Mode::Awaited => call.await,
                Mode::Streamed => {
                    let (fold, refused) = seen.events(&call.stream().collect().await);
                    refused.map_or_else(|| Ok((*fold.step_result().unwrap()).clone()), Err)
                }
            };
            seen.step(result);
        }
        (Entry::Chat, mode) => {
            let call = say(engine.chat(input), levels.call, row.chat, |b| b.off(off));
            let result = match mode {
                Mode::Awaited => call.await,
                Mode::Streamed => {
                    let (fold, refused) = seen.events(&call.stream().collect().await);
                    refused.map_or_else(|| Ok((*fold.chat_result().unwrap()).clone()), Err)
                }
            };
            seen.chat(result);
        }
        (Entry::Session, mode) => {
            let mut session = Session::new("s").unwrap();
            if row.scene == STUCK {
                crash(&mut session, &self::engine(row, None, &notes), &notes).await;
            }
            let call = match row.scene {
                STUCK => session.resume(&engine),
                _ => session.reply(&engine, "hi"),
            };
            let call: SessionCall<'_> = match (levels.call, row.session) {
                (None, _) => call,
                (Some(Said::Off), _) => call.off(off),
                (Some(Said::Value(value)), Some(set)) => set(call, value),
                (Some(Said::Value(_)), None) => panic!("a level that the setting does not have"),
            };
            let result = match mode {
                Mode::Awaited => call.await,
                Mode::Streamed => call.stream().finish().await,
            };
            seen.chat(result.map_err(Error::from));
            seen.session = Some(session);
        }
        (Entry::Runner, mode) => {
            let options = ToolRunOptions::new().engine(engine);
            let options = say(options, levels.call, row.runner, |b| b.off(off));
            let (calls, tools) = (row.scene.calls(), tools(&notes));
            match mode {
                Mode::Awaited => seen.batch(run_tool_calls(calls, &tools, options).await),
                Mode::Streamed => {
                    let mut stream = stream_tool_calls(calls, &tools, options);
                    let mut events = Vec::new();
                    while let Some(event) =
                        std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await
                    {
                        events.push(event);
                    }
                    seen.runner_events(&events);
                }
            }
        }
    }
    seen.took = begun.elapsed();
    seen.notes = std::mem::take(&mut notes.lock().unwrap());
    seen
}
