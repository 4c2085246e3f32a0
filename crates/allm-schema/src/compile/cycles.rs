//! Which references can lead back to where they stand.

use super::Program;
use crate::node::{Check, NodeId};

/// Marks every reference that may lead into a cycle, so that only those need watching.
pub(super) fn mark(program: &mut Program) {
    let circular = reaching_cycles(program, false);
    let recursive = reaching_cycles(program, true);
    let is = |flags: &[bool], node: NodeId| flags.get(node).copied().unwrap_or(true);
    for node in &mut program.nodes {
        for check in &mut node.checks {
            if let Check::Reference(reference) = check {
                reference.circular = is(&circular, reference.target);
                reference.recursive = is(&recursive, reference.target);
            }
        }
    }
}

/// For each node, whether a cycle can be reached from it: takes away what leads nowhere until nothing changes.
fn reaching_cycles(program: &Program, into_parts: bool) -> Vec<bool> {
    let count = program.nodes.len();
    let mut comes_from: Vec<Vec<NodeId>> = vec![Vec::new(); count];
    let mut ways_on = vec![0_usize; count];
    for (from, node) in program.nodes.iter().enumerate() {
        let mut targets = Vec::new();
        for check in &node.checks {
            let mut parts = Vec::new();
            check.leads_to(|target| targets.push(target), |target| parts.push(target));
            if into_parts {
                targets.append(&mut parts);
            }
            match check {
                Check::DynamicReference { name, .. } => {
                    let choices = program.dynamic.get(*name).into_iter().flatten();
                    targets.extend(choices.map(|(_, node)| *node));
                }
                Check::RecursiveReference(_) => {
                    targets.extend(program.recursive.iter().map(|(_, node)| *node));
                }
                _ => {}
            }
        }
        for target in targets {
            if let (Some(sources), Some(ways)) = (comes_from.get_mut(target), ways_on.get_mut(from))
            {
                sources.push(from);
                *ways += 1;
            }
        }
    }
    let mut reaches = vec![true; count];
    let mut ends: Vec<NodeId> = (0..count)
        .filter(|node| ways_on.get(*node) == Some(&0))
        .collect();
    while let Some(end) = ends.pop() {
        if let Some(reaches) = reaches.get_mut(end) {
            *reaches = false;
        }
        for from in comes_from.get(end).into_iter().flatten() {
            if let Some(ways) = ways_on.get_mut(*from) {
                *ways -= 1;
                if *ways == 0 {
                    ends.push(*from);
                }
            }
        }
    }
    reaches
}
