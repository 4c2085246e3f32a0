//! The provider.

mod answer;
mod check;
mod clock;
mod stream;

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use allm_core::{
    Adapter, BoxStream, Capabilities, Event, KeyUse, ModelCall, ProviderName, Support,
    ValidationError,
};

use crate::error::{ModelError, ModelErrorKind};
use crate::models::Folder;
use crate::worker::{Counters, Settings, Worker};

use stream::Answering;

/// The longest answer where neither the request nor the provider says.
const MAX_TOKENS: u32 = 1024;

/// A provider that runs models in this process: no network, no key.
///
/// Its models are the names in its folder (`local:smollm2-135m`, see [`models`](crate::models)) and paths of GGUF files
/// (`local:/somewhere/model.gguf`). A model is loaded when it is asked for the first time, and runs on a thread of its
/// own. It answers one call at a time; the others wait in the order in which they came. Clones share the models.
///
/// ```no_run
/// use allm::Engine;
/// use allm_local::{Local, models};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// models::pull("smollm2-135m", models::Pull::new()).await?;
/// let engine = Engine::builder().provider(Local::new()).model("local:smollm2-135m").build()?;
/// println!("{}", engine.chat("What is the capital of France?").text().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Local {
    name: ProviderName,
    folder: Option<Folder>,
    threads: Option<NonZeroUsize>,
    conversations: usize,
    max_tokens: u32,
    shared: Arc<Shared>,
}

/// What clones share.
#[derive(Default)]
struct Shared {
    workers: Mutex<HashMap<PathBuf, Worker>>,
    counters: Arc<Counters>,
}

/// What a provider has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Answers that were begun. One that waits in the queue is not.
    pub begun: u64,
    /// Answers that are being written now.
    pub running: u64,
    /// Steps of all answers. A step gives a token, or several where a grammar leaves no choice.
    pub steps: u64,
}

impl Local {
    /// The provider `local` over the models in the user's folder.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: "local".into(),
            folder: None,
            threads: None,
            conversations: 4,
            max_tokens: MAX_TOKENS,
            shared: Arc::default(),
        }
    }

    /// The same under another name, for engines with several.
    #[must_use]
    pub fn named(mut self, name: impl Into<ProviderName>) -> Self {
        self.name = name.into();
        self.shared = Arc::default();
        self
    }

    /// Models are looked for in this folder instead of the user's.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(Folder::at(folder));
        self.shared = Arc::default();
        self
    }

    /// How many threads a model computes with. Without it as many as there are cores, up to four.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self.shared = Arc::default();
        self
    }

    /// Of how many conversations a model remembers what it has read, so that their next turn begins at once. Without
    /// it, four; at least one. A model whose template knows no tools needs two for a conversation with tools.
    #[must_use]
    pub fn conversations(mut self, conversations: usize) -> Self {
        self.conversations = conversations.max(1);
        self.shared = Arc::default();
        self
    }

    /// The longest answer, in tokens, where the request does not say. Without it 1024.
    #[must_use]
    pub fn max_tokens(mut self, max_tokens: u32) -> Self {
        self.max_tokens = max_tokens.max(1);
        self.shared = Arc::default();
        self
    }

    /// What it has done so far.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let counters = &self.shared.counters;
        // Closed first: what is closed was opened before.
        let closed = counters.closed.load(Ordering::Acquire);
        let begun = counters.opened.load(Ordering::Acquire);
        Activity {
            begun,
            running: begun.saturating_sub(closed),
            steps: counters.tokens.load(Ordering::Acquire),
        }
    }

    /// The file of a model.
    fn path(&self, model: &str) -> Result<PathBuf, ModelError> {
        match &self.folder {
            Some(folder) => folder.path(model),
            None => Folder::of_user()?.path(model),
        }
    }

    /// The thread of a model.
    fn worker(&self, model: &str) -> Result<Worker, ModelError> {
        let path = self.path(model)?;
        let mut workers = self
            .shared
            .workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = workers.get(&path) {
            return Ok(worker.clone());
        }
        let settings = Settings {
            threads: self.threads.unwrap_or_else(usual_threads),
            conversations: self.conversations,
            max_tokens: self.max_tokens,
        };
        let counters = Arc::clone(&self.shared.counters);
        let worker = Worker::start(path.clone(), settings, counters).map_err(|error| {
            ModelError::new(ModelErrorKind::Io, "no thread for the model").because(error)
        })?;
        workers.insert(path, worker.clone());
        Ok(worker)
    }
}

/// More threads than cores wait for each other, and more than a few gain nothing with models of this size.
fn usual_threads() -> NonZeroUsize {
    const MOST: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    std::thread::available_parallelism().map_or(NonZeroUsize::MIN, |cores| cores.min(MOST))
}

impl Adapter for Local {
    fn provider(&self) -> &ProviderName {
        &self.name
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities {
            tools: Support::Yes,
            parallel_tool_calls: Support::Yes,
            json_schema: Support::Yes,
            json_object: Support::Yes,
            tools_with_json_schema: Support::Yes,
            vision: Support::No,
            files: Support::No,
            reasoning: Support::No,
            streaming: Support::Yes,
            ..Capabilities::default()
        }
    }

    fn key_use(&self) -> KeyUse {
        KeyUse::Never
    }

    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        check::check(&call.request)
    }

    /// Runs the model. Needs a tokio runtime with its clock, for the time limits.
    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        Box::pin(Answering::new(self.clone(), call))
    }
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("name", &self.name)
            .field("folder", &self.folder)
            .field("threads", &self.threads)
            .field("conversations", &self.conversations)
            .field("max_tokens", &self.max_tokens)
            .field("activity", &self.activity())
            .finish_non_exhaustive()
    }
}
