//! The checks of arrays.

use serde_json::Value;

use super::{Noted, Walk};
use crate::message;
use crate::node::{Contains, Items, NodeId};
use crate::place::Path;
use crate::view::View;

impl<'s, 'v> Walk<'s, 'v> {
    /// Checks an item against a schema.
    fn item(&mut self, node: NodeId, index: usize, value: &'v Value, path: &Path<'_>) -> bool {
        self.level += 1;
        let passed = self.node(node, View::of(value), &Path::Index(path, index), None);
        self.level -= 1;
        passed
    }

    pub(super) fn items(
        &mut self,
        items: &'s Items,
        values: &'v [Value],
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        if let Some(noted) = noted {
            let all = items.rest.map_or(items.first.len(), |_| usize::MAX);
            noted.note_first_items(all);
        }
        let mut passed = true;
        for (index, value) in values.iter().enumerate() {
            let Some(node) = items.first.get(index).copied().or(items.rest) else {
                break;
            };
            if !self.item(node, index, value, path) {
                passed = false;
                if !self.wants_more() {
                    break;
                }
            }
        }
        passed
    }

    pub(super) fn contains(
        &mut self,
        contains: &'s Contains,
        values: &'v [Value],
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let mut count = 0;
        for (index, value) in values.iter().enumerate() {
            if !self.quietly(|walk| walk.item(contains.node, index, value, path)) {
                continue;
            }
            count += 1;
            match noted.as_deref_mut() {
                Some(noted) => {
                    noted.items.insert(index);
                }
                None if count > contains.most.unwrap_or(u64::MAX) => break,
                None if contains.most.is_none() && count >= contains.least => break,
                None => {}
            }
        }
        if count < contains.least {
            return self.fault(path, || message::contains_too_few(contains.least));
        }
        match contains.most {
            Some(most) if count > most => self.fault(path, || message::contains_too_many(most)),
            _ => true,
        }
    }

    pub(super) fn unevaluated_items(
        &mut self,
        node: NodeId,
        values: &'v [Value],
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        let Some(noted) = noted else {
            return true;
        };
        let mut passed = true;
        for (index, value) in values.iter().enumerate() {
            if !noted.has_item(index) && !self.item(node, index, value, path) {
                passed = false;
                if !self.wants_more() {
                    break;
                }
            }
        }
        noted.note_first_items(usize::MAX);
        passed
    }
}
