//! Gemini, over `generateContent`.

mod model;
mod openapi;
mod request;
pub(crate) mod stream;

use allm_core::{
    Adapter, BoxStream, Capabilities, EngineError, Error, Event, JsonError, JsonReason, KeyUse,
    ModelCall, Path, ValidationError,
};

use crate::providers::connection::{
    Auth, Connection, Outgoing, connection_answers, connection_options, encoded, failed,
};
use crate::providers::translate::notes::Warnings;
use crate::wire::decode::late_decoder;
pub use openapi::SchemaMode;
use request::Target;
use stream::GeminiDecoder;

/// The wire's name.
const WIRE: &str = "gemini.generate_content";
const BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// Google's Gemini models: over the Gemini API, or over Vertex AI.
///
/// The key is `GEMINI_API_KEY` or `GOOGLE_API_KEY`, unless it is given here or with the call.
///
/// ```
/// use allm::{Engine, Gemini};
///
/// let engine = Engine::builder()
///     .provider(Gemini::new())
///     .model("gemini:gemini-2.5-flash")
///     .build()?;
/// # Ok::<(), allm::EngineError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gemini {
    connection: Connection,
    schema_mode: SchemaMode,
    vertex: Option<Vertex>,
}

/// A project of Vertex AI, and where its models run.
#[derive(Clone, Debug)]
struct Vertex {
    project: String,
    location: String,
}

impl Default for Gemini {
    fn default() -> Self {
        Self::new()
    }
}

impl Gemini {
    /// The Gemini API.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connection: Connection::new("gemini", BASE_URL, key_header()),
            schema_mode: SchemaMode::default(),
            vertex: None,
        }
    }

    connection_options!();

    /// Vertex AI instead of the Gemini API. The key is an access token then, sent as `Authorization: Bearer`.
    ///
    /// A location of `global` is the endpoint without a region. A base URL and an [`auth`](Self::auth) that were said
    /// stay.
    #[must_use]
    pub fn vertex(mut self, project: impl Into<String>, location: impl Into<String>) -> Self {
        let vertex = Vertex {
            project: project.into(),
            location: location.into(),
        };
        let known = self.vertex.as_ref().map(Vertex::base_url);
        let base_url = self.connection.base_url.as_str();
        let is_ours = base_url == BASE_URL || Some(base_url) == known.as_deref();
        if is_ours {
            self.connection.base_url = vertex.base_url().into();
        }
        if self.connection.auth == key_header() {
            self.connection.auth = Auth::Bearer;
        }
        self.vertex = Some(vertex);
        self
    }

    /// In which form schemas of tools and answers are sent; JSON Schema if not said.
    #[must_use]
    pub fn schema_mode(mut self, mode: SchemaMode) -> Self {
        self.schema_mode = mode;
        self
    }

    /// The path of a model. Streaming is asked for here, so that no setting can switch it off.
    fn path(&self, model: &str) -> String {
        let name = match &self.vertex {
            Some(vertex) => format!(
                "projects/{}/locations/{}/publishers/google/models/{}",
                encoded(&vertex.project),
                encoded(&vertex.location),
                encoded(model::plain(model)),
            ),
            None => {
                let plain = model::plain(model);
                let prefix = model
                    .strip_suffix(plain)
                    .filter(|prefix| !prefix.is_empty());
                format!("{}{}", prefix.unwrap_or("models/"), encoded(plain))
            }
        };
        format!("/{name}:streamGenerateContent?alt=sse")
    }

    pub(crate) fn outgoing(&self, call: &ModelCall) -> Result<Outgoing, Error> {
        let mut warnings = Warnings::default();
        let target = Target {
            provider: &self.connection.name,
            model: &call.model.model,
            schema_mode: self.schema_mode,
        };
        let body = request::body(&call.request, &target, &mut warnings).map_err(|error| {
            JsonError::new(JsonReason::InvalidValue, Path::root(), error.to_string())
        })?;
        Ok(Outgoing {
            path: self.path(&call.model.model),
            body,
            headers: Vec::new(),
            auth: None,
            wire: WIRE,
            decoder: late_decoder(GeminiDecoder::default),
            warnings: warnings.finish(),
        })
    }
}

impl Vertex {
    fn base_url(&self) -> String {
        match self.location.as_str() {
            "global" => "https://aiplatform.googleapis.com/v1".to_owned(),
            location => format!("https://{location}-aiplatform.googleapis.com/v1"),
        }
    }
}

fn key_header() -> Auth {
    Auth::Header("x-goog-api-key".to_owned())
}

impl Adapter for Gemini {
    connection_answers!();

    fn check_config(&self) -> Result<(), EngineError> {
        self.connection.check()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        model::capabilities(model)
    }

    fn key_use(&self) -> KeyUse {
        self.connection.key_use(KeyUse::Required)
    }

    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        request::check(&call.request, self.schema_mode)
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        match self.outgoing(&call) {
            Ok(outgoing) => self.connection.stream(call, outgoing),
            Err(error) => failed(&error),
        }
    }
}

#[cfg(test)]
mod tests;
