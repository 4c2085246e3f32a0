//! The check of a value: one walk for the verdict and for the faults.

mod choices;
mod evaluated;
mod explain;
mod lists;
mod objects;
mod references;

use std::collections::HashMap;

use crate::compile::Program;
use crate::equal;
use crate::fault::SchemaFault;
use crate::form;
use crate::message;
use crate::node::{Bound, Check, Node, NodeId, ResourceId};
use crate::number::Exact;
use crate::place::Path;
use crate::view::View;
use evaluated::Evaluated;

/// Checks nested deeper than this fail, before the stack is used up. Values that `serde_json` has read are at
/// most 128 levels deep.
const MAX_DEPTH: usize = 512;

/// What the checks of a schema have looked at, where that is needed.
type Noted<'n, 'v> = Option<&'n mut Evaluated<'v>>;

/// The check of one value.
pub(crate) struct Walk<'s, 'v> {
    program: &'s Program,
    value: View<'v>,
    /// Where faults go. Without it the walk ends at the first.
    faults: Option<Vec<SchemaFault>>,
    limit: usize,
    /// How many checks are open.
    depth: usize,
    /// How deep in the value the walk is: of the checks that are open, those of one level look at the same part.
    level: usize,
    /// The references that are open and may come back, and the levels they were met at.
    open: Vec<(NodeId, usize)>,
    /// How often a reference was taken as fulfilled because it is open.
    assumed: usize,
    /// The resources that were gone through, if a reference depends on it.
    scope: Vec<ResourceId>,
    visits: usize,
    /// Verdicts on parts that were looked at, once that has become much work.
    verdicts: HashMap<(NodeId, usize), bool>,
}

impl<'s, 'v> Walk<'s, 'v> {
    pub(crate) fn over(program: &'s Program, value: View<'v>) -> Self {
        Walk {
            program,
            value,
            faults: None,
            limit: 0,
            depth: 0,
            level: 0,
            open: Vec::new(),
            assumed: 0,
            scope: Vec::new(),
            visits: 0,
            verdicts: HashMap::new(),
        }
    }

    /// Whether the value fits.
    pub(crate) fn accepts(mut self) -> bool {
        self.node(self.program.root, self.value, &Path::Root, None)
    }

    /// The first faults of the value.
    pub(crate) fn faults(mut self, limit: usize) -> Vec<SchemaFault> {
        if limit > 0 {
            self.faults = Some(Vec::new());
            self.limit = limit;
            self.node(self.program.root, self.value, &Path::Root, None);
        }
        self.faults.unwrap_or_default()
    }

    /// Tells a fault, if anyone listens. Always `false`: the check has failed.
    fn fault(&mut self, path: &Path<'_>, message: impl FnOnce() -> String) -> bool {
        if let Some(faults) = &mut self.faults
            && faults.len() < self.limit
        {
            faults.push(SchemaFault {
                path: path.pointer(),
                message: message(),
            });
        }
        false
    }

    /// Whether there is a point in looking further after a fault.
    fn wants_more(&self) -> bool {
        self.faults
            .as_ref()
            .is_some_and(|faults| faults.len() < self.limit)
    }

    /// Only the verdict, without telling faults.
    fn quietly<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        let faults = self.faults.take();
        let result = check(self);
        self.faults = faults;
        result
    }

    /// Checks a value against a schema.
    fn node(&mut self, id: NodeId, view: View<'v>, path: &Path<'_>, noted: Noted<'_, 'v>) -> bool {
        let Some(node) = self.program.nodes.get(id) else {
            return true;
        };
        if node.checks.is_empty() {
            return true;
        }
        if self.depth >= MAX_DEPTH {
            return self.fault(path, || "must be nested less deep".to_owned());
        }
        self.depth += 1;
        let enters = self.program.needs_scope && self.scope.last() != Some(&node.resource);
        if enters {
            self.scope.push(node.resource);
        }
        let passed = if node.notes_evaluated {
            self.noting(node, view, path, noted)
        } else {
            self.checks(node, view, path, noted)
        };
        if enters {
            self.scope.pop();
        }
        self.depth -= 1;
        passed
    }

    /// A schema that must know what its checks look at.
    #[inline(never)]
    fn noting(
        &mut self,
        node: &'s Node,
        view: View<'v>,
        path: &Path<'_>,
        outer: Noted<'_, 'v>,
    ) -> bool {
        let mut noted = Evaluated::default();
        let passed = self.checks(node, view, path, Some(&mut noted));
        if let Some(outer) = outer {
            outer.merge(noted);
        }
        passed
    }

    fn checks(
        &mut self,
        node: &'s Node,
        view: View<'v>,
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let mut passed = true;
        for check in &node.checks {
            // After a choice that failed it is not known what was looked at.
            let unsure = matches!(
                check,
                Check::UnevaluatedProperties(_) | Check::UnevaluatedItems(_)
            );
            if unsure && !passed {
                break;
            }
            if !self.check(check, view, path, noted.as_deref_mut()) {
                passed = false;
                if !self.wants_more() {
                    break;
                }
            }
        }
        passed
    }

    fn check(
        &mut self,
        check: &'s Check,
        view: View<'v>,
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        match (check, view) {
            (Check::Required(names), View::Object(object)) => self.required(names, object, path),
            (Check::DependentRequired(lists), View::Object(object)) => {
                self.dependent_required(lists, object, path)
            }
            (Check::Properties(properties), View::Object(object)) => {
                self.properties(properties, object, path, noted)
            }
            (Check::PropertyNames(node), View::Object(object)) => {
                self.property_names(*node, object, path)
            }
            (Check::UnevaluatedProperties(node), View::Object(object)) => {
                self.unevaluated_properties(*node, object, path, noted)
            }
            (Check::DependentSchemas(schemas), View::Object(object)) => {
                self.dependent_schemas(schemas, object, path, noted)
            }
            (Check::Dependencies(schemas), View::Object(object)) => {
                self.dependent_schemas(schemas, object, path, None)
            }
            (Check::Items(items), View::Array(values)) => self.items(items, values, path, noted),
            (Check::Contains(contains), View::Array(values)) => {
                self.contains(contains, values, path, noted)
            }
            (Check::UnevaluatedItems(node), View::Array(values)) => {
                self.unevaluated_items(*node, values, path, noted)
            }
            (Check::AllOf(nodes), _) => self.all_of(nodes, view, path, noted),
            (Check::AnyOf(nodes), _) => self.any_of(nodes, view, path, noted),
            (Check::OneOf(nodes), _) => self.one_of(nodes, view, path, noted),
            (Check::Not(node), _) => self.not(*node, view, path),
            (Check::If(condition), _) => self.condition(condition, view, path, noted),
            (Check::Reference(reference), _) => self.reference(*reference, view, path, noted),
            (Check::DynamicReference { name, target }, _) => {
                let target = self.dynamic_target(*name, *target);
                self.guarded(target, view, path, noted)
            }
            (Check::RecursiveReference(target), _) => {
                let target = self.recursive_target(*target);
                self.guarded(target, view, path, noted)
            }
            _ => fits(check, view) || self.fault(path, || message::of(check)),
        }
    }
}

/// The checks that look at nothing inside the value.
fn fits(check: &Check, view: View<'_>) -> bool {
    match (check, view) {
        (Check::Never, _) => false,
        (Check::Type(types), _) => types.accepts(view),
        (Check::Enum(values), _) => values.iter().any(|value| equal::equals(view, value)),
        (Check::Const(value), _) => equal::equals(view, value),
        (Check::Bound(bound), View::Number(number)) => is_within(Exact::of(number), bound),
        (Check::MultipleOf(limit), View::Number(number)) => {
            Exact::of(number).is_multiple_of(limit.number)
        }
        (Check::MinLength(least), View::Text(text)) => !is_shorter(text, *least),
        (Check::MaxLength(most), View::Text(text)) => most
            .checked_add(1)
            .is_none_or(|more| is_shorter(text, more)),
        (Check::Pattern(pattern), View::Text(text)) => pattern.0.is_match(text),
        (Check::Format(format), View::Text(text)) => format.accepts(text),
        (Check::Content(content), View::Text(text)) => content.accepts(text),
        (Check::MinItems(least), View::Array(items)) => items.len() as u64 >= *least,
        (Check::MaxItems(most), View::Array(items)) => items.len() as u64 <= *most,
        (Check::UniqueItems, View::Array(items)) => equal::first_repeated(items).is_none(),
        (Check::MinProperties(least), View::Object(object)) => object.len() as u64 >= *least,
        (Check::MaxProperties(most), View::Object(object)) => object.len() as u64 <= *most,
        (Check::MetaSchema(draft), _) => match view {
            View::Object(object) => form::fits_meta_schema(object, *draft),
            View::Bool(_) => *draft > crate::draft::Draft::Four,
            _ => false,
        },
        _ => true,
    }
}

fn is_within(number: Exact, bound: &Bound) -> bool {
    let order = number.compare(bound.limit.number);
    match (bound.upper, bound.exclusive) {
        (true, true) => order.is_lt(),
        (true, false) => order.is_le(),
        (false, true) => order.is_gt(),
        (false, false) => order.is_ge(),
    }
}

/// Whether a text has fewer characters than `count`, mostly without counting them all.
fn is_shorter(text: &str, count: u64) -> bool {
    let bytes = text.len() as u64;
    if bytes < count {
        return true;
    }
    // A character takes at most four bytes.
    bytes / 4 < count && (text.chars().count() as u64) < count
}
