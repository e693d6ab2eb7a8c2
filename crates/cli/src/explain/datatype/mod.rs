// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain type`: the canonical form of a datatype, how it came about, and how it is packed.
//!
//! [`answer`] prints what the other modules find. An expression is parsed ([`parse`]), its arguments are told apart ([`bind`]), and its layout is built under the eyes of an
//! observer ([`construct`]). [`text`] puts forms into words, [`model`] predicts speeds and [`packing`] tries them,
//! [`same`] compares two types. `tests` holds whole outputs.

mod answer;
mod bind;
mod construct;
mod model;
mod names;
mod options;
mod packing;
mod parse;
mod same;
#[cfg(test)]
mod tests;
mod text;

pub(super) use answer::{layout, run};
pub(crate) use options::TypeOptions;
