// SPDX-License-Identifier: MIT OR Apache-2.0
//! Info objects: ordered lists of keys and values.

use std::sync::{Mutex, PoisonError};

/// Keys and values in the order in which they were set.
pub(crate) struct Info {
    pairs: Mutex<Vec<(String, String)>>,
}

impl Info {
    /// One with these pairs.
    pub(crate) const fn new(pairs: Vec<(String, String)>) -> Self {
        Self {
            pairs: Mutex::new(pairs),
        }
    }

    /// Reads or changes the pairs.
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut Vec<(String, String)>) -> R) -> R {
        action(&mut self.pairs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.with(|pairs| {
            pairs
                .iter()
                .find(|pair| pair.0 == key)
                .map(|pair| pair.1.clone())
        })
    }

    /// Gives a key this value, which it had or not.
    pub(crate) fn set(&self, key: &str, value: &str) {
        self.with(|pairs| match pairs.iter_mut().find(|pair| pair.0 == key) {
            Some(pair) => value.clone_into(&mut pair.1),
            None => pairs.push((key.to_owned(), value.to_owned())),
        });
    }
}
