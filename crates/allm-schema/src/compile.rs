//! From a schema in JSON to nodes.

mod cycles;
mod keywords;

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::draft::Draft;
use crate::error::SchemaError;
use crate::form::{self, Flaw};
use crate::node::{Check, Node, NodeId, Reference, ResourceId};
use crate::place::place_of;
use crate::resources::{Resources, Subschema, Target, is_recursive};
use crate::uri;

/// JSON nested deeper than this is refused before anything recurses into it.
const MAX_JSON_DEPTH: usize = 512;

/// What a schema is compiled into.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    /// For each name that `$dynamicRef` uses: the resources that have it, and what it is there.
    pub(crate) dynamic: Vec<Vec<(ResourceId, NodeId)>>,
    /// The resources that `$recursiveRef` looks for, and their roots.
    pub(crate) recursive: Vec<(ResourceId, NodeId)>,
    /// Whether the resources on the way matter to any reference.
    pub(crate) needs_scope: bool,
}

/// Compiles a document.
pub(crate) fn compile(document: &Value) -> Result<Program, SchemaError> {
    let located = |flaw: Flaw<'_>| SchemaError::new(place_of(document, flaw.part), flaw.message);
    if is_too_deep(document) {
        let message = format!("must not be nested deeper than {MAX_JSON_DEPTH} levels");
        return Err(SchemaError::new(String::new(), message));
    }
    let draft = match document.get("$schema") {
        Some(Value::String(address)) => Draft::of_address(address).ok_or_else(|| {
            SchemaError::new("/$schema".to_owned(), "must be a draft that is known")
        })?,
        _ => Draft::Twenty,
    };
    form::inspect(document, draft).map_err(located)?;
    let resources = Resources::of(document, draft).map_err(located)?;
    let mut compiler = Compiler {
        resources,
        program: Program::default(),
        nodes: HashMap::new(),
        open: VecDeque::new(),
        dynamic_names: Vec::new(),
        has_recursion: false,
    };
    compiler.run(document, draft).map_err(located)?;
    let mut program = compiler.program;
    cycles::mark(&mut program);
    Ok(program)
}

/// The depth of any JSON, without the stack that it would need.
fn is_too_deep(value: &Value) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_JSON_DEPTH {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(object) => open.extend(object.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}

/// A document while it is compiled. Nothing recurses: what is still to be done waits in `open`.
struct Compiler<'s> {
    resources: Resources<'s>,
    program: Program,
    /// The nodes of the schemas that were met, by where those lie in memory and how they are read.
    nodes: HashMap<(usize, ResourceId, Draft), NodeId>,
    open: VecDeque<(NodeId, Subschema<'s>)>,
    dynamic_names: Vec<String>,
    has_recursion: bool,
}

impl<'s> Compiler<'s> {
    fn run(&mut self, document: &'s Value, draft: Draft) -> Result<(), Flaw<'s>> {
        let outermost = Subschema {
            schema: document,
            resource: 0,
            draft,
        };
        let root = self.resources.read_as(document, outermost);
        self.program.root = self.node(root);
        loop {
            while let Some((id, subschema)) = self.open.pop_front() {
                let node = self.compile_one(subschema)?;
                if let Some(place) = self.program.nodes.get_mut(id) {
                    *place = node;
                }
            }
            self.add_scope();
            if self.open.is_empty() {
                return Ok(());
            }
        }
    }

    /// The schemas that dynamic references may lead to, depending on how they are reached.
    fn add_scope(&mut self) {
        let names = self.dynamic_names.clone();
        self.program.dynamic.clear();
        for name in &names {
            let found = self.resources.dynamically_named(name);
            let nodes = found
                .into_iter()
                .map(|at| (at.resource, self.node(at)))
                .collect();
            self.program.dynamic.push(nodes);
        }
        if self.has_recursion {
            let found = self.resources.recursive();
            self.program.recursive = found
                .into_iter()
                .map(|at| (at.resource, self.node(at)))
                .collect();
        }
        self.program.needs_scope = self.has_recursion || !names.is_empty();
    }

    /// The node of a schema, which may still have to be compiled.
    fn node(&mut self, subschema: Subschema<'s>) -> NodeId {
        let address = std::ptr::from_ref(subschema.schema) as usize;
        let key = (address, subschema.resource, subschema.draft);
        if let Some(known) = self.nodes.get(&key) {
            return *known;
        }
        let id = self.program.nodes.len();
        self.program.nodes.push(Node::default());
        self.nodes.insert(key, id);
        self.open.push_back((id, subschema));
        id
    }

    /// The node of a schema inside another.
    fn child(&mut self, parent: Subschema<'s>, schema: &'s Value) -> NodeId {
        let subschema = self.resources.read_as(schema, parent);
        self.node(subschema)
    }

    fn compile_one(&mut self, at: Subschema<'s>) -> Result<Node, Flaw<'s>> {
        let mut node = Node {
            resource: at.resource,
            ..Node::default()
        };
        match at.schema {
            Value::Bool(true) => {}
            Value::Bool(false) => node.checks.push(Check::Never),
            Value::Object(object) => {
                if at.draft.references_stand_alone()
                    && let Some(reference) = object.get("$ref")
                {
                    node.checks.extend(self.reference(at, reference)?);
                } else {
                    node.checks = self.keywords(at, object)?;
                }
            }
            other => return Err(Flaw::new(other, "must be an object or a boolean")),
        }
        node.notes_evaluated = node.checks.iter().any(|check| {
            matches!(
                check,
                Check::UnevaluatedProperties(_) | Check::UnevaluatedItems(_)
            )
        });
        Ok(node)
    }

    /// `$ref`. Nothing, if it means the schema that it stands in.
    fn reference(
        &mut self,
        at: Subschema<'s>,
        value: &'s Value,
    ) -> Result<Option<Check>, Flaw<'s>> {
        Ok(match self.follow(at, value)? {
            Target::MetaSchema(draft) => Some(Check::MetaSchema(draft)),
            Target::Subschema { target, .. } => self.leading_to(at, target),
        })
    }

    fn leading_to(&mut self, at: Subschema<'s>, target: Subschema<'s>) -> Option<Check> {
        if std::ptr::eq(target.schema, at.schema) {
            return None;
        }
        Some(Check::Reference(Reference {
            target: self.node(target),
            circular: false,
            recursive: false,
        }))
    }

    fn follow(&mut self, at: Subschema<'s>, value: &'s Value) -> Result<Target<'s>, Flaw<'s>> {
        let Value::String(reference) = value else {
            return Err(Flaw::new(value, "must be a string"));
        };
        let target = self
            .resources
            .follow(at.resource, reference)
            .map_err(|message| Flaw::new(value, message))?;
        match &target {
            Target::Subschema { target, .. }
                if !target.schema.is_object() && !target.schema.is_boolean() =>
            {
                Err(Flaw::new(value, "must refer to an object or a boolean"))
            }
            _ => Ok(target),
        }
    }

    fn dynamic_reference(
        &mut self,
        at: Subschema<'s>,
        value: &'s Value,
    ) -> Result<Option<Check>, Flaw<'s>> {
        let target = match self.follow(at, value)? {
            Target::MetaSchema(draft) => return Ok(Some(Check::MetaSchema(draft))),
            Target::Subschema { target, dynamic } if !dynamic => {
                return Ok(self.leading_to(at, target));
            }
            Target::Subschema { target, .. } => target,
        };
        let name = target.schema.get("$dynamicAnchor").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let known = self.dynamic_names.iter().position(|known| known == name);
        let name = known.unwrap_or_else(|| {
            self.dynamic_names.push(name.to_owned());
            self.dynamic_names.len() - 1
        });
        let target = self.node(target);
        Ok(Some(Check::DynamicReference { name, target }))
    }

    fn recursive_reference(
        &mut self,
        at: Subschema<'s>,
        value: &'s Value,
    ) -> Result<Option<Check>, Flaw<'s>> {
        if !value.as_str().is_some_and(uri::is_reference) {
            return Err(Flaw::new(value, "must be a URI reference"));
        }
        let Some(root) = self.resources.root_of(at.resource) else {
            return Err(Flaw::new(value, "must refer to a schema in this document"));
        };
        if !is_recursive(root.schema) {
            return Ok(self.leading_to(at, root));
        }
        self.has_recursion = true;
        Ok(Some(Check::RecursiveReference(self.node(root))))
    }
}
