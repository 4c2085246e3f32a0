//! What the checks of a schema have looked at.

use std::collections::HashSet;

/// The properties and items of one value that `unevaluatedProperties` and `unevaluatedItems` leave alone.
#[derive(Default)]
pub(super) struct Evaluated<'v> {
    pub(super) all_properties: bool,
    pub(super) properties: HashSet<&'v str>,
    /// How many items from the start. All, if it is the greatest number.
    pub(super) first_items: usize,
    pub(super) items: HashSet<usize>,
}

impl Evaluated<'_> {
    pub(super) fn has_property(&self, name: &str) -> bool {
        self.all_properties || self.properties.contains(name)
    }

    pub(super) fn has_item(&self, index: usize) -> bool {
        index < self.first_items || self.items.contains(&index)
    }

    pub(super) fn note_first_items(&mut self, count: usize) {
        self.first_items = self.first_items.max(count);
    }
}

impl<'v> Evaluated<'v> {
    pub(super) fn merge(&mut self, other: Evaluated<'v>) {
        self.all_properties |= other.all_properties;
        self.properties.extend(other.properties);
        self.note_first_items(other.first_items);
        self.items.extend(other.items);
    }
}
