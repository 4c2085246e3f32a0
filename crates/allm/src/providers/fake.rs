//! A provider that says what a script says: deterministic, without a network, and shipped for the tests of others.

mod answer;
mod asserts;
mod clock;
mod fault;
mod json;
mod log;
mod player;
mod replies;
mod script;
mod step;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allm_core::{
    Adapter, AdapterError, AdapterReason, BoxStream, Capabilities, Event, KeyUse, Messages,
    ModelCall, ProviderName, Request, Usage, ValidationError, validate,
};

pub use fault::{ScriptFault, ScriptFaultReason};
pub use log::{FakeCall, FakeOutcome};
pub use script::Script;

use log::{Log, OpenStream};
use player::Player;
use replies::Replies;

/// A provider that says what its scripts say.
///
/// Each attempt uses up one reply, so a retryable failure followed by a good reply tests a retry. When there is none
/// left the attempt fails with `no_scripted_response`. Its state lives in the instance: clones share it,
/// [`fork`](Self::fork) starts again with the same scripts. A reply is taken when a stream is polled for the first time.
///
/// ```
/// use allm::{Adapter, Fake, Script, Usage};
/// use serde_json::json;
///
/// let fake = Fake::new()
///     .reply(Script::new().text("Let me look.").call("get_weather", json!({"city": "Boston"})))
///     .reply(Script::new().text("Sunny.").usage(Usage::io(20, 3)));
/// assert_eq!(*fake.provider(), "fake");
/// fake.assert_calls(0);
/// ```
#[derive(Clone)]
pub struct Fake {
    name: ProviderName,
    shared: Arc<Shared>,
}

/// What clones share.
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    settings: Settings,
    replies: Replies,
    log: Log,
    /// How many ids of calls were made.
    call_ids: u64,
    /// The last history that was found good, so that of the next turn only what is new is looked at.
    good: Messages,
}

#[derive(Clone, Default)]
struct Settings {
    usage: Option<Usage>,
    history: History,
    capabilities: Capabilities,
    key_use: Option<KeyUse>,
}

/// Whether a request's history is looked at.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum History {
    #[default]
    Checked,
    Lenient,
}

/// What an attempt plays.
struct Reply {
    script: Arc<Script>,
    /// How many ids of calls were made before it.
    call_ids: u64,
    usage: Option<Usage>,
}

impl Shared {
    /// The state is whole at any instant, so a panic elsewhere while it was locked does not matter.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fake {
    /// A provider named `fake` without any reply.
    #[must_use]
    pub fn new() -> Self {
        Self::named("fake")
    }

    /// A provider of another name, for engines with several.
    pub fn named(name: impl Into<ProviderName>) -> Self {
        Self::of(name.into(), State::default())
    }

    fn of(name: ProviderName, state: State) -> Self {
        Self {
            name,
            shared: Arc::new(Shared(Mutex::new(state))),
        }
    }

    /// A new instance with the same scripts and settings, none of them used, and nothing seen.
    #[must_use]
    pub fn fork(&self) -> Self {
        let state = self.shared.lock();
        let state = State {
            settings: state.settings.clone(),
            replies: state.replies.unused(),
            ..State::default()
        };
        Self::of(self.name.clone(), state)
    }

    /// Answers one attempt with this script, after those that were given before. A text alone is a script.
    pub fn reply(self, script: impl Into<Script>) -> Self {
        self.shared.lock().replies.push(script.into());
        self
    }

    /// Answers the first attempt whose request meets the condition. Conditions are asked before the queue, in the order
    /// in which they were given; each reply is used once.
    pub fn reply_when(
        self,
        condition: impl Fn(&Request) -> bool + Send + Sync + 'static,
        script: impl Into<Script>,
    ) -> Self {
        let script = script.into();
        let mut state = self.shared.lock();
        state.replies.push_when(Arc::new(condition), script);
        drop(state);
        self
    }

    /// Answers with the last reply of the queue again when the queue is used up.
    pub fn repeat_last(self) -> Self {
        self.shared.lock().replies.repeat_last();
        self
    }

    /// Answers with this script whenever the queue is used up.
    pub fn always(self, script: impl Into<Script>) -> Self {
        self.shared.lock().replies.always(script.into());
        self
    }

    /// What every completion says of usage, unless its script says something else.
    pub fn usage(self, usage: Usage) -> Self {
        self.shared.lock().settings.usage = Some(usage);
        self
    }

    /// Answers requests whose history a provider would refuse.
    pub fn lenient_history(self) -> Self {
        self.shared.lock().settings.history = History::Lenient;
        self
    }

    /// What its models can do; without it nothing is known.
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        self.shared.lock().settings.capabilities = capabilities;
        self
    }

    /// Whether it is called with a key; without it, when one is found.
    pub fn with_key_use(self, key_use: KeyUse) -> Self {
        self.shared.lock().settings.key_use = Some(key_use);
        self
    }

    /// Says whether all scripts can be played. Every call fails while one cannot.
    ///
    /// # Errors
    ///
    /// The first fault of the first script that has one.
    pub fn check(&self) -> Result<(), ScriptFault> {
        let fault = self.shared.lock().replies.fault();
        fault.map_or(Ok(()), |(_, fault)| Err(fault))
    }

    /// Begins an attempt: records it and takes its reply.
    fn open(&self, call: &ModelCall) -> (OpenStream, Result<Reply, AdapterError>) {
        let conditions = self.shared.lock().replies.conditions();
        let met: Vec<usize> = conditions
            .into_iter()
            .filter(|(_, condition)| condition(&call.request))
            .map(|(place, _)| place)
            .collect();
        let mut state = self.shared.lock();
        let place = state.log.begin(call);
        let reply = self.take(&mut state, call, &met);
        drop(state);
        (OpenStream::new(Arc::clone(&self.shared), place), reply)
    }

    fn take(
        &self,
        state: &mut State,
        call: &ModelCall,
        met: &[usize],
    ) -> Result<Reply, AdapterError> {
        let refuse = |reason, message| {
            let error = AdapterError::new(self.name.clone(), reason, message);
            AdapterError {
                request_id: Some(call.request_id.clone()),
                ..error
            }
        };
        if let Some((name, fault)) = state.replies.fault() {
            let message = format!("{name} cannot be played: {fault}");
            return Err(refuse(AdapterReason::NoScriptedResponse, message));
        }
        if state.settings.history == History::Checked {
            let messages = &call.request.messages;
            sendable(messages, &state.good)
                .map_err(|error| refuse(AdapterReason::InvalidRequest, in_words(&error)))?;
            state.good = messages.clone();
        }
        let Some(script) = state.replies.take(met) else {
            let (number, scripted) = (state.log.calls.len(), state.replies.scripted());
            let message = format!("no reply is left for call {number}: {scripted} were scripted");
            let mut error = refuse(AdapterReason::NoScriptedResponse, message);
            error.details.insert("call".to_owned(), number.into());
            error.details.insert("scripted".to_owned(), scripted.into());
            return Err(error);
        };
        let reply = Reply {
            call_ids: state.call_ids,
            usage: state.settings.usage.clone(),
            script,
        };
        // All at once, so that the ids of attempts that run side by side do not depend on who is polled first.
        let ids = reply.script.steps().iter().filter(|step| step.takes_id());
        state.call_ids += ids.map(|_| 1).sum::<u64>();
        Ok(reply)
    }
}

/// Checks a history, of which the beginning may be known as good.
fn sendable(messages: &Messages, good: &Messages) -> Result<(), ValidationError> {
    if !good.is_empty() && good.is_prefix_of(messages) {
        // No call of the beginning is open, so what is new stands alone.
        let new: Messages = messages.iter_from(good.len()).cloned().collect();
        if new.is_empty() || validate::sendable(&new).is_ok() {
            return Ok(());
        }
    }
    validate::sendable(messages)
}

/// The faults of a history in one line.
fn in_words(error: &ValidationError) -> String {
    let faults: Vec<_> = error.faults.iter().map(ToString::to_string).collect();
    faults.join(", ")
}

impl Adapter for Fake {
    fn provider(&self) -> &ProviderName {
        &self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        self.shared.lock().settings.capabilities
    }

    fn key_use(&self) -> KeyUse {
        let key_use = self.shared.lock().settings.key_use;
        key_use.unwrap_or(KeyUse::Optional)
    }

    /// Plays the next reply.
    ///
    /// A delay or a silence needs a tokio runtime with its clock; other scripts run anywhere.
    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        Box::pin(Player::new(self.clone(), call))
    }
}

impl Default for Fake {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Fake")
            .field("name", &self.name)
            .field("scripted", &state.replies.scripted())
            .field("calls", &state.log.calls.len())
            .finish_non_exhaustive()
    }
}
