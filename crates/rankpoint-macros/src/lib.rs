// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derive and attribute macros of the rankpoint crate, which documents and re-exports them.

#![forbid(unsafe_code)]

mod data;
mod test;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Implements `rankpoint::Datatype` for a `#[repr(C)]` or `#[repr(transparent)]` struct whose fields are of such types; anything
/// else does not compile. Padding does not travel.
#[proc_macro_derive(Datatype)]
pub fn derive_datatype(input: TokenStream) -> TokenStream {
    data::derive_datatype(&parse_macro_input!(input))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Implements `rankpoint::Plain`, and `rankpoint::Datatype` with it, for a `#[repr(C)]` or `#[repr(transparent)]` struct whose fields are plain and that has no
/// padding; anything else does not compile.
#[proc_macro_derive(Plain)]
pub fn derive_plain(input: TokenStream) -> TokenStream {
    data::derive_plain(&parse_macro_input!(input))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a function a test that runs as a job of several ranks under plain `cargo test`.
///
/// `ranks` is a number of ranks or a list of them, one job each; `timeout` the longest time of a job in seconds (60), after
/// which the test fails with the hang report. The function takes nothing, or the job's `Communicator`, and returns
/// nothing or a `Result`. A panic or error on any rank fails the test.
///
/// ```ignore
/// #[rankpoint::test(ranks = [2, 4], timeout = 10)]
/// fn neighbours_talk(world: rankpoint::Communicator<'_>) -> rankpoint::Result<()> {
///     world.barrier()
/// }
/// ```
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as test::Arguments);
    test::expand(&arguments, parse_macro_input!(function))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Stands in for [`macro@test`] where the crate `rankpoint` lacks its feature `testkit`: an error that tells how to enable it.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn test_without_testkit(_arguments: TokenStream, function: TokenStream) -> TokenStream {
    test::missing_feature(&parse_macro_input!(function))
        .into_compile_error()
        .into()
}
