//! Reading along: the durable events of a session after a version, then the live ones.

use std::collections::VecDeque;
use std::sync::Arc;

use allm_core::session::{Session as Data, read};
use allm_core::{Event, Link, LoadFrom, SessionError, SessionId, Version};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, timeout_at};

use super::durable::DurableSession;
use super::lease::LOOK_EVERY;
use super::registry::Sessions;

/// What a reader of a session is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Told {
    /// Something that stands in the journal.
    Durable {
        /// The version of its entry.
        version: Version,
        /// What happened.
        event: Event,
    },
    /// Something that only those hear who listen while it happens, in the process that drives the session.
    Live(LiveEvent),
    /// The reader was too slow for the live events, or asked for what was trimmed. Durable events go on from here.
    Lagged {
        /// The version to go on from.
        resume_at: Version,
    },
}

/// A live event and its place, by which a display knows what it has and what it missed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LiveEvent {
    /// The turn that it belongs to.
    pub turn: u32,
    /// The attempt at that turn's model call, from 1. A higher one makes what came of the lower ones void.
    pub attempt: u32,
    /// Its number among the live events of that attempt, from 1 and without gaps.
    pub seq: u64,
    /// What happened.
    pub event: Event,
}

/// What a driver tells everyone in its process.
#[derive(Clone)]
pub(crate) enum Heard {
    /// Something that stands in no journal.
    Live(LiveEvent),
    /// Something was written.
    Written,
}

/// Gives live events their place.
#[derive(Default)]
pub(crate) struct Places {
    turn: u32,
    attempt: u32,
    seq: u64,
}

impl Places {
    /// Another attempt at a model call begins.
    pub(crate) fn begin(&mut self, turn: u32, attempt: u32) {
        *self = Self {
            turn,
            attempt,
            seq: 0,
        };
    }

    /// What is told of an event, if anyone listens.
    pub(crate) fn place(&mut self, event: &Event, is_heard: bool) -> Option<Heard> {
        let is_live = is_live(event);
        self.seq += u64::from(is_live);
        if !is_heard {
            return None;
        }
        if !is_live {
            return Some(Heard::Written);
        }
        Some(Heard::Live(LiveEvent {
            turn: self.turn,
            attempt: self.attempt,
            seq: self.seq,
            event: event.clone(),
        }))
    }
}

/// The events of a session after a version, and then as they happen.
///
/// It ends only when the session is deleted or cannot be read. A slow reader never slows a run.
pub struct SessionEvents {
    sessions: Sessions,
    id: SessionId,
    after: Version,
    /// How the session stands at the last version read; `None` before the first look.
    state: Option<(Data, Link)>,
    queue: VecDeque<Told>,
    live: Option<broadcast::Receiver<Heard>>,
    /// When the journal is looked at next: at once when it may have what was not read.
    look_at: Instant,
}

impl std::fmt::Debug for SessionEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionEvents")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl DurableSession {
    /// The durable events after this version, each once and in order, and then the live ones. Any number of readers, on
    /// any machine; live deltas are heard only in the process that drives the session.
    #[must_use]
    pub fn events(&self, after: Version) -> SessionEvents {
        SessionEvents {
            sessions: self.sessions().clone(),
            id: self.id().clone(),
            after,
            state: None,
            queue: VecDeque::new(),
            live: None,
            look_at: Instant::now(),
        }
    }
}

impl SessionEvents {
    /// The next event. It waits for one, however long that takes.
    ///
    /// # Errors
    ///
    /// `lost_ownership` when the session was deleted; those of [`Sessions::open`].
    pub async fn next(&mut self) -> Result<Told, SessionError> {
        loop {
            if let Some(told) = self.queue.pop_front() {
                return Ok(told);
            }
            if self.look_at <= Instant::now() {
                self.look().await?;
            } else {
                self.wait().await;
            }
        }
    }

    /// The next event that has happened already; `None` when there is none.
    ///
    /// # Errors
    ///
    /// Those of [`next`](Self::next).
    pub async fn next_ready(&mut self) -> Result<Option<Told>, SessionError> {
        if self.queue.is_empty() {
            self.look().await?;
            self.take_live();
        }
        Ok(self.queue.pop_front())
    }

    /// Reads what the journal has that was not read.
    async fn look(&mut self) -> Result<(), SessionError> {
        let known = self.state.as_ref().map(|(data, _)| data);
        let version = known.map_or(Version(0), Data::version);
        let uid = known.and_then(Data::uid);
        let asking = self.sessions.asking_once();
        let loaded = asking.load(&self.id, LoadFrom::After(version)).await;
        let loaded = match uid {
            Some(_) => loaded.map_err(super::store_journal::lost_if_gone)?,
            None => loaded?,
        };
        if uid.is_some_and(|uid| uid != loaded.head.uid) {
            return Err(SessionError::lost_ownership());
        }
        // What was told stays told: a state that is lost to an error is read anew, from the start.
        let known = self.state.take();
        let (mut data, link) = known.unwrap_or_else(|| (Data::empty(self.id.clone()), Link::START));
        let end = loaded.verify(&link)?;
        let mut told = Vec::new();
        let mut after = self.after;
        if let Some(snapshot) = &loaded.snapshot {
            data = allm_core::json::from_slice(&snapshot.bytes)?;
            if after < snapshot.version {
                after = snapshot.version;
                told.push(Told::Lagged { resume_at: after });
            }
        }
        for entry in &loaded.entries {
            let applied = data.replay(&read(entry)?)?;
            let version = entry.version;
            if version > after {
                let events = applied.events.into_iter();
                told.extend(events.map(|event| Told::Durable { version, event }));
            }
        }
        self.after = after.max(data.version());
        self.queue.extend(told);
        self.look_at = Instant::now() + LOOK_EVERY;
        if self.live.is_none() {
            self.live = self.sessions.live(loaded.head.uid);
            if self.live.is_some() {
                // What happened between this look and the first that is heard must be looked for.
                self.look_soon();
            }
        }
        self.state = Some((data, end));
        Ok(())
    }

    /// Waits until something may have happened.
    async fn wait(&mut self) {
        let store = Arc::clone(self.sessions.store());
        match &mut self.live {
            None => {
                let _ = timeout_at(self.look_at, store.changed(&self.id)).await;
                self.look_soon();
            }
            Some(live) => match timeout_at(self.look_at, live.recv()).await {
                Err(_) => self.look_soon(),
                Ok(Ok(heard)) => self.hear(heard),
                Ok(Err(RecvError::Lagged(_))) => self.lag(),
                Ok(Err(RecvError::Closed)) => self.end_hearing(),
            },
        }
    }

    fn take_live(&mut self) {
        while let Some(live) = &mut self.live {
            match live.try_recv() {
                Ok(heard) => self.hear(heard),
                Err(TryRecvError::Lagged(_)) => self.lag(),
                Err(TryRecvError::Closed) => self.end_hearing(),
                Err(TryRecvError::Empty) => return,
            }
        }
    }

    /// What stands in the journal is read there. What belongs to a turn that the journal has told of is over.
    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Written => self.look_soon(),
            Heard::Live(live) if live.turn >= self.turn() => self.queue.push_back(Told::Live(live)),
            Heard::Live(_) => {}
        }
    }

    /// The journal may have what was not read.
    fn look_soon(&mut self) {
        self.look_at = Instant::now();
    }

    /// The turn that the journal has come to, as far as it was read.
    fn turn(&self) -> u32 {
        self.state.as_ref().map_or(0, |(data, _)| data.turn())
    }

    fn end_hearing(&mut self) {
        self.live = None;
        self.look_soon();
    }

    fn lag(&mut self) {
        let resume_at = self
            .state
            .as_ref()
            .map_or(self.after, |(data, _)| data.version());
        self.queue.push_back(Told::Lagged { resume_at });
        self.look_soon();
    }
}

/// Whether an event stands in no journal.
fn is_live(event: &Event) -> bool {
    match event {
        Event::MessageStarted(_)
        | Event::TextDelta(_)
        | Event::TextCompleted(_)
        | Event::ToolCallStarted(_)
        | Event::ToolCallDelta(_)
        | Event::ToolCallCompleted(_)
        | Event::MessageCompleted(_)
        | Event::RawChunk(_)
        | Event::ToolExecutionStarted(_)
        | Event::ToolProgress(_)
        | Event::ReasoningDelta(_)
        | Event::AttemptReset(_) => true,
        Event::Error(_)
        | Event::ToolExecutionCompleted(_)
        | Event::ToolResultEncoded(_)
        | Event::AskUserRequested(_)
        | Event::ToolHalt(_)
        | Event::StepCompleted(_)
        | Event::ChatCompleted(_) => false,
    }
}
