// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constructors (MPI-5.0, section 5.1.2 and following).
//!
//! All numbers are 64-bit; [`Width`] says whether the program used the form with `int` or with `MPI_Count`, which decides
//! only where the record of the construction keeps them. Arguments are checked here and named in the error.

use std::sync::{Arc, OnceLock};

use fabric::sync::Mutex;
use layout::{Layout, LayoutError};

use super::contents::{Combiner, Contents};
use super::predefined::{self, Predefined};
use super::{Datatype, elements};
use crate::errors::{Error, ErrorClass, Result};

/// Which of the two C forms of a constructor was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Counts are `int`, displacements in bytes `MPI_Aint`.
    Int,
    /// Everything is `MPI_Count` (the forms with `_c`).
    Count,
}

impl Contents {
    pub(super) fn new(combiner: Combiner, old: &[Arc<Datatype>]) -> Self {
        Self {
            types: old.to_vec(),
            ..Self::of(combiner)
        }
    }

    /// Notes counts, block lengths, and displacements in elements.
    pub(super) fn numbers(mut self, width: Width, numbers: &[i64]) -> Self {
        match width {
            Width::Int => self
                .integers
                .extend(numbers.iter().map(|&number| number as i32)),
            Width::Count => self.counts.extend_from_slice(numbers),
        }
        self
    }

    /// Notes displacements, strides and bounds in bytes.
    fn bytes(mut self, width: Width, bytes: &[i64]) -> Self {
        match width {
            Width::Int => self.addresses.extend_from_slice(bytes),
            Width::Count => self.counts.extend_from_slice(bytes),
        }
        self
    }
}

#[cold]
pub(super) fn too_large(error: LayoutError) -> Error {
    let class = match error {
        LayoutError::Overflow => ErrorClass::ERR_ARG,
        LayoutError::TooManyBlocks => ErrorClass::ERR_NO_MEM,
    };
    Error::new(class, error.to_string())
}

/// A number that must not be negative.
pub(super) fn natural(name: &'static str, value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| {
        let class = if name == "count" {
            ErrorClass::ERR_COUNT
        } else {
            ErrorClass::ERR_ARG
        };
        Error::argument(class, name, value, "0 or more")
    })
}

fn naturals(name: &'static str, values: &[i64]) -> Result<Vec<usize>> {
    let checked = |(index, &value): (usize, &i64)| {
        usize::try_from(value).map_err(|_| {
            let value = format!("{value} at index {index}");
            Error::argument(ErrorClass::ERR_ARG, name, value, "0 or more")
        })
    };
    values.iter().enumerate().map(checked).collect()
}

fn same_length(name: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let found = format!("an array of {found}");
    let expected = format!("an array of {expected}");
    Err(Error::argument(ErrorClass::ERR_ARG, name, found, expected))
}

impl Datatype {
    /// A derived type whose basic elements are `repeats` times those of its only old type.
    pub(super) fn derived(layout: Layout, contents: Contents) -> Result<Arc<Self>> {
        let old = contents.types[0].clone();
        let elements = match old.size() {
            0 => Some(0),
            size => ((layout.size() / size) as u64).checked_mul(old.elements()),
        };
        Self::finish(layout, contents, elements, old.element_bytes())
    }

    fn finish(
        layout: Layout,
        contents: Contents,
        elements: Option<u64>,
        element_bytes: Option<usize>,
    ) -> Result<Arc<Self>> {
        let elements = elements.ok_or_else(|| too_large(LayoutError::Overflow))?;
        Ok(Arc::new(Self::new(
            layout.into(),
            contents,
            elements,
            element_bytes,
        )))
    }

    /// The same type under another handle, committed as the old one is (MPI_Type_dup). Attributes are the caller's
    /// business: their callbacks need the new handle.
    ///
    /// # Errors
    /// None at present.
    pub fn dup(old: &Arc<Self>) -> Result<Arc<Self>> {
        let contents = Contents::new(Combiner::Dup, std::slice::from_ref(old));
        let new = Self::new(
            old.layout().clone(),
            contents,
            old.elements(),
            old.element_bytes(),
        );
        if old.is_committed() {
            new.commit();
        }
        Ok(Arc::new(new))
    }

    /// `count` elements in a row (MPI_Type_contiguous).
    ///
    /// # Errors
    /// MPI_ERR_COUNT for a negative count, MPI_ERR_ARG when the type gets too large.
    pub fn contiguous(count: i64, old: &Arc<Self>, width: Width) -> Result<Arc<Self>> {
        let layout = Layout::contiguous(natural("count", count)?, old.layout());
        let contents = Contents::new(Combiner::Contiguous, std::slice::from_ref(old));
        Self::derived(
            layout.map_err(too_large)?,
            contents.numbers(width, &[count]),
        )
    }

    /// `count` blocks of `length` elements, `stride` elements apart (MPI_Type_vector).
    ///
    /// # Errors
    /// MPI_ERR_COUNT or MPI_ERR_ARG for negative numbers, MPI_ERR_ARG when the type gets too large.
    pub fn vector(
        count: i64,
        length: i64,
        stride: i64,
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let blocks = natural("count", count)?;
        let layout = Layout::vector(
            blocks,
            natural("blocklength", length)?,
            stride,
            old.layout(),
        );
        let contents = Contents::new(Combiner::Vector, std::slice::from_ref(old));
        Self::derived(
            layout.map_err(too_large)?,
            contents.numbers(width, &[count, length, stride]),
        )
    }

    /// `count` blocks of `length` elements, `stride` bytes apart (MPI_Type_create_hvector).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn hvector(
        count: i64,
        length: i64,
        stride: i64,
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let blocks = natural("count", count)?;
        let layout = Layout::hvector(
            blocks,
            natural("blocklength", length)?,
            stride,
            old.layout(),
        );
        let contents = Contents::new(Combiner::Hvector, std::slice::from_ref(old));
        let contents = contents
            .numbers(width, &[count, length])
            .bytes(width, &[stride]);
        Self::derived(layout.map_err(too_large)?, contents)
    }

    /// Blocks of different lengths at displacements in elements (MPI_Type_indexed).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn indexed(
        lengths: &[i64],
        displacements: &[i64],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        same_length("array_of_displacements", displacements.len(), lengths.len())?;
        let sizes = naturals("array_of_blocklengths", lengths)?;
        let layout = indexed_layout(sizes.iter().copied(), displacements, old)?;
        let contents = Contents::new(Combiner::Indexed, std::slice::from_ref(old));
        let contents = contents
            .numbers(width, &[lengths.len() as i64])
            .numbers(width, lengths)
            .numbers(width, displacements);
        Self::derived(layout, contents)
    }

    /// Blocks of different lengths at displacements in bytes (MPI_Type_create_hindexed).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn hindexed(
        lengths: &[i64],
        displacements: &[i64],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        same_length("array_of_displacements", displacements.len(), lengths.len())?;
        let sizes = naturals("array_of_blocklengths", lengths)?;
        let pieces = displacements.iter().copied().zip(sizes);
        let layout = Layout::hindexed(pieces, old.layout()).map_err(too_large)?;
        let contents = Contents::new(Combiner::Hindexed, std::slice::from_ref(old));
        let contents = contents
            .numbers(width, &[lengths.len() as i64])
            .numbers(width, lengths)
            .bytes(width, displacements);
        Self::derived(layout, contents)
    }

    /// Equal blocks at displacements in elements (MPI_Type_create_indexed_block).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn indexed_block(
        length: i64,
        displacements: &[i64],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let size = natural("blocklength", length)?;
        let layout = indexed_layout(std::iter::repeat(size), displacements, old)?;
        let contents = Contents::new(Combiner::IndexedBlock, std::slice::from_ref(old));
        let contents = contents
            .numbers(width, &[displacements.len() as i64, length])
            .numbers(width, displacements);
        Self::derived(layout, contents)
    }

    /// Equal blocks at displacements in bytes (MPI_Type_create_hindexed_block).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn hindexed_block(
        length: i64,
        displacements: &[i64],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let size = natural("blocklength", length)?;
        let pieces = displacements.iter().map(|&at| (at, size));
        let layout = Layout::hindexed(pieces, old.layout()).map_err(too_large)?;
        let contents = Contents::new(Combiner::HindexedBlock, std::slice::from_ref(old));
        let contents = contents
            .numbers(width, &[displacements.len() as i64, length])
            .bytes(width, displacements);
        Self::derived(layout, contents)
    }

    /// Blocks of different types at displacements in bytes (MPI_Type_create_struct).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn structure(
        lengths: &[i64],
        displacements: &[i64],
        types: &[Arc<Self>],
        width: Width,
    ) -> Result<Arc<Self>> {
        same_length("array_of_displacements", displacements.len(), lengths.len())?;
        same_length("array_of_types", types.len(), lengths.len())?;
        let sizes = naturals("array_of_blocklengths", lengths)?;
        let pieces = displacements
            .iter()
            .zip(&sizes)
            .zip(types)
            .map(|((&at, &length), old)| (at, length, &**old.layout()));
        let layout = Layout::structure(pieces).map_err(too_large)?;
        let parts = || {
            sizes
                .iter()
                .zip(types)
                .filter(|(length, part)| **length > 0 && part.size() > 0)
        };
        let elements = parts().try_fold(0u64, |sum, (&length, part)| {
            part.elements().checked_mul(length as u64)?.checked_add(sum)
        });
        let element_bytes = parts().next().and_then(|(_, first)| {
            let each = first.element_bytes()?;
            parts()
                .all(|(_, part)| part.element_bytes() == Some(each))
                .then_some(each)
        });
        let contents = Contents::new(Combiner::Struct, types)
            .numbers(width, &[lengths.len() as i64])
            .numbers(width, lengths)
            .bytes(width, displacements);
        Self::finish(layout, contents, elements, element_bytes)
    }

    /// The same data with other bounds (MPI_Type_create_resized).
    ///
    /// # Errors
    /// MPI_ERR_ARG when the upper bound exceeds 63 bits.
    pub fn resized(
        lower_bound: i64,
        extent: i64,
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let layout = old.layout().resized(lower_bound, extent);
        let contents = Contents::new(Combiner::Resized, std::slice::from_ref(old));
        Self::derived(
            layout.map_err(too_large)?,
            contents.bytes(width, &[lower_bound, extent]),
        )
    }

    /// The pair type of a value and an index type, for MPI_MINLOC and MPI_MAXLOC (MPI_Type_get_value_index); `None` when
    /// there is none.
    ///
    /// # Errors
    /// MPI_ERR_TYPE when an argument is no predefined type.
    pub fn value_index(value: &Arc<Self>, index: &Arc<Self>) -> Result<Option<Arc<Self>>> {
        let row_of = |name, datatype: &Self| {
            let describe = || {
                let expected = "a predefined datatype";
                Error::argument(ErrorClass::ERR_TYPE, name, datatype.describe(), expected)
            };
            datatype.row().ok_or_else(describe)
        };
        let rows = (row_of("value_type", value)?, row_of("index_type", index)?);
        let pair = VALUE_INDEX
            .iter()
            .find(|(value, index, _)| (*value, *index) == (rows.0.code, rows.1.code));
        Ok(pair
            .and_then(|&(.., code)| Predefined::find(code))
            .map(|row| row.datatype().clone()))
    }

    /// The type of Fortran's `selected_real_kind(p, r)` (MPI_Type_create_f90_real); negative numbers mean MPI_UNDEFINED.
    ///
    /// # Errors
    /// MPI_ERR_ARG when no kind has the precision and range.
    pub fn f90_real(precision: i32, range: i32) -> Result<Arc<Self>> {
        let code = match (precision, range) {
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

/// Value type, index type, pair type.
const VALUE_INDEX: [(u32, u32, u32); 9] = [
    (predefined::FLOAT, predefined::INT, predefined::FLOAT_INT),
    (predefined::DOUBLE, predefined::INT, predefined::DOUBLE_INT),
    (predefined::LONG, predefined::INT, predefined::LONG_INT),
    (predefined::INT, predefined::INT, predefined::TWO_INT),
    (predefined::SHORT, predefined::INT, predefined::SHORT_INT),
    (
        predefined::LONG_DOUBLE,
        predefined::INT,
        predefined::LONG_DOUBLE_INT,
    ),
    (predefined::REAL, predefined::REAL, predefined::TWO_REAL),
    (
        predefined::DOUBLE_PRECISION,
        predefined::DOUBLE_PRECISION,
        predefined::TWO_DOUBLE_PRECISION,
    ),
    (
        predefined::INTEGER,
        predefined::INTEGER,
        predefined::TWO_INTEGER,
    ),
];

fn indexed_layout(
    lengths: impl Iterator<Item = usize>,
    displacements: &[i64],
    old: &Datatype,
) -> Result<Layout> {
    let extent = old.layout().extent();
    let scaled = displacements
        .iter()
        .map(|at| at.checked_mul(extent).ok_or(LayoutError::Overflow))
        .collect::<std::result::Result<Vec<_>, _>>();
    scaled
        .and_then(|bytes| Layout::hindexed(bytes.into_iter().zip(lengths), old.layout()))
        .map_err(too_large)
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
        known.contents().combiner == combiner && known.contents().integers == arguments
    };
    if let Some(known) = made.iter().find(same) {
        return Ok(known.clone());
    }
    let contents = Contents {
        integers: arguments.to_vec(),
        ..Contents::of(combiner)
    };
    let layout = row.datatype().layout().clone();
    let size = elements::basic_parts(row)[0];
    let datatype = Arc::new(Datatype::new(layout, contents, 1, Some(size)).reducing_as(row));
    made.push(datatype.clone());
    Ok(datatype)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(code: u32) -> Arc<Datatype> {
        Predefined::find(code).unwrap().datatype().clone()
    }

    #[test]
    fn contents_are_the_arguments_in_the_standards_order() {
        let (int, width) = (named(predefined::INT), Width::Int);
        let made = [
            Datatype::vector(3, 2, -4, &int, width),
            Datatype::hvector(3, 2, 40, &int, width),
            Datatype::indexed(&[2, 1], &[5, 0], &int, width),
            Datatype::hindexed(&[2, 1], &[20, 0], &int, width),
            Datatype::indexed_block(2, &[5, 0], &int, width),
            Datatype::hindexed_block(2, &[20, 0], &int, width),
            Datatype::resized(-4, 16, &int, width),
            Datatype::subarray(&[4, 5], &[2, 3], &[1, 0], 15, &int, width),
        ];
        let expected: [(&[i32], &[i64]); 8] = [
            (&[3, 2, -4], &[]),
            (&[3, 2], &[40]),
            (&[2, 2, 1, 5, 0], &[]),
            (&[2, 2, 1], &[20, 0]),
            (&[2, 2, 5, 0], &[]),
            (&[2, 2], &[20, 0]),
            (&[], &[-4, 16]),
            (&[2, 4, 5, 2, 3, 1, 0, 15], &[]),
        ];
        for (datatype, (integers, addresses)) in made.into_iter().zip(expected) {
            let datatype = datatype.unwrap();
            let contents = datatype.contents();
            assert_eq!(contents.integers, integers);
            assert_eq!(contents.addresses, addresses);
            assert!(contents.counts.is_empty() && !contents.is_large());
            assert!(Arc::ptr_eq(&contents.types[0], &int));
        }
        let large = Datatype::hindexed(&[2, 1], &[20, 0], &int, Width::Count).unwrap();
        assert_eq!(large.contents().counts, [2, 2, 1, 20, 0]);
        assert!(large.contents().integers.is_empty() && large.contents().addresses.is_empty());
    }

    #[test]
    fn negative_numbers_are_named() {
        let int = named(predefined::INT);
        let error = Datatype::contiguous(-1, &int, Width::Int).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_COUNT);
        let error = Datatype::indexed(&[1, -2], &[0, 4], &int, Width::Int).unwrap_err();
        assert_eq!(
            error.to_string(),
            "argument 'array_of_blocklengths' is -2 at index 1, expected 0 or more"
        );
        let error = Datatype::contiguous(i64::MAX, &int, Width::Count).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_ARG);
    }

    #[test]
    fn only_committed_types_describe_memory() {
        let column = Datatype::vector(3, 1, 4, &named(predefined::DOUBLE), Width::Int).unwrap();
        let mut buffer = [0u8; 128];
        let error = column
            .memory(buffer.as_mut_ptr(), 1)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_TYPE);
        column.commit();
        assert_eq!(column.memory(buffer.as_mut_ptr(), 1).unwrap().bytes, 24);
        assert!(Datatype::dup(&column).unwrap().is_committed());
        assert!(column.memory(buffer.as_mut_ptr(), usize::MAX / 2).is_err());
    }

    #[test]
    fn long_chains_of_types_are_dropped_without_recursion() {
        let mut datatype = named(predefined::INT);
        for _ in 0..200_000 {
            datatype = Datatype::contiguous(1, &datatype, Width::Int).unwrap();
        }
        assert_eq!(datatype.elements_of(8), Some(2));
        drop(datatype);
    }

    #[test]
    fn fortran_kinds_are_one_object_each() {
        let first = Datatype::f90_real(15, 307).unwrap();
        assert!(Arc::ptr_eq(&first, &Datatype::f90_real(15, 307).unwrap()));
        assert_eq!(first.size(), 8);
        assert_eq!(first.contents().combiner, Combiner::F90Real);
        assert_eq!(Datatype::f90_integer(10).unwrap().size(), 8);
        assert_eq!(Datatype::f90_complex(4, -1).unwrap().size(), 8);
        assert!(Datatype::f90_real(34, 0).is_err() && Datatype::f90_integer(39).is_err());
    }

    #[test]
    fn pairs_are_found_by_their_parts() {
        let pair = |value, index| Datatype::value_index(&named(value), &named(index)).unwrap();
        let found = pair(predefined::DOUBLE, predefined::INT).unwrap();
        assert!(Arc::ptr_eq(&found, &named(predefined::DOUBLE_INT)));
        assert!(pair(predefined::DOUBLE, predefined::LONG).is_none());
    }
}
