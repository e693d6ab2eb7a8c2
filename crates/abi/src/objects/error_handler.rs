// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error handlers: what they do, and how many handles the program has of each.

use std::sync::Arc;
use std::sync::atomic::Ordering;

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

/// An error handler.
pub(crate) struct ErrorHandler {
    action: Action,
    /// Handles that the program has of it and has not freed.
    references: AtomicU32,
}

impl ErrorHandler {
    /// One of which the program has a handle.
    pub(crate) fn new(action: Action) -> Arc<Self> {
        let references = AtomicU32::new(1);
        Arc::new(Self { action, references })
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
