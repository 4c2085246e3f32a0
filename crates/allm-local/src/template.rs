//! The chat template in a model's file: from messages to the text that the model goes on from.

mod dates;
pub(crate) mod python;

use minijinja::value::{Kwargs, Value as Jinja};
use minijinja::{Environment, Error, ErrorKind, context};
use serde_json::Value;

use crate::error::{ModelError, ModelErrorKind};

/// A chat template.
#[derive(Debug)]
pub(crate) struct Template {
    environment: Environment<'static>,
    source: String,
}

const NAME: &str = "chat";

/// Bounds the work of a template that comes from a file.
const FUEL: u64 = 5_000_000;

impl Template {
    pub(crate) fn new(source: &str) -> Result<Self, ModelError> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_fuel(Some(FUEL));
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", tojson);
        environment.add_function("strftime_now", |format: &str| dates::now(format));
        environment.add_function("raise_exception", |message: String| {
            Err::<Jinja, _>(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment
            .add_template_owned(NAME, source.to_owned())
            .map_err(|error| {
                let message = "the chat template in the model's file cannot be read";
                ModelError::new(ModelErrorKind::Unsupported, message).because(error)
            })?;
        Ok(Self {
            environment,
            source: source.to_owned(),
        })
    }

    /// Whether the template looks at the tools that it is given.
    pub(crate) fn knows_tools(&self) -> bool {
        // A variable that is asked for, and no text that happens to say the word.
        let asked = self.environment.get_template(NAME);
        asked.is_ok_and(|template| template.undeclared_variables(false).contains("tools"))
    }

    /// The text of the template itself.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The text of a conversation, up to where the model goes on.
    ///
    /// # Errors
    ///
    /// What the template says is wrong with the conversation.
    pub(crate) fn render(
        &self,
        messages: &[Value],
        tools: Option<&[Value]>,
        begin: &str,
        end: &str,
    ) -> Result<String, String> {
        let told = |error: Error| match error.detail() {
            Some(detail) if error.kind() == ErrorKind::InvalidOperation => detail.to_owned(),
            _ => error.to_string(),
        };
        let template = self.environment.get_template(NAME).map_err(told)?;
        let given = context! {
            messages => messages,
            tools => tools,
            add_generation_prompt => true,
            bos_token => begin,
            eos_token => end,
        };
        template.render(given).map_err(told)
    }
}

fn tojson(value: &Jinja, options: Kwargs) -> Result<Jinja, Error> {
    let wrong = |error: serde_json::Error| {
        Error::new(ErrorKind::BadSerialization, "the value cannot be JSON").with_source(error)
    };
    let value = serde_json::to_value(value).map_err(wrong)?;
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<Jinja> = options.get("ensure_ascii")?;
    let _: Option<Jinja> = options.get("separators")?;
    let _: Option<Jinja> = options.get("sort_keys")?;
    options.assert_all_used()?;
    let text = match indent {
        None => python::json(&value),
        Some(indent) => python::indented(&value, indent),
    };
    Ok(Jinja::from_safe_string(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render(source: &str, messages: &Value) -> Result<String, String> {
        let template = Template::new(source).unwrap();
        template.render(messages.as_array().unwrap(), None, "<s>", "</s>")
    }

    /// P240
    #[test]
    fn p240_templates_use_what_python_has() {
        let source = "{{ bos_token }}{%- for m in messages %}\n  {{ m['content'].strip().upper() }}{% endfor %}
{% if messages[0].role.startswith('us') and add_generation_prompt %}{{ messages | tojson }}{% endif %}";
        let messages = json!([{"role": "user", "content": " a <b> "}]);
        let expected = "<s>  A <B>[{\"role\": \"user\", \"content\": \" a <b> \"}]";
        assert_eq!(render(source, &messages).unwrap(), expected);
    }

    /// P240
    #[test]
    fn what_a_template_raises_is_told() {
        let error = render("{{ raise_exception('roles must alternate') }}", &json!([]));
        assert_eq!(error, Err("roles must alternate".to_owned()));
        let today = render("{{ strftime_now('%Y') }}", &json!([])).unwrap();
        assert!(today.parse::<u32>().unwrap() >= 2025, "{today}");
    }

    #[test]
    fn tools_are_looked_for_as_a_variable() {
        let knows = |source| Template::new(source).unwrap().knows_tools();
        assert!(knows(
            "{% if tools is not none %}{{ tools | tojson(indent=4) }}{% endif %}"
        ));
        assert!(!knows(
            "You have no tools.{% for m in messages %}{{ m.tools }}{% endfor %}"
        ));
    }

    #[test]
    fn a_template_without_end_is_stopped() {
        let source =
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        assert!(render(source, &json!([])).unwrap_err().contains("fuel"));
    }
}
