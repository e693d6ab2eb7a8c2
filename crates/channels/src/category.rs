// SPDX-License-Identifier: MIT OR Apache-2.0
//! Six ways for threads to have network resources.

use std::str::FromStr;

use crate::error::Error;

/// Which objects the threads of a node share. Each queue pair has a completion queue of its own.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Category {
    /// A context for each thread, as if each was a process.
    Everywhere,
    /// One context with twice the queue pairs that are used; each used one has a UAR page and neighbours that nobody uses.
    TwoDynamic,
    /// One context; each queue pair has a UAR page.
    Dynamic,
    /// One context; two queue pairs share a UAR page, each with a uUAR of its own.
    SharedDynamic,
    /// One context without thread domains: the driver's policy.
    Static,
    /// One queue pair for all threads.
    Threads,
}

impl Category {
    /// All of them, from most to least independent.
    pub const ALL: [Self; 6] = [
        Self::Everywhere,
        Self::TwoDynamic,
        Self::Dynamic,
        Self::SharedDynamic,
        Self::Static,
        Self::Threads,
    ];

    /// Its published name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everywhere => "MPI everywhere",
            Self::TwoDynamic => "2xDynamic",
            Self::Dynamic => "Dynamic",
            Self::SharedDynamic => "Shared Dynamic",
            Self::Static => "Static",
            Self::Threads => "MPI+threads",
        }
    }

    /// Its name in command lines.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere",
            Self::TwoDynamic => "2xdynamic",
            Self::Dynamic => "dynamic",
            Self::SharedDynamic => "shared-dynamic",
            Self::Static => "static",
            Self::Threads => "threads",
        }
    }

    /// The object that queue pairs share: 1 nothing, 2 a UAR page, 3 a uUAR, 4 the queue pair.
    pub const fn level(self) -> &'static str {
        match self {
            Self::Everywhere | Self::TwoDynamic | Self::Dynamic => "1",
            Self::SharedDynamic => "2",
            Self::Static => "2-3",
            Self::Threads => "4",
        }
    }
}

impl FromStr for Category {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let named = |one: &Self| one.key() == text || one.name().eq_ignore_ascii_case(text);
        let keys = Self::ALL.map(Self::key).join(", ");
        let found = Self::ALL.into_iter().find(named);
        found.ok_or_else(|| Error::unknown("category", text, format!("one of {keys}")))
    }
}
