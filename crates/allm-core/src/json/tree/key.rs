//! The keys of an object: names, and integers written as names.

use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::json::fault::Fault;

/// One key.
pub(super) struct Key<'a>(pub(super) &'a str);

/// An integer is taken only as it would be written, or `7` and `07` would be one key.
macro_rules! integer {
    ($($method:ident => $visit:ident($integer:ty)),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.0.parse::<$integer>() {
                Ok(number) if number.to_string() == self.0 => visitor.$visit(number),
                _ => visitor.visit_str(self.0),
            }
        })+
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0)
    }

    integer! {
        deserialize_i8 => visit_i64(i64), deserialize_i16 => visit_i64(i64),
        deserialize_i32 => visit_i64(i64), deserialize_i64 => visit_i64(i64),
        deserialize_u8 => visit_u64(u64), deserialize_u16 => visit_u64(u64),
        deserialize_u32 => visit_u64(u64), deserialize_u64 => visit_u64(u64),
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => visitor.visit_str(other),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        StrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}
