// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of Fortran kinds (MPI-5.0, section 19.1.9).

use std::sync::{Arc, OnceLock};

use sys::sync::Mutex;

use super::contents::{Combiner, Contents};
use super::predefined::{self, Predefined};
use super::{Datatype, elements};
use crate::errors::{Error, ErrorClass, Result};

/// MPI_UNDEFINED: no precision or no range is given.
const UNDEFINED: i32 = -32766;

impl Datatype {
    /// The type of Fortran's `selected_real_kind(p, r)` (MPI_Type_create_f90_real); one of them may be MPI_UNDEFINED.
    ///
    /// # Errors
    /// MPI_ERR_ARG when no kind has the precision and range, or when both are undefined.
    pub fn f90_real(precision: i32, range: i32) -> Result<Arc<Self>> {
        let code = match (precision, range) {
            (UNDEFINED, UNDEFINED) => return Err(nothing_said()),
            (..=6, ..=37) => predefined::REAL4,
            (..=15, ..=307) => predefined::REAL8,
            (..=18, ..=4931) => predefined::LONG_DOUBLE,
            (..=33, ..=4931) => predefined::REAL16,
            _ => return Err(no_kind(precision, range)),
        };
        f90(Combiner::F90Real, &[precision, range], code)
    }

    /// The complex type of Fortran's `selected_real_kind(p, r)` (MPI_Type_create_f90_complex).
    ///
    /// # Errors
    /// As for [`Self::f90_real`].
    pub fn f90_complex(precision: i32, range: i32) -> Result<Arc<Self>> {
        let code = match (precision, range) {
            (UNDEFINED, UNDEFINED) => return Err(nothing_said()),
            (..=6, ..=37) => predefined::COMPLEX8,
            (..=15, ..=307) => predefined::COMPLEX16,
            (..=18, ..=4931) => predefined::C_LONG_DOUBLE_COMPLEX,
            (..=33, ..=4931) => predefined::COMPLEX32,
            _ => return Err(no_kind(precision, range)),
        };
        f90(Combiner::F90Complex, &[precision, range], code)
    }

    /// The type of Fortran's `selected_int_kind(r)` (MPI_Type_create_f90_integer).
    ///
    /// # Errors
    /// MPI_ERR_ARG when no kind has the range.
    pub fn f90_integer(range: i32) -> Result<Arc<Self>> {
        let code = match range {
            ..=2 => predefined::INTEGER1,
            3..=4 => predefined::INTEGER2,
            5..=9 => predefined::INTEGER4,
            10..=18 => predefined::INTEGER8,
            19..=38 => predefined::INTEGER16,
            _ => {
                let expected = "a decimal range of at most 38";
                return Err(Error::argument(ErrorClass::ERR_ARG, "r", range, expected));
            }
        };
        f90(Combiner::F90Integer, &[range], code)
    }
}

#[cold]
fn nothing_said() -> Error {
    let expected = "a precision, or a range in 'r'";
    Error::argument(ErrorClass::ERR_ARG, "p", "MPI_UNDEFINED", expected)
}

#[cold]
fn no_kind(precision: i32, range: i32) -> Error {
    let value = format!("{precision} with range {range}");
    let expected = "a precision of at most 33 digits and a range of at most 4931";
    Error::argument(ErrorClass::ERR_ARG, "p", value, expected)
}

/// The type of a Fortran kind: the same object for the same arguments.
fn f90(combiner: Combiner, arguments: &[i32], code: u32) -> Result<Arc<Datatype>> {
    static MADE: OnceLock<Mutex<Vec<Arc<Datatype>>>> = OnceLock::new();
    let unknown = || Error::new(ErrorClass::ERR_INTERN, "a Fortran kind without a type");
    let row = Predefined::find(code).ok_or_else(unknown)?;
    let mut made = match MADE.get_or_init(Mutex::default).lock() {
        Ok(made) => made,
        Err(poisoned) => poisoned.into_inner(),
    };
    let same = |known: &&Arc<Datatype>| {
        known.contents().combiner == combiner && *known.contents().integers == *arguments
    };
    if let Some(known) = made.iter().find(same) {
        return Ok(known.clone());
    }
    let mut contents = Contents::of(combiner);
    contents.integers.extend_from_slice(arguments);
    let layout = row.datatype().layout().clone();
    let size = elements::basic_parts(row)[0];
    let datatype = Arc::new(Datatype::new(layout, contents, 1, Some(size)).reducing_as(row));
    made.push(datatype.clone());
    Ok(datatype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_kinds_are_one_object_each() {
        let first = Datatype::f90_real(15, 307).unwrap();
        assert!(Arc::ptr_eq(&first, &Datatype::f90_real(15, 307).unwrap()));
        assert_eq!(first.size(), 8);
        assert_eq!(first.contents().combiner, Combiner::F90Real);
        assert_eq!(Datatype::f90_integer(10).unwrap().size(), 8);
        assert_eq!(Datatype::f90_complex(4, -1).unwrap().size(), 8);
        assert!(Datatype::f90_real(34, 0).is_err() && Datatype::f90_integer(39).is_err());
        assert!(Datatype::f90_real(UNDEFINED, UNDEFINED).is_err());
        assert_eq!(Datatype::f90_real(UNDEFINED, 308).unwrap().size(), 16);
    }
}
