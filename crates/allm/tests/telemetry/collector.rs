//! Collects what is told to `tracing`: a tree of spans with their fields and events.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

pub(crate) type Fields = BTreeMap<String, String>;

/// A span, as it was when looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) parent: Option<u64>,
    pub(crate) fields: Fields,
    /// How often each field was recorded.
    pub(crate) recorded: BTreeMap<String, u32>,
    /// Name and fields of each event in it.
    pub(crate) events: Vec<(String, Fields)>,
    pub(crate) closed: bool,
}

#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    order: Vec<u64>,
    spans: BTreeMap<u64, Seen>,
    /// Events outside of any span.
    loose: Vec<(String, Fields)>,
    next: u64,
}

/// Our own number of a span; the registry uses its own again.
struct Number(u64);

impl Collector {
    /// Collects from this thread until the guard is dropped.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let collector = Self::default();
        let subscriber = Registry::default().with(collector.clone());
        (collector, tracing::subscriber::set_default(subscriber))
    }

    /// The spans of ours, in the order they were opened.
    pub(crate) fn spans(&self) -> Vec<Seen> {
        let state = self.0.lock().unwrap();
        state
            .order
            .iter()
            .map(|number| state.spans[number].clone())
            .collect()
    }

    /// The one span of this name.
    pub(crate) fn only(&self, name: &str) -> Seen {
        let mut spans: Vec<Seen> = self
            .spans()
            .into_iter()
            .filter(|span| span.name == name)
            .collect();
        assert_eq!(spans.len(), 1, "one {name} in\n{}", self.tree());
        spans.remove(0)
    }

    /// All spans as an indented list of `otel.name` or name.
    pub(crate) fn tree(&self) -> String {
        let state = self.0.lock().unwrap();
        let mut text = String::new();
        state.show(None, 0, &mut text);
        text
    }

    /// Everything that was told, as one text.
    pub(crate) fn all(&self) -> String {
        let state = self.0.lock().unwrap();
        format!("{:?} {:?}", state.spans, state.loose)
    }
}

impl State {
    fn show(&self, parent: Option<u64>, depth: usize, text: &mut String) {
        for number in &self.order {
            let span = &self.spans[number];
            if span.parent == parent {
                let open = if span.closed { "" } else { " (open)" };
                let people = span.fields.get("otel.name").map(|name| format!(": {name}"));
                let people = people.unwrap_or_default();
                writeln!(text, "{}{}{people}{open}", "  ".repeat(depth), span.name).unwrap();
                self.show(Some(*number), depth + 1, text);
            }
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collector {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent = span
            .parent()
            .map(|parent| parent.extensions().get::<Number>().unwrap().0);
        let mut state = self.0.lock().unwrap();
        let number = state.next;
        state.next += 1;
        span.extensions_mut().insert(Number(number));
        let mut seen = Seen {
            name: span.name().to_owned(),
            parent,
            ..Seen::default()
        };
        attributes.record(&mut Reader(&mut seen.fields, &mut seen.recorded));
        state.order.push(number);
        state.spans.insert(number, seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let number = context
            .span(id)
            .unwrap()
            .extensions()
            .get::<Number>()
            .unwrap()
            .0;
        let mut state = self.0.lock().unwrap();
        let seen = state.spans.get_mut(&number).unwrap();
        values.record(&mut Reader(&mut seen.fields, &mut seen.recorded));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut Reader(&mut fields, &mut BTreeMap::new()));
        let told = (event.metadata().name().to_owned(), fields);
        let number = context
            .event_span(event)
            .map(|span| span.extensions().get::<Number>().unwrap().0);
        let mut state = self.0.lock().unwrap();
        match number {
            Some(number) => state.spans.get_mut(&number).unwrap().events.push(told),
            None => state.loose.push(told),
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let number = context
            .span(&id)
            .unwrap()
            .extensions()
            .get::<Number>()
            .unwrap()
            .0;
        self.0
            .lock()
            .unwrap()
            .spans
            .get_mut(&number)
            .unwrap()
            .closed = true;
    }
}

struct Reader<'a>(&'a mut Fields, &'a mut BTreeMap<String, u32>);

impl Reader<'_> {
    fn keep(&mut self, field: &Field, value: String) {
        *self.1.entry(field.name().to_owned()).or_default() += 1;
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Reader<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, value.to_owned());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.keep(field, value.to_string());
    }
}
