//! What a run tells `tracing`, and the names it uses.
//!
//! Spans, names and attributes follow the GenAI conventions of OpenTelemetry:
//!
//! ```text
//! allm.run                 invoke_agent          a step or a chat
//! └─ allm.step                                   one turn
//!    ├─ allm.model_call    chat {model}          a call with all its attempts, until its stream ends
//!    └─ allm.tool          execute_tool {tool}   a call of a tool, until its outcome is known
//! ```
//!
//! A plain `generate` is one `allm.model_call`. Spans are entered while their work is polled, so what adapters and
//! handlers tell `tracing` themselves is found below them.
//!
//! Messages, arguments and results are told only with [`capture_content`](crate::EngineBuilder::capture_content), and
//! then without secrets. Numbers without spans are for [`Metrics`].

mod content;
pub(crate) mod metrics;
pub(crate) mod model_call;
pub mod names;
pub(crate) mod run;
pub(crate) mod tool;

pub use metrics::{Measured, Metrics};

use tracing::Span;

/// Marks a span as failed, with our code for why.
fn failed(span: &Span, reason: &str) {
    span.record(names::ERROR_TYPE, reason);
    span.record(names::OTEL_STATUS_CODE, "ERROR");
}
