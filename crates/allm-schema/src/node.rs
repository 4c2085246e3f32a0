//! What a schema is compiled into.

use serde_json::Value;

use crate::draft::Draft;
use crate::format::Format;
use crate::number::Exact;
use crate::pattern::Pattern;
use crate::types::Types;

/// Which of the nodes of a schema.
pub(crate) type NodeId = usize;

/// Which of the resources of a document: the root, and each part that has an address of its own.
pub(crate) type ResourceId = usize;

/// One schema: what is checked, in the order in which faults are told.
#[derive(Default)]
pub(crate) struct Node {
    pub(crate) resource: ResourceId,
    pub(crate) checks: Vec<Check>,
    /// Whether what its checks have looked at is needed, for `unevaluatedProperties` or `unevaluatedItems`.
    pub(crate) notes_evaluated: bool,
}

/// A keyword, or several that only make sense together.
pub(crate) enum Check {
    /// The schema `false`.
    Never,
    Type(Types),
    Enum(Box<[Value]>),
    Const(Box<Value>),
    Bound(Box<Bound>),
    MultipleOf(Box<Limit>),
    MinLength(u64),
    MaxLength(u64),
    Pattern(Box<(Pattern, String)>),
    Format(Format),
    Content(Content),
    MinItems(u64),
    MaxItems(u64),
    UniqueItems,
    MinProperties(u64),
    MaxProperties(u64),
    Required(Box<[String]>),
    DependentRequired(Box<[(String, Vec<String>)]>),
    Properties(Box<Properties>),
    PropertyNames(NodeId),
    Items(Box<Items>),
    Contains(Box<Contains>),
    DependentSchemas(Box<[(String, NodeId)]>),
    /// The schemas of the older `dependencies`, whose properties do not count as evaluated.
    Dependencies(Box<[(String, NodeId)]>),
    AllOf(Box<[NodeId]>),
    AnyOf(Box<[NodeId]>),
    OneOf(Box<[NodeId]>),
    Not(NodeId),
    If(Box<Condition>),
    Reference(Reference),
    /// `$dynamicRef` that leads to a `$dynamicAnchor`: `name` says which of the schema's dynamic names.
    DynamicReference {
        name: usize,
        target: NodeId,
    },
    /// `$recursiveRef` that leads to a `$recursiveAnchor`.
    RecursiveReference(NodeId),
    /// A reference to the meta-schema of a draft.
    MetaSchema(Draft),
    UnevaluatedProperties(NodeId),
    UnevaluatedItems(NodeId),
}

/// A number of the schema, and how it is written there.
pub(crate) struct Limit {
    pub(crate) number: Exact,
    pub(crate) shown: String,
}

/// `minimum`, `maximum` and their exclusive forms.
pub(crate) struct Bound {
    pub(crate) limit: Limit,
    pub(crate) upper: bool,
    pub(crate) exclusive: bool,
}

/// `properties`, `patternProperties` and `additionalProperties`.
pub(crate) struct Properties {
    /// Sorted by name.
    pub(crate) named: Vec<(String, NodeId)>,
    pub(crate) patterns: Vec<(Pattern, NodeId)>,
    pub(crate) additional: Option<NodeId>,
}

/// The items with schemas of their own, and the schema of those after them.
pub(crate) struct Items {
    pub(crate) first: Vec<NodeId>,
    pub(crate) rest: Option<NodeId>,
}

/// `contains`, `minContains` and `maxContains`.
pub(crate) struct Contains {
    pub(crate) node: NodeId,
    pub(crate) least: u64,
    pub(crate) most: Option<u64>,
}

/// `if`, `then` and `else`.
pub(crate) struct Condition {
    pub(crate) test: NodeId,
    pub(crate) then: Option<NodeId>,
    pub(crate) otherwise: Option<NodeId>,
}

/// `$ref`, or another keyword that leads to one schema.
#[derive(Clone, Copy)]
pub(crate) struct Reference {
    pub(crate) target: NodeId,
    /// Whether it can lead back to itself without going into the value.
    pub(crate) circular: bool,
    /// Whether it can lead back to itself at all: the value may be looked at over and over.
    pub(crate) recursive: bool,
}

/// `contentEncoding` and `contentMediaType`, of those that can be checked.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) encoding: Option<crate::content::Encoding>,
    pub(crate) is_json: bool,
}

impl Check {
    /// The schemas that apply to the same value, and those that apply to parts of it.
    pub(crate) fn leads_to(
        &self,
        mut in_place: impl FnMut(NodeId),
        mut inside: impl FnMut(NodeId),
    ) {
        match self {
            Check::Properties(properties) => {
                properties.named.iter().for_each(|(_, node)| inside(*node));
                properties
                    .patterns
                    .iter()
                    .for_each(|(_, node)| inside(*node));
                properties.additional.into_iter().for_each(inside);
            }
            Check::Items(items) => items
                .first
                .iter()
                .chain(&items.rest)
                .copied()
                .for_each(inside),
            Check::Contains(contains) => inside(contains.node),
            Check::PropertyNames(node)
            | Check::UnevaluatedProperties(node)
            | Check::UnevaluatedItems(node) => inside(*node),
            Check::DependentSchemas(schemas) | Check::Dependencies(schemas) => {
                schemas.iter().for_each(|(_, node)| in_place(*node));
            }
            Check::AllOf(nodes) | Check::AnyOf(nodes) | Check::OneOf(nodes) => {
                nodes.iter().copied().for_each(in_place);
            }
            Check::Not(node) | Check::RecursiveReference(node) => in_place(*node),
            Check::If(condition) => {
                in_place(condition.test);
                condition.then.into_iter().for_each(&mut in_place);
                condition.otherwise.into_iter().for_each(in_place);
            }
            Check::Reference(reference) => in_place(reference.target),
            Check::DynamicReference { target, .. } => in_place(*target),
            _ => {}
        }
    }
}
