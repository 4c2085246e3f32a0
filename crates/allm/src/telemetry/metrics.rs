//! Numbers about model calls.

use std::sync::Arc;
use std::time::Duration;

use super::names;

/// Takes numbers about model calls, by the names of the GenAI conventions; for whoever keeps histograms.
///
/// It is called by whoever polls, so it should be quick. A panic in it unwinds to that caller.
///
/// ```
/// use allm::telemetry::{Measured, Metrics};
///
/// struct Print;
///
/// impl Metrics for Print {
///     fn record(&self, measured: &Measured<'_>) {
///         println!("{} {}", measured.name, measured.value);
///     }
/// }
/// ```
pub trait Metrics: Send + Sync {
    /// Takes one value.
    fn record(&self, measured: &Measured<'_>);
}

/// One value of a metric, and what it is about.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measured<'a> {
    /// One of the metrics of [`names`](super::names).
    pub name: &'static str,
    /// Seconds, or tokens.
    pub value: f64,
    /// The convention's name of the provider.
    pub provider: &'a str,
    /// The model that was asked.
    pub request_model: &'a str,
    /// The model that answered, when known.
    pub response_model: Option<&'a str>,
    /// `input` or `output`, for tokens.
    pub token_type: Option<&'static str>,
    /// Our code for why the call failed.
    pub error_type: Option<&'a str>,
}

/// The values of one model call.
pub(super) struct CallMetrics {
    sink: Arc<dyn Metrics>,
    provider: String,
    model: String,
}

/// How a model call ended.
#[derive(Default)]
pub(super) struct End<'a> {
    pub(super) duration: Duration,
    pub(super) response_model: Option<&'a str>,
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) error_type: Option<&'a str>,
}

impl CallMetrics {
    pub(super) fn new(sink: Arc<dyn Metrics>, provider: &str, model: &str) -> Self {
        Self {
            sink,
            provider: names::provider(provider).to_owned(),
            model: model.to_owned(),
        }
    }

    fn value(&self, name: &'static str, value: f64) -> Measured<'_> {
        Measured {
            name,
            value,
            provider: &self.provider,
            request_model: &self.model,
            response_model: None,
            token_type: None,
            error_type: None,
        }
    }

    pub(super) fn first_chunk(&self, after: Duration) {
        self.sink
            .record(&self.value(names::TIME_TO_FIRST_CHUNK, after.as_secs_f64()));
    }

    pub(super) fn next_chunk(&self, after: Duration) {
        self.sink
            .record(&self.value(names::TIME_PER_OUTPUT_CHUNK, after.as_secs_f64()));
    }

    pub(super) fn end(&self, end: &End<'_>) {
        let about = Measured {
            response_model: end.response_model,
            error_type: end.error_type,
            ..self.value(names::OPERATION_DURATION, end.duration.as_secs_f64())
        };
        self.sink.record(&about);
        for (token_type, tokens) in [("input", end.input_tokens), ("output", end.output_tokens)] {
            let Some(tokens) = tokens else { continue };
            #[expect(clippy::cast_precision_loss, reason = "nobody counts that many tokens")]
            self.sink.record(&Measured {
                name: names::TOKEN_USAGE,
                value: tokens as f64,
                token_type: Some(token_type),
                ..about
            });
        }
    }
}
