// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datatypes (MPI-5.0, chapter 5).
//!
//! A [`Datatype`] is immutable but for its name, its attributes and the commit flag, and is shared by reference. It joins the
//! layout (which bytes, crate `layout`), the record of its construction ([`contents`]), and the number of basic elements
//! ([`elements`]). The predefined ones are one table ([`predefined`]); a face whose handle names one of them needs only
//! [`Predefined::size`] to describe memory, never the object. [`construct`] holds the constructors, [`mod@array`] those of
//! multi-dimensional arrays. [`Signature`] is the sequence of basic types as a number.

pub mod array;
mod basic;
pub mod construct;
pub mod contents;
pub mod elements;
mod external;
mod f90;
mod few;
pub mod fortran;
mod limits;
mod memory;
mod object;
mod place;
pub mod predefined;
mod sequence;
mod signature;
mod typed;

pub use construct::{Argument, Width};
pub use contents::{Combiner, Contents, Old, Olds};
pub use few::Few;
pub use memory::Memory;
pub use object::Datatype;
pub use predefined::{Category, Number, Predefined, Shape};
pub use sequence::NamedSignature;
pub(crate) use sequence::{SentSignature, Types};
pub use signature::Signature;
pub use typed::checks_types;
pub(crate) use typed::{is_signing, start_checking, start_signing};
