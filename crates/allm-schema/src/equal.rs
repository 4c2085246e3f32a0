//! When two values are the same, and whether all items of a list differ.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use crate::number::Exact;
use crate::view::View;

/// Values nested deeper than this are not told apart below it. Text that `serde_json` reads is never
/// nested so deep.
const MAX_DEPTH: usize = 512;

/// From so many items on, hashes are compared first.
const FEW: usize = 8;

/// Whether a value is the same as one of the schema: numbers by what they are worth.
pub(crate) fn equals(view: View<'_>, value: &Value) -> bool {
    same(view, View::of(value), 0)
}

fn same(a: View<'_>, b: View<'_>, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    match (a, b) {
        (View::Null, View::Null) => true,
        (View::Bool(a), View::Bool(b)) => a == b,
        (View::Text(a), View::Text(b)) => a == b,
        (View::Number(a), View::Number(b)) => Exact::of(a).compare(Exact::of(b)) == Ordering::Equal,
        (View::Array(a), View::Array(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| same(View::of(a), View::of(b), depth + 1))
        }
        (View::Object(a), View::Object(b)) => same_objects(a, b, depth),
        _ => false,
    }
}

fn same_objects(a: &Map<String, Value>, b: &Map<String, Value>, depth: usize) -> bool {
    a.len() == b.len()
        && a.iter().all(|(name, a)| {
            b.get(name)
                .is_some_and(|b| same(View::of(a), View::of(b), depth + 1))
        })
}

/// The first item that is the same as one before it.
pub(crate) fn first_repeated(items: &[Value]) -> Option<usize> {
    let equal = |a: &Value, b: &Value| same(View::of(a), View::of(b), 0);
    if items.len() < FEW {
        return items.iter().enumerate().position(|(index, item)| {
            items.iter().take(index).any(|earlier| equal(earlier, item))
        });
    }
    let mut hashed: Vec<(u64, usize, &Value)> = items
        .iter()
        .enumerate()
        .map(|(index, item)| (hash_of(item, 0), index, item))
        .collect();
    hashed.sort_unstable_by_key(|(hash, index, _)| (*hash, *index));
    hashed
        .chunk_by(|a, b| a.0 == b.0)
        .flat_map(|same_hash| {
            same_hash
                .iter()
                .enumerate()
                .filter_map(|(position, (_, index, item))| {
                    same_hash
                        .iter()
                        .take(position)
                        .any(|(_, _, earlier)| equal(earlier, item))
                        .then_some(*index)
                })
        })
        .min()
}

/// The same for values that are the same, in whatever order their properties stand.
fn hash_of(value: &Value, depth: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(bool) => (1_u8, bool).hash(&mut hasher),
        Value::String(text) => (2_u8, text).hash(&mut hasher),
        Value::Number(number) => match Exact::of(number) {
            Exact::Integer(integer) => (3_u8, integer).hash(&mut hasher),
            Exact::Float(float) => (4_u8, float.to_bits()).hash(&mut hasher),
        },
        Value::Array(items) => {
            (5_u8, items.len()).hash(&mut hasher);
            for item in items {
                hash_of(item, depth + 1).hash(&mut hasher);
            }
        }
        Value::Object(object) => {
            let mut sum = 0_u64;
            for (name, value) in object {
                let mut entry = DefaultHasher::new();
                (name, hash_of(value, depth + 1)).hash(&mut entry);
                sum = sum.wrapping_add(entry.finish());
            }
            (6_u8, object.len(), sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}
