// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data representations (MPI-5.0, section 14.5).

use std::sync::{Arc, PoisonError};

use sys::sync::Mutex;

use crate::datatype::Datatype;
use crate::errors::{Error, ErrorClass, Result};

/// Longest name of a data representation, without the NUL of its text in C.
const MOST_NAME: usize = 127;

/// How numbers are represented in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datarep {
    /// As in memory.
    Native,
    /// As this library likes, which is as in memory.
    Internal,
    /// Big-endian, with sizes that are the same everywhere.
    External32,
}

/// Names that the program has registered.
static REGISTERED: Mutex<Vec<String>> = Mutex::new(Vec::new());

const STANDARD: [(&str, Datarep); 3] = [
    ("native", Datarep::Native),
    ("internal", Datarep::Internal),
    ("external32", Datarep::External32),
];

impl Datarep {
    /// The representation with a name.
    ///
    /// # Errors
    /// MPI_ERR_UNSUPPORTED_DATAREP.
    pub(super) fn named(name: &str) -> Result<Self> {
        if let Some((_, found)) = STANDARD.iter().find(|row| row.0 == name) {
            return Ok(*found);
        }
        let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = match registered.iter().any(|known| known == name) {
            true => {
                "native, internal or external32: conversion functions of registered data representations are not written yet"
            }
            false => "native, internal or external32",
        };
        let class = ErrorClass::ERR_UNSUPPORTED_DATAREP;
        let value = format!("\"{name}\"");
        Err(Error::argument(class, "datarep", value, expected))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = STANDARD.iter().find(|row| row.1 == self);
        found.map_or("native", |row| row.0)
    }

    /// Whether numbers are converted.
    pub(super) const fn converts(self) -> bool {
        matches!(self, Self::External32)
    }

    /// Refuses a type whose elements have other sizes in a file of this representation: its layout there would be another one.
    ///
    /// # Errors
    /// MPI_ERR_UNSUPPORTED_DATAREP.
    pub(super) fn check(self, argument: &'static str, datatype: &Arc<Datatype>) -> Result<()> {
        if self.converts() && datatype.external_size() != datatype.size() as u64 {
            let expected = "a type without MPI_LONG, MPI_UNSIGNED_LONG and MPI_WCHAR: files in external32 with these are not written yet";
            let class = ErrorClass::ERR_UNSUPPORTED_DATAREP;
            let value = datatype.describe();
            return Err(Error::argument(class, argument, value, expected));
        }
        Ok(())
    }
}

/// Gives a data representation a name (MPI_Register_datarep). Views with it are refused.
///
/// # Errors
/// MPI_ERR_DUP_DATAREP for a name that is known, MPI_ERR_ARG for one that is too long.
pub fn register(name: &str) -> Result<()> {
    let wrong = |class, expected: &str| {
        let value = format!("\"{name}\"");
        Err(Error::argument(class, "datarep", value, expected))
    };
    if name.is_empty() || name.len() > MOST_NAME {
        return wrong(ErrorClass::ERR_ARG, "a name of 1 to 127 bytes");
    }
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_standard = STANDARD.iter().any(|row| row.0 == name);
    if is_standard || registered.iter().any(|known| known == name) {
        return wrong(ErrorClass::ERR_DUP_DATAREP, "a name that is not defined");
    }
    registered.push(name.to_owned());
    Ok(())
}
