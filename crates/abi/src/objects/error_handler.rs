// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error handlers: what they do, and how many handles the program has of each.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Error, ErrorClass};
use mpi_abi_sys::types::Callback;

use crate::sync::AtomicU32;

/// The action on an error.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// The job ends.
    Fatal,
    /// The error code is returned.
    Return,
    /// The user's function is called, then the code is returned.
    User(Callback),
}

/// The objects whose errors a handler gets; its function is called with their handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandlerOf {
    Communicators,
    Windows,
    Files,
    Sessions,
    /// Those of the standard fit all.
    Anything,
}

impl HandlerOf {
    /// The error of a handler of these that is given to an object of `expected`.
    pub(crate) fn refuse(self, expected: Self) -> Option<Error> {
        (self != expected && self != Self::Anything).then(|| {
            let [value, expected] = [self, expected].map(Self::name);
            let value = format!("an error handler of {value}");
            let expected = format!("one of {expected}, or one of MPI");
            Error::argument(ErrorClass::ERR_ERRHANDLER, "errhandler", value, expected)
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Communicators => "communicators",
            Self::Windows => "windows",
            Self::Files => "files",
            Self::Sessions => "sessions",
            Self::Anything => "MPI",
        }
    }
}

/// An error handler.
pub(crate) struct ErrorHandler {
    action: Action,
    of: HandlerOf,
    /// Handles that the program has of it and has not freed.
    references: AtomicU32,
}

impl ErrorHandler {
    /// One of which the program has a handle.
    pub(crate) fn new(action: Action, of: HandlerOf) -> Arc<Self> {
        Arc::new(Self {
            action,
            of,
            references: AtomicU32::new(1),
        })
    }

    /// Whose errors it gets.
    pub(crate) const fn of(&self) -> HandlerOf {
        self.of
    }

    pub(crate) const fn action(&self) -> Action {
        self.action
    }

    /// Whether the program has freed all its handles.
    pub(crate) fn is_freed(&self) -> bool {
        self.references.load(Ordering::Relaxed) == 0
    }

    /// The program gets another handle.
    pub(crate) fn hand_out(&self) {
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// The program has freed a handle.
    pub(crate) fn take_back(&self) {
        self.references.fetch_sub(1, Ordering::Relaxed);
    }
}
