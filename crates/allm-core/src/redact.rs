//! Keeps secrets out of what others wrote.

mod forms;
mod shapes;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::error::{Cause, Error, Failure};
use crate::keys::ApiKey;
use forms::Form;
pub(crate) use forms::Forms;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Takes secrets out of a text before it enters an error, a warning, a span or a file.
///
/// Secrets are the keys it was given, also URL-encoded, in hexadecimal, inside base64 and escaped as in JSON; `Bearer` and what follows it; and whatever
/// begins like a key of a known provider.
///
/// ```
/// use allm_core::{ApiKey, Redactor};
///
/// let key = ApiKey::new("my own key")?.expect("a key");
/// let redactor = Redactor::new().with_key(&key);
/// assert_eq!(redactor.text("bad key: my own key"), "bad key: [REDACTED]");
/// assert_eq!(redactor.text("bad key: sk-abcdefgh."), "bad key: [REDACTED].");
/// assert_eq!(redactor.text("task-abcdefgh is unknown"), "task-abcdefgh is unknown");
/// # Ok::<(), allm_core::EngineError>(())
/// ```
#[derive(Clone, Default)]
pub struct Redactor {
    keys: Vec<Arc<Forms>>,
}

impl Redactor {
    /// A redactor that knows only what keys look like.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With a key that must not be seen either.
    #[must_use]
    pub fn with_key(mut self, key: &ApiKey) -> Self {
        let forms = key.forms();
        if !self.keys.iter().any(|known| Arc::ptr_eq(known, forms)) {
            self.keys.push(Arc::clone(forms));
        }
        self
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for range in found {
            clean.push_str(text.get(from..range.start).unwrap_or_default());
            clean.push_str(REDACTED);
            from = range.end;
        }
        clean.push_str(text.get(from..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// Where the secrets are, in order and apart from each other.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = shapes::find(text);
        for form in self.keys.iter().flat_map(|key| &key.plain) {
            found.extend(places(text, form));
        }
        for core in self.keys.iter().flat_map(|key| &key.encoded) {
            found.extend(places(text, core).map(|place| shapes::base64_word(text, place)));
        }
        found.sort_unstable_by_key(|range| range.start);
        found.dedup_by(|next, last| {
            let same = next.start <= last.end;
            if same {
                last.end = last.end.max(next.end);
            }
            same
        });
        found
    }

    /// Whether one of the given keys stands in a text: as it is, URL-encoded, inside base64, or escaped as in JSON.
    ///
    /// ```
    /// use allm_core::{ApiKey, Redactor};
    ///
    /// let key = ApiKey::new("my own key")?.expect("a key");
    /// let redactor = Redactor::new().with_key(&key);
    /// assert!(redactor.finds_key_in(b"https://example.com/?k=my%20own%20key"));
    /// assert!(!redactor.finds_key_in(b"sk-abcdefgh is another"));
    /// # Ok::<(), allm_core::EngineError>(())
    /// ```
    #[must_use]
    pub fn finds_key_in(&self, text: &[u8]) -> bool {
        self.keys.iter().any(|key| key.is_in(text))
    }

    /// Whether one of the given keys stands in a text of which a part is known to hold none.
    ///
    /// The same answer as that of [`finds_key_in`](Self::finds_key_in), without a second look at what is known.
    ///
    /// ```
    /// use allm_core::{ApiKey, Redactor};
    ///
    /// let key = ApiKey::new("my own key")?.expect("a key");
    /// let redactor = Redactor::new().with_key(&key);
    /// assert!(!redactor.finds_key_outside(b"what was sent before, and more", 0..20));
    /// assert!(redactor.finds_key_outside(b"what was my own key", 0..13));
    /// # Ok::<(), allm_core::EngineError>(())
    /// ```
    #[must_use]
    pub fn finds_key_outside(&self, text: &[u8], known: Range<usize>) -> bool {
        self.keys.iter().any(|key| {
            // A key may begin in what is known and end behind it, or the other way round.
            let reach = key.longest.saturating_sub(1);
            let before = known.start.saturating_add(reach);
            let behind = known.end.saturating_sub(reach);
            if behind <= before {
                return key.is_in(text);
            }
            let before = text.get(..before).unwrap_or(text);
            key.is_in(before) || key.is_in(text.get(behind..).unwrap_or_default())
        })
    }

    /// Takes secrets out of a text in place.
    pub fn clean(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    /// Takes secrets out of every text in a value, the keys of objects included.
    pub fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.clean(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean_value(value)),
            Value::Object(map) => self.clean_map(map),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn clean_map(&self, map: &mut serde_json::Map<String, Value>) {
        if map.keys().any(|key| !self.find(key).is_empty()) {
            for (key, value) in std::mem::take(map) {
                map.insert(self.text(&key).into_owned(), value);
            }
        }
        map.values_mut().for_each(|value| self.clean_value(value));
    }

    /// Takes secrets out of a failure.
    pub fn clean_failure(&self, failure: &mut Failure) {
        self.clean(&mut failure.message);
        self.clean_map(&mut failure.metadata);
    }

    /// Takes secrets out of an error and all it came from.
    pub fn clean_error(&self, error: &mut Error) {
        match error {
            Error::Engine(error) => {
                self.clean(&mut error.message);
                self.clean_map(&mut error.metadata);
                error
                    .cause
                    .iter_mut()
                    .for_each(|cause| self.clean_cause(cause));
            }
            Error::Adapter(error) => {
                self.clean(&mut error.message);
                let texts = [
                    &mut error.provider_code,
                    &mut error.provider_type,
                    &mut error.param,
                    &mut error.provider_request_id,
                ];
                for text in texts.into_iter().flatten() {
                    self.clean(text);
                }
                self.clean_map(&mut error.details);
                error
                    .cause
                    .iter_mut()
                    .for_each(|cause| self.clean_cause(cause));
            }
            Error::Stream(error) => {
                self.clean(&mut error.message);
                error
                    .cause
                    .iter_mut()
                    .for_each(|cause| self.clean_cause(cause));
            }
            Error::Tool(error) => {
                self.clean(&mut error.message);
                self.clean_map(&mut error.metadata);
                error
                    .cause
                    .iter_mut()
                    .for_each(|cause| self.clean_cause(cause));
            }
            Error::Interrupted(interrupted) => self.clean_error(&mut interrupted.source),
            #[cfg(feature = "sessions")]
            Error::Session(error) => {
                if let Some(cause) = &mut error.cause {
                    self.clean(&mut error.message);
                    self.clean_error(cause);
                }
            }
            // What these say is our own.
            Error::Validation(_) | Error::Json(_) | Error::Unfinished(_) => {}
        }
    }

    /// Takes secrets out of a cause and all it came from.
    pub fn clean_cause(&self, cause: &mut Cause) {
        let mut next = Some(cause);
        while let Some(cause) = next {
            self.clean(&mut cause.message);
            next = cause.source.as_deref_mut();
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(***)")
    }
}

/// Where a form of a key stands in a text.
fn places(text: &str, form: &Form) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = form.find(text.as_bytes(), at)?;
        at = begin + form.len();
        Some(begin..at)
    })
}
