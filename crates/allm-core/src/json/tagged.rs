//! Enums whose JSON is one object: the name of the variant under `type`, and beside it the fields of its payload.
//!
//! serde writes them well (`#[serde(tag = "type")]`) but reads them through a buffer that forgets the path of a fault.
//! [`tagged!`] gives the reading.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use super::tree;

/// The key of the variant's name.
pub(crate) const TAG: &str = "type";

/// Implements `Deserialize` for an enum that derives `Serialize` with `#[serde(tag = "type")]`.
///
/// Each payload is a struct that denies unknown fields; a variant without one takes no field but its `type`.
///
/// ```ignore
/// tagged!(Event { "text_delta" => TextDelta(TextDelta), "done" => Done });
/// ```
macro_rules! tagged {
    ($name:ident { $($(#[$when:meta])* $tag:literal => $variant:ident $(($payload:ty))?),+ $(,)? }) => {
        impl $crate::json::tagged::Tagged for $name {
            const NAME: &'static str = stringify!($name);
            const TAGS: &'static [&'static str] = &[$($(#[$when])* $tag),+];

            fn read<'de, A: ::serde::de::MapAccess<'de>>(
                tag: &'static str,
                fields: A,
            ) -> ::std::result::Result<Self, A::Error> {
                match tag {
                    $($(#[$when])* $tag => $crate::json::tagged::tagged!(@variant fields, $variant $(, $payload)?),)+
                    other => Err(::serde::de::Error::unknown_variant(other, <Self as $crate::json::tagged::Tagged>::TAGS)),
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::json::tagged::deserialize(deserializer)
            }
        }
    };
    (@variant $fields:ident, $variant:ident, $payload:ty) => {
        $crate::json::tagged::payload::<$payload, A>($fields).map(Self::$variant)
    };
    (@variant $fields:ident, $variant:ident) => {
        $crate::json::tagged::payload::<$crate::json::tagged::NoFields, A>($fields)
            .map(|_| Self::$variant)
    };
}

pub(crate) use tagged;

/// What [`tagged!`] says of an enum.
pub(crate) trait Tagged: Sized {
    /// The name of the enum, for messages.
    const NAME: &'static str;
    /// The names of the variants.
    const TAGS: &'static [&'static str];

    /// Reads the variant of a name out of the fields beside it.
    fn read<'de, A: MapAccess<'de>>(tag: &'static str, fields: A) -> Result<Self, A::Error>;
}

/// The payload of a variant that has none.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoFields {}

pub(crate) fn payload<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    fields: A,
) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(fields))
}

/// Reads a tagged enum. Our own trees hand out the tag first. Any other source that does not is made a tree of: all payloads
/// would have to be read from the fields before the tag and after it alike, and code for that is as large as all other
/// reading together.
pub(crate) fn deserialize<'de, T: Tagged, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_struct(T::NAME, &[TAG], TaggedVisitor(PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as an object with a `{TAG}`", T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<T, A::Error> {
        let mut before = Vec::<(String, Value)>::new();
        while let Some(key) = fields.next_key_seed(KeyOrTag)? {
            let Some(key) = key else {
                let tag = fields.next_value_seed(Name(T::TAGS))?;
                if before.is_empty() {
                    return T::read(tag, fields);
                }
                while let Some(field) = fields.next_entry()? {
                    before.push(field);
                }
                return tree::variant(tag, &before).map_err(|fault| Error::custom(fault.message()));
            };
            before.push((key, fields.next_value()?));
        }
        Err(Error::missing_field(TAG))
    }
}

/// A key; `None` for that of the tag, which is most often the only one that is read and need not be copied.
struct KeyOrTag;

impl<'de> DeserializeSeed<'de> for KeyOrTag {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOrTag {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok((text != TAG).then(|| text.to_owned()))
    }
}

/// One of a set of names.
struct Name(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<&'static str, E> {
        let name = self.0.iter().find(|name| **name == text);
        name.copied()
            .ok_or_else(|| E::unknown_variant(text, self.0))
    }
}
