//! The types of JSON, and sets of them.

use crate::number::Exact;
use crate::view::View;

/// The names that `type` knows, in the order in which messages tell them.
const NAMES: [(&str, &str); 7] = [
    ("string", "a string"),
    ("integer", "an integer"),
    ("number", "a number"),
    ("boolean", "a boolean"),
    ("array", "an array"),
    ("object", "an object"),
    ("null", "null"),
];

const STRING: u8 = 1;
const INTEGER: u8 = 1 << 1;
const NUMBER: u8 = 1 << 2;
const BOOLEAN: u8 = 1 << 3;
const ARRAY: u8 = 1 << 4;
const OBJECT: u8 = 1 << 5;
const NULL: u8 = 1 << 6;
/// In draft 4, 1.0 is no integer.
const WRITTEN_AS_INTEGER: u8 = 1 << 7;

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    /// The set of one type. `None` if there is no type of this name.
    pub(crate) fn named(name: &str) -> Option<Types> {
        let position = NAMES.iter().position(|(known, _)| *known == name)?;
        Some(Types(1 << position))
    }

    pub(crate) fn with(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// The same set, where only numbers without a point or exponent are integers.
    pub(crate) fn integers_as_written(self) -> Types {
        Types(self.0 | WRITTEN_AS_INTEGER)
    }

    pub(crate) fn is_only_null(self) -> bool {
        self.0 & !WRITTEN_AS_INTEGER == NULL
    }

    pub(crate) fn accepts(self, view: View<'_>) -> bool {
        let has = |bit| self.0 & bit != 0;
        match view {
            View::Null => has(NULL),
            View::Bool(_) => has(BOOLEAN),
            View::Text(_) => has(STRING),
            View::Array(_) => has(ARRAY),
            View::Object(_) => has(OBJECT),
            View::Number(_) if has(NUMBER) => true,
            View::Number(number) if has(INTEGER) => {
                // How a number of 64 bits or more was written is not known any more.
                let exact = Exact::of(number);
                let written = !number.is_f64() || exact.exceeds_63_bits();
                exact.is_integer() && (written || !has(WRITTEN_AS_INTEGER))
            }
            View::Number(_) => false,
        }
    }

    /// "a string or null"
    pub(crate) fn phrase(self) -> String {
        // Whoever may give a number need not hear of integers.
        let hidden = if self.0 & NUMBER != 0 { INTEGER } else { 0 };
        let phrases: Vec<&str> = NAMES
            .iter()
            .enumerate()
            .filter(|(position, _)| self.0 & !hidden & (1 << position) != 0)
            .map(|(_, (_, phrase))| *phrase)
            .collect();
        match phrases.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        }
    }
}
