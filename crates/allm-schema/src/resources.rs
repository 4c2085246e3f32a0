//! The parts of a document that have addresses or names, and where references lead.

mod children;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::draft::Draft;
use crate::form::Flaw;
use crate::node::ResourceId;
use crate::place::unescape;
use crate::uri;
use children::children;

/// The address of a document that gives itself none.
const NO_ADDRESS: &str = "json-schema:///";

/// A part of the document with an address of its own, or the whole.
#[derive(Default)]
pub(crate) struct Resource<'s> {
    address: String,
    /// What the address stands for. Nothing, if only a place that is no schema gives this address.
    root: Option<Subschema<'s>>,
    anchors: HashMap<&'s str, Subschema<'s>>,
    pub(crate) dynamic_anchors: HashMap<&'s str, Subschema<'s>>,
}

/// A schema in the document, and how it is to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subschema<'s> {
    pub(crate) schema: &'s Value,
    pub(crate) resource: ResourceId,
    pub(crate) draft: Draft,
}

/// Where a reference leads.
pub(crate) enum Target<'s> {
    Subschema {
        target: Subschema<'s>,
        /// Whether the name that was followed is a `$dynamicAnchor`.
        dynamic: bool,
    },
    MetaSchema(Draft),
}

/// What an address stands for.
enum Found<'s> {
    Here(Subschema<'s>),
    MetaSchema(Draft),
}

/// All that references can lead to.
pub(crate) struct Resources<'s> {
    pub(crate) all: Vec<Resource<'s>>,
    by_address: HashMap<String, ResourceId>,
    /// How each schema is to be read, by where it lies in memory.
    known: HashMap<usize, (ResourceId, Draft)>,
}

fn key(schema: &Value) -> usize {
    std::ptr::from_ref(schema) as usize
}

impl<'s> Resources<'s> {
    /// Takes stock of a document.
    ///
    /// # Errors
    ///
    /// The address of a part is none, or a reference leads out of the document.
    pub(crate) fn of(document: &'s Value, draft: Draft) -> Result<Self, Flaw<'s>> {
        let mut resources = Resources {
            all: Vec::new(),
            by_address: HashMap::new(),
            known: HashMap::new(),
        };
        let outermost = resources.resource_at(NO_ADDRESS.to_owned());
        let read_as = Subschema {
            schema: document,
            resource: outermost,
            draft,
        };
        if draft.address_of(document).is_none_or(str::is_empty) {
            resources.set_root(read_as);
        }
        resources.add(read_as)?;
        Ok(resources)
    }

    /// How a schema inside `parent` is to be read.
    pub(crate) fn read_as(&self, schema: &'s Value, parent: Subschema<'s>) -> Subschema<'s> {
        let (resource, draft) = self
            .known
            .get(&key(schema))
            .copied()
            .unwrap_or((parent.resource, parent.draft.within(schema)));
        Subschema {
            schema,
            resource,
            draft,
        }
    }

    fn resource_at(&mut self, address: String) -> ResourceId {
        if let Some(known) = self.by_address.get(&address) {
            return *known;
        }
        let id = self.all.len();
        self.by_address.insert(address.clone(), id);
        self.all.push(Resource {
            address,
            ..Resource::default()
        });
        id
    }

    fn set_root(&mut self, root: Subschema<'s>) {
        if let Some(resource) = self.all.get_mut(root.resource) {
            resource.root.get_or_insert(root);
        }
    }

    /// Notes a schema and all schemas in it, and checks that its references by address stay inside.
    fn add(&mut self, root: Subschema<'s>) -> Result<(), Flaw<'s>> {
        let mut open = vec![root];
        let mut references = Vec::new();
        while let Some(mut at) = open.pop() {
            let Value::Object(object) = at.schema else {
                self.known.insert(key(at.schema), (at.resource, at.draft));
                continue;
            };
            if let Some(part @ Value::String(draft)) = object.get("$schema")
                && !uri::is_reference(draft)
            {
                return Err(Flaw::new(part, "must be a URI reference"));
            }
            if let Some(address) = at.draft.address_of(at.schema) {
                let base = self.address_of(at.resource);
                let address = uri::resolve(base, address).ok_or_else(|| {
                    Flaw::new(at.schema, "must have a URI reference as its address")
                })?;
                at.resource = self.resource_at(address);
                self.set_root(at);
            }
            self.known.insert(key(at.schema), (at.resource, at.draft));
            self.add_anchors(at);
            if let Some(Value::String(reference)) = object.get("$ref") {
                references.push((at, object.get("$ref").unwrap_or(at.schema), reference));
            }
            children(at.draft, object, |child| {
                open.push(Subschema {
                    schema: child,
                    resource: at.resource,
                    draft: at.draft.within(child),
                });
            });
        }
        for (at, part, reference) in references {
            if !reference.starts_with('#') {
                let (address, _) = reference.split_once('#').unwrap_or((reference, ""));
                let found = self.resource_of(at.resource, address);
                found.map_err(|message| Flaw::new(part, message))?;
            }
        }
        Ok(())
    }

    fn add_anchors(&mut self, at: Subschema<'s>) {
        let Some(resource) = self.all.get_mut(at.resource) else {
            return;
        };
        if let Some(name) = at.draft.anchor_of(at.schema) {
            resource.anchors.entry(name).or_insert(at);
        }
        let dynamic = at.schema.get("$dynamicAnchor").and_then(Value::as_str);
        if let Some(name) = dynamic.filter(|_| at.draft == Draft::Twenty) {
            resource.dynamic_anchors.entry(name).or_insert(at);
        }
    }

    fn address_of(&self, resource: ResourceId) -> &str {
        self.all
            .get(resource)
            .map_or(NO_ADDRESS, |resource| &resource.address)
    }

    pub(crate) fn root_of(&self, resource: ResourceId) -> Option<Subschema<'s>> {
        self.all.get(resource)?.root
    }

    /// The resource that a reference names, without its fragment.
    fn resource_of(&self, base: ResourceId, reference: &str) -> Result<Found<'s>, String> {
        let address =
            uri::resolve(self.address_of(base), reference).ok_or("must be a URI reference")?;
        let root = self
            .by_address
            .get(&address)
            .and_then(|id| self.root_of(*id));
        if let Some(root) = root {
            return Ok(Found::Here(root));
        }
        match Draft::of_address(&address) {
            Some(draft) => Ok(Found::MetaSchema(draft)),
            None => Err("must refer to a schema in this document".to_owned()),
        }
    }

    /// Follows a reference from inside `base`.
    ///
    /// # Errors
    ///
    /// What the reference must be.
    pub(crate) fn follow(
        &mut self,
        base: ResourceId,
        reference: &str,
    ) -> Result<Target<'s>, String> {
        if !uri::is_reference(reference) {
            return Err("must be a URI reference".to_owned());
        }
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let nowhere = || "must refer to a schema in this document".to_owned();
        let root = if address.is_empty() {
            self.root_of(base).ok_or_else(nowhere)?
        } else {
            match self.resource_of(base, address)? {
                Found::Here(root) => root,
                Found::MetaSchema(draft) if fragment.is_empty() => {
                    return Ok(Target::MetaSchema(draft));
                }
                Found::MetaSchema(_) => return Err(nowhere()),
            }
        };
        if fragment.is_empty() {
            return Ok(Target::Subschema {
                target: root,
                dynamic: false,
            });
        }
        let fragment = uri::percent_decoded(fragment).ok_or_else(nowhere)?;
        if let Some(pointer) = fragment.strip_prefix('/') {
            let target = self.at_pointer(root, pointer).ok_or_else(nowhere)?;
            return Ok(Target::Subschema {
                target,
                dynamic: false,
            });
        }
        let resource = self.all.get(root.resource).ok_or_else(nowhere)?;
        let dynamic = resource.dynamic_anchors.get(fragment.as_str());
        let target = dynamic.or(resource.anchors.get(fragment.as_str()));
        Ok(Target::Subschema {
            target: *target.ok_or_else(nowhere)?,
            dynamic: dynamic.is_some(),
        })
    }

    fn at_pointer(&mut self, root: Subschema<'s>, pointer: &str) -> Option<Subschema<'s>> {
        let mut at = root;
        for step in pointer.split('/') {
            let child = match at.schema {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                other => other.get(unescape(step))?,
            };
            at = match self.known.get(&key(child)) {
                Some((resource, draft)) => Subschema {
                    schema: child,
                    resource: *resource,
                    draft: *draft,
                },
                None => Subschema {
                    schema: child,
                    ..at
                },
            };
        }
        if !self.known.contains_key(&key(at.schema)) {
            // A place that no keyword makes a schema becomes one by being referred to.
            at.draft = at.draft.within(at.schema);
            self.add(at).ok()?;
            at = self.read_as(at.schema, at);
        }
        Some(at)
    }

    /// The resources that name a schema `name` dynamically.
    pub(crate) fn dynamically_named(&self, name: &str) -> Vec<Subschema<'s>> {
        self.all
            .iter()
            .filter_map(|resource| resource.dynamic_anchors.get(name))
            .copied()
            .collect()
    }

    /// The resources whose roots say `"$recursiveAnchor": true`.
    pub(crate) fn recursive(&self) -> Vec<Subschema<'s>> {
        let mut seen = HashSet::new();
        self.all
            .iter()
            .filter_map(|resource| resource.root)
            .filter(|root| is_recursive(root.schema) && seen.insert(root.resource))
            .collect()
    }
}

/// Whether `$recursiveRef` to this schema looks further out.
pub(crate) fn is_recursive(schema: &Value) -> bool {
    schema.get("$recursiveAnchor") == Some(&Value::Bool(true))
}
