//! The function that `#[tool]` stands on.

use proc_macro2::{Group, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, LitStr, Signature, Token, Visibility};

use crate::options::Options;

/// A function. Its body is not looked into, so that a half-written one still is a tool to an editor.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    pub(crate) body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        if !is_function(&input.fork()) {
            return Err(input.error(
                "`#[tool]` goes on a function: an `async fn`, or a `fn` with `#[tool(blocking)]`",
            ));
        }
        let signature = input.parse()?;
        match input.parse()? {
            TokenTree::Group(body) => Ok(Self {
                attributes,
                visibility,
                signature,
                body,
            }),
            other => {
                let message =
                    "a tool needs a body: `#[tool]` goes on a function, not on its declaration";
                Err(syn::Error::new(other.span(), message))
            }
        }
    }
}

fn is_function(input: ParseStream<'_>) -> bool {
    loop {
        if input.peek(Token![fn]) {
            return true;
        }
        let qualifier = input.parse::<Token![const]>().is_ok()
            || input.parse::<Token![async]>().is_ok()
            || input.parse::<Token![unsafe]>().is_ok()
            || input.parse::<Token![extern]>().is_ok()
            || input.parse::<LitStr>().is_ok();
        if !qualifier {
            return false;
        }
    }
}

impl Function {
    /// Whether this kind of function can be a tool.
    ///
    /// # Errors
    ///
    /// What stands in the way, and what to do.
    pub(crate) fn check(&self, options: &Options) -> syn::Result<()> {
        let signature = &self.signature;
        let generics = &signature.generics;
        if !generics.params.is_empty() {
            let message =
                "a tool has one schema, so its function cannot be generic: use concrete types";
            return Err(syn::Error::new_spanned(&generics.params, message));
        }
        if let Some(variadic) = &signature.variadic {
            let message = "a tool cannot be variadic: take a `Vec`";
            return Err(syn::Error::new_spanned(variadic, message));
        }
        match (&signature.asyncness, options.blocking) {
            (None, None) => {
                let message = "a tool is an `async fn`: write `async fn`, or keep `fn` and write `#[tool(blocking)]` \
                               to run it off the async threads";
                Err(syn::Error::new(signature.fn_token.span(), message))
            }
            (Some(_), Some(blocking)) => {
                let message =
                    "`blocking` is for a synchronous function: remove it, or remove `async`";
                Err(syn::Error::new(blocking, message))
            }
            _ => Ok(()),
        }
    }
}
