//! Doc comments as text.

use syn::{Attribute, Expr, Lit, Meta};

/// The lines of the doc comments among the attributes, without their common indentation.
///
/// # Errors
///
/// A doc comment that is not a literal has no text yet.
pub(crate) fn of_docs(attributes: &[Attribute]) -> syn::Result<String> {
    let mut text = String::new();
    for attribute in attributes {
        match &attribute.meta {
            Meta::NameValue(doc) if doc.path.is_ident("doc") => {
                let Expr::Lit(value) = &doc.value else {
                    return Err(unknown(&doc.value));
                };
                let Lit::Str(line) = &value.lit else {
                    return Err(unknown(&doc.value));
                };
                text.push_str(&line.value());
                text.push('\n');
            }
            _ => {}
        }
    }
    Ok(dedent(&text))
}

fn unknown(value: &Expr) -> syn::Error {
    let message = "the text of this doc comment is not known to `#[tool]`: \
                   give it as `#[tool(description = …)]`";
    syn::Error::new_spanned(value, message)
}

fn dedent(text: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let common = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(indentation)
        .min()
        .unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.get(common..).unwrap_or_default().trim_end())
        .collect();
    lines.join("\n").trim_matches('\n').to_owned()
}
