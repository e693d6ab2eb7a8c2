// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that the MPI library may look at for as long as the process lives. Equal ones are kept once, so that a loop that makes
//! and frees the same objects does not grow.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Values of one type.
pub(crate) struct Keep<T: ?Sized + 'static>(Mutex<BTreeSet<&'static T>>);

impl<T: ?Sized + Ord + 'static> Keep<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    /// The kept value that equals this one.
    pub(crate) fn get(&self, value: Box<T>) -> &'static T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.get(&*value) {
            return kept;
        }
        let kept: &'static T = Box::leak(value);
        all.insert(kept);
        kept
    }
}
