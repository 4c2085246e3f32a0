//! Reading along: the durable events of a session after a version, then the live ones.

use std::collections::VecDeque;
use std::sync::Arc;

use allm_core::session::{Session as Data, read};
use allm_core::{Event, Link, LoadFrom, SessionError, SessionId, Version};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

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
    Live(Event),
    /// The reader was too slow for the live events, or asked for what was trimmed. Durable events go on from here.
    Lagged {
        /// The version to go on from.
        resume_at: Version,
    },
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
    live: Option<broadcast::Receiver<Event>>,
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
            self.look().await?;
            if !self.queue.is_empty() {
                continue;
            }
            self.wait().await;
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
        let store = Arc::clone(self.sessions.store());
        // What is known stays known when the store does not answer, or when nobody waits for it any more.
        let (mut data, link) = match &self.state {
            Some(known) => known.clone(),
            None => (Data::empty(self.id.clone()), Link::START),
        };
        let loaded = store.load(&self.id, LoadFrom::After(data.version())).await;
        let loaded = match &self.state {
            Some(_) => loaded.map_err(super::store_journal::lost_if_gone)?,
            None => loaded?,
        };
        if data.uid().is_some_and(|uid| uid != loaded.head.uid) {
            return Err(SessionError::lost_ownership());
        }
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
        if self.live.is_none()
            && let Some(uid) = data.uid()
        {
            self.live = self.sessions.live(uid);
        }
        self.state = Some((data, end));
        Ok(())
    }

    /// Waits until something may have happened.
    async fn wait(&mut self) {
        let store = Arc::clone(self.sessions.store());
        match &mut self.live {
            None => {
                let _ = tokio::time::timeout(LOOK_EVERY, store.changed(&self.id)).await;
            }
            Some(live) => {
                let heard = tokio::time::timeout(LOOK_EVERY, live.recv()).await;
                match heard {
                    Err(_) => {}
                    Ok(Ok(event)) => self.hear(event),
                    Ok(Err(RecvError::Lagged(_))) => self.lag(),
                    Ok(Err(RecvError::Closed)) => self.live = None,
                }
            }
        }
    }

    fn take_live(&mut self) {
        while let Some(live) = &mut self.live {
            match live.try_recv() {
                Ok(event) => self.hear(event),
                Err(TryRecvError::Lagged(_)) => self.lag(),
                Err(TryRecvError::Closed) => self.live = None,
                Err(TryRecvError::Empty) => return,
            }
        }
    }

    /// What stands in the journal is read there.
    fn hear(&mut self, event: Event) {
        if is_live(&event) {
            self.queue.push_back(Told::Live(event));
        }
    }

    fn lag(&mut self) {
        let resume_at = self
            .state
            .as_ref()
            .map_or(self.after, |(data, _)| data.version());
        self.queue.push_back(Told::Lagged { resume_at });
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
