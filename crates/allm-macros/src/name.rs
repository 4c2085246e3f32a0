//! What may be the name of a tool.

use proc_macro2::Span;

/// A name that the engine would refuse is refused here already.
pub(crate) fn check(name: &str, span: Span) -> syn::Result<()> {
    let fits = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let message = if name.is_empty() {
        "a tool needs a name".to_owned()
    } else if !fits {
        format!("`{name}` cannot be the name of a tool: it must be 1 to 64 of `A-Z a-z 0-9 _ -`")
    } else if ["auto", "none", "required"].contains(&name) {
        format!("`{name}` cannot be the name of a tool: providers reserve it")
    } else {
        return Ok(());
    };
    let help = "name it with `#[tool(name = \"…\")]`";
    Err(syn::Error::new(span, format!("{message}; {help}")))
}
