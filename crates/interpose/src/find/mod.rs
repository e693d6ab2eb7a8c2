// SPDX-License-Identifier: MIT OR Apache-2.0
//! The MPI library that the program would have had.
//!
//! The dynamic linker takes this library for it, because both have one soname. So the search is repeated here: the library that a setting
//! names; one that is loaded already; then the folders in which the linker would search for the objects that need the soname
//! ([`objects`]), and its cache ([`cache`]). A program that is linked with a library of another ABI keeps that ([`other`]).

mod cache;
mod library;
mod objects;
mod other;

pub(crate) use library::{Library, is_first};
pub(crate) use other::Other;
