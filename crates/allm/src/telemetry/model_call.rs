//! The span of a model call.

use std::sync::Arc;

use allm_core::{Error, Event, Redactor, Request, Response, ResponseFormat};
use tokio::time::Instant;
use tracing::field::{Empty, debug};
use tracing::{Level, Span, event, span};

use super::metrics::{CallMetrics, End};
use super::{content, failed, names};
use crate::engine::plan::Plan;
use crate::engine::settings::Toggle;

/// What is told of one model call, from its first attempt to the end of its stream.
pub(crate) struct ModelCallSpan {
    span: Span,
    metrics: Option<CallMetrics>,
    began: Instant,
    /// When the attempt began whose events come, and when its last content came.
    last_chunk: Instant,
    chunks: u64,
    /// What was asked, if content is wanted.
    asked: Option<Arc<Request>>,
    ended: bool,
}

impl ModelCallSpan {
    pub(crate) fn open(plan: &Plan, request: &Arc<Request>) -> Self {
        let provider = plan.model.provider.as_str();
        let metrics = plan.engine.0.metrics.clone();
        let captures = plan.settings.capture_content.is_on(Toggle::Off);
        let span = open_span(plan, request);
        let now = Instant::now();
        Self {
            asked: (captures && !span.is_disabled()).then(|| Arc::clone(request)),
            span,
            metrics: metrics.map(|sink| CallMetrics::new(sink, provider, &plan.model.model)),
            began: now,
            last_chunk: now,
            chunks: 0,
            ended: false,
        }
    }

    /// Tells of a call that was refused before it was one.
    pub(crate) fn refused_early(error: &Error) {
        let span = span!(
            Level::INFO,
            names::MODEL_CALL,
            { names::OTEL_NAME } = "chat",
            { names::OTEL_KIND } = "client",
            { names::OTEL_STATUS_CODE } = "ERROR",
            { names::OPERATION_NAME } = "chat",
            { names::ERROR_TYPE } = error.reason(),
        );
        drop(span);
    }

    /// What the work of the call is done in.
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Whether anybody wants to know.
    pub(crate) fn listens(&self) -> bool {
        !self.ended && (!self.span.is_disabled() || self.metrics.is_some())
    }

    /// An attempt has given its first event.
    pub(crate) fn opened(&mut self, attempt: u32, began: Instant) {
        self.span.record(names::ATTEMPTS, attempt);
        self.last_chunk = began;
    }

    /// An event has come.
    pub(crate) fn event(&mut self, event: &Event) {
        if !is_content(event) {
            return;
        }
        self.chunks += 1;
        // Nobody asks when the others came.
        if self.chunks > 1 && self.metrics.is_none() {
            return;
        }
        let now = Instant::now();
        let after = now.duration_since(self.last_chunk);
        if self.chunks == 1 {
            let seconds = after.as_secs_f64();
            self.span
                .record(names::RESPONSE_TIME_TO_FIRST_CHUNK, seconds);
        }
        if let Some(metrics) = &self.metrics {
            match self.chunks {
                1 => metrics.first_chunk(after),
                _ => metrics.next_chunk(after),
            }
            self.last_chunk = now;
        }
    }

    /// No attempt gave an event.
    pub(crate) fn refused(&mut self, error: &Error, attempts: u32, redactor: &Redactor) {
        self.span.record(names::ATTEMPTS, attempts);
        self.finish(None, Some(error.reason()), redactor);
    }

    /// The answer has ended, well or not, or somebody stopped it.
    pub(crate) fn end(&mut self, response: &Response, stopped: Option<&str>, redactor: &Redactor) {
        let failure = response.error.as_ref().map(|error| error.reason.as_str());
        self.finish(Some(response), stopped.or(failure), redactor);
    }

    /// Nothing came, and somebody stopped it.
    pub(crate) fn stopped(&mut self, reason: &str, redactor: &Redactor) {
        self.finish(None, Some(reason), redactor);
    }

    fn finish(&mut self, response: Option<&Response>, error: Option<&str>, redactor: &Redactor) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(response) = response {
            self.answered(response, redactor);
        }
        if let Some(error) = error {
            failed(&self.span, error);
        }
        self.content(response, redactor);
        if let Some(metrics) = &self.metrics {
            let usage = response.map(|response| &response.usage);
            let model = response.and_then(|response| response.model.as_deref());
            let model = model.map(|model| redactor.text(model));
            metrics.end(&End {
                duration: self.began.elapsed(),
                response_model: model.as_deref(),
                input_tokens: usage.and_then(|usage| usage.input_tokens),
                output_tokens: usage.and_then(|usage| usage.output_tokens),
                error_type: error,
            });
        }
        self.span = Span::none();
    }

    fn answered(&self, response: &Response, redactor: &Redactor) {
        let span = &self.span;
        let reasons = response
            .finish_reason
            .map(|reason| debug([reason.as_str()]));
        let usage = &response.usage;
        let id = response.id.as_ref().map(|id| redactor.text(id.as_str()));
        let model = response.model.as_ref().map(|model| redactor.text(model));
        span.record(names::RESPONSE_ID, id.as_deref());
        span.record(names::RESPONSE_MODEL, model.as_deref());
        span.record(names::RESPONSE_FINISH_REASONS, reasons);
        span.record(names::USAGE_INPUT_TOKENS, usage.input_tokens);
        span.record(names::USAGE_OUTPUT_TOKENS, usage.output_tokens);
        span.record(names::USAGE_CACHE_READ, usage.cached_input_tokens);
        span.record(names::USAGE_CACHE_CREATION, usage.cache_write_input_tokens);
        span.record(names::USAGE_REASONING, usage.reasoning_tokens);
    }

    fn content(&mut self, response: Option<&Response>, redactor: &Redactor) {
        let Some(request) = self.asked.take() else {
            return;
        };
        let input = content::text(
            redactor,
            content::input(request.messages.iter().map(|message| &**message)),
        );
        let output = response.map(|response| content::text(redactor, content::output(response)));
        self.span.in_scope(|| {
            event!(
                name: names::CONTENT,
                Level::INFO,
                gen_ai.input.messages = input,
                gen_ai.output.messages = output,
            );
        });
    }
}

fn open_span(plan: &Plan, request: &Request) -> Span {
    let session = plan.settings.session_id.get();
    let server = plan.adapter.server();
    let stop = (!request.stop.is_empty()).then(|| debug(&request.stop));
    let output = match &request.response_format {
        Some(ResponseFormat::JsonObject | ResponseFormat::JsonSchema(_)) => "json",
        Some(_) | None => "text",
    };
    span!(
        Level::INFO,
        names::MODEL_CALL,
        { names::OTEL_NAME } = format!("chat {}", plan.model.model),
        { names::OTEL_KIND } = "client",
        { names::OTEL_STATUS_CODE } = Empty,
        { names::OPERATION_NAME } = "chat",
        { names::PROVIDER_NAME } = names::provider(plan.model.provider.as_str()),
        { names::REQUEST_MODEL } = plan.model.model.as_str(),
        { names::REQUEST_MAX_TOKENS } = request.max_tokens,
        { names::REQUEST_TEMPERATURE } = request.temperature,
        { names::REQUEST_TOP_P } = request.top_p,
        { names::REQUEST_TOP_K } = request.top_k,
        { names::REQUEST_SEED } = request.seed,
        { names::REQUEST_STOP_SEQUENCES } = stop,
        { names::REQUEST_FREQUENCY_PENALTY } = request.frequency_penalty,
        { names::REQUEST_PRESENCE_PENALTY } = request.presence_penalty,
        { names::REQUEST_STREAM } = true,
        { names::OUTPUT_TYPE } = output,
        { names::CONVERSATION_ID } = session.as_ref().map(|id| id.as_str()),
        { names::SERVER_ADDRESS } = server.as_ref().map(|server| server.address.as_str()),
        { names::SERVER_PORT } = server.as_ref().and_then(|server| server.port),
        { names::REQUEST_ID } = plan.request_id.as_str(),
        { names::ATTEMPTS } = Empty,
        { names::RESPONSE_ID } = Empty,
        { names::RESPONSE_MODEL } = Empty,
        { names::RESPONSE_FINISH_REASONS } = Empty,
        { names::RESPONSE_TIME_TO_FIRST_CHUNK } = Empty,
        { names::USAGE_INPUT_TOKENS } = Empty,
        { names::USAGE_OUTPUT_TOKENS } = Empty,
        { names::USAGE_CACHE_READ } = Empty,
        { names::USAGE_CACHE_CREATION } = Empty,
        { names::USAGE_REASONING } = Empty,
        { names::ERROR_TYPE } = Empty,
    )
}

/// Whether an event brings something of the answer.
const fn is_content(event: &Event) -> bool {
    matches!(
        event,
        Event::TextDelta(_)
            | Event::TextCompleted(_)
            | Event::ReasoningDelta(_)
            | Event::ToolCallStarted(_)
            | Event::ToolCallDelta(_)
            | Event::ToolCallCompleted(_)
            | Event::MessageCompleted(_)
    )
}
