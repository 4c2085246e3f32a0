//! The parameters of the function: what the model gives, and the context.

use proc_macro2::{Ident, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Attribute, Expr, FnArg, Meta, Pat, PatType, Type};

/// A parameter of the function, in its place.
pub(crate) enum Parameter {
    /// What the model gives.
    Argument(Box<Argument>),
    /// The `ToolContext`.
    Context,
}

/// What the model gives.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) value: Type,
    /// Doc comments, `#[serde(…)]` and `#[schemars(…)]`.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) default: Option<Default>,
}

/// What stands in for an argument that the model left out.
pub(crate) enum Default {
    /// That of the type.
    OfType,
    Value(Expr),
}

/// Takes the parameters, and from each what only `#[tool]` understands.
///
/// # Errors
///
/// Every parameter that cannot be one of a tool.
pub(crate) fn take<'a>(
    inputs: impl IntoIterator<Item = &'a mut FnArg>,
) -> syn::Result<Vec<Parameter>> {
    let mut parameters = Vec::new();
    let mut faults: Option<syn::Error> = None;
    let mut has_context = false;
    for input in inputs {
        let parameter = parameter(input).and_then(|parameter| {
            if matches!(parameter, Parameter::Context) && std::mem::replace(&mut has_context, true)
            {
                let message = "a tool has one context: remove this second `ToolContext`";
                return Err(syn::Error::new_spanned(&*input, message));
            }
            Ok(parameter)
        });
        match (parameter, &mut faults) {
            (Ok(parameter), _) => parameters.push(parameter),
            (Err(fault), Some(faults)) => faults.combine(fault),
            (Err(fault), None) => faults = Some(fault),
        }
    }
    match faults {
        None => Ok(parameters),
        Some(faults) => Err(faults),
    }
}

fn parameter(input: &mut FnArg) -> syn::Result<Parameter> {
    let input = match input {
        FnArg::Typed(input) => input,
        FnArg::Receiver(receiver) => {
            let message = "a tool has no `self`: make it a function of its own, and take what it needs from the \
                           context: `ctx: ToolContext`, `ctx.get::<T>()`";
            return Err(syn::Error::new_spanned(receiver, message));
        }
    };
    match bare(&input.ty) {
        value if is_context(value) => Ok(Parameter::Context),
        Type::Reference(reference) => {
            let message = match bare(&reference.elem) {
                value if is_context(value) => "a tool owns its context: take `ToolContext`",
                Type::Path(path) if path.path.is_ident("str") => {
                    "a tool owns its arguments: take a `String`"
                }
                Type::Slice(_) => "a tool owns its arguments: take a `Vec`",
                _ => "a tool owns its arguments: take the type without `&`",
            };
            Err(syn::Error::new_spanned(&input.ty, message))
        }
        Type::ImplTrait(generic) => {
            let message =
                "a tool has one schema, so its function cannot be generic: use a concrete type";
            Err(syn::Error::new_spanned(generic, message))
        }
        _ => argument(input).map(|argument| Parameter::Argument(Box::new(argument))),
    }
}

fn argument(input: &mut PatType) -> syn::Result<Argument> {
    let name = match &*input.pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name.ident.clone(),
        pattern => {
            let message = "a parameter of a tool needs a name, which the model sees: write `name: Type` and take it \
                           apart in the body";
            return Err(syn::Error::new_spanned(pattern, message));
        }
    };
    let mut attributes = Vec::new();
    let mut default = None;
    // What is for the compiler stays.
    let mut kept = Vec::new();
    for attribute in std::mem::take(&mut input.attrs) {
        let path = attribute.path();
        if path.is_ident("tool") {
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("default") {
                    let message =
                        "a parameter of a tool has one option: `default` or `default = value`";
                    return Err(syn::Error::new_spanned(&meta.path, message));
                }
                if default.is_some() {
                    return Err(meta.error("`default` is given twice: keep one"));
                }
                default = Some(match meta.value() {
                    Ok(value) => Default::Value(value.parse()?),
                    Err(_) => Default::OfType,
                });
                Ok(())
            })?;
        } else if ["doc", "serde", "schemars"]
            .iter()
            .any(|name| path.is_ident(name))
        {
            attributes.push(attribute);
        } else if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            let message =
                "a parameter of a tool cannot be conditional: put `cfg` on the whole function";
            return Err(syn::Error::new_spanned(attribute, message));
        } else {
            kept.push(attribute);
        }
    }
    input.attrs = kept;
    Ok(Argument {
        name,
        value: (*input.ty).clone(),
        attributes,
        default,
    })
}

impl Argument {
    /// Whether its own members stand among the arguments.
    pub(crate) fn is_flattened(&self) -> bool {
        self.says(&["flatten"])
    }

    /// Whether something else than its type reads it or makes its schema.
    pub(crate) fn is_read_otherwise(&self) -> bool {
        self.says(&["with", "deserialize_with", "schema_with"])
    }

    /// Whether one of these words stands in its attributes of serde and schemars.
    fn says(&self, words: &[&str]) -> bool {
        let lists = self
            .attributes
            .iter()
            .filter_map(|attribute| match &attribute.meta {
                Meta::List(list) => Some(list.tokens.clone()),
                _ => None,
            });
        lists.flatten().any(|token| match token {
            TokenTree::Ident(found) => words.iter().any(|word| found == word),
            _ => false,
        })
    }

    /// The name of the function that makes its default value.
    pub(crate) fn default_name(&self) -> Ident {
        quote::format_ident!("__default_{}", self.name.unraw())
    }
}

/// The type without the invisible brackets that macros put around it.
fn bare(mut value: &Type) -> &Type {
    while let Type::Group(group) = value {
        value = &group.elem;
    }
    value
}

fn is_context(value: &Type) -> bool {
    let Type::Path(path) = value else {
        return false;
    };
    let last = path.path.segments.last();
    path.qself.is_none()
        && last.is_some_and(|last| last.ident == "ToolContext" && last.arguments.is_empty())
}

impl ToTokens for Default {
    fn to_tokens(&self, tokens: &mut proc_macro2::TokenStream) {
        match self {
            Self::OfType => tokens.extend(quote::quote!(::core::default::Default::default())),
            // So that a text can be written as one.
            Self::Value(Expr::Lit(value)) if matches!(value.lit, syn::Lit::Str(_)) => {
                tokens.extend(quote::quote!(::core::convert::Into::into(#value)));
            }
            Self::Value(value) => value.to_tokens(tokens),
        }
    }
}
