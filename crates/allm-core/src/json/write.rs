//! From a value to text, refusing what could not be read back.
//!
//! `serde_json` writes a float that is not finite as `null`, any depth, and keys in the order in which they come. Something
//! that stands before its serializer could look at all that, but would be made once more for every type that is written,
//! beside what `serde_json` makes of it; so this is one serializer for both forms, and the same code for both.

mod array;
mod key;
mod object;

use std::fmt::{Display, Write as _};

use serde::ser::{Serialize, Serializer};

use super::canonical;
use super::fault::Fault;
use super::limits::{Limits, MAX_DEPTH};
use super::parse::{self, Duplicates};
use crate::error::{JsonError, JsonReason};
use array::Array;
use object::{Field, Object};

/// What keys and numbers look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Keys in the order of declaration, numbers as `serde_json` writes them.
    Declared,
    /// One form for each value.
    Canonical,
}

/// Writes the text of a value.
pub(super) fn to_vec<T: Serialize + ?Sized>(value: &T, form: Form) -> Result<Vec<u8>, JsonError> {
    // What is hashed is let go at once, so it may have room that it does not need.
    let (bytes, fields) = match form {
        Form::Declared => (128, 0),
        Form::Canonical => (1024, 32),
    };
    let mut writer = Writer {
        out: Vec::with_capacity(bytes),
        form,
        depth: 0,
        fields: Vec::with_capacity(fields),
        spare: Vec::new(),
        shown: String::new(),
    };
    let written = value.serialize(&mut writer);
    written.map_err(|fault| fault.into_error(""))?;
    Ok(writer.out)
}

/// What is written, and how far it has come.
struct Writer {
    out: Vec<u8>,
    form: Form,
    /// How many arrays and objects are open.
    depth: usize,
    /// In the canonical form: the fields of the objects that are open, those of the innermost last.
    fields: Vec<Field>,
    /// Room for fields that change places.
    spare: Vec<u8>,
    /// Room for what is written by way of `Display`.
    shown: String,
}

impl Writer {
    fn enter(&mut self) -> Result<(), Fault> {
        if self.depth >= MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels of nesting");
            return Err(Fault::new(JsonReason::TooDeep, message));
        }
        self.depth += 1;
        Ok(())
    }

    /// Opens the object around a variant.
    fn open_variant(&mut self, variant: &'static str) -> Result<(), Fault> {
        self.enter()?;
        self.out.push(b'{');
        canonical::put_string(&mut self.out, variant);
        self.out.push(b':');
        Ok(())
    }

    fn close_variant(&mut self) {
        self.depth -= 1;
        self.out.push(b'}');
    }

    /// Something that is JSON already.
    fn raw(&mut self, text: &str) -> Result<(), Fault> {
        match self.form {
            Form::Declared => self.out.extend_from_slice(text.as_bytes()),
            Form::Canonical => {
                let limits = Limits {
                    max_depth: MAX_DEPTH.saturating_sub(self.depth),
                    ..Limits::OWN
                };
                let node = parse::tree(text, limits, Duplicates::Refuse)?;
                canonical::put(&mut self.out, node);
            }
        }
        Ok(())
    }

    fn word(&mut self, word: &str) {
        self.out.extend_from_slice(word.as_bytes());
    }
}

fn not_finite() -> Fault {
    Fault::new(JsonReason::InvalidValue, "a number that is not finite")
}

/// What `serde_json` writes.
fn foreign(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(serde::ser::Error::custom)
}

macro_rules! integers {
    ($($method:ident($type:ty)),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), Fault> {
            self.word(itoa::Buffer::new().format(value));
            Ok(())
        })+
    };
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Array<'a>;
    type SerializeTuple = Array<'a>;
    type SerializeTupleStruct = Array<'a>;
    type SerializeTupleVariant = Array<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    integers! {
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
    }

    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        self.word(if value { "true" } else { "false" });
        Ok(())
    }

    /// The canonical form is that of the text, which no integer of 64 bits may hold.
    fn serialize_i128(self, value: i128) -> Result<(), Fault> {
        self.raw(itoa::Buffer::new().format(value))
    }

    fn serialize_u128(self, value: u128) -> Result<(), Fault> {
        self.raw(itoa::Buffer::new().format(value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), Fault> {
        if !value.is_finite() {
            return Err(not_finite());
        }
        self.raw(&foreign(&value)?)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Fault> {
        if !value.is_finite() {
            return Err(not_finite());
        }
        match self.form {
            Form::Declared => self.word(&foreign(&value)?),
            Form::Canonical => canonical::put_float(&mut self.out, value),
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        canonical::put_string(&mut self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Fault> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Fault> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        self.word("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Fault> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Fault> {
        self.serialize_str(variant)
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
        variant: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.open_variant(variant)?;
        let written = value.serialize(&mut *self);
        written.map_err(|fault| fault.within(variant))?;
        self.close_variant();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Array<'a>, Fault> {
        Array::open(self, None)
    }

    fn serialize_tuple(self, _: usize) -> Result<Array<'a>, Fault> {
        Array::open(self, None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Array<'a>, Fault> {
        Array::open(self, None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Array<'a>, Fault> {
        self.open_variant(variant)?;
        Array::open(self, Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, Fault> {
        Object::open(self, None)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Object<'a>, Fault> {
        // Numbers of any length, and text that is JSON already.
        if name.starts_with("$serde_json::private::") {
            return Ok(Object::raw(self));
        }
        Object::open(self, None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'a>, Fault> {
        self.open_variant(variant)?;
        Object::open(self, Some(variant))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Fault> {
        self.shown.clear();
        if write!(self.shown, "{value}").is_err() {
            return Err(serde::ser::Error::custom("it cannot be shown as text"));
        }
        canonical::put_string(&mut self.out, &self.shown);
        Ok(())
    }
}
