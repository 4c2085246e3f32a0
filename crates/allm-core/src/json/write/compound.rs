//! Arrays and objects on their way out, each noting its own step when a part of it fails.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde_json::Value;

use super::{Notes, Part};

/// An array or an object that is being written.
pub(super) struct Compound<'a, C> {
    inner: C,
    notes: &'a Notes,
    depth: usize,
    /// The variant around it, one step of the path by itself.
    variant: Option<&'static str>,
    next: usize,
    /// The key of the entry that is being written.
    key: Option<String>,
}

impl<'a, C> Compound<'a, C> {
    pub(super) const fn new(
        inner: C,
        notes: &'a Notes,
        depth: usize,
        variant: Option<&'static str>,
    ) -> Self {
        Self {
            inner,
            notes,
            depth,
            variant,
            next: 0,
            key: None,
        }
    }

    /// Writes a part and, if it fails, notes where.
    fn write<T: ?Sized, E>(
        &mut self,
        value: &T,
        segment: impl FnOnce(&mut Self) -> crate::path::Segment,
        write: impl FnOnce(&mut C, &Part<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let part = Part {
            value,
            notes: self.notes,
            depth: self.depth,
        };
        let written = write(&mut self.inner, &part);
        if written.is_err() {
            let segment = segment(self);
            self.notes.within(segment);
            if let Some(variant) = self.variant {
                self.notes.within(variant);
            }
        }
        self.next += 1;
        written
    }
}

macro_rules! entries {
    ($($trait:ident::$method:ident),+ $(,)?) => {
        $(impl<C: $trait> $trait for Compound<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
                self.write(value, |this| this.next.into(), |inner, part| inner.$method(part))
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        })+
    };
}

entries! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

macro_rules! fields {
    ($($trait:ident),+ $(,)?) => {
        $(impl<C: $trait> $trait for Compound<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), C::Error> {
                self.write(value, |_| key.into(), |inner, part| inner.serialize_field(key, part))
            }

            fn skip_field(&mut self, key: &'static str) -> Result<(), C::Error> {
                self.inner.skip_field(key)
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        })+
    };
}

fields!(SerializeStruct, SerializeStructVariant);

/// The text of a key. A key that has none fails in the serializer itself.
fn name<K: Serialize + ?Sized>(key: &K) -> String {
    match serde_json::to_value(key) {
        Ok(Value::String(name)) => name,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

impl<C: SerializeMap> SerializeMap for Compound<'_, C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), C::Error> {
        self.key = Some(name(key));
        self.inner.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        self.write(
            value,
            |this| this.key.take().unwrap_or_default().into(),
            |inner, part| inner.serialize_value(part),
        )
    }

    fn serialize_entry<K: Serialize + ?Sized, T: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &T,
    ) -> Result<(), C::Error> {
        self.write(
            value,
            |_| name(key).into(),
            |inner, part| inner.serialize_entry(key, part),
        )
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.inner.end()
    }
}
