//! What stands in `#[tool(…)]` on the function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Expr, LitInt, LitStr};

const KNOWN: &str = "`name`, `description`, `blocking`, `manual`, `approval`, `compact`, `summary`, \
                     `effect`, `timeout`, `timeout_ms`";

/// What stands in `#[tool(…)]` on the function.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) blocking: Option<Span>,
    manual: bool,
    approval: bool,
    compact: bool,
    summary: Option<Expr>,
    effect: Option<&'static str>,
    timeout_ms: Option<u64>,
    seen: Vec<String>,
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.read(&meta)).parse2(tokens)?;
        Ok(options)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let option = meta
            .path
            .get_ident()
            .map(Ident::to_string)
            .unwrap_or_default();
        match option.as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "description" => self.description = Some(meta.value()?.parse()?),
            "blocking" => self.blocking = Some(meta.path.span()),
            "manual" => self.manual = true,
            "approval" => self.approval = true,
            "compact" => self.compact = true,
            "summary" => self.summary = Some(meta.value()?.parse()?),
            "effect" => self.effect = Some(effect(&meta.value()?.parse()?)?),
            "timeout" => self.timeout_ms = Some(timeout(&meta.value()?.parse()?)?),
            "timeout_ms" => self.timeout_ms = Some(timeout_ms(&meta.value()?.parse()?)?),
            _ => {
                let name = meta.path.to_token_stream().to_string().replace(' ', "");
                let message = format!("`#[tool]` has no option `{name}`; it has {KNOWN}");
                return Err(syn::Error::new_spanned(&meta.path, message));
            }
        }
        // Both forms of the time limit are one option.
        let option = option.trim_end_matches("_ms").to_owned();
        if self.seen.contains(&option) {
            return Err(meta.error(format!("`{option}` is given twice: keep one")));
        }
        self.seen.push(option);
        Ok(())
    }

    /// The calls on `Tool` that set these options.
    pub(crate) fn calls(&self) -> TokenStream {
        let mut calls = TokenStream::new();
        if self.manual {
            calls.extend(quote!(.manual()));
        }
        if self.approval {
            calls.extend(quote!(.approval(::allm::ApprovalRule::Always)));
        }
        if self.compact {
            calls.extend(quote!(.compact()));
        }
        if let Some(summary) = &self.summary {
            calls.extend(quote!(.summary(#summary)));
        }
        if let Some(effect) = self.effect {
            let effect = Ident::new(effect, Span::call_site());
            calls.extend(quote!(.effect(::allm::Effect::#effect)));
        }
        if let Some(millis) = self.timeout_ms {
            calls.extend(quote!(.timeout(::core::time::Duration::from_millis(#millis))));
        }
        calls
    }
}

fn effect(name: &Ident) -> syn::Result<&'static str> {
    match name.to_string().as_str() {
        "pure" => Ok("Pure"),
        "idempotent" => Ok("Idempotent"),
        "at_most_once" => Ok("AtMostOnce"),
        "reconcile" => Err(syn::Error::new_spanned(
            name,
            "`reconcile` needs a probe: leave it out here and call `.effect(Effect::Reconcile(…))` on the tool",
        )),
        other => Err(syn::Error::new_spanned(
            name,
            format!("there is no effect `{other}`; use `pure`, `idempotent` or `at_most_once`"),
        )),
    }
}

fn timeout(limit: &Expr) -> syn::Result<u64> {
    let wrong = || {
        let message = "a time limit is a whole number with its unit, such as `\"30s\"`: `ms`, `s`, `m` or `h`";
        syn::Error::new_spanned(limit, message)
    };
    let text = syn::parse2::<LitStr>(limit.to_token_stream())
        .map_err(|_| wrong())?
        .value();
    let unit = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    let count: u64 = text
        .strip_suffix(unit)
        .and_then(|count| count.parse().ok())
        .ok_or_else(wrong)?;
    let millis = count.checked_mul(factor).ok_or_else(wrong)?;
    positive(millis, limit)
}

fn timeout_ms(limit: &LitInt) -> syn::Result<u64> {
    positive(limit.base10_parse()?, limit)
}

fn positive(millis: u64, limit: &impl ToTokens) -> syn::Result<u64> {
    if millis == 0 {
        let message = "a time limit must be more than nothing";
        return Err(syn::Error::new_spanned(limit, message));
    }
    Ok(millis)
}
