//! References, and what keeps them from going round for ever.

use super::{Noted, Walk};
use crate::node::{NodeId, Reference};
use crate::place::Path;
use crate::view::View;

/// After so many references verdicts are remembered: before, it costs more than it saves.
const MANY_VISITS: usize = 256;

impl<'s, 'v> Walk<'s, 'v> {
    pub(super) fn reference(
        &mut self,
        reference: Reference,
        view: View<'v>,
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        if !reference.recursive {
            return self.node(reference.target, view, path, noted);
        }
        if noted.is_some() || self.program.needs_scope {
            return self.maybe_guarded(reference, view, path, noted);
        }
        if self.faults.is_some() {
            // Only what has faults is looked at once more, and each way in finds one: so there are not many.
            return self.quietly(|walk| walk.reference(reference, view, path, None))
                || self.maybe_guarded(reference, view, path, None);
        }
        // Schemas that lead back to themselves in several ways would look at a part once for each way to it.
        self.visits += 1;
        let key = match view.identity() {
            Some(identity) if self.visits > MANY_VISITS => (reference.target, identity),
            _ => return self.maybe_guarded(reference, view, path, noted),
        };
        if let Some(verdict) = self.verdicts.get(&key) {
            return *verdict;
        }
        let assumed = self.assumed;
        let verdict = self.maybe_guarded(reference, view, path, noted);
        // What rests on an assumption may be wrong elsewhere.
        if self.assumed == assumed {
            self.verdicts.insert(key, verdict);
        }
        verdict
    }

    fn maybe_guarded(
        &mut self,
        reference: Reference,
        view: View<'v>,
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        if reference.circular {
            self.guarded(reference.target, view, path, noted)
        } else {
            self.node(reference.target, view, path, noted)
        }
    }

    /// A reference that may lead back to itself without going into the value: then it is taken as fulfilled.
    pub(super) fn guarded(
        &mut self,
        target: NodeId,
        view: View<'v>,
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        let entry = (target, self.level);
        let of_this_part = |open: &&(NodeId, usize)| open.1 == self.level;
        if self
            .open
            .iter()
            .rev()
            .take_while(of_this_part)
            .any(|open| *open == entry)
        {
            self.assumed += 1;
            return true;
        }
        self.open.push(entry);
        let passed = self.node(target, view, path, noted);
        self.open.pop();
        passed
    }

    /// Where `$dynamicRef` leads: to the outermost resource on the way that has the name.
    pub(super) fn dynamic_target(&self, name: usize, target: NodeId) -> NodeId {
        let Some(named) = self.program.dynamic.get(name) else {
            return target;
        };
        let found = self.scope.iter().find_map(|resource| {
            named
                .iter()
                .find(|(of, _)| of == resource)
                .map(|(_, node)| *node)
        });
        found.unwrap_or(target)
    }

    /// Where `$recursiveRef` leads: outwards, as long as each resource on the way allows it.
    pub(super) fn recursive_target(&self, target: NodeId) -> NodeId {
        let root_of = |resource| {
            let recursive = self.program.recursive.iter();
            recursive
                .clone()
                .find(|(of, _)| of == resource)
                .map(|(_, node)| *node)
        };
        let outwards = self.scope.iter().rev().map_while(root_of);
        outwards.last().unwrap_or(target)
    }
}
