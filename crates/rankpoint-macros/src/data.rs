// SPDX-License-Identifier: MIT OR Apache-2.0
//! `#[derive(Datatype)]` and `#[derive(Plain)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataStruct, DeriveInput, Error, Member, Result, Type, parse_quote};

/// Which bytes of a struct are data is known field by field.
pub(crate) fn derive_datatype(input: &DeriveInput) -> Result<TokenStream> {
    let (name, data) = (&input.ident, checked(input, "Datatype")?);
    let types = types(data);
    let basics = basics(input, &types);
    let members: Vec<Member> = data.fields.members().collect();
    let fields = quote! {
        &[#((
            ::core::mem::offset_of!(Self, #members),
            <#types as ::rankpoint::Datatype>::unit(),
        )),*]
    };
    let mut generics = input.generics.clone();
    let unit = if generics.params.is_empty() {
        quote! {
            static UNIT: ::rankpoint::data::StructUnit = ::rankpoint::data::StructUnit::new();
            UNIT.of::<Self>(#fields)
        }
    } else {
        // A static of a generic function is one for all types.
        let bounds = &mut generics.make_where_clause().predicates;
        bounds.push(parse_quote! { Self: ::core::marker::Copy + ::core::marker::Send + 'static });
        for field in &types {
            bounds.push(parse_quote! { #field: ::rankpoint::Datatype });
        }
        quote! { ::rankpoint::data::generic_unit::<Self>(#fields) }
    };
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: what is data in the fields is data in the struct, whose other bytes are padding.
        #[allow(unsafe_code, clippy::allow_attributes, reason = "the fields' types keep the promise")]
        unsafe impl #parameters ::rankpoint::Datatype for #name #arguments #bounds {
            const PACKED_BYTES: usize = 0 #(+ <#types as ::rankpoint::Datatype>::PACKED_BYTES)*;

            fn unit() -> ::rankpoint::data::Unit {
                #unit
            }

            fn basics() -> ::core::option::Option<::rankpoint::data::NamedSignature> {
                #basics
            }
        }
    })
}

/// All bytes of a struct are data.
pub(crate) fn derive_plain(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        let text = "Plain cannot be derived for generic structs: their padding is not known; derive Datatype instead";
        return Err(Error::new_spanned(&input.generics, text));
    }
    let (name, data) = (&input.ident, checked(input, "Plain")?);
    let types = types(data);
    let basics = basics(input, &types);
    Ok(quote! {
        const _: () = {
            const fn assert_plain<T: ::rankpoint::Plain>() {}
            #(assert_plain::<#types>();)*
            assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                "the struct has padding, whose bytes were never written; derive Datatype instead, or add fields that fill it",
            );
        };
        // SAFETY: the fields are plain and there is no padding (asserted above).
        #[allow(unsafe_code, clippy::allow_attributes, reason = "the assertions above keep the promise")]
        unsafe impl ::rankpoint::Datatype for #name {
            const PACKED_BYTES: usize = ::core::mem::size_of::<#name>();

            fn unit() -> ::rankpoint::data::Unit {
                ::rankpoint::data::Unit::dense::<Self>()
            }

            fn basics() -> ::core::option::Option<::rankpoint::data::NamedSignature> {
                #basics
            }
        }
        // SAFETY: as above.
        #[allow(unsafe_code, clippy::allow_attributes, reason = "the assertions above keep the promise")]
        unsafe impl ::rankpoint::Plain for #name {}
    })
}

/// The basic types of a struct, field by field.
fn basics(input: &DeriveInput, types: &[&Type]) -> TokenStream {
    let name = input.ident.to_string();
    quote! {
        ::rankpoint::data::struct_basics(#name, &[#(<#types as ::rankpoint::Datatype>::basics),*])
    }
}

fn types(data: &DataStruct) -> Vec<&Type> {
    data.fields.iter().map(|field| &field.ty).collect()
}

/// The struct, if its layout is known.
fn checked<'a>(input: &'a DeriveInput, derived: &str) -> Result<&'a DataStruct> {
    let Data::Struct(data) = &input.data else {
        let text = format!(
            "{derived} can be derived for structs only: not every bit pattern is a variant of an enum, and a union does not \
             say which of its bytes were written"
        );
        return Err(Error::new_spanned(&input.ident, text));
    };
    if !has_fixed_layout(input)? {
        let text = format!(
            "{derived} needs #[repr(C)] or #[repr(transparent)]: otherwise the order of the fields is the compiler's"
        );
        return Err(Error::new_spanned(&input.ident, text));
    }
    Ok(data)
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
