// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the types of a program's Fortran compiler are (MPI-5.0, section 20.4.1): options such as `-i8` and `-r8` change it.
//!
//! A program says it once. From then on the rows that [`Predefined::find`] gives for these types have other shapes; the rows of the
//! table, and types that were made of them before, stay what they are.

use std::sync::OnceLock;

use super::predefined::{self, Number, Predefined, Shape};
use crate::errors::{Error, ErrorClass, Result};

/// Bytes of the default kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FortranSizes {
    /// LOGICAL.
    pub logical: usize,
    /// INTEGER.
    pub integer: usize,
    /// REAL; COMPLEX has twice as many.
    pub real: usize,
    /// DOUBLE PRECISION; the COMPLEX of two of them has twice as many.
    pub double_precision: usize,
}

impl Default for FortranSizes {
    /// The defaults of all compilers.
    fn default() -> Self {
        Self {
            logical: 4,
            integer: 4,
            real: 4,
            double_precision: 8,
        }
    }
}

/// The types whose sizes depend on the compiler.
pub const TYPES: [u32; 9] = [
    predefined::LOGICAL,
    predefined::INTEGER,
    predefined::REAL,
    predefined::COMPLEX,
    predefined::DOUBLE_PRECISION,
    predefined::DOUBLE_COMPLEX,
    predefined::TWO_REAL,
    predefined::TWO_DOUBLE_PRECISION,
    predefined::TWO_INTEGER,
];

/// Those of them that have other sizes than the table says, once that is known.
static RESIZED: OnceLock<Vec<Predefined>> = OnceLock::new();

/// The row that stands for that of the table.
pub(super) fn resized(code: u32) -> Option<&'static Predefined> {
    if !(predefined::LOGICAL..=predefined::TWO_INTEGER).contains(&code) {
        return None;
    }
    RESIZED.get()?.iter().find(|row| row.code == code)
}

/// Gives the types these sizes, for as long as the program runs.
///
/// # Errors
/// MPI_ERR_INFO_VALUE when a size is none of the numbers that MPI knows; MPI_ERR_ABI when the sizes were given before.
pub fn set_sizes(sizes: FortranSizes) -> Result<()> {
    let rows = rows(sizes)?;
    RESIZED.set(rows).map_err(|_| {
        let text = "the sizes of Fortran's types were given before";
        Error::new(ErrorClass::ERR_ABI, text)
    })
}

/// The rows that differ from those of the table.
fn rows(sizes: FortranSizes) -> Result<Vec<Predefined>> {
    let logical = integer_of("mpi_logical_size", sizes.logical)?;
    let integer = integer_of("mpi_integer_size", sizes.integer)?;
    let real = real_of("mpi_real_size", sizes.real)?;
    let double = real_of("mpi_double_precision_size", sizes.double_precision)?;
    let shape_of = |code| match code {
        predefined::LOGICAL => Shape::One(logical),
        predefined::INTEGER => Shape::One(integer),
        predefined::REAL => Shape::One(real),
        predefined::COMPLEX => Shape::Complex(real),
        predefined::DOUBLE_PRECISION => Shape::One(double),
        predefined::DOUBLE_COMPLEX => Shape::Complex(double),
        predefined::TWO_REAL => Shape::Pair(real, real),
        predefined::TWO_DOUBLE_PRECISION => Shape::Pair(double, double),
        _ => Shape::Pair(integer, integer),
    };
    let of_table = |code: &u32| predefined::PREDEFINED.iter().find(|row| row.code == *code);
    let rows = TYPES.iter().filter_map(of_table);
    let differs = rows.filter(|row| row.shape != shape_of(row.code));
    Ok(differs
        .map(|row| Predefined {
            code: row.code,
            name: row.name,
            category: row.category,
            shape: shape_of(row.code),
            is_resized: true,
        })
        .collect())
}

fn integer_of(key: &'static str, bytes: usize) -> Result<Number> {
    match bytes {
        1 => Ok(Number::I8),
        2 => Ok(Number::I16),
        4 => Ok(Number::I32),
        8 => Ok(Number::I64),
        16 => Ok(Number::I128),
        _ => Err(no_size(key, bytes, "1, 2, 4, 8 or 16")),
    }
}

/// Of 16 bytes there are two in the world; Fortran compilers that promote to them mean IEEE binary128.
fn real_of(key: &'static str, bytes: usize) -> Result<Number> {
    match bytes {
        2 => Ok(Number::F16),
        4 => Ok(Number::F32),
        8 => Ok(Number::F64),
        16 => Ok(Number::F128),
        _ => Err(no_size(key, bytes, "2, 4, 8 or 16")),
    }
}

#[cold]
fn no_size(key: &'static str, bytes: usize, expected: &str) -> Error {
    let expected = format!("{expected} bytes");
    Error::argument(ErrorClass::ERR_INFO_VALUE, key, bytes, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_sizes_change_nothing() {
        assert_eq!(rows(FortranSizes::default()).unwrap(), []);
    }

    #[test]
    fn long_integers_make_long_pairs_and_short_logicals_stay() {
        let sizes = FortranSizes {
            integer: 8,
            ..FortranSizes::default()
        };
        let rows = rows(sizes).unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.name, row.size())).collect();
        assert_eq!(found, [("MPI_INTEGER", 8), ("MPI_2INTEGER", 16)]);
    }

    #[test]
    fn promoted_reals_take_their_complex_numbers_and_pairs_along() {
        let sizes = FortranSizes {
            real: 8,
            double_precision: 16,
            ..FortranSizes::default()
        };
        let rows = rows(sizes).unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.name, row.size())).collect();
        let expected = [
            ("MPI_REAL", 8),
            ("MPI_COMPLEX", 16),
            ("MPI_DOUBLE_PRECISION", 16),
            ("MPI_DOUBLE_COMPLEX", 32),
            ("MPI_2REAL", 16),
            ("MPI_2DOUBLE_PRECISION", 32),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn sizes_that_no_number_has_are_refused() {
        for (integer, real) in [(3, 4), (0, 4), (4, 1), (4, 32)] {
            let sizes = FortranSizes {
                integer,
                real,
                ..FortranSizes::default()
            };
            let error = rows(sizes).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_INFO_VALUE, "{error}");
        }
    }

    /// Each type exists in every size, and can be reduced in it.
    #[test]
    fn every_size_has_kernels() {
        use crate::op::{Operator, Reduction};
        for bytes in [2, 4, 8, 16] {
            let sizes = FortranSizes {
                logical: bytes,
                integer: bytes,
                real: bytes,
                double_precision: bytes,
            };
            for row in rows(sizes).unwrap().leak() {
                let operator = match row.shape {
                    Shape::Pair(..) => Operator::Minloc,
                    _ if row.code == predefined::LOGICAL => Operator::Land,
                    _ => Operator::Sum,
                };
                let datatype = super::super::Datatype::predefined(row);
                assert!(
                    Reduction::predefined(operator, &datatype).is_ok(),
                    "{row:?}"
                );
            }
        }
    }
}
