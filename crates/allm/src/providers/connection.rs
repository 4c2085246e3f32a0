//! How a provider over HTTP is reached: address, headers, key, limits. The same options for every provider.

mod options;
mod secrets;
mod url;

use std::fmt;
use std::sync::Arc;

use allm_core::{
    AdapterError, AdapterReason, ApiKey, BoxStream, EngineError, EngineReason, Error, Event,
    KeySource, KeyUse, ModelCall, ProviderName, RawBody, RawChunks, Server, Timeouts, Warning,
};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT,
};
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::Full;

use super::translate::media::MAX_IMAGE_BYTES;
use super::translate::written::Body;
#[cfg(feature = "record")]
use crate::record::{Recorder, Replay};
use crate::wire::answer::{About, Answer};
use crate::wire::client::{Clients, HttpClient, Security};
use crate::wire::decode::LateDecoder;
use crate::wire::exchange::{Attempt, Exchange};

pub(crate) use options::{connection_answers, connection_options};
pub(crate) use url::encoded;
use url::{Address, BaseUrl};

/// How a key is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// `Authorization: Bearer <key>`.
    Bearer,
    /// In a header of this name, as it is.
    Header(String),
    /// Not at all.
    None,
}

/// How a provider is reached.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) name: ProviderName,
    pub(crate) base_url: BaseUrl,
    /// Name and value, as given.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) auth: Auth,
    pub(crate) key: Option<Arc<dyn KeySource>>,
    /// A key that cannot be one; told when an engine is built.
    pub(crate) bad_key: Option<EngineError>,
    pub(crate) timeouts: Option<Timeouts>,
    pub(crate) user_agent: String,
    pub(crate) plain_http: bool,
    pub(crate) max_event_bytes: usize,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_image_bytes: usize,
    pub(crate) carrier: Carrier,
    clients: Clients,
}

/// Who carries requests.
#[derive(Clone)]
pub(crate) enum Carrier {
    Network,
    /// The network, while somebody writes it down.
    #[cfg(feature = "record")]
    Recorded(Recorder),
    /// A recording in the place of the network.
    #[cfg(feature = "record")]
    Replayed(Replay),
}

/// What a dialect adds to make a request.
pub(crate) struct Outgoing {
    /// After the base URL, with a slash at its start; its query, if any, goes first.
    pub(crate) path: String,
    pub(crate) body: Body,
    /// Headers of the dialect; those of the configuration and of the call beat them.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// How the key is sent, where that is not the configuration's business.
    pub(crate) auth: Option<Auth>,
    pub(crate) wire: &'static str,
    pub(crate) decoder: LateDecoder,
    /// What was left out of the request.
    pub(crate) warnings: Vec<Warning>,
}

impl Connection {
    pub(crate) fn new(name: &str, base_url: &str, auth: Auth) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.to_owned().into(),
            headers: Vec::new(),
            query: Vec::new(),
            auth,
            key: None,
            bad_key: None,
            timeouts: None,
            user_agent: concat!("allm/", env!("CARGO_PKG_VERSION")).to_owned(),
            plain_http: false,
            max_event_bytes: 16 << 20,
            max_body_bytes: 64 << 20,
            max_image_bytes: MAX_IMAGE_BYTES,
            carrier: Carrier::Network,
            clients: Clients::default(),
        }
    }

    /// Whether calls need a key, where a server would want it as said. A recording wants none.
    pub(crate) fn key_use(&self, of_the_server: KeyUse) -> KeyUse {
        match self.carrier {
            #[cfg(feature = "record")]
            Carrier::Replayed(_) => KeyUse::Never,
            _ => of_the_server,
        }
    }

    /// What is wrong with the configuration.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        if let Some(error) = &self.bad_key {
            return Err(self.named(error.clone()));
        }
        if let Some(timeouts) = &self.timeouts {
            timeouts.check().map_err(|error| self.named(error))?;
        }
        let address = self.address()?;
        address
            .join("/x", &self.query)
            .map_err(|message| self.bad(message))?;
        for (name, value) in &self.headers {
            self.header(name, value)?;
        }
        if let Auth::Header(name) = &self.auth {
            self.header(name, "x")?;
        }
        match &self.carrier {
            #[cfg(feature = "record")]
            Carrier::Recorded(recorder) if !recorder.has_name() => {
                Err(self.bad("the recorder's cassette has no name; say one with `name`"))
            }
            _ => Ok(()),
        }
    }

    fn address(&self) -> Result<&Address, EngineError> {
        self.base_url.address().map_err(|message| self.bad(message))
    }

    fn named(&self, error: EngineError) -> EngineError {
        EngineError {
            provider: Some(self.name.clone()),
            ..error
        }
    }

    /// A configuration that cannot be used.
    pub(crate) fn bad(&self, message: impl Into<String>) -> EngineError {
        self.named(EngineError::new(EngineReason::InvalidConfig, message))
    }

    /// A header that can be sent. A message names the header, never its value.
    pub(crate) fn header(
        &self,
        name: &str,
        value: &str,
    ) -> Result<(HeaderName, HeaderValue), EngineError> {
        let known: HeaderName = name
            .parse()
            .map_err(|_| self.bad(format!("`{name}` is not a name of a header")))?;
        let mut value: HeaderValue = value
            .parse()
            .map_err(|_| self.bad(format!("the value of the header `{name}` cannot be sent")))?;
        value.set_sensitive(true);
        Ok((known, value))
    }

    /// Where the provider is, for telemetry.
    pub(crate) fn server(&self) -> Option<Server> {
        self.address().ok().map(|address| address.server())
    }

    /// Makes one attempt. Whatever is wrong before it is the stream's only event.
    pub(crate) fn stream(&self, call: ModelCall, outgoing: Outgoing) -> BoxStream<'static, Event> {
        match self.attempt(call, outgoing) {
            Ok(attempt) => Box::pin(Exchange::new(attempt)),
            Err(error) => failed(&error),
        }
    }

    fn attempt(&self, call: ModelCall, outgoing: Outgoing) -> Result<Attempt, Error> {
        self.check_body(&call, &outgoing.body)?;
        let uri = self.uri(&call, &outgoing.path)?;
        let auth = outgoing.auth.as_ref().unwrap_or(&self.auth);
        let headers = self.all_headers(&call, &outgoing.headers, auth)?;
        let mut request = Request::new(Full::new(outgoing.body.into_bytes()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let client = self.client(&call)?;
        let mut answer = Answer::new(About {
            provider: self.name.clone(),
            wire: outgoing.wire,
            request_id: call.request_id.clone(),
            raw_chunks: call.raw_chunks == RawChunks::On,
            raw_body: call.raw_body == RawBody::On,
        });
        answer.warn_all(outgoing.warnings);
        let redactor = self.redactor(&call, &outgoing.headers);
        Ok(Attempt {
            client,
            request,
            answer,
            decoder: outgoing.decoder,
            timeouts: call.timeouts,
            cancel: call.cancel,
            redactor,
            max_event_bytes: self.max_event_bytes,
        })
    }

    fn client(&self, call: &ModelCall) -> Result<HttpClient, EngineError> {
        #[cfg(feature = "record")]
        if let Carrier::Replayed(replay) = &self.carrier {
            return Ok(replay.client(&self.name));
        }
        let security = match self.address()?.is_https() {
            true => Security::Tls,
            false => Security::Plain,
        };
        let client = self
            .clients
            .get(call.timeouts.connect, security)
            .map_err(|_| {
                self.bad(
                "the system has no certificates to check servers by; install its CA certificates",
            )
            })?;
        Ok(match &self.carrier {
            #[cfg(feature = "record")]
            Carrier::Recorded(recorder) => recorder.listen(client, call.key.as_ref()),
            _ => client,
        })
    }

    /// A body that may be sent: not too large, and without the key.
    fn check_body(&self, call: &ModelCall, body: &Body) -> Result<(), Error> {
        if body.len() > self.max_body_bytes {
            let message = format!(
                "the request has {} bytes; {} may be sent",
                body.len(),
                self.max_body_bytes
            );
            return Err(AdapterError::new(
                self.name.clone(),
                AdapterReason::RequestTooLarge,
                message,
            )
            .into());
        }
        if call
            .key
            .as_ref()
            .is_some_and(|key| is_secret(key) && body.holds(key))
        {
            let message = "the request holds the key that it is sent with; take it out of messages, tools and `extra`";
            return Err(self
                .named(EngineError::new(EngineReason::SecretInBody, message))
                .into());
        }
        Ok(())
    }

    fn uri(&self, call: &ModelCall, path: &str) -> Result<Uri, EngineError> {
        let address = self.address()?;
        if call.key.is_some() && !address.is_secret() && !self.plain_http {
            let message = format!(
                "the key would go over plain HTTP to {}; use https, or say `allow_plain_http`",
                address.server().address
            );
            return Err(self.named(EngineError::new(EngineReason::InsecureBaseUrl, message)));
        }
        let mut query: Vec<(String, String)> = self.query.clone();
        for (name, value) in &call.query {
            query.retain(|(known, _)| known != name);
            query.push((name.clone(), value.clone()));
        }
        address
            .join(path, &query)
            .map_err(|message| self.bad(message))
    }

    /// The dialect's headers, the key, the configuration's, the call's; a later one beats an earlier of its name.
    fn all_headers(
        &self,
        call: &ModelCall,
        own: &[(&'static str, String)],
        auth: &Auth,
    ) -> Result<HeaderMap, EngineError> {
        let mut headers = HeaderMap::new();
        let agent = self.header("user-agent", &self.user_agent)?.1;
        headers.insert(USER_AGENT, agent);
        for (name, value) in own {
            let (name, value) = self.header(name, value)?;
            headers.insert(name, value);
        }
        if let Some(key) = &call.key {
            let (name, text) = match auth {
                Auth::Bearer => (AUTHORIZATION.as_str(), format!("Bearer {}", key.expose())),
                Auth::Header(name) => (name.as_str(), key.expose().to_owned()),
                Auth::None => ("", String::new()),
            };
            if !name.is_empty() {
                let (name, value) = self.header(name, &text)?;
                headers.insert(name, value);
            }
        }
        for (name, value) in self.headers.iter().chain(&call.headers) {
            let (name, value) = self.header(name, value)?;
            headers.insert(name, value);
        }
        // These are ours: what is sent and read is what they say.
        headers.remove(http::header::CONTENT_LENGTH);
        headers.remove(HOST);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(headers)
    }
}

impl fmt::Debug for Connection {
    /// No header value, no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        f.debug_struct("Connection")
            .field("name", &self.name)
            .field("base_url", &url::shown(self.base_url.as_str()))
            .field("headers", &names(&self.headers))
            .field("query", &names(&self.query))
            .field("auth", &self.auth)
            .finish_non_exhaustive()
    }
}

/// Whether a key is more than a word that stands in any text, such as the `ollama` that some servers want.
pub(crate) fn is_secret(key: &ApiKey) -> bool {
    key.expose().len() >= 8
}

/// A stream whose only event is this error.
pub(crate) fn failed(error: &Error) -> BoxStream<'static, Event> {
    struct Once(Option<Event>);

    impl futures_core::Stream for Once {
        type Item = Event;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Event>> {
            std::task::Poll::Ready(self.0.take())
        }
    }

    Box::pin(Once(Some(Event::error(error))))
}
