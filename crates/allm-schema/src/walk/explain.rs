//! What to tell when a value fits none of several schemas.

use super::Walk;
use crate::compile::Program;
use crate::equal;
use crate::message;
use crate::node::{Check, NodeId, Properties};
use crate::place::Path;
use crate::types::Types;
use crate::view::View;

/// How many references are followed to find out what a schema is about.
const MAX_STEPS: usize = 8;

impl<'s, 'v> Walk<'s, 'v> {
    /// Tells why none of the schemas fits: of the one that was meant, if that can be seen. Always `false`.
    #[inline(never)]
    pub(super) fn explain(&mut self, nodes: &'s [NodeId], view: View<'v>, path: &Path<'_>) -> bool {
        if !self.wants_more() {
            return false;
        }
        let program = self.program;
        if let Some(types) = common_types(program, nodes)
            && !types.accepts(view)
        {
            return self.fault(path, || message::types(types));
        }
        let meant = only(nodes, |node| is_meant(program, node, view, 0))
            .or_else(|| only(nodes, |node| !is_null(program, node)));
        let before = self.faults.as_ref().map_or(0, Vec::len);
        if let Some(node) = meant {
            self.node(node, view, path, None);
        }
        let told = self.faults.as_ref().map_or(0, Vec::len) > before;
        if !told {
            self.fault(path, || message::fits_none(program, nodes));
        }
        false
    }
}

/// The only one of the nodes that this holds for.
fn only(nodes: &[NodeId], mut holds: impl FnMut(NodeId) -> bool) -> Option<NodeId> {
    let mut found = nodes.iter().copied().filter(|node| holds(*node));
    match (found.next(), found.next()) {
        (Some(node), None) => Some(node),
        _ => None,
    }
}

/// The checks of a node, and of those that it refers to.
fn checks_of(program: &Program, node: NodeId) -> impl Iterator<Item = &Check> {
    let mut open = vec![(node, 0)];
    let mut found = Vec::new();
    while let Some((node, steps)) = open.pop() {
        for check in program
            .nodes
            .get(node)
            .into_iter()
            .flat_map(|node| &node.checks)
        {
            match check {
                Check::Reference(reference) if steps < MAX_STEPS => {
                    open.push((reference.target, steps + 1));
                }
                check => found.push(check),
            }
        }
    }
    found.into_iter()
}

/// The types that any of the schemas allows, if all of them say which.
fn common_types(program: &Program, nodes: &[NodeId]) -> Option<Types> {
    nodes.iter().try_fold(Types::default(), |types, node| {
        let own = checks_of(program, *node).find_map(|check| match check {
            Check::Type(types) => Some(*types),
            _ => None,
        });
        Some(types.with(own?))
    })
}

fn is_null(program: &Program, node: NodeId) -> bool {
    let mut checks = checks_of(program, node);
    matches!(
        (checks.next(), checks.next()),
        (Some(Check::Type(types)), None) if types.is_only_null()
    )
}

/// Whether a schema is about values like this one: of this type, and with these constants.
fn is_meant(program: &Program, node: NodeId, view: View<'_>, depth: usize) -> bool {
    checks_of(program, node).all(|check| match (check, view) {
        (Check::Never, _) => false,
        (Check::Type(types), _) => types.accepts(view),
        (Check::Const(value), _) => equal::equals(view, value),
        (Check::Enum(values), _) => values.iter().any(|value| equal::equals(view, value)),
        (Check::AllOf(nodes), _) if depth < MAX_STEPS => nodes
            .iter()
            .all(|node| is_meant(program, *node, view, depth + 1)),
        (Check::Properties(properties), View::Object(object)) => {
            discriminators(program, properties).all(|(name, check)| {
                object
                    .get(name)
                    .is_none_or(|value| super::fits(check, View::of(value)))
            })
        }
        (Check::Required(names), View::Object(object)) => {
            // A property that says which schema is meant says so by being there, too.
            let named = checks_of(program, node).find_map(|check| match check {
                Check::Properties(properties) => Some(properties),
                _ => None,
            });
            named.is_none_or(|properties| {
                discriminators(program, properties)
                    .all(|(name, _)| !names.contains(name) || object.contains_key(name))
            })
        }
        _ => true,
    })
}

/// The properties that only a constant, or one of some, can be.
fn discriminators<'p>(
    program: &'p Program,
    properties: &'p Properties,
) -> impl Iterator<Item = (&'p String, &'p Check)> {
    properties.named.iter().filter_map(|(name, node)| {
        let check = checks_of(program, *node)
            .find(|check| matches!(check, Check::Const(_) | Check::Enum(_)))?;
        Some((name, check))
    })
}
