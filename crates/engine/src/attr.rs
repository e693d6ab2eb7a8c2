// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes cached on objects (MPI-5.0, section 7.7): keyvals, and the values objects hold under them.
//!
//! Copy and delete callbacks belong to the face that created the keyval (they take its handles); the engine keeps them as
//! opaque boxed functions and defines their order: deletion in the reverse order of setting.

use std::sync::{Arc, OnceLock};

use sys::sync::Mutex;

use crate::errors::{Error, ErrorClass, Result};

/// Copy callback: (old object, value) to the copy's value, to none, or to an MPI error.
pub type CopyFunction = dyn Fn(u64, usize) -> std::result::Result<Option<usize>, i32> + Send + Sync;
/// Delete callback: (object, value) to an MPI error code or 0.
pub type DeleteFunction = dyn Fn(u64, usize) -> i32 + Send + Sync;

/// A key under which values are cached.
pub struct Keyval {
    /// The keyval of C programs.
    pub number: i32,
    /// Called when the object is duplicated; `None` copies nothing.
    pub copy: Option<Box<CopyFunction>>,
    /// Called when the attribute is deleted.
    pub delete: Option<Box<DeleteFunction>>,
}

/// The attributes of one object, in the order in which they were set.
#[derive(Default)]
pub struct Attributes {
    /// Allocated with the first attribute, because most objects have none.
    entries: OnceLock<Box<Mutex<Entries>>>,
}

type Entries = Vec<(Arc<Keyval>, usize)>;

fn callback_error(code: i32) -> Error {
    Error::new(
        ErrorClass(code),
        format!("an attribute callback returned error code {code}"),
    )
}

impl Attributes {
    fn with<R>(&self, action: impl FnOnce(&mut Entries) -> R) -> R {
        match self.entries.get_or_init(Box::default).lock() {
            Ok(mut entries) => action(&mut entries),
            Err(poisoned) => action(&mut poisoned.into_inner()),
        }
    }

    /// The value under a keyval.
    pub fn get(&self, keyval: i32) -> Option<usize> {
        self.entries.get()?;
        self.with(|entries| {
            entries
                .iter()
                .find(|(key, _)| key.number == keyval)
                .map(|&(_, value)| value)
        })
    }

    /// Sets a value; an old value is deleted first. `object` is the face's handle, for callbacks.
    ///
    /// # Errors
    /// When the delete callback of the old value fails; nothing is changed then.
    pub fn set(&self, object: u64, keyval: &Arc<Keyval>, value: usize) -> Result<()> {
        if self.get(keyval.number).is_some() {
            self.delete(object, keyval.number)?;
        }
        self.with(|entries| entries.push((keyval.clone(), value)));
        Ok(())
    }

    /// Deletes the value under a keyval.
    ///
    /// # Errors
    /// MPI_ERR_KEYVAL if there is none; the callback's error, and then the attribute stays.
    pub fn delete(&self, object: u64, keyval: i32) -> Result<()> {
        let found = self.with(|entries| {
            entries
                .iter()
                .find(|(key, _)| key.number == keyval)
                .cloned()
        });
        let Some((key, value)) = found else {
            return Err(Error::argument(
                ErrorClass::ERR_KEYVAL,
                "keyval",
                keyval,
                "a key with a value on this object",
            ));
        };
        if let Some(delete) = &key.delete {
            let code = delete(object, value);
            if code != 0 {
                return Err(callback_error(code));
            }
        }
        self.with(|entries| entries.retain(|(key, _)| key.number != keyval));
        Ok(())
    }

    /// Takes all values away, the latest first, whatever the keys' functions say; for keys whose functions only fail when another
    /// thread took the value away meanwhile.
    pub fn clear_all(&self) {
        while self.clear(0).is_err() {}
    }

    /// Deletes all values, latest first.
    ///
    /// # Errors
    /// The first callback's error; the remaining values stay.
    pub fn clear(&self, object: u64) -> Result<()> {
        if self.entries.get().is_none() {
            return Ok(());
        }
        while let Some(keyval) = self.with(|entries| entries.last().map(|(key, _)| key.number)) {
            self.delete(object, keyval)?;
        }
        Ok(())
    }

    /// The values that a duplicate of the object inherits, by the copy callbacks.
    ///
    /// # Errors
    /// The first callback's error.
    pub fn copies(&self, object: u64) -> Result<Vec<(Arc<Keyval>, usize)>> {
        if self.entries.get().is_none() {
            return Ok(Vec::new());
        }
        let entries = self.with(|entries| entries.clone());
        let mut copies = Vec::new();
        for (key, value) in entries {
            if let Some(copy) = &key.copy
                && let Some(value) = copy(object, value).map_err(callback_error)?
            {
                copies.push((key, value));
            }
        }
        Ok(copies)
    }

    /// Takes over the result of [`Self::copies`] of another object.
    pub fn adopt(&self, copies: Vec<(Arc<Keyval>, usize)>) {
        if copies.is_empty() {
            return;
        }
        self.with(|entries| entries.extend(copies));
    }
}
