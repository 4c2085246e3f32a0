//! Waits before a model is asked again, for a person who would wonder why nothing comes.
//!
//! The library tells of them by `tracing`, and of nothing else is heard here.

use std::time::Duration;

use allm::telemetry::names;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber, level_filters::LevelFilter};

/// A shorter wait is not worth a word.
const LONG: Duration = Duration::from_secs(1);

/// The waits that begin from now on.
pub(crate) struct Waits(UnboundedReceiver<Wait>);

/// A wait that has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wait {
    delay_ms: u64,
    /// Why the model did not answer.
    reason: String,
}

/// Hears of waits. Only the first who listens in a process does.
pub(crate) fn listen() -> Waits {
    let (told, heard) = unbounded_channel();
    // Whoever has set another one hears of them there.
    let _ = set_global_default(Listener(told));
    Waits(heard)
}

impl Waits {
    /// The next long wait, in words; never, when nobody tells of any.
    pub(crate) async fn next(&mut self, model: &str) -> String {
        loop {
            let Some(wait) = self.0.recv().await else {
                return std::future::pending().await;
            };
            if let Some(words) = wait.in_words(model) {
                return words;
            }
        }
    }
}

impl Wait {
    /// What a person is told, if it is long.
    fn in_words(&self, model: &str) -> Option<String> {
        if Duration::from_millis(self.delay_ms) < LONG {
            return None;
        }
        let provider = model.split(':').next().unwrap_or_default();
        let why = match self.reason.as_str() {
            "rate_limited" => "takes no more requests for now",
            "network_error" => "cannot be reached",
            _ => "does not answer",
        };
        let seconds = self.delay_ms.saturating_add(500) / 1000;
        Some(format!(
            "(`{provider}` {why}; asking again in {seconds} s, Ctrl-C stops it)"
        ))
    }
}

/// Hears of waits and of nothing else.
struct Listener(UnboundedSender<Wait>);

fn is_wait(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && metadata.name() == names::RETRY
}

impl Subscriber for Listener {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match is_wait(metadata) {
            true => Interest::always(),
            false => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_wait(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(Level::INFO))
    }

    fn event(&self, event: &Event<'_>) {
        let mut wait = Wait::default();
        event.record(&mut wait);
        // Nobody may listen any more.
        let _ = self.0.send(wait);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Wait {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "delay_ms" {
            self.delay_ms = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "reason" {
            value.clone_into(&mut self.reason);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_are_told() {
        let words = |delay_ms, reason: &str| {
            let reason = reason.to_owned();
            Wait { delay_ms, reason }.in_words("openai:gpt-5")
        };
        assert_eq!(words(999, "rate_limited"), None);
        assert_eq!(
            words(20_100, "rate_limited").as_deref(),
            Some(
                "(`openai` takes no more requests for now; asking again in 20 s, Ctrl-C stops it)"
            )
        );
        assert_eq!(
            words(1_000, "provider_unavailable").as_deref(),
            Some("(`openai` does not answer; asking again in 1 s, Ctrl-C stops it)")
        );
    }
}
