//! Everything that is logged, at any level.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

#[derive(Clone, Default)]
pub struct Logs(Arc<Mutex<String>>);

impl Logs {
    /// From now on, for the whole program.
    pub fn begin() -> Self {
        let logs = Self::default();
        let subscriber = tracing_subscriber::registry().with(logs.clone());
        tracing::subscriber::set_global_default(subscriber).expect("the only one");
        logs
    }

    pub fn text(&self) -> String {
        self.0.lock().expect("not poisoned").clone()
    }
}

impl<S: Subscriber> Layer<S> for Logs {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Fields(&mut self.0.lock().expect("not poisoned")));
    }

    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        span.record(&mut Fields(&mut self.0.lock().expect("not poisoned")));
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0, "{field} = {value:?}").expect("written");
    }
}

/// Whether a text shows this secret, as it is or in hexadecimal digits.
pub fn shows(text: &str, secret: &str) -> bool {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    text.contains(secret) || text.to_lowercase().contains(&hex)
}
