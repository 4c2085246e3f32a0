//! Which key a call is made with.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use allm_core::{
    Adapter, ApiKey, BoxFuture, Cause, EngineError, EngineReason, KeyError, KeyRequest, KeySource,
    KeyUse, Redactor, environment_names,
};

use super::level::Level;
use crate::panics::{caught_future, discard};

/// Keys from environment variables, by the names that providers document.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnvironmentKeys;

impl KeySource for EnvironmentKeys {
    fn key(&self, ask: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        Box::pin(async move {
            for name in environment_names(&ask.provider) {
                let Some(text) = std::env::var_os(&name) else {
                    continue;
                };
                let text = text
                    .into_string()
                    .map_err(|_| KeyError::new(format!("{name} is not UTF-8")))?;
                if let Some(key) = read_key(&name, text)? {
                    return Ok(Some(key));
                }
            }
            Ok(None)
        })
    }
}

fn read_key(from: &str, text: String) -> Result<Option<ApiKey>, KeyError> {
    ApiKey::new(text).map_err(|error| KeyError::new(format!("{from}: {}", error.message)))
}

/// Keys from a `.env` file. The process environment is not changed, and nothing is interpolated.
#[derive(Clone, Debug)]
pub struct DotEnv {
    path: std::path::PathBuf,
}

impl DotEnv {
    /// Keys from this file, read when one is asked for. A missing file is no error, an unreadable one is.
    pub fn new(path: impl Into<std::path::PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn read(&self) -> Result<String, KeyError> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(KeyError::new(format!(
                "the .env file cannot be read: {}",
                error.kind()
            ))),
        }
    }
}

impl KeySource for DotEnv {
    fn key(&self, ask: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        Box::pin(async move {
            let text = self.read()?;
            for name in environment_names(&ask.provider) {
                let last = entries(&text).filter(|(key, _)| *key == name).last();
                if let Some((_, value)) = last
                    && let Some(key) = read_key(&name, value.to_owned())?
                {
                    return Ok(Some(key));
                }
            }
            Ok(None)
        })
    }
}

/// The entries of a `.env` text; bad lines are skipped.
fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        if line.starts_with('#') {
            return None;
        }
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let mut characters = name.chars();
        let starts = characters
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let goes_on = characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        (starts && goes_on).then(|| (name, unquoted(value.trim())))
    })
}

/// Without one pair of surrounding quotes.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inside) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inside;
        }
    }
    value
}

/// Where keys are looked for after the call's own: the provider's configuration, the engine's source, the environment,
/// a `.env` file.
#[derive(Clone, Default)]
pub(crate) struct KeyChain {
    pub(crate) engine: Option<Arc<dyn KeySource>>,
    pub(crate) dotenv: Option<DotEnv>,
    last: LastKey,
}

/// The key of the last call. Sources are asked each time, and mostly give the same key again; what was worked out about it
/// need not be worked out again.
#[derive(Clone, Default)]
struct LastKey(Arc<Mutex<Option<ApiKey>>>);

impl LastKey {
    /// This key, as the one that is known if it is that one.
    fn same(&self, key: ApiKey) -> ApiKey {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(known) if known.expose() == key.expose() => known.clone(),
            _ => last.insert(key).clone(),
        }
    }
}

impl KeyChain {
    /// The key for one attempt. Every source is asked once per attempt and has the limit for its answer.
    pub(crate) async fn find(
        &self,
        call: &Level<ApiKey>,
        adapter: &dyn Adapter,
        ask: &KeyRequest,
        limit: Option<Duration>,
    ) -> Result<Option<ApiKey>, EngineError> {
        let key_use = adapter.key_use();
        if key_use == KeyUse::Never {
            return Ok(None);
        }
        if let Level::Set(key) = call {
            return Ok(Some(self.last.same(key.clone())));
        }
        let environment = EnvironmentKeys;
        let sources: [(&str, Option<&dyn KeySource>); 4] = [
            ("provider configuration", adapter.key_source()),
            ("engine key source", self.engine.as_deref()),
            ("environment", Some(&environment)),
            (".env file", self.dotenv.as_ref().map(|dotenv| dotenv as _)),
        ];
        let mut checked = vec!["call"];
        for (name, source) in sources {
            let Some(source) = source.filter(|_| !matches!(call, Level::Off)) else {
                continue;
            };
            checked.push(name);
            if let Some(key) = bounded(source, ask, limit).await? {
                return Ok(Some(self.last.same(key)));
            }
        }
        if key_use == KeyUse::Optional {
            return Ok(None);
        }
        let names = environment_names(&ask.provider).join(" or ");
        Err(EngineError {
            provider: Some(ask.provider.clone()),
            checked: checked.into_iter().map(str::to_owned).collect(),
            ..EngineError::new(
                EngineReason::MissingKey,
                format!(
                    "no key for `{}`; set {names}, or give one to the call or the engine",
                    ask.provider
                ),
            )
        })
    }
}

/// Asks one source, within the limit, whatever it does.
async fn bounded(
    source: &dyn KeySource,
    ask: &KeyRequest,
    limit: Option<Duration>,
) -> Result<Option<ApiKey>, EngineError> {
    let failed = |message: &str, cause: Option<Cause>| EngineError {
        provider: Some(ask.provider.clone()),
        cause,
        ..EngineError::new(EngineReason::KeySourceFailed, message)
    };
    // The call itself is made inside, because a source may panic before it gives its future.
    let answer = caught_future(async { source.key(ask.clone()).await });
    let answer = match limit {
        None => answer.await,
        Some(limit) => match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer,
            Err(_) => return Err(failed("the key source did not answer in time", None)),
        },
    };
    match answer {
        Ok(Ok(key)) => Ok(key),
        Ok(Err(error)) => {
            let mut cause = Cause::of(&error);
            Redactor::new().clean_cause(&mut cause);
            Err(failed("the key source failed", Some(cause)))
        }
        Err(payload) => {
            // What it said is not told: it may hold a key.
            discard(payload);
            Err(failed("the key source panicked", None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c110_the_subset_of_dotenv() {
        let text = "export A=1\r\nB=\"q\"\nC='q'\nD=\nA-1=x\nnothing\nE=b=c\nF=\"\n# G=1\n\n1H=x\n";
        let found: Vec<(&str, &str)> = entries(text).collect();
        assert_eq!(
            found,
            [
                ("A", "1"),
                ("B", "q"),
                ("C", "q"),
                ("D", ""),
                ("E", "b=c"),
                ("F", "\"")
            ]
        );
    }

    #[test]
    fn a_missing_file_is_no_error() {
        let missing = DotEnv::new("/nonexistent/for/sure/.env");
        assert_eq!(
            missing.read().map_err(|error| error.to_string()),
            Ok(String::new())
        );
    }
}
