//! From a tree to a value, by way of serde.

mod access;
mod key;

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::fault::Fault;
use super::node::Node;
use super::tagged::{TAG, Tagged};
use access::{Entries, Fields, Variant};

/// Reads a value out of a tree.
pub(super) fn read<'de, T: Deserialize<'de>>(tree: Node<'de>) -> Result<T, Fault> {
    T::deserialize(Tree(tree))
}

/// Reads the variant of a name out of the fields beside it.
pub(super) fn variant<T: Tagged>(
    tag: &'static str,
    fields: &[(String, Value)],
) -> Result<T, Fault> {
    let nodes = fields
        .iter()
        .map(|(key, value)| (Cow::Borrowed(key.as_str()), Node::from(value)));
    T::read(tag, &mut Fields::new(nodes.collect()))
}

/// A tree that is taken apart.
///
/// Strict where `serde_json` is not: a struct is an object and never an array.
struct Tree<'a>(Node<'a>);

impl<'a> Tree<'a> {
    /// The fields of a struct that has these.
    #[inline(never)]
    fn fields(self, names: &[&str], expected: &dyn Expected) -> Result<Fields<'a>, Fault> {
        match self.0 {
            Node::Object(fields) if names == [TAG] => Ok(Fields::tag_first(fields)),
            Node::Object(fields) => Ok(Fields::new(fields)),
            _ => Err(self.refused(expected)),
        }
    }

    #[inline(never)]
    fn variant(self, expected: &dyn Expected) -> Result<Variant<'a>, Fault> {
        match self.0 {
            Node::String(name) => Ok(Variant::new(name, None)),
            Node::Object(mut fields) => match (fields.pop(), fields.len()) {
                (Some((name, content)), 0) => Ok(Variant::new(name, Some(content))),
                _ => Err(Fault::custom("expected an object with one key")),
            },
            _ => Err(self.refused(expected)),
        }
    }

    #[inline(never)]
    fn refused(&self, expected: &dyn Expected) -> Fault {
        let found = match &self.0 {
            Node::Null => Unexpected::Unit,
            Node::Bool(value) => Unexpected::Bool(*value),
            Node::Unsigned(number) => Unexpected::Unsigned(*number),
            Node::Signed(number) => Unexpected::Signed(*number),
            Node::Float(number) => Unexpected::Float(*number),
            Node::String(text) => Unexpected::Str(text),
            Node::Array(_) => Unexpected::Seq,
            Node::Object(_) => Unexpected::Map,
        };
        Fault::invalid_type(found, expected)
    }
}

impl<'de> Deserializer<'de> for Tree<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(value),
            Node::Unsigned(number) => visitor.visit_u64(number),
            Node::Signed(number) => visitor.visit_i64(number),
            Node::Float(number) => visitor.visit_f64(number),
            Node::String(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Node::String(Cow::Owned(text)) => visitor.visit_string(text),
            Node::Array(entries) => Entries::new(entries).visit(visitor),
            Node::Object(fields) => Fields::new(fields).visit(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.fields(names, &visitor)?.visit(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let mut variant = self.variant(&visitor)?;
        visitor.visit_enum(&mut variant)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}
