//! From a journal to a transcript. The journal is replayed on the way, so what is shown is what its hashes stand for.

use std::collections::{HashMap, HashSet};

use allm::session::{
    ApprovalDecided, CallKey, CallPlan, CallsPlanned, Decision, EntryBody, JournalEntry, ModelEnd,
    ModelResponded, Outcome, OutcomePolicy, RunStarted, Session, ToolOutcomeEntry, read,
};
use allm::{
    HaltReason, Link, Loaded, Message, Part, Role, SessionError, StoreError, Timestamp, ToolCallId,
    Usage,
};

use super::items::{Call, Item, Note, NoteKind, Said, Step, What};
use super::{Transcript, words};

/// The mark of a message that was broken off.
const PARTIAL: &str = "partial";

/// Makes the transcript of what a store holds.
pub(super) fn gather(loaded: &Loaded) -> Result<Transcript, SessionError> {
    loaded.verify(&Link::START)?;
    let mut session = beginning(loaded)?;
    let mut gathered = Gathered::default();
    if loaded.snapshot.is_some() {
        for message in &session.thread().messages {
            gathered.before(message);
        }
    }
    for entry in &loaded.entries {
        let entry = read(entry)?;
        let was = (session.run().is_some(), session.failure().is_some());
        session.replay(&entry)?;
        gathered.take(&entry);
        gathered.after(&session, entry.at, was);
    }
    Ok(Transcript {
        id: session.id().as_str().to_owned(),
        status: session.status(),
        created_at: session.created_at(),
        updated_at: session.updated_at(),
        tags: session.tags().clone(),
        messages: session.thread().len(),
        trimmed: loaded.snapshot.as_ref().map(|snapshot| snapshot.version),
        waits: session.waits(),
        usage: session.usage().clone(),
        items: gathered.items,
    })
}

/// The session that the entries go on from: an empty one, or that of the snapshot.
pub(crate) fn beginning(loaded: &Loaded) -> Result<Session, SessionError> {
    let Some(snapshot) = &loaded.snapshot else {
        return Ok(Session::empty(loaded.head.id.clone()));
    };
    let corrupt = || SessionError::from(StoreError::corrupt(snapshot.version));
    let mut session = Session::from_json(&snapshot.bytes).map_err(|_| corrupt())?;
    let fits = session.version() == snapshot.version
        && *session.id() == loaded.head.id
        && session.uid() == Some(loaded.head.uid)
        && session.state_hash()? == snapshot.state_hash;
    if fits { Ok(session) } else { Err(corrupt()) }
}

#[derive(Default)]
struct Gathered {
    items: Vec<Item>,
    /// Where the calls stand among the items.
    calls: HashMap<CallKey, usize>,
    /// The same for calls of which only the id is known.
    before: HashMap<ToolCallId, usize>,
    began: HashMap<CallKey, Timestamp>,
    ended: HashSet<CallKey>,
    /// The model of the present run.
    model: Option<String>,
}

impl Gathered {
    fn note(&mut self, at: Timestamp, kind: NoteKind, text: impl Into<String>) {
        let (at, text) = (Some(at), text.into());
        self.items.push(Item::Note(Note { at, kind, text }));
    }

    /// A message that was there before the journal tells anything.
    fn before(&mut self, message: &Message) {
        if let (Role::Tool, Some(id)) = (message.role, &message.tool_call_id) {
            let outcome = match message.is_error {
                true => Outcome::Failed,
                false => Outcome::Ok,
            };
            let parts = message.content.clone();
            let what = What::Ended {
                outcome,
                parts,
                by: None,
                took: None,
            };
            let place = self.before.get(id).copied();
            if let Some(Item::Call(call)) = place.and_then(|place| self.items.get_mut(place)) {
                call.steps.push(Step { at: None, what });
                return;
            }
        }
        self.say(None, message, None, Usage::default());
        for call in &message.tool_calls {
            self.before.insert(call.id.clone(), self.items.len());
            self.items.push(Item::Call(Box::new(Call {
                key: None,
                tool: call.original_name().to_owned(),
                arguments: call.raw_arguments.to_string(),
                steps: Vec::new(),
            })));
        }
    }

    fn say(
        &mut self,
        at: Option<Timestamp>,
        message: &Message,
        model: Option<String>,
        usage: Usage,
    ) {
        if message.content.is_empty() && !message.tool_calls.is_empty() && usage.is_empty() {
            return;
        }
        self.items.push(Item::Said(Box::new(Said {
            at,
            who: message.role,
            parts: message.content.clone(),
            model,
            partial: message.metadata.contains_key(PARTIAL),
            usage,
        })));
    }

    fn step(&mut self, key: CallKey, at: Timestamp, what: What) {
        let place = self.calls.get(&key).copied();
        if let Some(Item::Call(call)) = place.and_then(|place| self.items.get_mut(place)) {
            let at = Some(at);
            call.steps.push(Step { at, what });
        }
    }

    fn take(&mut self, entry: &JournalEntry) {
        let at = entry.at;
        match &entry.body {
            EntryBody::Created(created) => {
                for message in &created.thread.messages {
                    self.before(message);
                }
            }
            EntryBody::UserMessage(said) => {
                self.say(Some(at), &said.message, None, Usage::default());
            }
            EntryBody::Answered(answered) => {
                let (parts, by) = (answered.content.clone(), answered.by.clone());
                self.step(answered.call, at, What::Answered { parts, by });
            }
            EntryBody::ResultSubmitted(submitted) => {
                self.ended.insert(submitted.call);
                let what = What::Ended {
                    outcome: submitted.outcome,
                    parts: submitted.content.clone(),
                    by: Some(
                        submitted
                            .by
                            .clone()
                            .unwrap_or_else(|| "a person".to_owned()),
                    ),
                    took: None,
                };
                self.step(submitted.call, at, what);
            }
            EntryBody::ApprovalDecided(decided) => self.decided(at, decided),
            EntryBody::RerunAllowed(allowed) => {
                let by = allowed.by.clone();
                self.step(allowed.call, at, What::RunAgain { by });
            }
            EntryBody::StopRequested(stop) => {
                let text = words::with_reason("somebody asked to stop", &stop.reason);
                self.note(
                    at,
                    NoteKind::Information,
                    words::by(&text, stop.by.as_deref()),
                );
            }
            EntryBody::LateOutcome(late) => {
                let (outcome, content) = (late.outcome, late.content.clone());
                self.step(late.call, at, What::Late { outcome, content });
            }
            EntryBody::Expired(expired) => self.step(expired.call, at, What::Expired),
            EntryBody::RunStarted(started) => self.started(started),
            EntryBody::ModelResponded(responded) => self.responded(at, responded),
            EntryBody::ModelFailed(failed) => {
                if let Some(partial) = &failed.partial {
                    let mut message = partial.message.clone();
                    message.metadata.insert(PARTIAL.to_owned(), true.into());
                    self.say(Some(at), &message, self.model.clone(), failed.usage.clone());
                }
                if failed.end == ModelEnd::Interrupted {
                    self.note(at, NoteKind::Information, "the answer was broken off");
                }
            }
            EntryBody::CallsPlanned(planned) => self.planned(at, planned),
            EntryBody::ToolIntent(intent) => {
                self.began.insert(intent.call, at);
                let attempt = intent.attempt;
                self.step(intent.call, at, What::Began { attempt });
            }
            EntryBody::ToolOutcome(outcome) => self.outcome(at, outcome),
            EntryBody::Recovered(recovered) => {
                let mut text = "another process went on with the run".to_owned();
                if recovered.lost_model_call {
                    text.push_str("; an answer of the model was lost and is asked for again");
                }
                self.note(at, NoteKind::Information, text);
            }
            // The caller's own facts are no part of what was said, and what ends a run is told by its halt.
            _ => {}
        }
    }

    fn started(&mut self, started: &RunStarted) {
        self.model = started.model.as_ref().map(ToString::to_string);
    }

    fn decided(&mut self, at: Timestamp, decided: &ApprovalDecided) {
        let by = decided.by.clone();
        let what = match &decided.decision {
            Decision::Edited(edited) => What::Edited {
                arguments: words::json(&edited.arguments),
                by,
            },
            Decision::Denied(denied) => What::Denied {
                reason: denied.reason.clone(),
                by,
            },
            _ => What::Approved { by },
        };
        self.step(decided.call, at, what);
    }

    fn responded(&mut self, at: Timestamp, responded: &ModelResponded) {
        let response = &responded.response;
        let model = self.model.clone().or_else(|| response.model.clone());
        self.say(Some(at), &response.message, model, response.usage.clone());
        for (index, call) in (0..).zip(&response.message.tool_calls) {
            let key = CallKey {
                turn: responded.turn,
                index,
            };
            self.calls.insert(key, self.items.len());
            self.items.push(Item::Call(Box::new(Call {
                key: Some(key),
                tool: call.original_name().to_owned(),
                arguments: call.raw_arguments.to_string(),
                steps: Vec::new(),
            })));
        }
    }

    fn planned(&mut self, at: Timestamp, planned: &CallsPlanned) {
        for plan in &planned.calls {
            let key = CallKey {
                turn: planned.turn,
                index: plan.index,
            };
            match &plan.plan {
                CallPlan::Run(_) => drop(self.began.insert(key, at)),
                CallPlan::Manual(_) => self.step(key, at, What::ResultAwaited { unknown: false }),
                CallPlan::Approve(asked) => {
                    let what = What::ApprovalAsked {
                        id: asked.approval_id,
                        reason: asked.reason.clone(),
                        expires_at: asked.expires_at,
                    };
                    self.step(key, at, what);
                }
                // What it comes to is seen by its outcome.
                _ => {}
            }
        }
    }

    fn outcome(&mut self, at: Timestamp, entry: &ToolOutcomeEntry) {
        let key = entry.call;
        if let Some(question) = &entry.question {
            let question = question.question.clone();
            self.step(key, at, What::Asked { question });
            return;
        }
        if entry.policy == OutcomePolicy::AskPerson {
            self.step(key, at, What::ResultAwaited { unknown: true });
            return;
        }
        self.ended.insert(key);
        let began = self.began.get(&key);
        let took = began.map(|began| at.as_millis().saturating_sub(began.as_millis()));
        let what = What::Ended {
            outcome: entry.outcome,
            parts: std::iter::once(Part::text(entry.content.clone()))
                .chain(entry.media.iter().cloned())
                .collect(),
            by: None,
            took: took.and_then(|took| u64::try_from(took).ok()),
        };
        self.step(key, at, what);
    }

    /// What an entry brought about besides what it says: calls that were closed with the run, a failure, a halt.
    fn after(&mut self, session: &Session, at: Timestamp, was: (bool, bool)) {
        if let Some(turn) = session.open_turn() {
            let closed = turn.keyed().filter_map(|(key, call)| {
                let told = [Outcome::Denied, Outcome::Expired, Outcome::Asked];
                let outcome = call.outcome().filter(|outcome| !told.contains(outcome))?;
                (!self.ended.contains(&key)).then(|| (key, outcome, call.call.id.clone()))
            });
            for (key, outcome, id) in closed.collect::<Vec<_>>() {
                self.ended.insert(key);
                let what = What::Ended {
                    outcome,
                    parts: result_of(session, &id),
                    by: None,
                    took: None,
                };
                self.step(key, at, what);
            }
        }
        let (was_running, had_failed) = was;
        if let Some(failure) = session.failure().filter(|_| !had_failed) {
            let text = format!("{}: {}", failure.kind, failure.message);
            self.note(at, NoteKind::Failure, text);
        } else if was_running && session.run().is_none() {
            let halt = session.last_halt();
            let is_told = |halt: &&HaltReason| {
                use HaltReason::{AskUser, Completed, Error, ManualToolCalls};
                !matches!(halt, Completed | AskUser | ManualToolCalls | Error)
            };
            if let Some(halt) = halt.filter(is_told) {
                self.note(at, NoteKind::Halt, words::halt(halt));
            }
        }
    }
}

/// What the model is told of a call.
fn result_of(session: &Session, id: &ToolCallId) -> Vec<Part> {
    let thread = session.thread();
    let mut messages: Vec<_> = thread.messages.iter().collect();
    messages.reverse();
    let found = messages
        .into_iter()
        .find(|message| message.role == Role::Tool && message.tool_call_id.as_ref() == Some(id));
    found
        .map(|message| message.content.clone())
        .unwrap_or_default()
}
