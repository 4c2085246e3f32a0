//! API keys: how one is held, and who is asked for one.

use std::fmt;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::data::{ProviderName, RequestId, TenantId};
use crate::error::{EngineError, EngineReason, KeyError};
use crate::future::BoxFuture;
use crate::redact::Forms;

/// A key that must not be seen.
///
/// It has no `Display` and does not serialise, and `Debug` prints `ApiKey(***)`. Clones share it; its memory is
/// overwritten when the last one is dropped.
///
/// ```
/// use allm_core::ApiKey;
///
/// let key = ApiKey::new(" k-123456\n")?.expect("a key");
/// assert_eq!(key.expose(), "k-123456");
/// assert_eq!(format!("{key:?}"), "ApiKey(***)");
/// assert!(ApiKey::new("  ")?.is_none());
/// # Ok::<(), allm_core::EngineError>(())
/// ```
#[derive(Clone)]
pub struct ApiKey(Arc<Held>);

/// A key, and what is made of it once.
struct Held {
    text: Secret,
    id: KeyId,
    forms: OnceLock<Arc<Forms>>,
}

/// Tells keys apart without showing them: the clones of one key have the same, and no two others in a process do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(u64);

impl KeyId {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A text whose memory is overwritten when it is dropped.
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) const fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        // The optimiser would leave out writes to memory that nobody reads again.
        black_box(cleared(std::mem::take(&mut self.0)));
    }
}

/// The memory of a text, overwritten; `into_bytes` does not move it.
fn cleared(text: String) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    bytes.fill(0);
    bytes
}

impl ApiKey {
    /// The key in a text, without the white space around it; `None` when nothing else is there.
    ///
    /// The text that was given is overwritten as well.
    ///
    /// # Errors
    ///
    /// `invalid_key` when a control character or one outside ASCII is inside. The error does not say which.
    pub fn new(text: impl Into<String>) -> Result<Option<Self>, EngineError> {
        let text = Secret(text.into());
        let key = text.0.trim();
        if key.is_empty() {
            Ok(None)
        } else if key.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            Ok(Some(Self(Arc::new(Held {
                text: Secret(key.to_owned()),
                id: KeyId::new(),
                forms: OnceLock::new(),
            }))))
        } else {
            Err(EngineError::new(
                EngineReason::InvalidKey,
                "the key holds a control character or one outside ASCII; copy it again",
            ))
        }
    }

    /// The key itself, for the header that it is sent in and for redaction. It must go nowhere else.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.text.expose()
    }

    /// What tells it from other keys.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.0.id
    }

    /// The texts in which it may show.
    pub(crate) fn forms(&self) -> &Arc<Forms> {
        self.0.forms.get_or_init(|| Forms::of(self.expose()).into())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

/// For which call a key is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyRequest {
    /// Who will get the key.
    pub provider: ProviderName,
    /// The provider's name of the model.
    pub model: String,
    /// The tenant that the call is for.
    pub tenant: Option<TenantId>,
    /// Our id of the call.
    pub request_id: RequestId,
    /// Which attempt, from 1.
    pub attempt: u32,
}

impl KeyRequest {
    /// The first attempt of a call without a tenant.
    pub fn new(
        provider: impl Into<ProviderName>,
        model: impl Into<String>,
        request_id: impl Into<RequestId>,
    ) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            tenant: None,
            request_id: request_id.into(),
            attempt: 1,
        }
    }
}

/// Finds keys: a vault, a table of tenants, a file.
///
/// It is asked once for each attempt, so that a retry uses a rotated key. Nothing caches its answer.
pub trait KeySource: Send + Sync {
    /// The key for a call; `Ok(None)` lets the next level be asked.
    ///
    /// # Errors
    ///
    /// When it cannot tell; the call then ends with `key_source_failed` and no other level is asked.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the call is stopped or `timeouts.key` has passed.
    fn key(&self, ask: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>>;
}

impl KeySource for ApiKey {
    /// Itself, whatever the call.
    fn key(&self, _: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        Box::pin(std::future::ready(Ok(Some(self.clone()))))
    }
}

/// The environment variables that may hold a provider's key; the first that is not empty counts.
///
/// ```
/// use allm_core::environment_names;
///
/// assert_eq!(environment_names(&"openai".into()), ["OPENAI_API_KEY"]);
/// assert_eq!(environment_names(&"my-proxy".into()), ["MY_PROXY_API_KEY"]);
/// ```
#[must_use]
pub fn environment_names(provider: &ProviderName) -> Vec<String> {
    match provider.as_str() {
        "gemini" => vec!["GEMINI_API_KEY".to_owned(), "GOOGLE_API_KEY".to_owned()],
        "azure" => vec!["AZURE_OPENAI_API_KEY".to_owned()],
        name => vec![name.to_ascii_uppercase().replace('-', "_") + "_API_KEY"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c97_whitespace_alone_is_no_key() {
        for text in ["", " ", "\t\r\n", "\u{a0}"] {
            assert!(matches!(ApiKey::new(text), Ok(None)), "{text:?}");
        }
    }

    #[test]
    fn c103_control_and_foreign_characters_are_refused_without_being_named() {
        for text in ["ab\r\ncd", "ab\0cd", "ab\u{7f}cd", "abécd", "ab\u{a0}cd"] {
            let error = ApiKey::new(text).expect_err(text);
            assert_eq!(error.reason, EngineReason::InvalidKey);
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("ab") && !shown.contains("cd"), "{shown}");
        }
        let key = ApiKey::new("\u{feff}k").map(|_| ());
        assert!(key.is_err(), "a byte order mark is not white space");
    }

    #[test]
    fn c103_white_space_around_a_key_is_trimmed() {
        for text in ["k-1", "k-1\n", "\t k-1\r\n"] {
            let key = ApiKey::new(text).expect("valid").expect("present");
            assert_eq!(key.expose(), "k-1");
            assert_eq!(key.clone().expose(), "k-1");
        }
    }

    #[test]
    fn memory_is_overwritten_in_place() {
        let text = String::from("k-123");
        let place = text.as_ptr();
        let bytes = cleared(text);
        assert_eq!(bytes, [0; 5]);
        assert_eq!(bytes.as_ptr(), place);
    }

    #[test]
    fn c104_debug_shows_no_key() {
        let key = ApiKey::new("k-secret").expect("valid").expect("present");
        assert_eq!(format!("{:?}", Some(&key)), "Some(ApiKey(***))");
        assert_eq!(format!("{key:#?}"), "ApiKey(***)");
    }

    #[test]
    fn environment_names_by_provider() {
        let cases: &[(&str, &[&str])] = &[
            ("openai", &["OPENAI_API_KEY"]),
            ("anthropic", &["ANTHROPIC_API_KEY"]),
            ("gemini", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
            ("azure", &["AZURE_OPENAI_API_KEY"]),
            ("mistral", &["MISTRAL_API_KEY"]),
            ("groq", &["GROQ_API_KEY"]),
            ("deepseek", &["DEEPSEEK_API_KEY"]),
            ("openrouter", &["OPENROUTER_API_KEY"]),
            ("xai", &["XAI_API_KEY"]),
            ("together", &["TOGETHER_API_KEY"]),
            ("my-own_proxy2", &["MY_OWN_PROXY2_API_KEY"]),
        ];
        for (provider, names) in cases {
            assert_eq!(environment_names(&(*provider).into()), *names);
        }
    }
}
