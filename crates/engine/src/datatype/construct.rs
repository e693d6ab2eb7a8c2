// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constructors (MPI-5.0, section 5.1.2 and following).
//!
//! All numbers are 64-bit; [`Width`] says whether the program used the form with `int` or with `MPI_Count`, which decides
//! only where the record of the construction keeps them. Arguments are checked here and named in the error.

use std::sync::Arc;

use layout::{Layout, LayoutError};

use super::contents::{Combiner, Contents, Old, Olds};
use super::place::in_place;
use super::predefined::{self, Predefined};
use super::{Datatype, limits};
use crate::errors::{Error, ErrorClass, Result};

/// Which of the two C forms of a constructor was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Counts are `int`, displacements in bytes `MPI_Aint`.
    Int,
    /// Everything is `MPI_Count` (the forms with `_c`).
    Count,
}

/// A number in an array of a C program: `int`, `MPI_Aint` or `MPI_Count`.
pub trait Argument: Copy {
    /// The number.
    fn to_i64(self) -> i64;
}

impl Argument for i32 {
    fn to_i64(self) -> i64 {
        i64::from(self)
    }
}

impl Argument for i64 {
    fn to_i64(self) -> i64 {
        self
    }
}

impl Argument for isize {
    fn to_i64(self) -> i64 {
        self as i64
    }
}

fn wide<N: Argument>(numbers: &[N]) -> impl ExactSizeIterator<Item = i64> + Clone {
    numbers.iter().map(|number| number.to_i64())
}

impl Contents {
    #[inline]
    pub(super) fn new(combiner: Combiner, old: &Arc<Datatype>) -> Self {
        Self {
            types: Olds::One(old.into()),
            ..Self::of(combiner)
        }
    }

    /// Notes counts, block lengths, and displacements in elements.
    #[inline]
    pub(super) fn numbers(&mut self, width: Width, numbers: &[impl Argument]) -> &mut Self {
        match width {
            Width::Int => self.integers.extend(wide(numbers).map(|it| it as i32)),
            Width::Count => self.counts.extend(wide(numbers)),
        }
        self
    }

    /// Notes displacements, strides and bounds in bytes.
    #[inline]
    fn bytes(&mut self, width: Width, bytes: &[impl Argument]) -> &mut Self {
        match width {
            Width::Int => self.addresses.extend(wide(bytes)),
            Width::Count => self.counts.extend(wide(bytes)),
        }
        self
    }
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

/// Block lengths, none of which is negative.
fn naturals<N: Argument>(
    name: &'static str,
    values: &[N],
) -> Result<impl ExactSizeIterator<Item = usize> + Clone> {
    if wide(values).any(|value| value < 0) {
        return Err(negative(name, values));
    }
    Ok(wide(values).map(|value| value as usize))
}

#[cold]
fn negative(name: &'static str, values: &[impl Argument]) -> Error {
    let found = wide(values).enumerate().find(|&(_, value)| value < 0);
    let (index, value) = found.unwrap_or_default();
    let value = format!("{value} at index {index}");
    Error::argument(ErrorClass::ERR_ARG, name, value, "0 or more")
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
    /// A derived type whose basic elements are those of its only old type, repeated; `note` records the arguments.
    #[inline(always)]
    pub(super) fn derived(
        layout: Layout,
        combiner: Combiner,
        old: &Arc<Self>,
        note: impl FnOnce(&mut Contents),
    ) -> Result<Arc<Self>> {
        let elements = match old.size() {
            0 => Some(0),
            size => ((layout.size() / size) as u64).checked_mul(old.elements()),
        };
        let elements = elements.ok_or_else(limits::too_many_elements)?;
        let each = old.element_bytes();
        Ok(in_place(
            || Self::new(layout, Contents::new(combiner, old), elements, each),
            |made| note(made.contents_mut()),
        ))
    }

    /// The same type under another handle, committed as the old one is (MPI_Type_dup). Attributes are the caller's
    /// business: their callbacks need the new handle.
    ///
    /// # Errors
    /// None at present.
    pub fn dup(old: &Arc<Self>) -> Result<Arc<Self>> {
        let new = Self::derived(old.layout().clone(), Combiner::Dup, old, |_| ())?;
        if old.is_committed() {
            new.commit();
        }
        Ok(new)
    }

    /// `count` elements in a row (MPI_Type_contiguous).
    ///
    /// # Errors
    /// MPI_ERR_COUNT for a negative count, MPI_ERR_ARG when the type gets too large.
    pub fn contiguous(count: i64, old: &Arc<Self>, width: Width) -> Result<Arc<Self>> {
        let layout = Layout::contiguous(natural("count", count)?, old.layout());
        let layout = layout.map_err(|error| limits::of_argument(error, "count", count))?;
        Self::derived(layout, Combiner::Contiguous, old, |contents| {
            contents.numbers(width, &[count]);
        })
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
        let blocks = (natural("count", count)?, natural("blocklength", length)?);
        let layout = match Layout::vector(blocks.0, blocks.1, stride, old.layout()) {
            Ok(layout) => layout,
            Err(error) => return Err(limits::of_vector(error, blocks, stride, old.layout())),
        };
        Self::derived(layout, Combiner::Vector, old, |contents| {
            contents.numbers(width, &[count, length, stride]);
        })
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
        let blocks = (natural("count", count)?, natural("blocklength", length)?);
        let layout = match Layout::hvector(blocks.0, blocks.1, stride, old.layout()) {
            Ok(layout) => layout,
            Err(error) => return Err(limits::of_vector(error, blocks, stride, old.layout())),
        };
        Self::derived(layout, Combiner::Hvector, old, |contents| {
            contents
                .numbers(width, &[count, length])
                .bytes(width, &[stride]);
        })
    }

    /// Blocks of different lengths at displacements in elements (MPI_Type_indexed).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn indexed<N: Argument>(
        lengths: &[N],
        displacements: &[N],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        same_length("array_of_displacements", displacements.len(), lengths.len())?;
        let sizes = naturals("array_of_blocklengths", lengths)?;
        let extent = old.layout().extent();
        let blocks = wide(displacements).zip(sizes.clone());
        // A displacement that is too large in bytes is found again below.
        let scaled = blocks.map(|(at, size)| (at.checked_mul(extent), size));
        let layout = if scaled.clone().any(|(at, _)| at.is_none()) {
            Err(LayoutError::Overflow)
        } else {
            Layout::hindexed(
                scaled.map(|(at, size)| (at.unwrap_or(0), size)),
                old.layout(),
            )
        };
        let layout = layout.map_err(|error| {
            let blocks = sizes.zip(wide(displacements));
            let blocks = blocks.map(|(size, at)| (size, at, extent, old.layout()));
            limits::of_blocks(error, None, blocks)
        })?;
        Self::derived(layout, Combiner::Indexed, old, |contents| {
            contents
                .numbers(width, &[lengths.len() as i64])
                .numbers(width, lengths)
                .numbers(width, displacements);
        })
    }

    /// Blocks of different lengths at displacements in bytes (MPI_Type_create_hindexed).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn hindexed(
        lengths: &[impl Argument],
        displacements: &[impl Argument],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        same_length("array_of_displacements", displacements.len(), lengths.len())?;
        let sizes = naturals("array_of_blocklengths", lengths)?;
        let blocks = wide(displacements).zip(sizes.clone());
        let layout = Layout::hindexed(blocks, old.layout()).map_err(|error| {
            let blocks = sizes.zip(wide(displacements));
            limits::of_blocks(
                error,
                None,
                blocks.map(|(size, at)| (size, at, 1, old.layout())),
            )
        })?;
        Self::derived(layout, Combiner::Hindexed, old, |contents| {
            contents
                .numbers(width, &[lengths.len() as i64])
                .numbers(width, lengths)
                .bytes(width, displacements);
        })
    }

    /// Equal blocks at displacements in elements (MPI_Type_create_indexed_block).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn indexed_block(
        length: i64,
        displacements: &[impl Argument],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let layout = equal_blocks(length, displacements, old.layout().extent(), old)?;
        Self::derived(layout, Combiner::IndexedBlock, old, |contents| {
            contents
                .numbers(width, &[displacements.len() as i64, length])
                .numbers(width, displacements);
        })
    }

    /// Equal blocks at displacements in bytes (MPI_Type_create_hindexed_block).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn hindexed_block(
        length: i64,
        displacements: &[impl Argument],
        old: &Arc<Self>,
        width: Width,
    ) -> Result<Arc<Self>> {
        let layout = equal_blocks(length, displacements, 1, old)?;
        Self::derived(layout, Combiner::HindexedBlock, old, |contents| {
            contents
                .numbers(width, &[displacements.len() as i64, length])
                .bytes(width, displacements);
        })
    }

    /// Blocks of different types at displacements in bytes (MPI_Type_create_struct).
    ///
    /// # Errors
    /// As for [`Self::vector`].
    pub fn structure(
        lengths: &[impl Argument],
        displacements: &[impl Argument],
        types: &[Arc<Self>],
        width: Width,
    ) -> Result<Arc<Self>> {
        let types = types.iter().map(Old::from).collect();
        Self::structure_of(lengths, displacements, types, width)
    }

    /// As [`Self::structure`], of types that are handed over.
    ///
    /// # Errors
    /// The same.
    pub fn structure_of(
        lengths: &[impl Argument],
        displacements: &[impl Argument],
        types: Vec<Old>,
        width: Width,
    ) -> Result<Arc<Self>> {
        same_length("array_of_displacements", displacements.len(), lengths.len())?;
        same_length("array_of_types", types.len(), lengths.len())?;
        let sizes = naturals("array_of_blocklengths", lengths)?;
        let blocks = wide(displacements)
            .zip(sizes.clone())
            .zip(&types)
            .map(|((at, length), old)| (at, length, old.layout()));
        let layout = Layout::structure(blocks).map_err(|error| {
            let blocks = sizes.clone().zip(wide(displacements)).zip(&types);
            let blocks = blocks.map(|((size, at), old)| (size, at, 1, old.layout()));
            limits::of_blocks(error, None, blocks)
        })?;
        let parts = || {
            let parts = sizes.clone().zip(&types);
            parts.filter(|(length, part)| *length > 0 && part.size() > 0)
        };
        let elements = parts().try_fold(0u64, |sum, (length, part)| {
            part.elements().checked_mul(length as u64)?.checked_add(sum)
        });
        let element_bytes = parts().next().and_then(|(_, first)| {
            let each = first.element_bytes()?;
            parts()
                .all(|(_, part)| part.element_bytes() == Some(each))
                .then_some(each)
        });
        let elements = elements.ok_or_else(limits::too_many_elements)?;
        Ok(in_place(
            || {
                let contents = Contents::of(Combiner::Struct);
                Self::new(layout, contents, elements, element_bytes)
            },
            |made| {
                let contents = made.contents_mut();
                contents
                    .numbers(width, &[lengths.len() as i64])
                    .numbers(width, lengths)
                    .bytes(width, displacements);
                contents.types = Olds::Many(types);
            },
        ))
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
        let layout = match old.layout().resized(lower_bound, extent) {
            Ok(layout) => layout,
            Err(error) => return Err(limits::of_argument(error, "extent", extent)),
        };
        Self::derived(layout, Combiner::Resized, old, |contents| {
            contents.bytes(width, &[lower_bound, extent]);
        })
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
}

/// Value type, index type, pair type.
pub(super) const VALUE_INDEX: [(u32, u32, u32); 9] = [
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

/// Blocks of `length` elements at displacements in units of so many bytes.
fn equal_blocks(
    length: i64,
    displacements: &[impl Argument],
    unit: i64,
    old: &Datatype,
) -> Result<Layout> {
    let size = natural("blocklength", length)?;
    Layout::equal_blocks(size, wide(displacements), unit, old.layout()).map_err(|error| {
        let blocks = wide(displacements).map(|at| (size, at, unit, old.layout()));
        limits::of_blocks(error, Some(size), blocks)
    })
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
            assert_eq!(*contents.integers, *integers);
            assert_eq!(*contents.addresses, *addresses);
            assert!(contents.counts.is_empty() && !contents.is_large());
            assert!(Arc::ptr_eq(&contents.types[0], &int));
        }
        let large = Datatype::hindexed(&[2, 1], &[20, 0], &int, Width::Count).unwrap();
        assert_eq!(large.contents().counts[..], [2, 2, 1, 20, 0]);
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
    fn pairs_are_found_by_their_parts() {
        let pair = |value, index| Datatype::value_index(&named(value), &named(index)).unwrap();
        let found = pair(predefined::DOUBLE, predefined::INT).unwrap();
        assert!(Arc::ptr_eq(&found, &named(predefined::DOUBLE_INT)));
        assert!(pair(predefined::DOUBLE, predefined::LONG).is_none());
    }
}
