// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduction operations (MPI-5.0, section 6.9): predefined on predefined types, and user-defined on any.
//!
//! An [`Op`] joined with a datatype is a [`Reduction`], which is checked once and then applied to memory many
//! times. Predefined operations are one generic kernel per operation and number ([`kernel`]), which the compiler
//! vectorises; [`half`], [`extended`] and [`quad`] compute with numbers that the processor lacks, [`logical`] with the booleans of
//! Fortran compilers that have literals of their own. [`atomic`] combines into memory that others combine into, too, by the processor's words ([`word`]). User functions belong to the
//! face that created them (they take its handles) and are never called with a lock held.

mod atomic;
mod extended;
mod half;
mod kernel;
pub mod logical;
mod quad;
mod reduction;
mod word;

pub(crate) use atomic::{
    AtomicReduction, compare_and_swap, compare_and_swap_locked, is_comparable_word,
};
pub(crate) use reduction::undefined;
pub use reduction::{OPERATORS, Op, Operator, OperatorRow, Reduction, UserFunction, reduce_local};
pub(crate) use word::{load_words, store_words};
