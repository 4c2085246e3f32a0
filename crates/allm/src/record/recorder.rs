//! Writes real traffic down.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use allm_core::ApiKey;

use super::clean::{Cleaner, Scrub};
use super::error::{CassetteError, CassetteReason};
use super::form;
use super::tape::Tape;
use crate::wire::client::HttpClient;

/// Writes down what a provider and its server say to each other, so that a [`Replay`](crate::Replay) can say it again
/// without a network.
///
/// Give it to any provider over HTTP with its method `record`, make the calls, and [`finish`](Self::finish):
///
/// ```no_run
/// use allm::{Engine, OpenAi, Recorder};
///
/// # async fn record() -> Result<(), Box<dyn std::error::Error>> {
/// let recorder = Recorder::new("tests/cassettes").name("weather");
/// let engine = Engine::builder()
///     .provider(OpenAi::new().record(&recorder))
///     .model("openai:gpt-4.1-mini")
///     .build()?;
/// println!("{}", engine.chat("What should I wear in Boston?").text().await?);
/// recorder.finish()?; // tests/cassettes/weather.json
/// # Ok(())
/// # }
/// ```
///
/// # What is written
///
/// Method, host, path, query and body of each request; status, headers and body of each answer, with the pieces in which
/// it came. Each attempt of a call that is retried is an interaction of its own.
///
/// Never written: headers of a request; headers of an answer that tell of an account or set a cookie; parameters of a
/// query that hold a key. Everything else passes the [`Redactor`](crate::Redactor), then [`scrub`](Self::scrub). If the
/// key in use still stands in it, plain, URL-encoded, in base64 or escaped, nothing is written.
///
/// # When it is written
///
/// By [`finish`](Self::finish) and not before, whole or not at all. A test that panics and a process that dies leave an
/// older file as it was. An answer whose reader left before its end is kept as far as it was read, and marked `left`; a
/// connection that broke is kept and marked `broken`. A request that was given up before its answer began is left out.
///
/// Clones share one recording. Say [`name`](Self::name) and [`scrub`](Self::scrub) before it is given to a provider.
#[derive(Clone, Debug)]
#[must_use = "a recorder records when it is given to a provider"]
pub struct Recorder {
    folder: PathBuf,
    name: Option<String>,
    scrub: Option<Scrub>,
    tape: Tape,
}

impl Recorder {
    /// A recorder of a cassette in this folder, named after the test that calls this.
    ///
    /// The test's name is that of its thread. Where a test runs on the main thread (`--test-threads=1`), and outside of
    /// tests, say a [`name`](Self::name).
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let thread = std::thread::current();
        let name = thread.name().filter(|name| is_test(name)).map(file_name);
        Self {
            folder: folder.into(),
            name,
            scrub: None,
            tape: Tape::default(),
        }
    }

    /// What the file is called, without `.json`.
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(file_name(name.as_ref()));
        self
    }

    /// Changes every text before it is written: host, path, query, each string of a request's JSON, each header and the
    /// whole body of an answer. It runs last, after the redactor.
    ///
    /// Give the same function to [`Replay::scrub`](crate::Replay::scrub), so that requests are compared as they were
    /// written.
    ///
    /// ```
    /// use allm::Recorder;
    ///
    /// let recorder = Recorder::new("tests/cassettes").scrub(|text| text.replace("Alice", "[name]"));
    /// ```
    pub fn scrub(mut self, scrub: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.scrub = Some(Scrub::new(scrub));
        self
    }

    /// Where the file will be; `None` as long as it has no name.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let name = self.name.as_ref()?;
        Some(self.folder.join(format!("{name}.json")))
    }

    /// Writes the file, and gives its path. It is written beside its place and then moved there, so that nobody sees a
    /// half.
    ///
    /// The recorder goes on; `finish` again writes all that was heard until then.
    ///
    /// # Errors
    ///
    /// Nothing is written then, and what was there stays: nothing was recorded, the key in use stands in the recording,
    /// the file has no name, or the file system refuses.
    pub fn finish(&self) -> Result<PathBuf, CassetteError> {
        let Some(path) = self.path() else {
            let message = "the cassette has no name; say one with `name`";
            let reason = CassetteReason::NoName;
            return Err(CassetteError::new(reason, &self.folder, message));
        };
        let text = self.text(&path)?;
        write(&path, &text).map_err(|error| {
            let message = "it cannot be written";
            CassetteError::from_io(CassetteReason::Unwritable, &path, message, error)
        })?;
        self.tape.written();
        Ok(path)
    }

    fn text(&self, path: &Path) -> Result<String, CassetteError> {
        let unwritable = |error: serde_json::Error| {
            let message = format!("it cannot be written: {error}");
            CassetteError::new(CassetteReason::Unwritable, path, message)
        };
        let (heard, redactor) = self.tape.heard();
        if heard.is_empty() {
            let message = "nothing was recorded; give the recorder to a provider with `record`";
            return Err(CassetteError::new(CassetteReason::Empty, path, message));
        }
        let cleaner = Cleaner::new(redactor, self.scrub.clone());
        let mut clean = Vec::with_capacity(heard.len());
        for (index, interaction) in heard.iter().enumerate() {
            let interaction = cleaner.interaction(interaction);
            let text = form::write_one(&interaction).map_err(unwritable)?;
            if cleaner.finds_key_in(&text) {
                let message = format!(
                    "nothing was written: the key in use stands in interactions[{index}]; take it out with `scrub`"
                );
                return Err(CassetteError::new(CassetteReason::HoldsKey, path, message));
            }
            clean.push(interaction);
        }
        form::write(&clean).map_err(unwritable)
    }

    /// Whether the recording can be written in the end.
    pub(crate) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// A client that is listened to.
    pub(crate) fn listen(&self, client: HttpClient, key: Option<&ApiKey>) -> HttpClient {
        self.tape.listen(client, key)
    }
}

/// Whether a thread's name is that of a test.
fn is_test(name: &str) -> bool {
    name != "main" && !name.starts_with("tokio-")
}

/// A name that every file system takes.
fn file_name(name: &str) -> String {
    let plain = name.replace("::", ".");
    let fit = |character: char| match character {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' | '.' => character,
        _ => '_',
    };
    let fit: String = plain.chars().map(fit).collect();
    fit.trim_start_matches('.').to_owned()
}

/// Writes a file as a whole.
fn write(path: &Path, text: &str) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder)?;
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.{count}.tmp", std::process::id()));
    let written = fs::File::create_new(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        // It is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_is_named_after_its_test() {
        let named = |name: &str| {
            let thread = std::thread::Builder::new().name(name.to_owned());
            let path = thread.spawn(|| Recorder::new("c").path());
            path.expect("a thread").join().expect("it ends")
        };
        assert_eq!(named("a::b_c"), Some(PathBuf::from("c/a.b_c.json")));
        assert_eq!(named("main"), None);
        assert_eq!(named("tokio-rt-worker"), None);
        let said = Recorder::new("c").name("../x y");
        assert_eq!(said.path(), Some(PathBuf::from("c/_x_y.json")));
    }
}
