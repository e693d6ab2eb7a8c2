// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions: their error handlers, and the kinds of memory that their programs named.

use std::sync::atomic::Ordering;

use crate::sync::AtomicU64;

/// A session.
pub(crate) struct Session {
    error_handler: AtomicU64,
    memory_kinds: Option<String>,
}

impl Session {
    pub(crate) const fn new(handler: u64, memory_kinds: Option<String>) -> Self {
        Self {
            error_handler: AtomicU64::new(handler),
            memory_kinds,
        }
    }

    /// The kinds of memory that its info object names.
    pub(crate) fn memory_kinds(&self) -> Option<&str> {
        self.memory_kinds.as_deref()
    }

    /// Its error handler.
    pub(crate) fn handler(&self) -> u64 {
        self.error_handler.load(Ordering::Relaxed)
    }

    pub(crate) fn set_handler(&self, handler: u64) {
        self.error_handler.store(handler, Ordering::Relaxed);
    }
}
