//! The `#[tool]` attribute of allm. Use it as `allm::tool`.

mod expand;
mod function;
mod name;
mod options;
mod parameter;
mod text;

use proc_macro::TokenStream;

#[expect(
    missing_docs,
    reason = "documented where it is used from, as `allm::tool`"
)]
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(options.into(), item.into()).into()
}
