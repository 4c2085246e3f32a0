//! What only its provider understands goes back to it alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use allm_core::{Opaque, Path, ProviderName};
use serde_json::value::RawValue;

use super::notes::Warnings;

/// Sorts opaque values into those that may be sent and those that are left out.
#[derive(Debug)]
pub(crate) struct Opaques<'a> {
    provider: &'a ProviderName,
    wire: &'a str,
    pub(crate) left: Left,
}

impl<'a> Opaques<'a> {
    pub(crate) fn new(provider: &'a ProviderName, wire: &'a str) -> Self {
        Self {
            provider,
            wire,
            left: Left::default(),
        }
    }

    /// The value, if it came from this provider over this wire; else it is counted.
    pub(crate) fn own<'b>(
        &mut self,
        opaque: Option<&'b Opaque>,
        path: impl FnOnce() -> Path,
    ) -> Option<&'b Opaque> {
        let opaque = opaque?;
        if opaque.provider == *self.provider && opaque.wire == self.wire {
            return Some(opaque);
        }
        self.left.foreign(&opaque.provider, path);
        None
    }
}

/// What was left out of a conversation, which seldom is anything; kept for the bodies that begin with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Left(Option<Arc<LeftOut>>);

#[derive(Clone, Debug, Default)]
struct LeftOut {
    parts: Vec<Path>,
    /// How many were left out of whom, and where the first stood.
    foreign: BTreeMap<ProviderName, (usize, Path)>,
}

impl Left {
    fn out(&mut self) -> &mut LeftOut {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// A part that has no place on this wire.
    pub(crate) fn part(&mut self, path: Path) {
        self.out().parts.push(path);
    }

    fn foreign(&mut self, provider: &ProviderName, path: impl FnOnce() -> Path) {
        let foreign = &mut self.out().foreign;
        match foreign.get_mut(provider) {
            Some((count, _)) => *count += 1,
            None => {
                foreign.insert(provider.clone(), (1, path()));
            }
        }
    }

    /// Tells what was left out: each part, and opaque values once for each provider.
    pub(crate) fn tell(&self, warnings: &mut Warnings) {
        let Some(out) = &self.0 else { return };
        for path in &out.parts {
            warnings.dropped(path.clone());
        }
        for (provider, (count, path)) in &out.foreign {
            let detail = format!("{count} of {provider}");
            warnings.add("opaque_dropped", Some(path.clone()), Some(detail));
        }
    }
}

/// The exact text of an opaque value, to be written into a body as it is.
pub(crate) fn raw(opaque: &Opaque) -> Option<&RawValue> {
    serde_json::from_str(opaque.data.as_str()).ok()
}

#[cfg(test)]
mod tests {
    use allm_core::RawJson;

    use super::*;

    fn opaque(provider: &str, wire: &str) -> Opaque {
        Opaque {
            provider: provider.into(),
            wire: wire.to_owned(),
            kind: "reasoning".to_owned(),
            data: RawJson::new(r#"{"b": 1.0, "a": 1e2}"#).expect("JSON"),
        }
    }

    #[test]
    fn c19_foreign_values_are_told_once_with_their_count() {
        let me = ProviderName::from("a");
        let values = [
            opaque("b", "w"),
            opaque("a", "w"),
            opaque("a", "other"),
            opaque("b", "w"),
        ];
        let mut opaques = Opaques::new(&me, "w");
        let own: Vec<bool> = values
            .iter()
            .enumerate()
            .map(|(at, value)| {
                let path = || Path::from("messages").index(at);
                opaques.own(Some(value), path).is_some()
            })
            .collect();
        assert_eq!(own, [false, true, false, false]);
        assert!(opaques.own(None, Path::root).is_none());
        let mut warnings = Warnings::default();
        opaques.left.tell(&mut warnings);
        let told: Vec<_> = warnings
            .finish()
            .into_iter()
            .map(|w| (w.code, w.path.map(|p| p.to_string()), w.detail))
            .collect();
        let row = |path: &str, detail: &str| {
            (
                "opaque_dropped".to_owned(),
                Some(path.to_owned()),
                Some(detail.to_owned()),
            )
        };
        assert_eq!(
            told,
            [row("messages[2]", "1 of a"), row("messages[0]", "2 of b")]
        );
    }

    #[test]
    fn c18_the_text_is_written_as_it_came() {
        let value = opaque("a", "w");
        let raw = raw(&value).expect("JSON");
        assert_eq!(
            serde_json::to_string(&[raw]).expect("JSON"),
            r#"[{"b": 1.0, "a": 1e2}]"#
        );
    }
}
