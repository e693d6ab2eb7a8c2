// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask words`: terms that the glossary replaces, in names, texts, comments and documents.
//!
//! `terms.tsv` lists the terms, `left.tsv` how often each may still be found in each crate: a count that grows fails.
//! [`terms`] reads the list, [`lexer`] takes a file apart into words, [`count`] finds terms among them, [`command`] compares and
//! prints.

mod command;
mod count;
mod lexer;
mod terms;

pub(crate) use command::{check, run};
