//! The keys of maps: texts, and what has a text of its own.

use std::fmt::Display;

use serde::ser::{Error as _, Impossible, Serialize, Serializer};

use super::{Writer, foreign, not_finite};
use crate::json::fault::Fault;

/// Writes a key.
pub(super) struct Key<'a>(pub(super) &'a mut Writer);

impl Key<'_> {
    fn quoted(self, text: &str) -> Result<(), Fault> {
        self.0.serialize_str(text)
    }
}

fn no_text() -> Fault {
    Fault::custom("key must be a string")
}

macro_rules! shown {
    ($($method:ident($type:ty)),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), Fault> {
            self.0.collect_str(&value)
        })+
    };
}

macro_rules! without_text {
    ($($method:ident($($type:ty),*) -> $ok:ty),+ $(,)?) => {
        $(fn $method(self, $(_: $type),*) -> Result<$ok, Fault> {
            Err(no_text())
        })+
    };
}

impl Serializer for Key<'_> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Impossible<(), Fault>;
    type SerializeTuple = Impossible<(), Fault>;
    type SerializeTupleStruct = Impossible<(), Fault>;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = Impossible<(), Fault>;
    type SerializeStruct = Impossible<(), Fault>;
    type SerializeStructVariant = Impossible<(), Fault>;

    shown! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_i128(i128), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
        serialize_u128(u128), serialize_char(char),
    }

    without_text! {
        serialize_bytes(&[u8]) -> (),
        serialize_none() -> (),
        serialize_unit() -> (),
        serialize_unit_struct(&'static str) -> (),
        serialize_seq(Option<usize>) -> Self::SerializeSeq,
        serialize_tuple(usize) -> Self::SerializeTuple,
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct,
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant,
        serialize_map(Option<usize>) -> Self::SerializeMap,
        serialize_struct(&'static str, usize) -> Self::SerializeStruct,
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Fault> {
        if !value.is_finite() {
            return Err(not_finite());
        }
        self.quoted(&foreign(&value)?)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Fault> {
        if !value.is_finite() {
            return Err(not_finite());
        }
        self.quoted(&foreign(&value)?)
    }

    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        self.quoted(value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Fault> {
        self.quoted(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Fault> {
        Err(no_text())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Fault> {
        self.0.collect_str(value)
    }
}
