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
        match self.entries.len() {
            0 => Ok(value),
            left => Err(Fault::invalid_length(
                self.next + left,
                &format!("{} entries", self.next).as_str(),
            )),
        }
    }
}

impl<'de> SeqAccess<'de> for Entries<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(entry) = self.entries.next() else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        seed.deserialize(Tree(entry))
            .map(Some)
            .map_err(|fault| fault.within(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// The fields of an object.
pub(super) struct Fields<'a> {
    first: Option<Field<'a>>,
    fields: vec::IntoIter<Field<'a>>,
    /// The field whose key was handed out. The key stays here for the path of a fault.
    open: Option<Field<'a>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(fields: Vec<Field<'a>>) -> Self {
        Self {
            first: None,
            fields: fields.into_iter(),
            open: None,
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
        match self.first.or(self.open).or_else(|| self.fields.next()) {
            None => Ok(value),
            Some((key, _)) => Err(Fault::unknown_field(&key, &[]).within(key.into_owned())),
        }
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.first.take().or_else(|| self.fields.next()) else {
            return Ok(None);
        };
        let (key, _) = self.open.insert((key, value));
        seed.deserialize(Key(key))
            .map(Some)
            .map_err(|fault| fault.within(key.to_string()))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((key, value)) = self.open.take() else {
            return Err(Fault::custom("a value was asked for before its key"));
        };
        seed.deserialize(Tree(value))
            .map_err(|fault| fault.within(key.into_owned()))
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
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'de>), Fault> {
        match seed.deserialize(Key(&self.name)) {
            Ok(variant) => Ok((variant, Content(self))),
            // A bare name is a value; before content it is a key.
            Err(fault) if self.content.is_some() => Err(fault.within(self.name.into_owned())),
            Err(fault) => Err(fault),
        }
    }
}

/// What stands under the name of a variant.
pub(super) struct Content<'a>(Variant<'a>);

impl<'a> Content<'a> {
    fn read<T>(self, read: impl FnOnce(Tree<'a>) -> Result<T, Fault>) -> Result<T, Fault> {
        let Variant { name, content } = self.0;
        match content {
            Some(content) => read(Tree(content)).map_err(|fault| fault.within(name.into_owned())),
            None => Err(Fault::invalid_type(
                Unexpected::Str(&name),
                &"an object with one key",
            )),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.0.content {
            None | Some(Node::Null) => Ok(()),
            Some(_) => {
                Err(Fault::custom("expected a name without content")
                    .within(self.0.name.into_owned()))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.read(|tree| seed.deserialize(tree))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.read(|tree| tree.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.read(|tree| tree.deserialize_struct("", names, visitor))
    }
}
