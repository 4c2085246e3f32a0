//! Keeps all that comes out, and looks for secrets in it.

use std::error::Error as StdError;
use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex};

use allm::{Error, Response};
use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

/// What came out: where, and the text.
#[derive(Default)]
pub(crate) struct Sink {
    texts: Vec<(String, String)>,
    told: Told,
}

/// All that is told to `tracing`, by whomever.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<String>>);

impl Sink {
    /// Listens on this thread until the guard is dropped.
    pub(crate) fn listen(&self) -> DefaultGuard {
        let subscriber = Registry::default().with(self.told.clone());
        tracing::subscriber::set_default(subscriber)
    }

    pub(crate) fn text(&mut self, place: &str, text: &str) {
        self.texts.push((place.to_owned(), text.to_owned()));
    }

    pub(crate) fn debug(&mut self, place: &str, value: &dyn Debug) {
        self.text(place, &format!("{value:?}"));
        self.text(place, &format!("{value:#?}"));
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) {
        self.text("json", &serde_json::to_string(value).unwrap());
    }

    pub(crate) fn answer(&mut self, answered: &Result<Response, Error>) {
        self.debug("answer", answered);
        match answered {
            Err(error) => self.failure(Some(error.clone())),
            Ok(response) => {
                self.json(response);
                self.text("document", &allm::json::to_string(response).unwrap());
                self.failure(response.clone().into_result().err());
                self.failure(response.error.clone().map(Error::from));
            }
        }
    }

    /// An error in each way in which one is shown.
    pub(crate) fn failure(&mut self, error: Option<Error>) {
        let Some(error) = error else {
            return;
        };
        self.debug("error", &error);
        self.json(&error);
        let mut next: Option<&dyn StdError> = Some(&error);
        while let Some(level) = next {
            self.text("display", &format!("{level} {level:#}"));
            self.debug("source", &level);
            next = level.source();
        }
    }

    #[track_caller]
    pub(crate) fn assert_clean(&self, what: &str) {
        let told = self.told.0.lock().unwrap();
        let told = ("tracing".to_owned(), told.clone());
        for (place, text) in self.texts.iter().chain([&told]) {
            let found = super::marks::found(text);
            assert!(found.is_empty(), "{what}: {place} holds {found:?}:\n{text}");
        }
    }
}

impl<S: Subscriber> Layer<S> for Told {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        attributes.record(&mut self.clone());
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut self.clone());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut self.clone());
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut told = self.0.lock().unwrap();
        told.push_str(&format!("{field}={value:?} {value:#?}\n"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let mut told = self.0.lock().unwrap();
        told.push_str(&format!("{field}={value}\n"));
    }
}
