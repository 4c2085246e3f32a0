//! The trait of providers, and what they are given for a call.

use std::fmt;
use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::capability::Capabilities;
use crate::data::{Event, ModelRef, ProviderName, Request, RequestId, SessionId, TenantId};
use crate::error::{EngineError, ValidationError};
use crate::future::BoxStream;
use crate::keys::{ApiKey, KeySource};
use crate::timeouts::Timeouts;

/// Whether the wire's chunks are given out as `raw_chunk` events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RawChunks {
    /// No.
    #[default]
    Off,
    /// Yes.
    On,
}

/// Whether the completion carries the provider's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RawBody {
    /// No.
    #[default]
    Off,
    /// Yes.
    On,
}

/// Whether a provider is called with a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyUse {
    /// Always: without one the call ends as `missing_key` before the network.
    #[default]
    Required,
    /// When one is found. Without one no auth header is sent, as for servers on the same machine.
    Optional,
    /// Never: nobody is asked for one.
    Never,
}

/// Where a provider is, for telemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The host.
    pub address: String,
    /// The port, when it is known.
    pub port: Option<u16>,
}

impl Server {
    /// A host and its port.
    pub fn new(address: impl Into<String>, port: Option<u16>) -> Self {
        Self {
            address: address.into(),
            port,
        }
    }
}

/// One attempt at a model call, with every setting resolved.
///
/// `Debug` shows no key, no value of a header or of the query, and nothing of the messages.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelCall {
    /// What the model is asked. Engine, request and call settings are merged in it; its `model` is not looked at.
    pub request: Arc<Request>,
    /// Who is asked.
    pub model: ModelRef,
    /// Our id of the outermost call.
    pub request_id: RequestId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The key; `None` during [`Adapter::check`], and where the provider needs none.
    pub key: Option<ApiKey>,
    /// The tenant that the call is for.
    pub tenant: Option<TenantId>,
    /// The session that the call is for. Alone it never turns caching on; with caching on and no key it is the key.
    pub session_id: Option<SessionId>,
    /// The wire that the call asks for, by its name, where the provider has several; `None` = the provider decides.
    pub wire: Option<String>,
    /// Headers of the call; each replaces the configured one of its name.
    pub headers: Vec<(String, String)>,
    /// Query parameters of the call; each replaces the configured one of its name.
    pub query: Vec<(String, String)>,
    /// How long each part may take; `deadline` is what is left of it for this attempt.
    pub timeouts: Timeouts,
    /// Whether `raw_chunk` events are wanted.
    pub raw_chunks: RawChunks,
    /// Whether the completion should carry the provider's body.
    pub raw_body: RawBody,
    /// Ends the call.
    pub cancel: CancelToken,
}

impl ModelCall {
    /// The first attempt, with default limits and nothing else set.
    pub fn new(
        request: impl Into<Arc<Request>>,
        model: ModelRef,
        request_id: impl Into<RequestId>,
    ) -> Self {
        Self {
            request: request.into(),
            model,
            request_id: request_id.into(),
            attempt: 1,
            key: None,
            tenant: None,
            session_id: None,
            wire: None,
            headers: Vec::new(),
            query: Vec::new(),
            timeouts: Timeouts::default(),
            raw_chunks: RawChunks::Off,
            raw_body: RawBody::Off,
            cancel: CancelToken::new(),
        }
    }
}

impl fmt::Debug for ModelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        f.debug_struct("ModelCall")
            .field("model", &self.model)
            .field("request_id", &self.request_id)
            .field("attempt", &self.attempt)
            .field("messages", &self.request.messages.len())
            .field("tools", &self.request.tools.len())
            .field("key", &self.key)
            .field("tenant", &self.tenant)
            .field("session_id", &self.session_id)
            .field("wire", &self.wire)
            .field("headers", &names(&self.headers))
            .field("query", &names(&self.query))
            .field("timeouts", &self.timeouts)
            .field("raw_chunks", &self.raw_chunks)
            .field("raw_body", &self.raw_body)
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}

/// Speaks with one provider.
///
/// An adapter translates: a [`ModelCall`] into the provider's request, its answer into [`Event`]s. It makes one HTTP
/// attempt. Retries, precedence, general validation and the lookup of keys are the engine's, which goes through its
/// gates in this order: model and provider, validation of the request, capabilities, [`check`](Self::check), key,
/// [`stream`](Self::stream).
pub trait Adapter: Send + Sync {
    /// The provider's name, as in the part of a model string before the colon.
    fn provider(&self) -> &ProviderName;

    /// What is wrong with how the provider was configured; asked when an engine is built, without any I/O.
    ///
    /// # Errors
    ///
    /// `invalid_config` and the like, naming what is wrong and what to do.
    fn check_config(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// What is known of a model without asking anybody. What is unknown never refuses a call.
    fn capabilities(&self, model: &str) -> Capabilities {
        let _ = model;
        Capabilities::default()
    }

    /// Where the provider is; `None` when it is in this process.
    fn server(&self) -> Option<Server> {
        None
    }

    /// Whether the provider is called with a key.
    fn key_use(&self) -> KeyUse {
        KeyUse::Required
    }

    /// The key or key source that the provider was configured with; asked after the call's own key and before the
    /// engine's source.
    fn key_source(&self) -> Option<&dyn KeySource> {
        None
    }

    /// The time limits that the provider was configured with: a call's own beat them, they beat the engine's.
    fn timeouts(&self) -> Option<Timeouts> {
        None
    }

    /// What only this adapter can tell is wrong with a call, without any I/O.
    ///
    /// A setting that changes the meaning and cannot be expressed on this wire is a fault here: `response_format`,
    /// `tool_choice`, one call at most, `stop`, `Strict::Yes`, files. Other settings that it cannot express are left
    /// out of the body with the warning `option_dropped` on the completion; none is dropped in silence.
    ///
    /// # Errors
    ///
    /// All faults together, as `unsupported_option` where the wire has no such option.
    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        let _ = call;
        Ok(())
    }

    /// Makes one attempt at the call and gives what happens as events.
    ///
    /// # What an adapter owes
    ///
    /// **Start.** Nothing is sent before the first poll. One HTTP attempt: no retry inside, no second budget. Equal
    /// requests give equal bodies, byte for byte, so that every attempt sends the same.
    ///
    /// **Tags.** Only `message_started`, `text_delta`, `text_completed`, `reasoning_delta`, `tool_call_started`,
    /// `tool_call_delta`, `tool_call_completed`, `message_completed`, `raw_chunk` and `error`. `raw_chunk` only with
    /// [`RawChunks::On`].
    ///
    /// **Held back.** `message_started` and `raw_chunk` wait for the first content (text, reasoning, part or call) or
    /// the completion. So "before the first event" means before any content, and a retry is not seen.
    ///
    /// **Text.** `id` of a text or reasoning delta names its part (`p0`, `p1` …), so that several blocks can be told
    /// apart. `text_completed` comes at most once, directly before `message_completed`, with the text of all text
    /// parts joined.
    ///
    /// **Calls.** `tool_call_started` comes when name and id are known, at the latest before `tool_call_completed`;
    /// pieces of arguments that came earlier follow it. `index` counts calls from 0 in the order of first sight.
    ///
    /// **Completion.** `message_completed` carries the whole assistant message: parts in order, opaque values, calls,
    /// origin; and what is known of `finish_reason`, `raw_finish_reason`, `usage`, `response_id`, `model`,
    /// `provider_request_id`, `warnings`, `rate_limit` and `extra`, and `raw` with [`RawBody::On`]. What it says beats
    /// the deltas: leaving all deltas out changes nothing in the folded response. The finish reason is `tool_calls`
    /// exactly when the answer holds a call and was not cut; the provider's own text is kept beside it.
    ///
    /// **Usage** is given once, with the completion, or with the last `raw_chunk` before an `error`. It replaces; it is
    /// never added up.
    ///
    /// **End.** Exactly one terminal event, `message_completed` or `error`, and nothing after it. A connection that
    /// closes without the provider's own end is an `error` with `interrupted`, never a success. Every failure is an
    /// `error` event; what was begun before it stays with the caller.
    ///
    /// **Time.** The limits of `timeouts` hold, `key` aside, which is the engine's: `connect`, `first_byte`, `idle` and
    /// `deadline` end as `timeout`, `stall` as `stalled`. `cancel` ends the call as `cancelled` within 500 ms, wherever
    /// it stands.
    ///
    /// **Secrets.** The key goes into the auth header and nowhere else, and to no other host: a redirect is not
    /// followed. Every text of the provider is redacted and cut to 2 KiB before it goes into an error or a warning. No
    /// error holds a header, the request's body or the answer's.
    ///
    /// **The wire is not trusted.** Nothing that comes from it makes an adapter panic or take memory without bound.
    /// What a provider adds is kept in `extra`, `Other` values or opaque parts.
    ///
    /// # Cancel safety
    ///
    /// Dropping the stream stops the network work within 500 ms, gives no event and leaves no task behind. Cleanup runs
    /// exactly once, whether the stream ended, failed or was dropped.
    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event>;
}
