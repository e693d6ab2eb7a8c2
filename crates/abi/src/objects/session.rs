// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions: their error handlers.

use std::sync::atomic::Ordering;

use crate::sync::AtomicU64;

/// A session.
pub(crate) struct Session {
    error_handler: AtomicU64,
}

impl Session {
    pub(crate) const fn new(handler: u64) -> Self {
        Self {
            error_handler: AtomicU64::new(handler),
        }
    }

    /// Its error handler.
    pub(crate) fn handler(&self) -> u64 {
        self.error_handler.load(Ordering::Relaxed)
    }

    pub(crate) fn set_handler(&self, handler: u64) {
        self.error_handler.store(handler, Ordering::Relaxed);
    }
}
