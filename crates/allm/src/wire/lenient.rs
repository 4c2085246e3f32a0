//! Fields of the wire, read without trust: a field of the wrong type counts as absent.
//!
//! One pass over the text, no tree of values, and texts without escapes are slices of it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bytestring::ByteString;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text, or nothing.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// The text where it stands in its frame, if it is there as it is and not empty.
    pub(crate) fn borrowed(&self) -> Option<&'a str> {
        match self.0 {
            Some(Cow::Borrowed(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The text, unless it is absent or empty.
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// The text, empty if it is absent.
    pub(crate) fn str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The text as a slice of the frame that it came in, where it is one.
    pub(crate) fn slice_of(&self, frame: &ByteString) -> ByteString {
        match &self.0 {
            None => ByteString::new(),
            Some(Cow::Borrowed(text)) => frame.slice_ref(text),
            Some(Cow::Owned(text)) => ByteString::from(text.as_str()),
        }
    }

    pub(crate) fn to_owned(&self) -> Option<String> {
        self.get().map(str::to_owned)
    }
}

/// A whole number that is not negative, or nothing. Texts of digits and floats without a fraction count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u64>);

/// An object of which a type reads what it knows, or nothing.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// A list; anything else is an empty one.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A visitor that takes any value and, of what its type cannot use, nothing.
macro_rules! anything {
    ($lifetime:lifetime) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("anything")
        }
    };
    ($lifetime:lifetime, $($name:ident($type:ty)),+ $(,)?) => {
        anything!($lifetime);
        $(
            fn $name<E>(self, _: $type) -> Result<Self::Value, E> {
                Ok(Self::Value::default())
            }
        )+
    };
}

macro_rules! nothing_of {
    (unit) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (seq) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

pub(crate) use {anything, nothing_of};

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = Text<'a>;

            anything!('de, visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));
            nothing_of!(unit);
            nothing_of!(map);
            nothing_of!(seq);

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'a>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'a>, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }

            fn visit_string<E>(self, text: String) -> Result<Text<'a>, E> {
                Ok(Text(Some(Cow::Owned(text))))
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Count;

            anything!('de, visit_bool(bool));
            nothing_of!(unit);
            nothing_of!(map);
            nothing_of!(seq);

            fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
                Ok(Count(Some(number)))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(number).ok()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Count, E> {
                Ok(Count(whole(number)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Count, E> {
                Ok(Count(text.trim().parse().ok()))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// A float as a count, where it is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole and in range"
)]
pub(crate) fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..9.0e15).contains(&number)).then_some(number as u64)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;

            anything!('de, visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
            nothing_of!(unit);
            nothing_of!(seq);

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|value| Object(Some(value)))
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = List<T>;

            anything!('de, visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
            nothing_of!(unit);
            nothing_of!(map);

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<List<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(List)
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Inner<'a> {
        #[serde(borrow, default)]
        text: Text<'a>,
        #[serde(default)]
        count: Count,
    }

    #[derive(Deserialize)]
    struct Outer<'a> {
        #[serde(borrow, default)]
        inner: Object<Inner<'a>>,
        #[serde(borrow, default)]
        list: List<Object<Inner<'a>>>,
    }

    const ODD: [&str; 8] = [
        "null",
        "true",
        "-1",
        "1.5",
        "99999999999999999999",
        "\"x\"",
        "[1]",
        "{\"a\": 1}",
    ];

    /// P35: a field of any other type is absent.
    #[test]
    fn p35_the_wrong_type_counts_as_absent() {
        for odd in ODD {
            let text = format!(
                r#"{{"inner": {{"text": {odd}, "count": {odd}, "more": {odd}}}, "list": {odd}}}"#
            );
            let outer: Outer<'_> = serde_json::from_str(&text).expect(odd);
            let inner = outer.inner.0.expect("an object");
            assert_eq!(inner.text.0.is_some(), odd == "\"x\"", "{odd}");
            assert_eq!(inner.count.0, None, "{odd}");
            assert_eq!(outer.list.0.len(), usize::from(odd == "[1]"));
            assert!(outer.list.0.iter().all(|inner| inner.0.is_none()));
            let text = format!(r#"{{"inner": {odd}}}"#);
            let outer: Outer<'_> = serde_json::from_str(&text).expect(odd);
            assert_eq!(outer.inner.0.is_some(), odd.starts_with('{'), "{odd}");
        }
    }

    #[test]
    fn counts() {
        for (text, count) in [("7", 7), ("7.0", 7), ("\"7\"", 7), ("0", 0)] {
            let read: Count = serde_json::from_str(text).expect(text);
            assert_eq!(read.0, Some(count), "{text}");
        }
    }

    #[test]
    fn a_text_is_a_slice_of_its_frame() {
        let frame = ByteString::from(r#"{"text": "plain"}"#);
        let inner: Inner<'_> = serde_json::from_str(&frame).expect("JSON");
        let slice = inner.text.slice_of(&frame);
        assert_eq!(slice, "plain");
        assert_eq!(slice.as_bytes().as_ptr(), frame.as_bytes()[10..].as_ptr());
        let frame = ByteString::from(r#"{"text": "a\nb"}"#);
        let inner: Inner<'_> = serde_json::from_str(&frame).expect("JSON");
        assert_eq!(inner.text.slice_of(&frame), "a\nb");
    }
}
