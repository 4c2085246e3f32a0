//! Canonical JSON: one byte form per value, for hashes and keys.
//!
//! Keys sorted by code point, no spaces, the shortest escapes. Integers exact; a float with an integral value up to
//! 2^53 is written as that integer, so that `1.0` is `1` and `-0.0` is `0`. Other floats have the fewest digits that read
//! back the same: plain if they have a fraction and are not below `0.00001`, else with an exponent, as `1.5e300`, `1e17`
//! and `1.25e-7`. Strings are not normalised.

use std::io::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::node::{Field, Node};
use super::plain::plain_length;
use super::write::{self, Form};
use crate::error::JsonError;

/// 2^53, up to which every integer is a float of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The least fraction that is written without an exponent.
const PLAIN: f64 = 0.00001;

/// The canonical JSON of a value: that of the text which the value writes.
///
/// # Errors
///
/// Those of [`value_to_vec`](super::value_to_vec), and `malformed` for a value that writes a key twice.
pub fn canonical<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, JsonError> {
    write::to_vec(value, Form::Canonical)
}

/// The canonical JSON of a tree.
#[must_use]
pub fn canonical_value(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, Node::from(value));
    out
}

pub(super) fn put(out: &mut Vec<u8>, node: Node<'_>) {
    // Writing to a vector cannot fail.
    let _ = match node {
        Node::Null => write!(out, "null"),
        Node::Bool(value) => write!(out, "{value}"),
        Node::Unsigned(number) => write!(out, "{number}"),
        Node::Signed(number) => write!(out, "{number}"),
        Node::Float(number) => return put_float(out, number),
        Node::String(text) => return put_string(out, &text),
        Node::Array(entries) => return put_array(out, entries),
        Node::Object(fields) => return put_object(out, fields),
    };
}

fn put_array(out: &mut Vec<u8>, entries: Vec<Node<'_>>) {
    out.push(b'[');
    for (index, entry) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        put(out, entry);
    }
    out.push(b']');
}

/// The order of UTF-8 bytes is the order of code points.
fn put_object(out: &mut Vec<u8>, mut fields: Vec<Field<'_>>) {
    fields.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    out.push(b'{');
    for (index, (key, value)) in fields.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        put_string(out, &key);
        out.push(b':');
        put(out, value);
    }
    out.push(b'}');
}

/// Laid out here and not by `serde_json`, whose float form has changed between its releases: keys and hashes are made of
/// these bytes.
pub(super) fn put_float(out: &mut Vec<u8>, float: f64) {
    let _ = if float.fract() == 0.0 && float.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "integral and at most 2^53")]
        let integer = float as i64;
        write!(out, "{integer}")
    } else if float.fract() != 0.0 && float.abs() >= PLAIN {
        write!(out, "{float}")
    } else {
        write!(out, "{float:e}")
    };
}

pub(super) fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((plain, after)) = rest.split_at_checked(plain_length(rest)) {
        out.extend_from_slice(plain);
        let Some((escaped, after)) = after.split_first() else {
            break;
        };
        rest = after;
        let short = match *escaped {
            b'"' => b'"',
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            control => {
                let _ = write!(out, "\\u{control:04x}");
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.push(b'"');
}
