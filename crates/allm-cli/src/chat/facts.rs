//! What a conversation remembers besides what was said, in the metadata of its session.

use std::collections::{BTreeMap, BTreeSet};

use allm::{Hash, Map};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Where it stands in the metadata.
const KEY: &str = "chat";

/// What a conversation remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Facts {
    /// The model that was last asked, as `provider:model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The tools whose calls the person agrees to unseen, each with its fingerprint: another tool of the same name is not
    /// what they agreed to.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "by_fingerprint"
    )]
    pub(crate) always: BTreeMap<String, Hash>,
    /// The tools that are not offered.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) off: BTreeSet<String>,
}

impl Facts {
    /// What the metadata says; nothing where it says something else.
    pub(crate) fn read(metadata: &Map) -> Self {
        let facts = metadata.get(KEY).cloned().unwrap_or_default();
        serde_json::from_value(facts).unwrap_or_default()
    }

    /// The metadata with this in it.
    pub(crate) fn write(&self, metadata: &Map) -> Map {
        let mut metadata = metadata.clone();
        let facts = serde_json::to_value(self).unwrap_or_default();
        metadata.insert(KEY.to_owned(), facts);
        metadata
    }

    /// The metadata without what a person agreed to unseen, if there is any: it was another person, or another machine.
    pub(crate) fn without_agreement(metadata: &Map) -> Option<Map> {
        let mut facts = Self::read(metadata);
        if facts.always.is_empty() {
            return None;
        }
        facts.always.clear();
        Some(facts.write(metadata))
    }
}

/// Names alone were kept once: they say nothing about what was agreed to, so that it is asked again.
fn by_fingerprint<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Hash>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::*;

    fn metadata(facts: Value) -> Map {
        Map::from_iter([("chat".to_owned(), facts)])
    }

    #[test]
    fn what_was_agreed_to_by_name_alone_is_forgotten_and_nothing_else() {
        let facts = Facts::read(&metadata(
            json!({"model": "a:b", "always": ["shell"], "off": ["date"]}),
        ));
        let off = BTreeSet::from(["date".to_owned()]);
        let kept = Facts {
            model: Some("a:b".to_owned()),
            off,
            ..Facts::default()
        };
        assert_eq!(facts, kept);
    }

    #[test]
    fn agreement_is_taken_away_and_the_rest_stays() {
        let mut facts = Facts {
            model: Some("a:b".to_owned()),
            ..Facts::default()
        };
        assert_eq!(Facts::without_agreement(&facts.write(&Map::new())), None);
        facts.always.insert("shell".to_owned(), Hash::ZERO);
        let other = Map::from_iter([("mine".to_owned(), json!(1))]);
        let metadata = facts.write(&other);
        assert_eq!(Facts::read(&metadata), facts);
        let without = Facts::without_agreement(&metadata).unwrap();
        facts.always.clear();
        assert_eq!(without, facts.write(&other));
    }
}
