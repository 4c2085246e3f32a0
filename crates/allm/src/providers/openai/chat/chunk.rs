//! What is read of a chunk, or of a whole answer, which has the same form.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bytestring::ByteString;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::lenient::{Count, List, Object, Text, anything, nothing_of};

/// A chunk. What hardly any chunk has is in a box: a chunk is moved often while it is read.
#[derive(serde::Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow, default)]
    pub(super) choices: Choices<'a>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) x_groq: Object<Box<Groq<'a>>>,
    #[serde(borrow, default)]
    pub(super) system_fingerprint: Text<'a>,
    #[serde(borrow, default)]
    pub(super) service_tier: Text<'a>,
    #[serde(borrow, default)]
    pub(super) provider: Text<'a>,
    #[serde(borrow, default)]
    pub(super) citations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) search_results: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) timings: Option<&'a RawValue>,
    /// Nobody reads it, and it is another one in every chunk.
    #[serde(borrow, default)]
    pub(super) obfuscation: Option<&'a RawValue>,
}

/// What Groq puts around.
#[derive(serde::Deserialize)]
pub(super) struct Groq<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// The choices, of which one is read.
#[derive(Default)]
pub(super) struct Choices<'a> {
    /// Whether there is such a list at all.
    pub(super) present: bool,
    pub(super) first: Option<Choice<'a>>,
    /// Whether there are more.
    pub(super) others: bool,
}

#[derive(serde::Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Count,
    #[serde(borrow, default)]
    pub(super) delta: Object<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Object<Box<Delta<'a>>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Text<'a>,
    #[serde(borrow, default)]
    pub(super) finish_details: Object<FinishDetails<'a>>,
    #[serde(borrow, default)]
    pub(super) native_finish_reason: Text<'a>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
pub(super) struct FinishDetails<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
}

/// What a choice adds, or holds.
#[derive(serde::Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_calls: List<Object<CallDelta<'a>>>,
    #[serde(borrow, default)]
    pub(super) function_call: Object<Box<Function<'a>>>,
    #[serde(borrow, default)]
    pub(super) annotations: Option<&'a RawValue>,
}

/// A piece of a call.
#[derive(serde::Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    pub(super) index: Count,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) function: Object<Function<'a>>,
}

#[derive(Default, serde::Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Arguments<'a>,
}

/// Text, or a list of pieces.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Nothing,
    Text(Text<'a>),
    List(Vec<Object<Piece<'a>>>),
}

/// An element of a content list.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Content<'a>,
}

impl Content<'_> {
    /// All text in it, joined.
    pub(super) fn flat(&self, frame: &ByteString) -> ByteString {
        match self {
            Self::Nothing => ByteString::new(),
            Self::Text(text) => text.slice_of(frame),
            Self::List(pieces) => {
                let texts = pieces.iter().filter_map(|piece| piece.0.as_ref());
                texts
                    .map(|piece| piece.text.str())
                    .collect::<String>()
                    .into()
            }
        }
    }
}

/// Arguments as text; an object in place of one is written compactly.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a>(pub(super) Text<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = Choices<'a>;

            anything!('de, visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
            nothing_of!(unit);
            nothing_of!(map);

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Choices<'a>, A::Error> {
                let mut choices = Choices {
                    present: true,
                    ..Choices::default()
                };
                while let Some(choice) = seq.next_element::<Object<Choice<'a>>>()? {
                    match choice.0 {
                        None => {}
                        Some(choice)
                            if choices.first.is_none() && choice.index.0.unwrap_or(0) == 0 =>
                        {
                            choices.first = Some(choice);
                        }
                        Some(_) => choices.others = true,
                    }
                }
                Ok(choices)
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = Content<'a>;

            anything!('de, visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));
            nothing_of!(unit);
            nothing_of!(map);

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'a>, E> {
                Ok(Content::Text(Text(Some(Cow::Borrowed(text)))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Content<'a>, E> {
                Ok(Content::Text(Text(Some(Cow::Owned(text.to_owned())))))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'a>, A::Error> {
                let mut pieces = Vec::new();
                while let Some(piece) = seq.next_element()? {
                    pieces.push(piece);
                }
                Ok(Content::List(pieces))
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = Arguments<'a>;

            anything!('de, visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));
            nothing_of!(unit);
            nothing_of!(seq);

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Arguments<'a>, E> {
                Ok(Arguments(Text(Some(Cow::Borrowed(text)))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Arguments<'a>, E> {
                Ok(Arguments(Text(Some(Cow::Owned(text.to_owned())))))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arguments<'a>, A::Error> {
                let object = Value::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Arguments(Text(Some(Cow::Owned(object.to_string())))))
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}
