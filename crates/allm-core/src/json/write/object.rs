//! Objects on their way out, and the order of their fields.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, SerializeStructVariant};

use super::key::Key;
use super::{Form, Writer};
use crate::error::JsonReason;
use crate::json::canonical;
use crate::json::fault::Fault;
use crate::json::limits::Limits;
use crate::json::node::Node;
use crate::json::parse::{self, Duplicates};

/// An object that is being written.
pub(super) struct Object<'a> {
    writer: &'a mut Writer,
    kind: Kind,
    /// Where its fields begin in the text.
    start: usize,
    /// Where they begin among those of all objects.
    first: usize,
    /// The field that is being written.
    field: Field,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The content of this variant.
    Variant(&'static str),
    /// No object, but text that is JSON already.
    Raw,
}

/// Where a field stands in the text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Field {
    start: usize,
    /// Behind the quote that ends the key.
    key_end: usize,
    end: usize,
    /// What tells most keys apart at a glance.
    first: First,
}

/// The first bytes of a key that has no escapes, in their order; zeros where it is shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct First(u64);

impl First {
    fn of(key: &[u8]) -> Self {
        let mut first = [0; size_of::<u64>()];
        for (to, from) in first.iter_mut().zip(key) {
            *to = *from;
        }
        Self(u64::from_be_bytes(first))
    }
}

impl Field {
    fn text(self, out: &[u8]) -> &[u8] {
        out.get(self.start..self.end).unwrap_or_default()
    }

    /// The key with its quotes, as it is written.
    fn quoted(self, out: &[u8]) -> &[u8] {
        out.get(self.start..self.key_end).unwrap_or_default()
    }

    fn key(self, out: &[u8]) -> Cow<'_, str> {
        let text = str::from_utf8(self.quoted(out)).unwrap_or_default();
        match parse::tree(text, Limits::OWN, Duplicates::Keep) {
            Ok(Node::String(key)) => key,
            // A key is a string.
            _ => Cow::default(),
        }
    }

    /// The key as it is written, without its quotes.
    fn bare(self, out: &[u8]) -> &[u8] {
        let bare = self.start + 1..self.key_end.saturating_sub(1);
        out.get(bare).unwrap_or_default()
    }

    /// By code points, which is by the bytes of UTF-8.
    fn compare(self, other: Self, out: &[u8]) -> Ordering {
        // What stands behind a shorter key is less than any byte of a longer one, or the same.
        let at_a_glance = self.first.cmp(&other.first);
        at_a_glance.then_with(|| self.compare_whole(other, out))
    }

    fn compare_whole(self, other: Self, out: &[u8]) -> Ordering {
        let (one, two) = (self.bare(out), other.bare(out));
        // What is escaped has another place than what it stands for.
        if one.contains(&b'\\') || two.contains(&b'\\') {
            return self.key(out).cmp(&other.key(out));
        }
        one.cmp(two)
    }
}

impl<'a> Object<'a> {
    pub(super) fn open(
        writer: &'a mut Writer,
        variant: Option<&'static str>,
    ) -> Result<Self, Fault> {
        writer.enter()?;
        writer.out.push(b'{');
        Ok(Self::new(
            writer,
            variant.map_or(Kind::Plain, Kind::Variant),
        ))
    }

    /// In place of an object, text that is JSON already.
    pub(super) fn raw(writer: &'a mut Writer) -> Self {
        Self::new(writer, Kind::Raw)
    }

    fn new(writer: &'a mut Writer, kind: Kind) -> Self {
        Self {
            kind,
            start: writer.out.len(),
            first: writer.fields.len(),
            field: Field::default(),
            writer,
        }
    }

    /// A key comes next. What does not depend on the type of a value is not built for each of them.
    fn begin(&mut self) {
        let out = &mut self.writer.out;
        if out.len() > self.start {
            out.push(b',');
        }
        self.field.start = out.len();
    }

    /// The key was written.
    fn named(&mut self) {
        let out = &mut self.writer.out;
        self.field.key_end = out.len();
        if self.writer.form == Form::Canonical {
            let written = self.field.bare(out);
            self.field.first = match written.contains(&b'\\') {
                true => First::of(self.field.key(out).as_bytes()),
                false => First::of(written),
            };
        }
        out.push(b':');
    }

    /// The writer, for the value of this key.
    #[inline(never)]
    fn named_field(&mut self, key: &str) -> &mut Writer {
        if self.kind != Kind::Raw {
            self.begin();
            canonical::put_string(&mut self.writer.out, key);
            self.named();
        }
        self.writer
    }

    /// The value was written, or was not.
    #[inline(never)]
    fn ended(&mut self, written: Result<(), Fault>) -> Result<(), Fault> {
        if let Err(fault) = written {
            let key = self.field.key(&self.writer.out).into_owned();
            return Err(self.outside(fault.within(key)));
        }
        if self.kind == Kind::Raw {
            return self.unwrap();
        }
        if self.writer.form == Form::Canonical {
            self.field.end = self.writer.out.len();
            self.writer.fields.push(self.field);
        }
        Ok(())
    }

    /// Text that is JSON already came as a string.
    fn unwrap(&mut self) -> Result<(), Fault> {
        self.field.start = self.start;
        self.field.key_end = self.writer.out.len();
        let text = self.field.key(&self.writer.out).into_owned();
        self.writer.out.truncate(self.start);
        self.writer.raw(&text)
    }

    /// A fault in this object, seen from outside.
    fn outside(&self, fault: Fault) -> Fault {
        match self.kind {
            Kind::Variant(variant) => fault.within(variant),
            Kind::Plain | Kind::Raw => fault,
        }
    }

    fn close(mut self) -> Result<(), Fault> {
        if self.kind == Kind::Raw {
            return Ok(());
        }
        if self.writer.form == Form::Canonical {
            self.sort()?;
        }
        self.writer.out.push(b'}');
        self.writer.depth -= 1;
        if let Kind::Variant(_) = self.kind {
            self.writer.close_variant();
        }
        Ok(())
    }

    /// Puts the fields into the order of their keys.
    fn sort(&mut self) -> Result<(), Fault> {
        let Writer {
            out, fields, spare, ..
        } = &mut *self.writer;
        let own = fields.get_mut(self.first..).unwrap_or_default();
        if !own.is_sorted_by(|one, two| one.compare(*two, out).is_lt()) {
            own.sort_unstable_by(|one, two| one.compare(*two, out));
            let mut last: Option<Field> = None;
            spare.clear();
            for field in own {
                if let Some(last) = last {
                    if last.compare(*field, out).is_eq() {
                        let message = "the key stands twice in its object";
                        let fault = Fault::new(JsonReason::Malformed, message);
                        let key = field.key(out).into_owned();
                        return Err(self.outside(fault.within(key)));
                    }
                    spare.push(b',');
                }
                spare.extend_from_slice(field.text(out));
                last = Some(*field);
            }
            out.truncate(self.start);
            out.extend_from_slice(spare);
        }
        self.writer.fields.truncate(self.first);
        Ok(())
    }
}

macro_rules! fields {
    ($($trait:ident),+ $(,)?) => {
        $(impl $trait for Object<'_> {
            type Ok = ();
            type Error = Fault;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Fault> {
                let written = value.serialize(self.named_field(key));
                self.ended(written)
            }

            fn end(self) -> Result<(), Fault> {
                self.close()
            }
        })+
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Fault> {
        self.begin();
        let named = key.serialize(Key(self.writer));
        named.map_err(|fault| self.outside(fault))?;
        self.named();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let written = value.serialize(&mut *self.writer);
        self.ended(written)
    }

    fn end(self) -> Result<(), Fault> {
        self.close()
    }
}
