//! Ids of calls as a wire accepts them.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
use allm_core::ProviderName;
use allm_core::{Hash, Message, Messages};

use super::written::Recipient;

/// Which ids a wire accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdRule {
    /// Any text of 1 to this many characters.
    Any {
        /// The longest.
        max: usize,
    },
    /// 1 to this many of `A-Z a-z 0-9 _ -`.
    Word {
        /// The longest.
        max: usize,
    },
    /// Exactly this many of `A-Z a-z 0-9`.
    Alphanumeric {
        /// How many.
        length: usize,
    },
}

/// How long a replacement is where the wire leaves that open.
const REPLACEMENT: usize = 32;
/// How often another replacement is tried. Only a rule that has hardly any ids needs more than two.
const TRIES: usize = 1000;

impl IdRule {
    /// Whether an id may travel as it is.
    pub(crate) fn accepts(self, id: &str) -> bool {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        match self {
            Self::Any { max } => !id.is_empty() && id.chars().count() <= max,
            Self::Word { max } => !id.is_empty() && id.len() <= max && id.chars().all(word),
            Self::Alphanumeric { length } => {
                id.len() == length && id.chars().all(|c| c.is_ascii_alphanumeric())
            }
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Any { max } | Self::Word { max } => REPLACEMENT.min(max),
            Self::Alphanumeric { length } => length,
        }
    }
}

/// The ids of one request: what each is called on the wire.
#[derive(Debug)]
pub(crate) struct Ids<'a> {
    replaced: BTreeMap<&'a str, String>,
    /// Whether no id is taken only because of a message that stands behind its first use.
    in_order: bool,
}

impl<'a> Ids<'a> {
    /// All ids of a conversation.
    #[cfg(test)]
    fn of(
        messages: &'a Messages,
        rule: IdRule,
        provider: &ProviderName,
        wire: &'static str,
    ) -> Self {
        let to = Recipient {
            provider,
            wire,
            ids: Some(rule),
        };
        Ids::from(messages, 0, to)
    }

    /// Whether every id is called what it is.
    pub(crate) fn is_empty(&self) -> bool {
        self.replaced.is_empty()
    }

    /// Whether every id is called what it is in each beginning of the conversation, too.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_empty() && self.in_order
    }

    fn unchanged() -> Self {
        Self {
            replaced: BTreeMap::new(),
            in_order: true,
        }
    }

    /// All ids from a message on. Different ids stay different. What this provider gave over this wire it takes back.
    pub(crate) fn from(messages: &'a Messages, first: usize, to: Recipient<'_>) -> Self {
        let Some(rule) = to.ids else {
            return Self::unchanged();
        };
        let list = || messages.iter_from(first).map(|message| &**message);
        let ids = || {
            list().flat_map(|message: &'a Message| {
                let calls = message.tool_calls.iter().map(|call| call.id.as_str());
                calls.chain(message.tool_call_id.as_ref().map(|id| id.as_str()))
            })
        };
        let mut taken: BTreeSet<String> = BTreeSet::new();
        if ids().all(|id| rule.accepts(id)) {
            return Self::unchanged();
        }
        let mut given: BTreeSet<&str> = BTreeSet::new();
        let mut in_order = true;
        for message in list() {
            let origin = message.origin.as_ref();
            let is_own = origin
                .is_some_and(|origin| origin.provider == *to.provider && origin.wire == to.wire);
            for call in &message.tool_calls {
                let id = call.id.as_str();
                if is_own && call.wire_id.as_deref() == Some(id) {
                    given.insert(id);
                }
                in_order &= rule.accepts(id) || given.contains(id);
            }
            if let Some(id) = &message.tool_call_id {
                in_order &= rule.accepts(id.as_str()) || given.contains(id.as_str());
            }
        }
        let accepts = |id: &str| !id.is_empty() && (rule.accepts(id) || given.contains(id));
        taken.extend(ids().filter(|id| accepts(id)).map(str::to_owned));
        let mut replaced = BTreeMap::new();
        for id in ids().filter(|id| !accepts(id)) {
            if replaced.contains_key(id) {
                continue;
            }
            let mut hash = Hash::of_bytes(id.as_bytes());
            let mut text = spelled(&hash, rule.length());
            for _ in 0..TRIES {
                if !taken.contains(&text) {
                    break;
                }
                hash = Hash::of(&hash, id.as_bytes());
                text = spelled(&hash, rule.length());
            }
            taken.insert(text.clone());
            replaced.insert(id, text);
        }
        Self { replaced, in_order }
    }

    /// What an id is called on the wire.
    pub(crate) fn get<'b>(&'b self, id: &'b str) -> &'b str {
        self.replaced.get(id).map_or(id, String::as_str)
    }
}

/// A hash in letters and digits.
fn spelled(hash: &Hash, length: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = String::with_capacity(length);
    let mut bytes = *hash;
    while text.len() < length {
        for byte in bytes.as_bytes() {
            // The few values that would make some digits likelier are left out.
            if let Some(digit) = DIGITS.get(usize::from(*byte) % 64)
                && text.len() < length
            {
                text.push(char::from(*digit));
            }
        }
        bytes = Hash::of(&bytes, &[]);
    }
    text
}

#[cfg(test)]
mod tests {
    use allm_core::{Message, Origin, ToolCall};

    use super::*;

    const ANTHROPIC: IdRule = IdRule::Word { max: 64 };
    const CHAT: IdRule = IdRule::Any { max: 40 };
    const MISTRAL: IdRule = IdRule::Alphanumeric { length: 9 };

    /// The ids as a provider sees them that gave none of them.
    fn ids(messages: &Messages, rule: IdRule) -> Ids<'_> {
        Ids::of(messages, rule, &"other".into(), "wire")
    }

    fn messages(ids: &[&str]) -> Messages {
        let calls = ids.iter().map(|id| ToolCall::new(*id, "x", "{}")).collect();
        let mut messages = vec![Message::assistant("").with_tool_calls(calls)];
        messages.extend(ids.iter().map(|id| Message::tool_result(*id, "")));
        messages.into()
    }

    #[test]
    fn p103_what_a_wire_refuses_is_replaced() {
        let messages = messages(&["functions.add:0", "functions.add:1", "call_1"]);
        let known = ids(&messages, ANTHROPIC);
        let (first, second) = (known.get("functions.add:0"), known.get("functions.add:1"));
        assert_ne!(first, second);
        for id in [first, second] {
            assert!(ANTHROPIC.accepts(id), "{id}");
        }
        assert_eq!(known.get("call_1"), "call_1");
        let known = ids(&messages, CHAT);
        assert_eq!(known.get("functions.add:0"), "functions.add:0");
    }

    #[test]
    fn p104_too_long_and_of_nine() {
        let long = "a".repeat(70);
        let messages = messages(&[&long, "abcdefgh1", "allm-1-0"]);
        for rule in [CHAT, IdRule::Any { max: 64 }] {
            let known = ids(&messages, rule);
            assert!(rule.accepts(known.get(&long)));
            assert_eq!(known.get("allm-1-0"), "allm-1-0");
        }
        let known = ids(&messages, MISTRAL);
        assert_eq!(known.get("abcdefgh1"), "abcdefgh1");
        assert!(MISTRAL.accepts(known.get(&long)));
        assert!(MISTRAL.accepts(known.get("allm-1-0")));
        assert!(IdRule::Any { max: 3 }.accepts("äöü"));
    }

    /// What a provider gave goes back to it as it came, however it looks.
    #[test]
    fn p104_an_id_of_its_own() {
        let long = "chatcmpl-tool-".repeat(5);
        let call = ToolCall {
            wire_id: Some(long.clone().into()),
            ..ToolCall::new(long.as_str(), "x", "{}")
        };
        let mut asked = Message::assistant("").with_tool_calls(vec![call]);
        asked.origin = Some(
            Origin {
                provider: "me".into(),
                wire: "wire".to_owned(),
                model: None,
                response_id: None,
            }
            .into(),
        );
        let messages: Messages = vec![asked, Message::tool_result(long.as_str(), "")].into();
        for rule in [CHAT, MISTRAL, ANTHROPIC] {
            let known = Ids::of(&messages, rule, &"me".into(), "wire");
            assert_eq!(known.get(&long), long);
            for (provider, wire) in [("me", "other"), ("other", "wire")] {
                let known = Ids::of(&messages, rule, &provider.into(), wire);
                assert!(rule.accepts(known.get(&long)), "{provider} {wire}");
            }
        }
    }

    /// An id that looks like the replacement of another one is not taken twice.
    #[test]
    fn replacements_do_not_collide() {
        let alone = messages(&["a.b"]);
        let first = ids(&alone, MISTRAL).get("a.b").to_owned();
        let both = messages(&["a.b", &first]);
        let known = ids(&both, MISTRAL);
        assert_eq!(known.get(&first), first);
        assert_ne!(known.get("a.b"), first);
        assert!(MISTRAL.accepts(known.get("a.b")));
        // One character leaves 62 replacements for 60 ids.
        let names: Vec<String> = (0..60).map(|n| format!("id-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let many = messages(&names);
        let known = ids(&many, IdRule::Alphanumeric { length: 1 });
        let set: BTreeSet<&str> = names.iter().map(|name| known.get(name)).collect();
        assert_eq!(set.len(), 60);
    }
}
