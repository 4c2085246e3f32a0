//! Arrays, objects and variants of a tree, each putting its own step into the path of a fault.

use std::borrow::Cow;
use std::vec;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::Tree;
use super::key::Key;
use crate::json::fault::Fault;
use crate::json::node::{Field, Node};
use crate::json::tagged::TAG;

/// The entries of an array.
pub(super) struct Entries<'a> {
    entries: vec::IntoIter<Node<'a>>,
    next: usize,
}

impl<'a> Entries<'a> {
    pub(super) fn new(entries: Vec<Node<'a>>) -> Self {
        Self {
            entries: entries.into_iter(),
            next: 0,
        }
    }

    /// Hands all entries to the visitor, who may not leave any.
    pub(super) fn visit<V: Visitor<'a>>(mut self, visitor: V) -> Result<V::Value, Fault> {
        let value = visitor.visit_seq(&mut self)?;
        self.all_taken()?;
        Ok(value)
    }

    #[inline(never)]
    fn all_taken(&self) -> Result<(), Fault> {
        match self.entries.len() {
            0 => Ok(()),
            left => Err(Fault::invalid_length(
                self.next + left,
                &format!("{} entries", self.next).as_str(),
            )),
        }
    }

    #[inline(never)]
    fn next(&mut self) -> Option<Tree<'a>> {
        let entry = self.entries.next()?;
        self.next += 1;
        Some(Tree(entry))
    }

    /// A fault in the entry that was taken last.
    #[inline(never)]
    fn within(&self, fault: Fault) -> Fault {
        fault.within(self.next.saturating_sub(1))
    }
}

impl<'de> SeqAccess<'de> for Entries<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        match self.next() {
            None => Ok(None),
            Some(entry) => match seed.deserialize(entry) {
                Ok(value) => Ok(Some(value)),
                Err(fault) => Err(self.within(fault)),
            },
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// The fields of an object.
///
/// What does not depend on the type of a value is not built for each of them: here, and in arrays and variants.
pub(super) struct Fields<'a> {
    first: Option<Field<'a>>,
    fields: vec::IntoIter<Field<'a>>,
    /// The key that was handed out last. It stays here for the path of a fault.
    key: Cow<'a, str>,
    /// The value of that key, until it is asked for.
    value: Option<Node<'a>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(fields: Vec<Field<'a>>) -> Self {
        Self {
            first: None,
            fields: fields.into_iter(),
            key: Cow::Borrowed(""),
            value: None,
        }
    }

    /// The same, with the tag before all other fields.
    pub(super) fn tag_first(mut fields: Vec<Field<'a>>) -> Self {
        let tag = fields.iter().position(|(key, _)| key == TAG);
        Self {
            first: tag.map(|at| fields.remove(at)),
            ..Self::new(fields)
        }
    }

    /// Hands all fields to the visitor, who may not leave any.
    pub(super) fn visit<V: Visitor<'a>>(mut self, visitor: V) -> Result<V::Value, Fault> {
        let value = visitor.visit_map(&mut self)?;
        self.all_taken()?;
        Ok(value)
    }

    #[inline(never)]
    fn all_taken(&mut self) -> Result<(), Fault> {
        if self.value.is_none() && self.next().is_none() {
            return Ok(());
        }
        let fault = Fault::unknown_field(&self.key, &[]);
        Err(self.within(fault))
    }

    /// The next key.
    #[inline(never)]
    fn next(&mut self) -> Option<Key<'_>> {
        let next = self.first.take();
        let (key, value) = next.or_else(|| self.fields.next())?;
        self.key = key;
        self.value = Some(value);
        Some(Key(&self.key))
    }

    /// Its value.
    #[inline(never)]
    fn value(&mut self) -> Result<Tree<'a>, Fault> {
        let value = self.value.take();
        let missing = || Fault::custom("a value was asked for before its key");
        value.map(Tree).ok_or_else(missing)
    }

    /// A fault under that key.
    #[inline(never)]
    fn within(&self, fault: Fault) -> Fault {
        fault.within(self.key.to_string())
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        match self.next() {
            None => Ok(None),
            Some(key) => match seed.deserialize(key) {
                Ok(key) => Ok(Some(key)),
                Err(fault) => Err(self.within(fault)),
            },
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let value = self.value()?;
        match seed.deserialize(value) {
            Ok(value) => Ok(value),
            Err(fault) => Err(self.within(fault)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len() + usize::from(self.first.is_some()))
    }
}

/// A variant by its name, alone or with its content.
pub(super) struct Variant<'a> {
    name: Cow<'a, str>,
    content: Option<Node<'a>>,
}

impl<'a> Variant<'a> {
    pub(super) const fn new(name: Cow<'a, str>, content: Option<Node<'a>>) -> Self {
        Self { name, content }
    }

    /// What stands under the name.
    #[inline(never)]
    fn content(&mut self) -> Result<Tree<'a>, Fault> {
        match self.content.take() {
            Some(content) => Ok(Tree(content)),
            None => Err(Fault::invalid_type(
                Unexpected::Str(&self.name),
                &"an object with one key",
            )),
        }
    }

    /// A fault under the name.
    #[inline(never)]
    fn within(&self, fault: Fault) -> Fault {
        fault.within(self.name.to_string())
    }

    /// A fault of the name itself. Alone it is a value; before content it is a key.
    #[inline(never)]
    fn misnamed(&self, fault: Fault) -> Fault {
        match self.content {
            Some(_) => self.within(fault),
            None => fault,
        }
    }
}

impl<'de> EnumAccess<'de> for &mut Variant<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        match seed.deserialize(Key(&self.name)) {
            Ok(variant) => Ok((variant, self)),
            Err(fault) => Err(self.misnamed(fault)),
        }
    }
}

impl<'de> VariantAccess<'de> for &mut Variant<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content {
            None | Some(Node::Null) => Ok(()),
            Some(_) => Err(self.within(Fault::custom("expected a name without content"))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        let read = seed.deserialize(self.content()?);
        read.map_err(|fault| self.within(fault))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        let read = self.content()?.deserialize_tuple(len, visitor);
        read.map_err(|fault| self.within(fault))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let read = self.content()?.deserialize_struct("", names, visitor);
        read.map_err(|fault| self.within(fault))
    }
}
