//! What a model may write: text, or a call of a tool whose arguments fit its schema.

mod choice;
mod ending;
mod place;
mod schema;
mod vocabulary;

use std::sync::Arc;

use allm_core::Path;
use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, TokEnv};
use llguidance::{Matcher, ParserFactory};
use serde_json::Value;

use crate::prompt::CallStyle;
use crate::tokenizer::Tokenizer;

use ending::Ending;

pub(crate) use choice::{Choice, Side};
pub(crate) use schema::outspoken;

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Callable {
    pub(crate) name: String,
    pub(crate) schema: Value,
}

/// How many calls an answer may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    One,
    Several,
}

/// What an answer that is no call may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Saying {
    Anything,
    /// JSON of this schema; `None` is any object.
    Json(Option<Value>),
    /// A call is required.
    Nothing,
}

/// Makes grammars over the vocabulary of a model.
pub(crate) struct Grammars {
    factory: ParserFactory,
    bytes: ParserFactory,
    environment: TokEnv,
}

/// What holds an answer to a grammar.
pub(crate) struct Held {
    /// Over the tokens of the model.
    tokens: Matcher,
    ending: Ending,
}

impl std::fmt::Debug for Grammars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Grammars")
    }
}

/// What cannot be done.
type Told = String;

impl Grammars {
    pub(crate) fn new(tokenizer: &Arc<Tokenizer>) -> Result<Self, Told> {
        Self::over(&vocabulary::environment(tokenizer))
    }

    /// Over single bytes: to see whether a schema can be done, before there is a model.
    pub(crate) fn over_bytes() -> Result<Self, Told> {
        Self::over(&ApproximateTokEnv::single_byte_env())
    }

    fn over(environment: &TokEnv) -> Result<Self, Told> {
        Ok(Self {
            factory: factory(environment)?,
            bytes: factory(&ApproximateTokEnv::single_byte_env())?,
            environment: Arc::clone(environment),
        })
    }

    fn held(&self, grammar: String) -> Result<Held, Told> {
        Ok(Held {
            tokens: matcher(&self.factory, grammar.clone())?,
            ending: Ending::new(matcher(&self.bytes, grammar)?),
        })
    }

    /// The tokens that these bytes are written with.
    fn tokens(&self, bytes: &[u8]) -> Vec<u32> {
        self.environment.tokenize_bytes(bytes)
    }

    /// What holds a model to calls of these tools; the first call may be decided.
    pub(crate) fn calls(
        &self,
        tools: &[Callable],
        calls: Calls,
        style: CallStyle,
        first: Option<usize>,
    ) -> Result<Held, Told> {
        let quoted = |text: &str| Value::from(text).to_string();
        let first = first.map_or_else(|| "call".to_owned(), |number| format!("tool_{number}"));
        let mut grammar = match calls {
            Calls::One => format!("start: {first}\n"),
            Calls::Several => format!("start: {first} ({} call)*\n", quoted(style.between())),
        };
        let names: Vec<String> = (0..tools.len())
            .map(|number| format!("tool_{number}"))
            .collect();
        grammar += &format!("call: {}\n", names.join(" | "));
        for (number, (name, tool)) in names.iter().zip(tools).enumerate() {
            let before = quoted(&style.before_arguments(&tool.name));
            let after = quoted(style.after_arguments());
            let schema = schema::closed(&object(&tool.schema));
            grammar += &format!("{name}: {before} arguments_{number} {after}\n");
            grammar += &format!("arguments_{number}: %json {schema}\n");
        }
        self.held(grammar)
    }

    /// What holds a model to JSON.
    pub(crate) fn json(&self, schema: Option<&Value>) -> Result<Held, Told> {
        let schema = schema.map_or_else(schema::any_object, schema::closed);
        self.held(format!("start: %json {schema}\n"))
    }

    /// Where a schema cannot be done, and why.
    pub(crate) fn fault(&self, schema: &Value) -> Option<(Path, String)> {
        let fault_of =
            |schema: &Value| matcher(&self.bytes, format!("start: %json {schema}\n")).err();
        schema::place_of_fault(schema, &fault_of)
    }
}

fn factory(environment: &TokEnv) -> Result<ParserFactory, Told> {
    let mut factory = ParserFactory::new_simple(environment).map_err(|error| told(&error))?;
    factory.quiet();
    *factory.limits_mut() = ParserLimits {
        // Errors must not repeat what was said.
        verbose_errors: false,
        ..ParserLimits::default()
    };
    Ok(factory)
}

fn matcher(factory: &ParserFactory, grammar: String) -> Result<Matcher, Told> {
    let grammar = TopLevelGrammar::from_lark(grammar);
    let mut matcher = Matcher::new(factory.create_parser(grammar));
    if let Some(error) = matcher.get_error() {
        return Err(first_line(&error));
    }
    let warnings = matcher.grammar_warnings();
    match warnings.first() {
        None => Ok(matcher),
        // What the grammar would not hold the model to.
        Some(warning) => Err(first_line(warning)),
    }
}

/// Arguments are always an object; a schema may leave that unsaid.
pub(crate) fn object(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        let is_said = ["type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum"];
        if !is_said.iter().any(|keyword| map.contains_key(*keyword)) {
            map.insert("type".to_owned(), "object".into());
        }
    }
    schema
}

fn told(error: &dyn std::fmt::Display) -> Told {
    first_line(&error.to_string())
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect()
}

#[cfg(test)]
mod tests;
