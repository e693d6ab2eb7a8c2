// SPDX-License-Identifier: MIT OR Apache-2.0
//! `#[derive(Plain)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let text =
            "Plain can be derived for structs only: not every bit pattern is a variant of an enum";
        return Err(Error::new_spanned(&input.ident, text));
    };
    if !input.generics.params.is_empty() {
        let text = "Plain cannot be derived for generic structs: their padding is not known";
        return Err(Error::new_spanned(&input.generics, text));
    }
    if !has_fixed_layout(input)? {
        let text = "Plain needs #[repr(C)] or #[repr(transparent)]: otherwise the order of the fields is the compiler's";
        return Err(Error::new_spanned(&input.ident, text));
    }
    let name = &input.ident;
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    Ok(quote! {
        const _: () = {
            const fn is_plain<T: ::rankpoint::Plain>() {}
            #(is_plain::<#types>();)*
            assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                "the struct has padding, whose bytes were never written; add fields that fill it",
            );
        };
        // SAFETY: the fields are plain and there is no padding (asserted above).
        #[allow(unsafe_code, clippy::allow_attributes, reason = "the assertions above keep the promise")]
        unsafe impl ::rankpoint::Plain for #name {}
    })
}

/// Whether the order of the fields is that of the source.
fn has_fixed_layout(input: &DeriveInput) -> Result<bool> {
    let mut fixed = false;
    for attribute in &input.attrs {
        if attribute.path().is_ident("repr") {
            attribute.parse_nested_meta(|meta| {
                fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
                if meta.input.peek(syn::token::Paren) {
                    // The number of packed(2) or align(8).
                    let content;
                    syn::parenthesized!(content in meta.input);
                    content.parse::<syn::LitInt>()?;
                }
                Ok(())
            })?;
        }
    }
    Ok(fixed)
}
