//! Documents: values that stand alone and say what they are.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};

use super::fault::Fault;
use super::limits::Limits;
use super::node::{Field, Node};
use super::parse::{self, Duplicates};
use super::write::{self, Form};
use super::{tree, value};
use crate::error::{JsonError, JsonReason};
use crate::path::Path;

/// The number of the format, `v` in every document. It changes only with a written migration.
pub const FORMAT: u64 = 1;

/// The longest part of a foreign type name that a message repeats, in characters.
const SHOWN: usize = 64;

/// A value that can stand alone as `{"v":1,"type":"…","data":{…}}`.
///
/// The value itself must be written as an object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a document of its own",
    note = "nested values are read and written with `value_from_slice` and `value_to_vec`"
)]
pub trait Document: Serialize + DeserializeOwned {
    /// The name of the type, `type` in the document.
    const TYPE: &'static str;

    /// Checks what the types of the fields cannot say. Called after each reading.
    ///
    /// # Errors
    ///
    /// What is wrong; its path starts at this value.
    fn verify(&self) -> Result<(), JsonError> {
        Ok(())
    }
}

/// What a document says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The number of its format.
    pub v: u64,
    /// The name of its type.
    pub type_name: String,
}

#[derive(Serialize)]
struct Written<'a, T> {
    v: u64,
    #[serde(rename = "type")]
    type_name: &'static str,
    data: &'a T,
}

/// Writes a document: keys in the order of declaration, no spaces, the same bytes for the same value.
///
/// # Errors
///
/// `invalid_value` for a number that is not finite, for data that is not an object and for what a type refuses to
/// write, `too_deep` for more than [`MAX_DEPTH`](super::MAX_DEPTH) levels; each with the path.
pub fn to_vec<T: Document>(document: &T) -> Result<Vec<u8>, JsonError> {
    let bytes = write::to_vec(
        &Written {
            v: FORMAT,
            type_name: T::TYPE,
            data: document,
        },
        Form::Declared,
    )?;
    // `data` is last, so an object ends in two braces; no other value does.
    if !bytes.ends_with(b"}}") {
        return Err(not_an_object().within("data").into_error(""));
    }
    Ok(bytes)
}

/// [`to_vec`], as text.
///
/// # Errors
///
/// Those of [`to_vec`].
pub fn to_string<T: Document>(document: &T) -> Result<String, JsonError> {
    value::text(to_vec(document)?)
}

/// [`from_slice`] for a text.
///
/// # Errors
///
/// Those of [`from_slice`].
pub fn from_str<T: Document>(text: &str) -> Result<T, JsonError> {
    from_slice(text.as_bytes())
}

/// Reads a document within the usual [`Limits`].
///
/// # Errors
///
/// One of [`JsonReason`], with the path from the document's root: `data.messages[2].role`. A fault of the text itself
/// also has its line and column. Messages name fields and types, never content.
pub fn from_slice<T: Document>(bytes: &[u8]) -> Result<T, JsonError> {
    from_slice_with(bytes, Limits::default())
}

/// [`from_slice`] within given limits.
///
/// # Errors
///
/// Those of [`from_slice`].
pub fn from_slice_with<T: Document>(bytes: &[u8], limits: Limits) -> Result<T, JsonError> {
    let text = parse::text(bytes, limits)?;
    let document: T = parse::tree(text, limits, Duplicates::Refuse)
        .and_then(open::<T>)
        .map_err(|fault| fault.into_error(text))?;
    document.verify().map_err(|error| JsonError {
        path: error.path.below(&Path::from("data")),
        ..error
    })?;
    Ok(document)
}

/// What a document says of itself, whatever its type and version. Its data is checked for syntax only and not kept.
///
/// # Errors
///
/// Those of [`from_slice`] that concern text, `v` and the presence of `type`.
pub fn peek(bytes: &[u8]) -> Result<Envelope, JsonError> {
    let limits = Limits::default();
    let text = parse::text(bytes, limits)?;
    parse::surface(text, limits)
        .and_then(|tree| {
            let envelope = object(tree)?;
            Ok(Envelope {
                v: version(&envelope)?,
                type_name: type_name(&envelope, "a name")?.to_owned(),
            })
        })
        .map_err(|fault| fault.into_error(text))
}

/// The version is asked first, for a newer one may have another envelope.
fn open<T: Document>(tree: Node<'_>) -> Result<T, Fault> {
    let envelope = object(tree)?;
    let found = version(&envelope)?;
    if found > FORMAT {
        return Err(Fault::newer(found, FORMAT).within("v"));
    }
    let found = type_name(&envelope, T::TYPE)?;
    if found != T::TYPE {
        let shown: String = found.chars().take(SHOWN).collect();
        return Err(wrong_type(T::TYPE, &format!("{shown:?}")));
    }
    let mut data = None;
    for (key, node) in envelope {
        match key.as_ref() {
            "v" | "type" => {}
            "data" => data = Some(node),
            _ => {
                let message = "no such field, expected one of `v`, `type`, `data`";
                let fault = Fault::new(JsonReason::UnknownField, message);
                return Err(fault.within(key.into_owned()));
            }
        }
    }
    match data {
        None => Err(Fault::missing_field("data")),
        Some(data) => object(data)
            .and_then(|fields| tree::read(Node::Object(fields)))
            .map_err(|fault| fault.within("data")),
    }
}

fn object(tree: Node<'_>) -> Result<Vec<Field<'_>>, Fault> {
    match tree {
        Node::Object(fields) => Ok(fields),
        _ => Err(not_an_object()),
    }
}

fn not_an_object() -> Fault {
    Fault::new(JsonReason::InvalidValue, "expected an object")
}

fn get<'a, 'b>(envelope: &'b [Field<'a>], name: &str) -> Option<&'b Node<'a>> {
    let field = envelope.iter().find(|(key, _)| key == name);
    field.map(|(_, node)| node)
}

fn version(envelope: &[Field<'_>]) -> Result<u64, Fault> {
    let fault = match get(envelope, "v") {
        Some(Node::Unsigned(version @ 1..)) => return Ok(*version),
        Some(_) => Fault::new(JsonReason::InvalidValue, "expected a positive integer"),
        None => Fault::new(JsonReason::MissingVersion, "the document has no version"),
    };
    Err(fault.within("v"))
}

fn type_name<'a>(envelope: &'a [Field<'_>], expected: &str) -> Result<&'a str, Fault> {
    match get(envelope, "type") {
        Some(Node::String(name)) => Ok(name),
        Some(_) => Err(wrong_type(expected, "a value that is not a string")),
        None => Err(wrong_type(expected, "none")),
    }
}

fn wrong_type(expected: &str, found: &str) -> Fault {
    let message = format!("expected {expected:?}, found {found}");
    Fault::new(JsonReason::WrongType, message).within("type")
}
