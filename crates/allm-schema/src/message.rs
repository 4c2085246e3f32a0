//! What faults say. It is for a language model that must mend its arguments: short, and nothing of the value.

use std::fmt::Write as _;

use serde_json::Value;

use crate::compile::Program;
use crate::node::{Check, NodeId};
use crate::types::Types;

/// Lists of values of the schema are shown up to this many bytes.
const MAX_SHOWN: usize = 200;

pub(crate) const MISSING: &str = "must be there";

/// What a check demands.
pub(crate) fn of(check: &Check) -> String {
    match check {
        Check::Never => "must not be there".to_owned(),
        Check::Type(types) => self::types(*types),
        Check::Enum(values) => one_of(values),
        Check::Const(value) => match shown(value, MAX_SHOWN) {
            Some(shown) => format!("must be {shown}"),
            None => "must be the value that the schema gives".to_owned(),
        },
        Check::Bound(bound) => {
            let limit = &bound.limit.shown;
            match (bound.upper, bound.exclusive) {
                (true, true) => format!("must be less than {limit}"),
                (true, false) => format!("must be at most {limit}"),
                (false, true) => format!("must be more than {limit}"),
                (false, false) => format!("must be at least {limit}"),
            }
        }
        Check::MultipleOf(limit) => format!("must be a multiple of {}", limit.shown),
        Check::MinLength(least) => {
            format!(
                "must have at least {}",
                counted(*least, "character", "characters")
            )
        }
        Check::MaxLength(most) => {
            format!(
                "must have at most {}",
                counted(*most, "character", "characters")
            )
        }
        Check::Pattern(pattern) if pattern.1.len() <= MAX_SHOWN => {
            format!("must match the pattern {}", pattern.1)
        }
        Check::Pattern(_) => "must match the pattern that the schema gives".to_owned(),
        Check::Format(format) => format!("must be {}", format.phrase()),
        Check::Content(content) => match (content.encoding, content.is_json) {
            (None, _) => "must be JSON as text".to_owned(),
            (Some(encoding), false) => format!("must be text in {}", encoding.name()),
            (Some(encoding), true) => format!("must be JSON in {}", encoding.name()),
        },
        Check::MinItems(least) => {
            format!("must have at least {}", counted(*least, "item", "items"))
        }
        Check::MaxItems(most) => format!("must have at most {}", counted(*most, "item", "items")),
        Check::UniqueItems => "must have no item twice".to_owned(),
        Check::MinProperties(least) => {
            format!(
                "must have at least {}",
                counted(*least, "property", "properties")
            )
        }
        Check::MaxProperties(most) => {
            format!(
                "must have at most {}",
                counted(*most, "property", "properties")
            )
        }
        Check::MetaSchema(_) => "must be a JSON Schema".to_owned(),
        _ => "must fit the schema".to_owned(),
    }
}

pub(crate) fn types(types: Types) -> String {
    format!("must be {}", types.phrase())
}

pub(crate) fn missing_beside(name: &str) -> String {
    match shown(&Value::String(name.to_owned()), MAX_SHOWN) {
        Some(name) => format!("{MISSING} when {name} is"),
        None => MISSING.to_owned(),
    }
}

/// A fault of a property's name.
pub(crate) fn of_name(message: &str) -> String {
    let name = |verb: &str, rest: &str| format!("must have a name that {verb} {rest}");
    match message
        .strip_prefix("must ")
        .and_then(|rest| rest.split_once(' '))
    {
        Some(("not", "be there")) => "must not be there".to_owned(),
        Some(("be", rest)) => name("is", rest),
        Some(("have", rest)) => name("has", rest),
        Some(("match", rest)) => name("matches", rest),
        Some(("fit", rest)) => name("fits", rest),
        _ => "must have another name".to_owned(),
    }
}

fn contained(bound: &str, count: u64) -> String {
    let items = counted(count, "item", "items");
    let fit = if count == 1 { "fits" } else { "fit" };
    format!("must have {bound} {items} that {fit} what \"contains\" demands")
}

pub(crate) fn contains_too_few(least: u64) -> String {
    contained("at least", least)
}

pub(crate) fn contains_too_many(most: u64) -> String {
    contained("at most", most)
}

pub(crate) fn fits_several(count: usize) -> String {
    format!("must fit only one of the schemas, and fits {count}")
}

/// None of the schemas fits. Where all of them are constants, those are told.
pub(crate) fn fits_none(program: &Program, nodes: &[NodeId]) -> String {
    let mut values = Vec::new();
    for node in nodes {
        let checks = program
            .nodes
            .get(*node)
            .map_or(&[][..], |node| &node.checks);
        let constants = checks.iter().find_map(|check| match check {
            Check::Const(value) => Some(std::slice::from_ref(value.as_ref())),
            Check::Enum(values) => Some(values.as_ref()),
            _ => None,
        });
        match constants {
            Some(constants) => values.extend(constants),
            None => return "must fit one of the schemas given".to_owned(),
        }
    }
    one_of(values)
}

pub(crate) fn not(program: &Program, node: NodeId) -> String {
    let checks = program.nodes.get(node).map_or(&[][..], |node| &node.checks);
    match checks {
        [] => of(&Check::Never),
        [
            check @ (Check::Type(_)
            | Check::Const(_)
            | Check::Enum(_)
            | Check::Pattern(_)
            | Check::Format(_)),
        ] => of(check).replacen("must ", "must not ", 1),
        _ => "must not fit the schema that \"not\" gives".to_owned(),
    }
}

fn one_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    let mut list = String::new();
    let mut count = 0;
    for value in values {
        let room = MAX_SHOWN.saturating_sub(list.len());
        let Some(shown) = shown(value, room) else {
            return "must be one of the values that the schema gives".to_owned();
        };
        // Writing to a string cannot fail.
        let _ = write!(list, "{}{shown}", if count == 0 { "" } else { ", " });
        count += 1;
    }
    match count {
        0 => "must not be there".to_owned(),
        1 => format!("must be {list}"),
        _ => format!("must be one of {list}"),
    }
}

/// A value of the schema as JSON with sorted properties, if that is short.
fn shown(value: &Value, room: usize) -> Option<String> {
    fn write(text: &mut String, value: &Value, room: usize) -> Option<()> {
        match value {
            Value::Object(object) => {
                text.push('{');
                for (position, (name, value)) in crate::view::sorted(object).into_iter().enumerate()
                {
                    text.push_str(if position == 0 { "" } else { "," });
                    text.push_str(&Value::String(name.clone()).to_string());
                    text.push(':');
                    write(text, value, room)?;
                }
                text.push('}');
            }
            Value::Array(items) => {
                text.push('[');
                for (position, item) in items.iter().enumerate() {
                    text.push_str(if position == 0 { "" } else { "," });
                    write(text, item, room)?;
                }
                text.push(']');
            }
            Value::String(long) if long.len() > room => return None,
            other => text.push_str(&other.to_string()),
        }
        (text.len() <= room).then_some(())
    }
    let mut text = String::new();
    write(&mut text, value, room)?;
    Some(text)
}

fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
