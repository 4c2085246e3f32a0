//! Playing a scenario.

use std::fmt;
use std::future::poll_fn;
use std::time::Duration;

use allm_core::{
    Adapter, ApiKey, BoxStream, Event, Failure, Fold, KeyUse, MessageCompleted, ModelCall,
    ModelRef, RawChunks, Request, RequestId, Response, Timeouts, Tool,
};
use serde_json::json;

use super::scenario::{Ending, KEY, Scenario, TOOL};
use super::{AdapterSubject, Prepared, Traffic};
use crate::finding::{CannotExpress, Checked, Finding};
use crate::wait;

/// The id of every call.
pub(super) const REQUEST_ID: &str = "conformance-request-0001";

/// More events than any scenario has.
const TOO_MANY: usize = 10_000;

/// A scenario that was played, or why it was not.
pub(super) struct Stage<'a> {
    pub(super) subject: &'a dyn AdapterSubject,
    played: Vec<Played>,
    missing: Vec<(Scenario, CannotExpress)>,
}

/// What came of a scenario.
pub(super) struct Played {
    pub(super) scenario: Scenario,
    pub(super) raw_chunks: RawChunks,
    pub(super) provider: String,
    pub(super) shown: Option<String>,
    pub(super) events: Vec<Event>,
    pub(super) end: End,
    /// What the provider's side saw of it.
    pub(super) traffic: Option<Traffic>,
}

/// How a stream came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Ended,
    Panicked(String),
    /// It gave no further event and no end.
    Stuck,
    /// It went on after its end.
    WentOn,
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scenario.name())?;
        match self.raw_chunks {
            RawChunks::On => f.write_str(" with raw chunks"),
            RawChunks::Off => Ok(()),
        }
    }
}

impl Played {
    pub(super) fn fold(&self) -> Response {
        fold(self.events.iter())
    }

    pub(super) fn completion(&self) -> Option<&MessageCompleted> {
        self.events.iter().find_map(|event| match event {
            Event::MessageCompleted(completed) => Some(&**completed),
            _ => None,
        })
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        self.events.iter().find_map(|event| match event {
            Event::Error(error) => Some(&error.error),
            _ => None,
        })
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.scenario.ending(), Ending::Whole(_)) && self.completion().is_some()
    }

    pub(super) fn tags(&self) -> String {
        let tags: Vec<_> = self.events.iter().map(Event::tag).collect();
        tags.join(", ")
    }
}

pub(super) fn fold<'a>(events: impl Iterator<Item = &'a Event>) -> Response {
    let mut fold = Fold::new();
    events.for_each(|event| fold.push(event));
    fold.response()
}

impl<'a> Stage<'a> {
    pub(super) async fn play_all(subject: &'a dyn AdapterSubject) -> Self {
        let mut stage = Self {
            subject,
            played: Vec::new(),
            missing: Vec::new(),
        };
        for scenario in Scenario::ALL {
            stage.play(scenario, RawChunks::Off).await;
        }
        stage.play(Scenario::Text, RawChunks::On).await;
        stage
    }

    async fn play(&mut self, scenario: Scenario, raw_chunks: RawChunks) {
        let prepared = match self.prepare(scenario) {
            Ok(prepared) => prepared,
            Err(reason) => return self.missing.push((scenario, reason)),
        };
        let before = prepared.seen();
        let mut call = prepared.call(scenario);
        call.raw_chunks = raw_chunks;
        let (events, end) = self.events(&*prepared.adapter, call).await;
        if let Some(traffic) = &prepared.traffic {
            // The far side may need a moment to see that it was closed.
            self.soon(|| traffic().open == 0).await;
        }
        let traffic = before.zip(prepared.seen()).map(|(before, after)| Traffic {
            opened: after.opened - before.opened,
            open: after.open,
        });
        self.played.push(Played {
            scenario,
            raw_chunks,
            provider: prepared.adapter.provider().as_str().to_owned(),
            shown: prepared.shown,
            events,
            end,
            traffic,
        });
    }

    /// A panic of the subject itself ends the test, as it should.
    pub(super) fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
        self.subject.prepare(scenario)
    }

    /// Every event of a call.
    async fn events(&self, adapter: &dyn Adapter, call: ModelCall) -> (Vec<Event>, End) {
        let mut events = Vec::new();
        let stream = wait::caught_now(|| adapter.stream(call));
        let mut stream = match stream {
            Ok(stream) => stream,
            Err(panic) => return (events, End::Panicked(panic)),
        };
        loop {
            match self.next(&mut stream).await {
                Ok(Some(event)) if events.len() < TOO_MANY => events.push(event),
                Ok(Some(_)) => return (events, End::Stuck),
                Ok(None) => break,
                Err(end) => return (events, end),
            }
        }
        match self.next(&mut stream).await {
            Ok(None) => (events, End::Ended),
            Ok(Some(_)) => (events, End::WentOn),
            Err(end) => (events, end),
        }
    }

    /// The next event, if it comes in time.
    pub(super) async fn next(
        &self,
        stream: &mut BoxStream<'static, Event>,
    ) -> Result<Option<Event>, End> {
        let next = wait::caught(next(stream));
        match wait::before(self.subject.sleep(self.subject.patience()), next).await {
            Some(Ok(event)) => Ok(event),
            Some(Err(panic)) => Err(End::Panicked(panic)),
            None => Err(End::Stuck),
        }
    }

    /// Whether it is so within the subject's patience.
    pub(super) async fn soon(&self, is_so: impl Fn() -> bool) -> bool {
        let until = async {
            while !is_so() {
                self.subject.sleep(Duration::from_millis(5)).await;
            }
        };
        let limit = self.subject.sleep(self.subject.patience());
        wait::before(limit, until).await.is_some()
    }

    /// What was played.
    pub(super) fn played(&self) -> &[Played] {
        &self.played
    }

    /// What was played and came to its end.
    pub(super) fn ended(&self) -> impl Iterator<Item = &Played> {
        let played = self.played.iter();
        played.filter(|played| played.end == End::Ended)
    }

    /// One scenario, if it was played and came to its end.
    pub(super) fn of(&self, scenario: Scenario) -> Result<&Played, Finding> {
        let found = self.ended().find(|played| played.scenario == scenario);
        found.ok_or_else(|| self.why_missing(scenario))
    }

    fn why_missing(&self, scenario: Scenario) -> Finding {
        let mut missing = self.missing.iter();
        let reason = missing.find(|(missing, _)| *missing == scenario);
        match reason {
            Some((_, reason)) => Finding::skipped(format!("{}: {reason}", scenario.name())),
            None => Finding::skipped(format!("{} did not come to its end", scenario.name())),
        }
    }

    /// Looks at every scenario of a kind that came to its end.
    pub(super) fn each(
        &self,
        applies: impl Fn(&Played) -> bool,
        look: impl Fn(&Played) -> Checked,
    ) -> Checked {
        let mut is_seen = false;
        for played in self.ended().filter(|played| applies(played)) {
            is_seen = true;
            look(played).map_err(|finding| finding.at(played))?;
        }
        if is_seen {
            return Ok(());
        }
        Err(Finding::skipped("no scenario shows it"))
    }
}

pub(super) async fn next(stream: &mut BoxStream<'static, Event>) -> Option<Event> {
    poll_fn(|cx| stream.as_mut().poll_next(cx)).await
}

impl Prepared {
    pub(super) fn seen(&self) -> Option<Traffic> {
        self.traffic.as_ref().map(|traffic| traffic())
    }

    pub(super) fn call(&self, scenario: Scenario) -> ModelCall {
        let mut request = Request::new("Please do as the scenario says.");
        if scenario.calls() != Some(&[]) {
            let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
            request.tools = vec![Tool::new(TOOL, "The weather of a city.", schema).spec()];
        }
        let model = ModelRef {
            provider: self.adapter.provider().clone(),
            model: self.model.clone(),
        };
        let mut call = ModelCall::new(request, model, RequestId::new(REQUEST_ID));
        if self.adapter.key_use() != KeyUse::Never {
            call.key = ApiKey::new(KEY).ok().flatten();
        }
        if matches!(scenario, Scenario::Silent | Scenario::FallsSilent) {
            let limit = Some(Duration::from_millis(50));
            call.timeouts = Timeouts {
                first_byte: limit,
                idle: limit,
                ..Timeouts::default()
            };
        }
        call
    }
}
