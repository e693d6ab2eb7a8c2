// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors.

use std::fmt;

/// Why something failed.
pub enum Error {
    /// The grid cannot be divided as it was asked for.
    Plan(stencil_plan::Error),
    /// A call of Rankpoint failed.
    Mpi(rankpoint::Error),
    /// A function of another library failed: its name, and what it returned.
    Library(&'static str, i32),
    /// A library cannot be opened, or lacks a function.
    NoLibrary(String),
    /// An argument of this crate has a wrong value.
    Argument(String),
    /// Another rank could not make its part of the domain.
    OtherRank(usize),
    /// Another rank has dropped the domain.
    Left(usize),
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => write!(f, "stencil: {error}"),
            Self::Mpi(error) => write!(f, "stencil: {error}"),
            Self::Library(name, code) => write!(f, "stencil: {name} returned {code}"),
            Self::NoLibrary(text) | Self::Argument(text) => write!(f, "stencil: {text}"),
            Self::OtherRank(rank) => write!(
                f,
                "stencil: rank {rank} could not make its part of the domain, and its error says why"
            ),
            Self::Left(rank) => write!(
                f,
                "stencil: rank {rank} has dropped the domain, with whose memory this rank exchanges halos"
            ),
        }
    }
}

/// The sentence, which is what a program prints whose `main` returns an error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Error {}

impl From<stencil_plan::Error> for Error {
    fn from(error: stencil_plan::Error) -> Self {
        Self::Plan(error)
    }
}

impl From<rankpoint::Error> for Error {
    fn from(error: rankpoint::Error) -> Self {
        Self::Mpi(error)
    }
}
