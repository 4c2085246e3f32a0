//! From a value to text, refusing what could not be read back.
//!
//! `serde_json` writes a float that is not finite as `null` and any depth. [`Checked`] stands before its serializer,
//! looks at floats and depth, and notes the path only once something has failed.

mod compound;

use std::cell::{Cell, RefCell};

use serde::ser::{Error, Serialize, Serializer};

use super::limits::MAX_DEPTH;
use crate::error::{JsonError, JsonReason};
use crate::path::Segment;
use compound::Compound;

/// Writes the text of a value.
pub(super) fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, JsonError> {
    let mut out = Vec::with_capacity(128);
    let notes = Notes::new();
    value
        .serialize(Checked::new(
            &mut serde_json::Serializer::new(&mut out),
            &notes,
        ))
        .map_err(|error| notes.into_error(&error))?;
    Ok(out)
}

/// What is known of a failure beside its message.
struct Notes {
    reason: Cell<JsonReason>,
    /// The steps to its place, from the inside out.
    trail: RefCell<Vec<Segment>>,
}

impl Notes {
    const fn new() -> Self {
        Self {
            reason: Cell::new(JsonReason::InvalidValue),
            trail: RefCell::new(Vec::new()),
        }
    }

    fn within(&self, segment: impl Into<Segment>) {
        self.trail.borrow_mut().push(segment.into());
    }

    fn into_error(self, error: &serde_json::Error) -> JsonError {
        let path = self.trail.into_inner().into_iter().rev().collect();
        JsonError::new(self.reason.get(), path, error.to_string())
    }
}

/// A serializer that checks what it hands on.
struct Checked<'a, S> {
    inner: S,
    notes: &'a Notes,
    depth: usize,
}

/// A part of a value, to be written through [`Checked`] whichever serializer takes it.
struct Part<'a, T: ?Sized> {
    value: &'a T,
    notes: &'a Notes,
    depth: usize,
}

impl<T: Serialize + ?Sized> Serialize for Part<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Checked {
            inner: serializer,
            notes: self.notes,
            depth: self.depth,
        })
    }
}

impl<'a, S: Serializer> Checked<'a, S> {
    const fn new(inner: S, notes: &'a Notes) -> Self {
        Self {
            inner,
            notes,
            depth: 0,
        }
    }

    const fn part<'b, T: ?Sized>(&self, value: &'b T, depth: usize) -> Part<'b, T>
    where
        'a: 'b,
    {
        Part {
            value,
            notes: self.notes,
            depth,
        }
    }

    /// Opens `levels` arrays or objects.
    fn compound<C>(
        self,
        levels: usize,
        variant: Option<&'static str>,
        open: impl FnOnce(S) -> Result<C, S::Error>,
    ) -> Result<Compound<'a, C>, S::Error> {
        let depth = self.depth + levels;
        if depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        Ok(Compound::new(open(self.inner)?, self.notes, depth, variant))
    }

    fn too_deep(&self) -> S::Error {
        self.notes.reason.set(JsonReason::TooDeep);
        S::Error::custom(format_args!("more than {MAX_DEPTH} levels of nesting"))
    }
}

/// Methods that are handed on as they are.
macro_rules! hand_on {
    ($($method:ident($type:ty)),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$method(value)
        })+
    };
}

const NOT_FINITE: &str = "a number that is not finite";

impl<'a, S: Serializer> Serializer for Checked<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Compound<'a, S::SerializeSeq>;
    type SerializeTuple = Compound<'a, S::SerializeTuple>;
    type SerializeTupleStruct = Compound<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Compound<'a, S::SerializeTupleVariant>;
    type SerializeMap = Compound<'a, S::SerializeMap>;
    type SerializeStruct = Compound<'a, S::SerializeStruct>;
    type SerializeStructVariant = Compound<'a, S::SerializeStructVariant>;

    hand_on! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_i128(i128), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
        serialize_u128(u128), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str),
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        if !value.is_finite() {
            return Err(S::Error::custom(NOT_FINITE));
        }
        self.inner.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        if !value.is_finite() {
            return Err(S::Error::custom(NOT_FINITE));
        }
        self.inner.serialize_f64(value)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let part = self.part(value, self.depth);
        self.inner.serialize_some(&part)
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let part = self.part(value, self.depth);
        self.inner.serialize_newtype_struct(name, &part)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        let part = self.part(value, self.depth + 1);
        self.inner
            .serialize_newtype_variant(name, index, variant, &part)
            .inspect_err(|_| self.notes.within(variant))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.compound(1, None, |inner| inner.serialize_seq(len))
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.compound(1, None, |inner| inner.serialize_tuple(len))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.compound(1, None, |inner| inner.serialize_tuple_struct(name, len))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.compound(2, Some(variant), |inner| {
            inner.serialize_tuple_variant(name, index, variant, len)
        })
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.compound(1, None, |inner| inner.serialize_map(len))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        self.compound(1, None, |inner| inner.serialize_struct(name, len))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.compound(2, Some(variant), |inner| {
            inner.serialize_struct_variant(name, index, variant, len)
        })
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}
