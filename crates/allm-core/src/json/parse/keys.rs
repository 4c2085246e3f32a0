//! Which keys an object has had.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::json::node::Field;

/// Up to here a look at every field is quicker than a set.
const FEW: usize = 16;

/// The keys of an object with many fields; with few, the fields tell.
#[derive(Default)]
pub(super) struct Keys<'a>(HashSet<Cow<'a, str>>);

impl<'a> Keys<'a> {
    /// Whether no field of the object has had this key. `fields` are those read so far.
    #[expect(clippy::ptr_arg, reason = "a borrowed key is cloned for nothing")]
    pub(super) fn is_new(&mut self, key: &Cow<'a, str>, fields: &[Field<'a>]) -> bool {
        if fields.len() < FEW {
            return fields.iter().all(|(other, _)| other != key);
        }
        if self.0.is_empty() {
            self.0.extend(fields.iter().map(|(other, _)| other.clone()));
        }
        self.0.insert(key.clone())
    }
}
