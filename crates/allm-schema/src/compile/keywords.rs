//! The keywords of one schema, in the order in which they are checked.

use serde_json::{Map, Value};

use super::Compiler;
use crate::content::Encoding;
use crate::draft::Draft;
use crate::form::{self, Flaw};
use crate::format::Format;
use crate::node::{Bound, Check, Condition, Contains, Content, Items, Limit, NodeId, Properties};
use crate::number::Exact;
use crate::pattern::Pattern;
use crate::resources::Subschema;
use crate::types::Types;
use crate::view::sorted;

type Object = Map<String, Value>;

impl<'s> Compiler<'s> {
    pub(super) fn keywords(
        &mut self,
        at: Subschema<'s>,
        schema: &'s Object,
    ) -> Result<Vec<Check>, Flaw<'s>> {
        let mut checks = Vec::new();
        scalars(at.draft, schema, &mut checks)?;
        counts(at.draft, schema, &mut checks);
        self.properties(at, schema, &mut checks)?;
        self.items(at, schema, &mut checks);
        self.applicators(at, schema, &mut checks);
        if let Some(value) = schema.get("$ref") {
            checks.extend(self.reference(at, value)?);
        }
        match (
            at.draft,
            schema.get("$recursiveRef"),
            schema.get("$dynamicRef"),
        ) {
            (Draft::Nineteen, Some(value), _) => {
                checks.extend(self.recursive_reference(at, value)?);
            }
            (Draft::Twenty, _, Some(value)) => checks.extend(self.dynamic_reference(at, value)?),
            _ => {}
        }
        // Last, since they must know what all the others looked at.
        if at.draft >= Draft::Nineteen {
            if let Some(value) = schema.get("unevaluatedItems") {
                checks.push(Check::UnevaluatedItems(self.child(at, value)));
            }
            if let Some(value) = schema.get("unevaluatedProperties") {
                checks.push(Check::UnevaluatedProperties(self.child(at, value)));
            }
        }
        Ok(checks)
    }

    fn properties(
        &mut self,
        at: Subschema<'s>,
        schema: &'s Object,
        checks: &mut Vec<Check>,
    ) -> Result<(), Flaw<'s>> {
        let mut properties = Properties {
            named: self.named(at, schema.get("properties")),
            patterns: Vec::new(),
            additional: None,
        };
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            for (pattern, value) in sorted(patterns) {
                let pattern = compiled(pattern, value)?;
                properties.patterns.push((pattern, self.child(at, value)));
            }
        }
        // `true` says nothing, except to `unevaluatedProperties`.
        if let Some(additional) = schema.get("additionalProperties") {
            properties.additional = Some(self.child(at, additional));
        }
        let Properties {
            named,
            patterns,
            additional,
        } = &properties;
        if !named.is_empty() || !patterns.is_empty() || additional.is_some() {
            checks.push(Check::Properties(Box::new(properties)));
        }
        if at.draft >= Draft::Six
            && let Some(value) = schema.get("propertyNames")
        {
            checks.push(Check::PropertyNames(self.child(at, value)));
        }
        Ok(())
    }

    /// The schemas of a map, sorted by name.
    fn named(&mut self, at: Subschema<'s>, value: Option<&'s Value>) -> Vec<(String, NodeId)> {
        let Some(Value::Object(schemas)) = value else {
            return Vec::new();
        };
        let schemas = sorted(schemas).into_iter();
        schemas
            .map(|(name, schema)| (name.clone(), self.child(at, schema)))
            .collect()
    }

    fn items(&mut self, at: Subschema<'s>, schema: &'s Object, checks: &mut Vec<Check>) {
        let mut items = Items {
            first: Vec::new(),
            rest: None,
        };
        match (at.draft, schema.get("items")) {
            (Draft::Twenty, rest) => {
                items.first = self.list(at, schema.get("prefixItems"));
                items.rest = rest.map(|rest| self.child(at, rest));
            }
            (_, Some(first @ Value::Array(_))) => {
                items.first = self.list(at, Some(first));
                let rest = schema.get("additionalItems");
                items.rest = rest.map(|rest| self.child(at, rest));
            }
            (_, rest) => items.rest = rest.map(|rest| self.child(at, rest)),
        }
        if !items.first.is_empty() || items.rest.is_some() {
            checks.push(Check::Items(Box::new(items)));
        }
        let Some(contains) = schema.get("contains").filter(|_| at.draft >= Draft::Six) else {
            return;
        };
        let bound = |keyword| {
            let bound = schema
                .get(keyword)
                .filter(|_| at.draft >= Draft::Nineteen)?;
            form::count(bound, at.draft)
        };
        checks.push(Check::Contains(Box::new(Contains {
            node: self.child(at, contains),
            least: bound("minContains").unwrap_or(1),
            most: bound("maxContains"),
        })));
    }

    fn list(&mut self, at: Subschema<'s>, value: Option<&'s Value>) -> Vec<NodeId> {
        let Some(Value::Array(schemas)) = value else {
            return Vec::new();
        };
        schemas
            .iter()
            .map(|schema| self.child(at, schema))
            .collect()
    }

    fn applicators(&mut self, at: Subschema<'s>, schema: &'s Object, checks: &mut Vec<Check>) {
        let mut conditional = Vec::new();
        if let Some(Value::Object(dependencies)) = schema.get("dependencies") {
            for (name, value) in sorted(dependencies) {
                if !value.is_array() {
                    conditional.push((name.clone(), self.child(at, value)));
                }
            }
        }
        if !conditional.is_empty() {
            checks.push(Check::Dependencies(conditional.into()));
        }
        let dependent = schema
            .get("dependentSchemas")
            .filter(|_| at.draft >= Draft::Nineteen);
        let dependent = self.named(at, dependent);
        if !dependent.is_empty() {
            checks.push(Check::DependentSchemas(dependent.into()));
        }
        let all = self.list(at, schema.get("allOf"));
        if !all.is_empty() {
            checks.push(Check::AllOf(all.into()));
        }
        if schema.contains_key("anyOf") {
            checks.push(Check::AnyOf(self.list(at, schema.get("anyOf")).into()));
        }
        if schema.contains_key("oneOf") {
            checks.push(Check::OneOf(self.list(at, schema.get("oneOf")).into()));
        }
        if let Some(not) = schema.get("not") {
            checks.push(Check::Not(self.child(at, not)));
        }
        if at.draft >= Draft::Seven
            && let Some(test) = schema.get("if")
        {
            let mut branch = |keyword| schema.get(keyword).map(|value| self.child(at, value));
            let (then, otherwise) = (branch("then"), branch("else"));
            checks.push(Check::If(Box::new(Condition {
                test: self.child(at, test),
                then,
                otherwise,
            })));
        }
    }
}

fn compiled<'s>(pattern: &str, part: &'s Value) -> Result<Pattern, Flaw<'s>> {
    Pattern::new(pattern)
        .map_err(|error| Flaw::new(part, format!("must be a regular expression: {error}")))
}

/// What is checked of a value that has no parts.
fn scalars<'s>(draft: Draft, schema: &'s Object, checks: &mut Vec<Check>) -> Result<(), Flaw<'s>> {
    if let Some(types) = types(draft, schema) {
        checks.push(Check::Type(types));
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        checks.push(Check::Enum(values.clone().into()));
    }
    if draft >= Draft::Six
        && let Some(value) = schema.get("const")
    {
        checks.push(Check::Const(Box::new(value.clone())));
    }
    for (keyword, upper) in [("minimum", false), ("maximum", true)] {
        let flag = if upper {
            "exclusiveMaximum"
        } else {
            "exclusiveMinimum"
        };
        if let Some(limit) = limit(schema, keyword) {
            let exclusive = draft == Draft::Four && schema.get(flag) == Some(&Value::Bool(true));
            checks.push(Check::Bound(Box::new(Bound {
                limit,
                upper,
                exclusive,
            })));
        }
        if draft >= Draft::Six
            && let Some(limit) = limit(schema, flag)
        {
            let exclusive = true;
            checks.push(Check::Bound(Box::new(Bound {
                limit,
                upper,
                exclusive,
            })));
        }
    }
    if let Some(limit) = limit(schema, "multipleOf") {
        checks.push(Check::MultipleOf(Box::new(limit)));
    }
    let count = |keyword| form::count(schema.get(keyword)?, draft);
    checks.extend(
        count("minLength")
            .filter(|least| *least > 0)
            .map(Check::MinLength),
    );
    checks.extend(count("maxLength").map(Check::MaxLength));
    if let Some(part @ Value::String(pattern)) = schema.get("pattern") {
        let compiled = compiled(pattern, part)?;
        checks.push(Check::Pattern(Box::new((compiled, pattern.clone()))));
    }
    if draft.asserts_formats()
        && let Some(Value::String(name)) = schema.get("format")
    {
        checks.extend(Format::named(name, draft).map(Check::Format));
    }
    checks.extend(content(draft, schema)?.map(Check::Content));
    Ok(())
}

fn types(draft: Draft, schema: &Object) -> Option<Types> {
    let types = match schema.get("type")? {
        Value::String(name) => Types::named(name)?,
        Value::Array(names) => {
            let names = names.iter().filter_map(|name| Types::named(name.as_str()?));
            names.fold(Types::default(), Types::with)
        }
        _ => return None,
    };
    Some(if draft == Draft::Four {
        types.integers_as_written()
    } else {
        types
    })
}

fn limit(schema: &Object, keyword: &str) -> Option<Limit> {
    let Value::Number(number) = schema.get(keyword)? else {
        return None;
    };
    Some(Limit {
        number: Exact::of(number),
        shown: number.to_string(),
    })
}

/// A media type that is not known hides the encoding too.
fn content(draft: Draft, schema: &Object) -> Result<Option<Content>, Flaw<'_>> {
    if draft != Draft::Six && draft != Draft::Seven {
        return Ok(None);
    }
    let text = |keyword| match schema.get(keyword) {
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(Flaw::new(other, "must be a string")),
        None => Ok(None),
    };
    let encoding = text("contentEncoding")?.map(Encoding::named);
    let media_type = text("contentMediaType")?.map(|name| name == "application/json");
    Ok(match (encoding, media_type) {
        (None, None) | (Some(None), _) | (_, Some(false)) => None,
        (encoding, media_type) => Some(Content {
            encoding: encoding.flatten(),
            is_json: media_type.is_some(),
        }),
    })
}

/// What is checked of the size of lists and objects, and which properties must be there.
fn counts(draft: Draft, schema: &Object, checks: &mut Vec<Check>) {
    let count = |keyword| form::count(schema.get(keyword)?, draft);
    checks.extend(count("minItems").map(Check::MinItems));
    checks.extend(count("maxItems").map(Check::MaxItems));
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
        checks.push(Check::UniqueItems);
    }
    checks.extend(count("minProperties").map(Check::MinProperties));
    checks.extend(count("maxProperties").map(Check::MaxProperties));
    let required = names(schema.get("required"));
    if !required.is_empty() {
        checks.push(Check::Required(required.into()));
    }
    let mut dependent: Vec<(String, Vec<String>)> = Vec::new();
    let since = |keyword, since| schema.get(keyword).filter(|_| draft >= since);
    for value in [
        since("dependencies", Draft::Four),
        since("dependentRequired", Draft::Nineteen),
    ] {
        if let Some(Value::Object(dependencies)) = value {
            let lists = sorted(dependencies)
                .into_iter()
                .filter(|(_, value)| value.is_array());
            dependent.extend(lists.map(|(name, value)| (name.clone(), names(Some(value)))));
        }
    }
    if !dependent.is_empty() {
        checks.push(Check::DependentRequired(dependent.into()));
    }
}

/// Names sorted, so that faults are told in one order.
fn names(value: Option<&Value>) -> Vec<String> {
    let Some(Value::Array(names)) = value else {
        return Vec::new();
    };
    let mut names: Vec<String> = names
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names
}
