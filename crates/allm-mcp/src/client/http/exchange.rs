//! One request and its answer.

use std::collections::HashMap;
use std::sync::Arc;

use allm_core::BoxStream;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, request};
use http_body_util::Full;
use hyper::body::Incoming;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::answer::{self, Answers};
pub(super) use super::body::BodyError;
use super::body::{Events, whole};
use super::connect::{Pool, pool};

/// How much of the body of a failure is read.
const FAILURE: usize = 64 * 1024;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";

type Failed = StreamableHttpError<BodyError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Sends requests, and reads no more of an answer than a limit.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pool: Pool,
    limit: usize,
}

impl HttpClient {
    pub(crate) fn new(limit: usize) -> Result<Self, String> {
        Ok(Self {
            pool: pool()?,
            limit,
        })
    }

    #[cfg(feature = "oauth")]
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failed> {
        let sent = self.pool.request(request).await;
        sent.map_err(|error| {
            let why = super::super::link::chain(&error);
            StreamableHttpError::Client(BodyError(why))
        })
    }
}

fn request(
    method: Method,
    uri: &str,
    session: Option<&str>,
    token: Option<&str>,
    headers: Headers,
) -> Result<request::Builder, Failed> {
    let mut builder = Request::builder().method(method).uri(uri);
    if let Some(own) = builder.headers_mut() {
        own.extend(headers);
        let unfit =
            |_| StreamableHttpError::Client(BodyError("a header cannot be sent".to_owned()));
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(unfit)?;
            value.set_sensitive(true);
            own.insert(AUTHORIZATION, value);
        }
        if let Some(session) = session {
            own.insert(SESSION, HeaderValue::from_str(session).map_err(unfit)?);
        }
    }
    Ok(builder)
}

fn with_body(builder: request::Builder, body: Bytes) -> Result<Request<Full<Bytes>>, Failed> {
    let request = builder.body(Full::new(body));
    request.map_err(|error| StreamableHttpError::Client(BodyError(error.to_string())))
}

/// What the server says about who may ask, if that is why it refuses.
fn unauthorized(response: &Response<Incoming>) -> Option<Failed> {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|value| value.to_str().ok());
    let said = challenge.unwrap_or_default().to_owned();
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(
            AuthRequiredError::new(said),
        )),
        StatusCode::FORBIDDEN if challenge.is_some() => {
            let scope = said
                .split_once("scope=\"")
                .and_then(|(_, rest)| rest.split('"').next());
            let scope = scope.map(str::to_owned);
            let error = InsufficientScopeError::new(said, scope);
            Some(StreamableHttpError::InsufficientScope(error))
        }
        _ => None,
    }
}

fn status(response: &Response<Incoming>) -> Failed {
    let after = response.headers().get(http::header::RETRY_AFTER);
    let after = after
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    HttpStatusError::new(response.status().as_u16(), after).into()
}

fn is_of_type(response: &Response<Incoming>, wanted: &str) -> bool {
    let found = response.headers().get(CONTENT_TYPE);
    found.is_some_and(|found| found.as_bytes().starts_with(wanted.as_bytes()))
}

fn events(body: Incoming, limit: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    Box::pin(SseStream::from_bytes_stream(Events::new(body, limit)))
}

/// A server of the older kind refuses the newer greeting with a status. The greeting goes on in the older way if it is
/// told so as an answer.
fn refused_greeting(message: &ClientJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    if !matches!(request.request, ClientRequest::DiscoverRequest(_)) {
        return None;
    }
    let error = ErrorData::invalid_request("the server does not know the newer greeting", None);
    Some(JsonRpcMessage::error(error, Some(request.id.clone())))
}

impl StreamableHttpClient for HttpClient {
    type Error = BodyError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let builder = request(
            Method::POST,
            &uri,
            session.as_deref(),
            token.as_deref(),
            headers,
        )?
        .header(CONTENT_TYPE, JSON)
        .header(ACCEPT, format!("{EVENTS}, {JSON}"));
        let body = serde_json::to_vec(&message)?;
        let response = self.send(with_body(builder, body.into())?).await?;
        if let Some(refusal) = unauthorized(&response) {
            return Err(refusal);
        }
        let code = response.status();
        if matches!(code, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if code == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let given = response.headers().get(SESSION);
        let given = given
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if !code.is_success() {
            let failure = status(&response);
            let body = whole(response.into_body(), FAILURE)
                .await
                .unwrap_or_default();
            let has_session = session.is_some();
            if has_session && code == StatusCode::BAD_REQUEST && answer::is_forgotten(&body) {
                return Err(StreamableHttpError::SessionExpired);
            }
            // What the server says of a request beats the status that it says it with.
            let said = id.and_then(|id| answer::refusal(&body, &id));
            let said = said.or_else(|| {
                let may_be_old = !has_session && code.is_client_error();
                may_be_old.then(|| refused_greeting(&message))?
            });
            return match said {
                Some(said) => Ok(StreamableHttpPostResponse::Json(said, None)),
                None => Err(failure),
            };
        }
        if is_of_type(&response, EVENTS) {
            let events = events(response.into_body(), self.limit);
            let events: BoxStream<'static, _> = match id {
                Some(id) => Box::pin(Answers { events, id }),
                None => events,
            };
            return Ok(StreamableHttpPostResponse::Sse(events, given));
        }
        // What is said to a notification is of no interest.
        let Some(id) = id else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        if !is_of_type(&response, JSON) {
            let unreadable = answer::unreadable(&id);
            return Ok(StreamableHttpPostResponse::Json(unreadable, given));
        }
        let body = whole(response.into_body(), self.limit).await;
        let body = body.map_err(StreamableHttpError::Client)?;
        let answer = answer::of(&body, &id);
        Ok(StreamableHttpPostResponse::Json(answer, given))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        let builder = request(
            Method::DELETE,
            &uri,
            Some(&session),
            token.as_deref(),
            headers,
        )?;
        let response = self.send(with_body(builder, Bytes::new())?).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => {
                Err(StreamableHttpError::ServerDoesNotSupportDeleteSession)
            }
            code if code.is_success() => Ok(()),
            _ => Err(status(&response)),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut builder = request(
            Method::GET,
            &uri,
            session.as_deref(),
            token.as_deref(),
            headers,
        )?
        .header(ACCEPT, EVENTS);
        if let Some(last) = last_event {
            builder = builder.header("last-event-id", last);
        }
        let response = self.send(with_body(builder, Bytes::new())?).await?;
        if let Some(refusal) = unauthorized(&response) {
            return Err(refusal);
        }
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            code if !code.is_success() => Err(status(&response)),
            _ if !is_of_type(&response, EVENTS) => {
                Err(StreamableHttpError::UnexpectedContentType(None))
            }
            _ => Ok(events(response.into_body(), self.limit)),
        }
    }
}
