// SPDX-License-Identifier: MIT OR Apache-2.0
//! `#[rankpoint::test]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, ExprArray, ItemFn, LitInt, Result, Token};

/// What stands in the attribute's parentheses.
pub(crate) struct Arguments {
    ranks: Vec<LitInt>,
    timeout_s: Option<LitInt>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut arguments = Self {
            ranks: Vec::new(),
            timeout_s: None,
        };
        while !input.is_empty() {
            let name: syn::Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match name.to_string().as_str() {
                "ranks" => arguments.ranks = numbers(input)?,
                "timeout" => arguments.timeout_s = Some(input.parse()?),
                other => {
                    let text =
                        format!("there is no '{other}' here; there are 'ranks' and 'timeout'");
                    return Err(Error::new_spanned(&name, text));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if arguments.ranks.is_empty() {
            return Err(input.error("say on how many ranks: ranks = 4, or ranks = [1, 2, 4]"));
        }
        Ok(arguments)
    }
}

/// One number or a list of numbers of ranks.
fn numbers(input: ParseStream<'_>) -> Result<Vec<LitInt>> {
    if !input.peek(syn::token::Bracket) {
        return Ok(vec![positive(input.parse()?)?]);
    }
    let list: ExprArray = input.parse()?;
    list.elems
        .into_iter()
        .map(|element| match element {
            Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Int(number),
                ..
            }) => positive(number),
            other => Err(Error::new_spanned(other, "expected a number of ranks")),
        })
        .collect()
}

fn positive(number: LitInt) -> Result<LitInt> {
    if number.base10_parse::<u32>()? == 0 {
        return Err(Error::new_spanned(number, "a job has at least one rank"));
    }
    Ok(number)
}

pub(crate) fn expand(arguments: &Arguments, function: ItemFn) -> Result<TokenStream> {
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = function;
    if let Some(word) = &sig.asyncness {
        return Err(Error::new_spanned(word, "a test is no async function"));
    }
    let (name, inputs, output) = (&sig.ident, &sig.inputs, &sig.output);
    let call = match inputs.len() {
        0 => quote! { body() },
        1 => quote! { body(universe.world()) },
        _ => {
            let text = "a test takes nothing or the job's Communicator";
            return Err(Error::new_spanned(inputs, text));
        }
    };
    // A test without a parameter starts its universe itself.
    let start = (inputs.len() == 1).then(|| {
        quote! {
            let universe = ::rankpoint::Universe::init().expect("the rank joins its job");
        }
    });
    let path = name.to_string();
    let ranks = &arguments.ranks;
    let timeout = arguments.timeout_s.as_ref().map(|seconds| {
        quote! { .timeout(::core::time::Duration::from_secs(#seconds)) }
    });
    Ok(quote! {
        #(#attrs)*
        #[::core::prelude::v1::test]
        #vis fn #name() {
            fn body(#inputs) #output #block
            const TEST: ::rankpoint::testkit::RankTest = ::rankpoint::testkit::RankTest::new(
                ::core::concat!(::core::module_path!(), "::", #path),
                &[#(#ranks),*],
            ) #timeout;
            ::rankpoint::testkit::run(&TEST, || {
                #start
                #call
            });
        }
    })
}

/// The error for a test in a crate that uses `rankpoint` without its feature `testkit`.
pub(crate) fn missing_feature(function: &ItemFn) -> Error {
    Error::new_spanned(
        &function.sig.ident,
        "#[rankpoint::test] needs the feature `testkit` of the crate `rankpoint`, which is off by default; add to Cargo.toml:\n\
         [dev-dependencies]\nrankpoint = { version = \"0.1\", features = [\"testkit\"] }",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_without_the_feature_tells_how_to_enable_it() {
        let function: ItemFn = syn::parse_quote! { fn two_ranks_meet() {} };
        let text = missing_feature(&function).to_string();
        assert!(text.contains("features = [\"testkit\"]"), "{text}");
        assert!(text.contains("[dev-dependencies]"), "{text}");
    }
}
