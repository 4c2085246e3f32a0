//! Looking for keys in whatever is shown.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::support::tables::{has, holds};

/// All that was seen, with where.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Vec<(String, Vec<u8>)>>);

impl Seen {
    pub(crate) fn bytes(&self, place: &str, bytes: &[u8]) {
        let mut seen = self.0.lock().expect("not poisoned");
        seen.push((place.to_owned(), bytes.to_vec()));
    }

    pub(crate) fn text(&self, place: &str, text: &str) {
        self.bytes(place, text.as_bytes());
    }

    pub(crate) fn debug(&self, place: &str, value: &impl Debug) {
        self.text(place, &format!("{value:?} {value:#?}"));
    }

    pub(crate) fn json(&self, place: &str, value: &impl Serialize) {
        self.bytes(place, &serde_json::to_vec(value).expect("written"));
    }

    /// None of these is anywhere, in any of its forms. The message says where one is, and not what.
    pub(crate) fn assert_without(&self, keys: &[&str]) {
        let seen = self.0.lock().expect("not poisoned");
        let mut found = BTreeSet::new();
        for key in keys {
            for (place, bytes) in &*seen {
                if shows(bytes, key) {
                    found.insert((place, &key[..7]));
                }
            }
        }
        assert!(found.is_empty(), "{found:?}");
    }
}

/// Whether a key is in these bytes: as it is, in hexadecimal digits, or in base64 as a part of anything.
fn shows(bytes: &[u8], key: &str) -> bool {
    holds(bytes, key.as_bytes())
        || in_base64(key)
            .iter()
            .any(|form| has(bytes, form.as_bytes()))
}

/// The key in base64, after none, one or two other bytes, without the digits that depend on its neighbours.
fn in_base64(key: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(key.as_bytes());
        bytes.truncate(bytes.len() / 3 * 3);
        let text = STANDARD_NO_PAD.encode(bytes);
        let text = &text[if before == 0 { 0 } else { 4 }..];
        forms.push(text.to_owned());
        forms.push(text.replace('+', "-").replace('/', "_"));
    }
    forms
}

#[test]
fn a_key_is_found_in_every_form() {
    let key = "sk-0123456789?>~abcdef";
    let hex: String = key.bytes().map(|byte| format!("{byte:02X}")).collect();
    let mut texts = vec![format!("before {key} after"), hex];
    for before in ["", "a", "ab", "abc", "Bearer "] {
        let text = format!("{before}{key} and more");
        texts.push(STANDARD_NO_PAD.encode(&text));
        texts.push(base64::engine::general_purpose::URL_SAFE.encode(&text));
    }
    for text in texts {
        assert!(shows(text.as_bytes(), key), "{text}");
    }
    assert!(!shows(b"sk-0123456789", key));
}

/// Everything that is told, at every level.
#[derive(Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<String>>);

impl Logs {
    /// From now on, for the whole program.
    pub(crate) fn begin() -> Self {
        let logs = Self::default();
        let subscriber = tracing_subscriber::registry().with(logs.clone());
        tracing::subscriber::set_global_default(subscriber).expect("the only one");
        logs
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().expect("not poisoned").clone()
    }

    fn write(&self, name: &str, record: impl FnOnce(&mut Fields<'_>)) {
        let mut text = self.0.lock().expect("not poisoned");
        writeln!(text, "{name}").expect("written");
        record(&mut Fields(&mut text));
    }
}

impl<S: Subscriber> Layer<S> for Logs {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.write(event.metadata().target(), |fields| event.record(fields));
    }

    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.write(span.metadata().name(), |fields| span.record(fields));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.write("recorded", |fields| values.record(fields));
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0, "{field} = {value:?}").expect("written");
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        writeln!(self.0, "{field} = {value} {value:?}").expect("written");
    }
}
