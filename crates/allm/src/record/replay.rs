//! Answers from a recording.

mod asserts;

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allm_core::{AdapterError, AdapterReason, ProviderName, Redactor};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::json;

use super::cassette::{Asked, Interaction};
use super::clean::{Cleaner, Scrub};
use super::difference::{self, Difference};
use super::error::{CassetteError, CassetteReason};
use super::form;
use super::play::{Chunking, Pace, Player};
use crate::wire::client::HttpClient;
use crate::wire::transport::{BoxError, Incoming, Sending, Transport};

/// Answers from a cassette, as a server would: no network, no key.
///
/// Give it to any provider over HTTP with its method `replay`. All else is as with the real server: requests are built,
/// answers are decoded, retries and time limits count.
///
/// ```
/// use allm::{Engine, OpenAi, Replay};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let replay = Replay::open("examples/cassettes/hello.json")?;
/// let engine = Engine::builder()
///     .provider(OpenAi::new().replay(&replay))
///     .model("openai:gpt-4.1-mini")
///     .build()?;
/// let answer = engine.generate("Say hello.").text().await?;
/// assert_eq!(answer, "Hello!");
/// replay.assert_used();
/// # Ok(())
/// # }
/// ```
///
/// # Which answer
///
/// A request is answered by the first unused interaction whose method, host, path, query and body are equal; bodies are
/// compared as JSON. Each interaction answers once, so equal requests are answered in the order of their recording.
///
/// A request that no interaction fits fails as `no_recorded_response`, which is never retried. The error names the
/// nearest interaction and the JSON differences.
///
/// # How it comes
///
/// At once, in the pieces in which it came, unless [`pace`](Self::pace) and [`chunking`](Self::chunking) say otherwise.
/// A connection that broke while it was recorded breaks again. Whoever reads on where the recorded reader left gets
/// `no_recorded_response`.
///
/// Clones share what was used. Say settings before it is given to a provider.
#[derive(Clone)]
#[must_use = "a recording answers when it is given to a provider"]
pub struct Replay {
    cassette: Arc<Cassette>,
    state: Arc<Mutex<State>>,
    chunking: Chunking,
    pace: Pace,
    may_be_unused: bool,
    scrub: Option<Scrub>,
}

struct Cassette {
    file: PathBuf,
    interactions: Vec<Interaction>,
}

#[derive(Default)]
struct State {
    /// For each interaction, whether it has answered.
    used: Vec<bool>,
    /// What was asked in vain.
    missed: Vec<String>,
    /// What is answered next, whatever is asked.
    forced: VecDeque<usize>,
}

impl Replay {
    /// Opens a cassette.
    ///
    /// # Errors
    ///
    /// When there is no such file, or it is none that a [`Recorder`](crate::Recorder) would write. The error names the
    /// file, the line or path, and the fault.
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let file = file.into();
        let text = fs::read_to_string(&file).map_err(|error| {
            let (reason, message) = match error.kind() {
                io::ErrorKind::NotFound => (
                    CassetteReason::NotFound,
                    "there is no such cassette; record it first",
                ),
                _ => (CassetteReason::Unreadable, "it cannot be read"),
            };
            CassetteError::from_io(reason, &file, message, error)
        })?;
        let interactions = form::read(&file, &text)?;
        let state = State {
            used: vec![false; interactions.len()],
            ..State::default()
        };
        Ok(Self {
            cassette: Arc::new(Cassette { file, interactions }),
            state: Arc::new(Mutex::new(state)),
            chunking: Chunking::default(),
            pace: Pace::default(),
            may_be_unused: false,
            scrub: None,
        })
    }

    /// How bodies are cut; as they came if not said.
    pub fn chunking(mut self, chunking: Chunking) -> Self {
        self.chunking = chunking;
        self
    }

    /// When pieces arrive; all at once if not said.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Interactions may stay unused; [`assert_used`](Self::assert_used) then looks for misses only.
    pub fn allow_unused(mut self) -> Self {
        self.may_be_unused = true;
        self
    }

    /// Changes every text of a request before it is compared, as [`Recorder::scrub`](crate::Recorder::scrub) did before
    /// it was written.
    pub fn scrub(mut self, scrub: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.scrub = Some(Scrub::new(scrub));
        self
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.cassette.file
    }

    /// How many interactions have not answered yet.
    #[must_use]
    pub fn unused(&self) -> usize {
        self.lock().used.iter().filter(|used| !**used).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client that answers from the recording.
    pub(crate) fn client(&self, provider: &ProviderName) -> HttpClient {
        Arc::new(Replayed {
            replay: self.clone(),
            provider: provider.clone(),
        })
    }

    /// The interaction that answers a request, used up.
    fn find(&self, asked: &Asked) -> Result<usize, Miss<'_>> {
        let asked = Cleaner::new(Redactor::new(), self.scrub.clone()).asked(asked);
        let mut state = self.lock();
        let found = state.forced.pop_front().or_else(|| {
            let mut all = self.cassette.interactions.iter().zip(&state.used);
            all.position(|(interaction, used)| !used && interaction.asked == asked)
        });
        match found {
            Some(index) => {
                if let Some(used) = state.used.get_mut(index) {
                    *used = true;
                }
                Ok(index)
            }
            None => {
                let miss = Miss::new(&self.cassette, &state.used, asked);
                state.missed.push(miss.message());
                Err(miss)
            }
        }
    }

    fn answer(
        &self,
        provider: &ProviderName,
        asked: &Asked,
    ) -> Result<Response<Incoming>, BoxError> {
        let index = self.find(asked).map_err(|miss| miss.error(provider))?;
        let Some(interaction) = self.cassette.interactions.get(index) else {
            return Err("the recording has no such interaction".into());
        };
        let Some(answered) = &interaction.answered else {
            return Err("the recorded connection failed".into());
        };
        let mut response = Response::builder().status(answered.status);
        for (name, value) in &answered.headers {
            response = response.header(name, value);
        }
        let past_the_end = AdapterError::new(
            provider.clone(),
            AdapterReason::NoRecordedResponse,
            format!(
                "the answer of interactions[{index}] in {} was read only to here when it was recorded; record it again",
                self.cassette.file.display()
            ),
        );
        let (chunking, pace) = (self.chunking, self.pace);
        let player = Player::new(
            answered,
            interaction.end,
            chunking,
            pace,
            past_the_end.into(),
        );
        Ok(response.body(player.boxed_unsync())?)
    }
}

impl fmt::Debug for Replay {
    /// Nothing of what was recorded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("file", &self.cassette.file)
            .field("interactions", &self.cassette.interactions.len())
            .field("unused", &self.unused())
            .field("chunking", &self.chunking)
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

/// A request that no interaction answers.
struct Miss<'a> {
    cassette: &'a Cassette,
    asked: Asked,
    /// How often it was recorded; every time is used up.
    recorded: usize,
    /// The interaction that is most like it, and how it differs.
    nearest: Option<(usize, Vec<Difference>)>,
}

impl<'a> Miss<'a> {
    fn new(cassette: &'a Cassette, used: &[bool], asked: Asked) -> Self {
        let all = cassette.interactions.iter();
        let compared: Vec<Vec<Difference>> = all
            .map(|interaction| difference::of_requests(&interaction.asked, &asked))
            .collect();
        let recorded = compared.iter().filter(|found| found.is_empty()).count();
        let nearest = compared
            .into_iter()
            .enumerate()
            .filter(|(_, found)| !found.is_empty())
            .min_by_key(|(index, found)| {
                // One that waits for its request is meant rather than one that had it.
                let used = used.get(*index).copied().unwrap_or_default();
                (difference::distance(found), used)
            });
        Self {
            cassette,
            asked,
            recorded,
            nearest,
        }
    }

    fn message(&self) -> String {
        let file = self.cassette.file.display();
        let line = self.asked.line();
        let times = self.recorded;
        match &self.nearest {
            _ if times > 0 => format!(
                "{line} was recorded {times} times in {file}, and each answer is used; it was asked once more"
            ),
            Some((index, found)) => format!(
                "no interaction of {file} fits {line}; the nearest is interactions[{index}]: {}",
                difference::line(found)
            ),
            None => format!("{file} holds no interaction that could answer {line}"),
        }
    }

    fn error(&self, provider: &ProviderName) -> AdapterError {
        let reason = AdapterReason::NoRecordedResponse;
        let mut error = AdapterError::new(provider.clone(), reason, self.message());
        let file = self.cassette.file.display().to_string();
        error.details.insert("cassette".to_owned(), json!(file));
        if let Some((index, found)) = self.nearest.as_ref().filter(|_| self.recorded == 0) {
            error.details.insert("nearest".to_owned(), json!(index));
            let differences = difference::details(found);
            error.details.insert("differences".to_owned(), differences);
        }
        error
    }
}

/// Carries requests nowhere.
struct Replayed {
    replay: Replay,
    provider: ProviderName,
}

impl Transport for Replayed {
    fn send(&self, request: Request<Full<Bytes>>) -> Sending {
        let (replay, provider) = (self.replay.clone(), self.provider.clone());
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let asked = Asked::new(&head.method, &head.uri, &body);
            replay.answer(&provider, &asked)
        })
    }
}
