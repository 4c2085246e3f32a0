//! Arrays on their way out.

use serde::ser::{
    Serialize, SerializeSeq, SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
};

use super::Writer;
use crate::json::fault::Fault;

/// An array that is being written.
pub(super) struct Array<'a> {
    writer: &'a mut Writer,
    /// The variant whose content it is.
    variant: Option<&'static str>,
    next: usize,
}

impl<'a> Array<'a> {
    pub(super) fn open(
        writer: &'a mut Writer,
        variant: Option<&'static str>,
    ) -> Result<Self, Fault> {
        writer.enter()?;
        writer.out.push(b'[');
        Ok(Self {
            writer,
            variant,
            next: 0,
        })
    }

    /// The writer, for the next entry. What does not depend on the type of a value is not built for each of them.
    #[inline(never)]
    fn begin(&mut self) -> &mut Writer {
        if self.next > 0 {
            self.writer.out.push(b',');
        }
        self.writer
    }

    /// The entry was written, or was not.
    #[inline(never)]
    fn ended(&mut self, written: Result<(), Fault>) -> Result<(), Fault> {
        if let Err(fault) = written {
            let fault = fault.within(self.next);
            return Err(match self.variant {
                Some(variant) => fault.within(variant),
                None => fault,
            });
        }
        self.next += 1;
        Ok(())
    }

    fn close(self) {
        self.writer.out.push(b']');
        self.writer.depth -= 1;
        if self.variant.is_some() {
            self.writer.close_variant();
        }
    }
}

macro_rules! entries {
    ($($trait:ident::$method:ident),+ $(,)?) => {
        $(impl $trait for Array<'_> {
            type Ok = ();
            type Error = Fault;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                let written = value.serialize(self.begin());
                self.ended(written)
            }

            fn end(self) -> Result<(), Fault> {
                self.close();
                Ok(())
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
