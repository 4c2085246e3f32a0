//! `allOf`, `anyOf`, `oneOf`, `not` and `if`.

use super::evaluated::Evaluated;
use super::{Noted, Walk};
use crate::message;
use crate::node::{Condition, NodeId};
use crate::place::Path;
use crate::view::View;

impl<'s, 'v> Walk<'s, 'v> {
    pub(super) fn all_of(
        &mut self,
        nodes: &'s [NodeId],
        view: View<'v>,
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let mut passed = true;
        for node in nodes {
            if !self.node(*node, view, path, noted.as_deref_mut()) {
                passed = false;
                if !self.wants_more() {
                    break;
                }
            }
        }
        passed
    }

    /// Whether a schema accepts the value. Only then what it looked at is noted.
    fn accepted_by(
        &mut self,
        node: NodeId,
        view: View<'v>,
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        let Some(noted) = noted else {
            return self.quietly(|walk| walk.node(node, view, path, None));
        };
        let mut own = Evaluated::default();
        let passed = self.quietly(|walk| walk.node(node, view, path, Some(&mut own)));
        if passed {
            noted.merge(own);
        }
        passed
    }

    pub(super) fn any_of(
        &mut self,
        nodes: &'s [NodeId],
        view: View<'v>,
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let mut passed = false;
        for node in nodes {
            passed |= self.accepted_by(*node, view, path, noted.as_deref_mut());
            // What the others look at matters only if someone notes it.
            if passed && noted.is_none() {
                break;
            }
        }
        passed || self.explain(nodes, view, path)
    }

    pub(super) fn one_of(
        &mut self,
        nodes: &'s [NodeId],
        view: View<'v>,
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let mut count = 0;
        for node in nodes {
            count += usize::from(self.accepted_by(*node, view, path, noted.as_deref_mut()));
            if count > 1 && self.faults.is_none() {
                break;
            }
        }
        match count {
            0 => self.explain(nodes, view, path),
            1 => true,
            count => self.fault(path, || message::fits_several(count)),
        }
    }

    pub(super) fn not(&mut self, node: NodeId, view: View<'v>, path: &Path<'_>) -> bool {
        let accepted = self.quietly(|walk| walk.node(node, view, path, None));
        !accepted || self.fault(path, || message::not(self.program, node))
    }

    pub(super) fn condition(
        &mut self,
        condition: &'s Condition,
        view: View<'v>,
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let follows = condition.then.is_some() || condition.otherwise.is_some();
        if !follows && noted.is_none() {
            return true;
        }
        let holds = self.accepted_by(condition.test, view, path, noted.as_deref_mut());
        let branch = if holds {
            condition.then
        } else {
            condition.otherwise
        };
        branch.is_none_or(|branch| self.node(branch, view, path, noted))
    }
}
