//! From the function to the function that makes the tool.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, ReturnType};

use crate::function::Function;
use crate::options::Options;
use crate::parameter::{self, Argument, Parameter};
use crate::{name, text};

/// The function that makes the tool, or what is wrong with it.
pub(crate) fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<Function>(item.clone()) {
        Ok(function) => function,
        Err(fault) => {
            let fault = fault.into_compile_error();
            return quote!(#fault #item);
        }
    };
    let stub = stub(function.clone());
    Options::parse(options)
        .and_then(|options| expand(function, &options))
        .unwrap_or_else(|fault| {
            let fault = fault.into_compile_error();
            quote!(#fault #stub)
        })
}

/// What stands for a function that is at fault, so that the compiler says nothing more of it than the fault: whoever uses
/// it finds it, and its body is looked at as it is.
fn stub(mut function: Function) -> TokenStream {
    let mut is_free = true;
    for input in &mut function.signature.inputs {
        match input {
            FnArg::Typed(input) => input.attrs.clear(),
            FnArg::Receiver(_) => is_free = false,
        }
    }
    let Function {
        visibility,
        signature,
        body,
        ..
    } = function;
    let ident = &signature.ident;
    let inside = is_free.then(|| quote!(#signature #body));
    quote! {
        #[allow(unused, clippy::all)]
        #visibility fn #ident() -> ::allm::Tool {
            #inside
            ::core::unreachable!()
        }
    }
}

fn expand(mut function: Function, options: &Options) -> syn::Result<TokenStream> {
    function.check(options)?;
    let parameters = parameter::take(&mut function.signature.inputs)?;
    let name = tool_name(&function, options)?;
    let description = match &options.description {
        Some(description) => description.to_token_stream(),
        None => text::of_docs(&function.attributes)?.to_token_stream(),
    };
    let arguments: Vec<&Argument> = parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(&**argument),
            Parameter::Context => None,
        })
        .collect();
    let items = items(&arguments, &name);
    let (arguments, schema) = if arguments.is_empty() {
        (quote!(::allm::Map), quote!(none()))
    } else {
        (quote!(__Arguments), quote!(of::<__Arguments>()))
    };
    let handler = handler(&function, &parameters, &arguments);
    let calls = options.calls();

    let Function {
        attributes,
        visibility,
        signature,
        body,
    } = &function;
    let ident = &signature.ident;
    let outside = attributes.iter().filter(|attribute| is_outside(attribute));
    let inside = attributes.iter().filter(|attribute| is_inside(attribute));
    Ok(quote! {
        #(#outside)*
        #[must_use]
        #visibility fn #ident() -> ::allm::Tool {
            #items

            // A tool owns its arguments, whether it needs to or not.
            #[allow(clippy::needless_pass_by_value)]
            #(#inside)*
            #signature #body

            ::allm::Tool::new(#name, #description, ::allm::__private::schema::#schema)
                #handler
                #calls
        }
    })
}

fn tool_name(function: &Function, options: &Options) -> syn::Result<String> {
    let ident = &function.signature.ident;
    let (name, span) = match &options.name {
        Some(name) => (name.value(), name.span()),
        None => (ident.unraw().to_string(), ident.span()),
    };
    name::check(&name, span)?;
    Ok(name)
}

/// What says something of the function as others see it.
fn is_outside(attribute: &Attribute) -> bool {
    ["doc", "cfg", "deprecated", "allow"]
        .iter()
        .any(|name| attribute.path().is_ident(name))
}

/// What says something of the function's body, such as `#[tracing::instrument]`.
fn is_inside(attribute: &Attribute) -> bool {
    !["doc", "cfg", "deprecated"]
        .iter()
        .any(|name| attribute.path().is_ident(name))
}

/// The type of the arguments and what it needs.
fn items(arguments: &[&Argument], name: &str) -> TokenStream {
    if arguments.is_empty() {
        return TokenStream::new();
    }
    let fields = arguments.iter().map(|argument| {
        let Argument {
            name,
            value,
            attributes,
            default,
        } = argument;
        let default = default.as_ref().map(|_| {
            let path = argument.default_name().to_string();
            quote!(#[serde(default = #path)])
        });
        quote!(#(#attributes)* #default #name: #value)
    });
    let defaults = arguments.iter().filter_map(|argument| {
        let default = argument.default.as_ref()?;
        let (name, value) = (argument.default_name(), &argument.value);
        Some(quote! {
            fn #name() -> #value {
                #default
            }
        })
    });
    // A type with flattened parts does not know which names are its own.
    let closed = (!arguments.iter().any(|argument| argument.is_flattened()))
        .then(|| quote!(#[serde(deny_unknown_fields)]));
    let checked = arguments
        .iter()
        .filter(|argument| !argument.is_read_otherwise());
    let checks = checked.map(|argument| {
        let value = &argument.value;
        quote!(const _: fn() = ::allm::__private::parameter::<#value>;)
    });
    let expecting = format!("the arguments of {name}");
    quote! {
        #(#checks)*

        #[derive(::allm::__private::serde::Deserialize, ::allm::__private::schemars::JsonSchema)]
        #[serde(crate = "::allm::__private::serde", expecting = #expecting)]
        #[schemars(crate = "::allm::__private::schemars")]
        #closed
        struct __Arguments {
            #(#fields,)*
        }

        #(#defaults)*
    }
}

/// The call that gives the tool its handler.
fn handler(function: &Function, parameters: &[Parameter], arguments: &TokenStream) -> TokenStream {
    let ident = &function.signature.ident;
    let own = Ident::new("arguments", Span::mixed_site());
    let context = Ident::new("context", Span::mixed_site());
    let has_context = parameters
        .iter()
        .any(|parameter| matches!(parameter, Parameter::Context));
    let given = parameters.iter().map(|parameter| match parameter {
        Parameter::Argument(argument) => {
            let name = &argument.name;
            quote!(#own.#name)
        }
        Parameter::Context => quote!(#context),
    });
    let takes_context = has_context.then(|| quote!(, #context: ::allm::ToolContext));
    let takes = quote!(#own: #arguments #takes_context);
    let call = quote!(#ident(#(#given),*));

    let output = match &function.signature.output {
        ReturnType::Default => ident.span(),
        ReturnType::Type(_, output) => output.span(),
    };
    // What the function returned is not a reply: that is said of its return type.
    let value = Ident::new("__value", output);
    let reply = quote_spanned!(output=> ::allm::__private::reply(#value));
    if function.signature.asyncness.is_some() {
        quote! {
            .handler(|#takes| async move {
                let #value = #call.await;
                #reply
            })
        }
    } else {
        quote! {
            .blocking(|#takes| {
                let #value = #call;
                #reply
            })
        }
    }
}
