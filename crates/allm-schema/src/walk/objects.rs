//! The checks of objects.

use serde_json::{Map, Value};

use super::{Noted, Walk};
use crate::message;
use crate::node::{NodeId, Properties};
use crate::place::Path;
use crate::view::{View, sorted};

type Object = Map<String, Value>;

/// The properties of an object: sorted where faults are told, as the map has them where only the verdict counts.
enum Entries<'v> {
    Sorted(std::vec::IntoIter<(&'v String, &'v Value)>),
    AsTheyAre(serde_json::map::Iter<'v>),
}

impl<'v> Iterator for Entries<'v> {
    type Item = (&'v String, &'v Value);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Entries::Sorted(entries) => entries.next(),
            Entries::AsTheyAre(entries) => entries.next(),
        }
    }
}

impl<'s, 'v> Walk<'s, 'v> {
    fn entries(&self, object: &'v Object) -> Entries<'v> {
        if self.faults.is_some() {
            Entries::Sorted(sorted(object).into_iter())
        } else {
            Entries::AsTheyAre(object.iter())
        }
    }

    /// Checks a property against a schema.
    fn property(&mut self, node: NodeId, name: &str, value: &'v Value, path: &Path<'_>) -> bool {
        self.level += 1;
        let passed = self.node(node, View::of(value), &Path::Name(path, name), None);
        self.level -= 1;
        passed
    }

    pub(super) fn required(&mut self, names: &[String], object: &Object, path: &Path<'_>) -> bool {
        let mut passed = true;
        for name in names {
            if !object.contains_key(name) {
                passed = self.fault(&Path::Name(path, name), || message::MISSING.to_owned());
                if !self.wants_more() {
                    break;
                }
            }
        }
        passed
    }

    pub(super) fn dependent_required(
        &mut self,
        lists: &[(String, Vec<String>)],
        object: &Object,
        path: &Path<'_>,
    ) -> bool {
        let mut passed = true;
        for (name, needed) in lists {
            if !object.contains_key(name) {
                continue;
            }
            for other in needed.iter().filter(|other| !object.contains_key(*other)) {
                let told = || message::missing_beside(name);
                passed = self.fault(&Path::Name(path, other), told);
                if !self.wants_more() {
                    return false;
                }
            }
        }
        passed
    }

    pub(super) fn properties(
        &mut self,
        properties: &'s Properties,
        object: &'v Object,
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        let only_named = properties.patterns.is_empty() && properties.additional.is_none();
        if only_named && noted.is_none() && properties.named.len() <= object.len() {
            self.named_properties(properties, object, path)
        } else {
            self.all_properties(properties, object, path, noted)
        }
    }

    /// Looks for the schema's properties in the object.
    fn named_properties(
        &mut self,
        properties: &'s Properties,
        object: &'v Object,
        path: &Path<'_>,
    ) -> bool {
        let mut passed = true;
        for (name, node) in &properties.named {
            if let Some(value) = object.get(name)
                && !self.property(*node, name, value, path)
            {
                passed = false;
                if !self.wants_more() {
                    break;
                }
            }
        }
        passed
    }

    /// Looks for the object's properties in the schema.
    fn all_properties(
        &mut self,
        properties: &'s Properties,
        object: &'v Object,
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let mut passed = true;
        for (name, value) in self.entries(object) {
            let named = properties
                .named
                .binary_search_by(|(known, _)| known.as_str().cmp(name))
                .ok()
                .and_then(|position| properties.named.get(position));
            let mut nodes = 0;
            let mut fits = true;
            if let Some((_, node)) = named {
                nodes += 1;
                fits &= self.property(*node, name, value, path);
            }
            for (pattern, node) in &properties.patterns {
                if (fits || self.wants_more()) && pattern.is_match(name) {
                    nodes += 1;
                    fits &= self.property(*node, name, value, path);
                }
            }
            if nodes == 0
                && let Some(node) = properties.additional
            {
                nodes += 1;
                fits &= self.property(node, name, value, path);
            }
            if nodes > 0
                && let Some(noted) = noted.as_deref_mut()
            {
                noted.properties.insert(name);
            }
            passed &= fits;
            if !passed && !self.wants_more() {
                break;
            }
        }
        passed
    }

    pub(super) fn property_names(
        &mut self,
        node: NodeId,
        object: &'v Object,
        path: &Path<'_>,
    ) -> bool {
        let mut passed = true;
        for (name, _) in self.entries(object) {
            self.level += 1;
            let fits = self.quietly(|walk| walk.node(node, View::Text(name), path, None));
            self.level -= 1;
            if !fits {
                // The faults of a name are told of the property, since a name has no path.
                passed = self.name_fault(node, name, path);
                if !self.wants_more() {
                    break;
                }
            }
        }
        passed
    }

    fn name_fault(&mut self, node: NodeId, name: &'v str, path: &Path<'_>) -> bool {
        let at = Path::Name(path, name);
        let Some(faults) = self.faults.take() else {
            return false;
        };
        self.faults = Some(Vec::new());
        self.level += 1;
        self.node(node, View::Text(name), &at, None);
        self.level -= 1;
        let told = self.faults.replace(faults).unwrap_or_default();
        for fault in told {
            self.fault(&at, || message::of_name(&fault.message));
        }
        false
    }

    pub(super) fn dependent_schemas(
        &mut self,
        schemas: &'s [(String, NodeId)],
        object: &'v Object,
        path: &Path<'_>,
        mut noted: Noted<'_, 'v>,
    ) -> bool {
        let mut passed = true;
        for (name, node) in schemas {
            if object.contains_key(name)
                && !self.node(*node, View::Object(object), path, noted.as_deref_mut())
            {
                passed = false;
                if !self.wants_more() {
                    break;
                }
            }
        }
        passed
    }

    pub(super) fn unevaluated_properties(
        &mut self,
        node: NodeId,
        object: &'v Object,
        path: &Path<'_>,
        noted: Noted<'_, 'v>,
    ) -> bool {
        let Some(noted) = noted else {
            return true;
        };
        let mut passed = true;
        for (name, value) in self.entries(object) {
            if !noted.has_property(name) && !self.property(node, name, value, path) {
                passed = false;
                if !self.wants_more() {
                    break;
                }
            }
        }
        noted.all_properties = true;
        passed
    }
}
