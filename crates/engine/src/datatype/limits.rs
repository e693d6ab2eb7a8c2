// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the argument that makes a type too large (sizes, extents and offsets have 63 bits), after a constructor has failed.

use layout::{ArrayOrder, Layout, LayoutError};

use super::{Argument, Datatype};
use crate::errors::{Error, ErrorClass};

/// The expected value of the argument at fault.
const EXPECTED: &str = "a type whose size, extent and offsets are below 2^63 bytes";

/// The error of a constructor that failed with `error`, unless a particular argument is at fault.
fn unblamed(error: LayoutError) -> Error {
    let class = match error {
        LayoutError::Overflow => ErrorClass::ERR_ARG,
        LayoutError::TooManyBlocks => ErrorClass::ERR_NO_MEM,
    };
    Error::new(class, error.to_string())
}

fn blame(name: &'static str, value: impl ToString) -> Error {
    Error::argument(ErrorClass::ERR_ARG, name, value.to_string(), EXPECTED)
}

fn blame_entry(name: &'static str, value: impl ToString, index: usize) -> Error {
    blame(name, format!("{} at index {index}", value.to_string()))
}

/// The number of basic elements exceeds 64 bits.
#[cold]
pub(super) fn too_many_elements() -> Error {
    Error::new(
        ErrorClass::ERR_ARG,
        "the type has more than 2^64 basic elements",
    )
}

/// The error where only one argument can be at fault.
#[cold]
pub(super) fn of_argument(error: LayoutError, name: &'static str, value: i64) -> Error {
    match error {
        LayoutError::Overflow => blame(name, value),
        LayoutError::TooManyBlocks => unblamed(error),
    }
}

/// `count` blocks of `length` elements, `stride` apart.
#[cold]
pub(super) fn of_vector(
    error: LayoutError,
    (count, length): (usize, usize),
    stride: i64,
    old: &Layout,
) -> Error {
    if error == LayoutError::TooManyBlocks {
        return unblamed(error);
    }
    match Layout::contiguous(length, old) {
        Err(_) => blame("blocklength", length),
        Ok(block) if Layout::repeated(count, 0, &block).is_err() => blame("count", count),
        Ok(_) => blame("stride", stride),
    }
}

/// A block of a type: its block length and displacement as given, the bytes of the displacement's unit, and the old type.
pub(super) type BlockExtent<'a> = (usize, i64, i64, &'a Layout);

/// Blocks at displacements. `length` is the block length if all have the same.
#[cold]
pub(super) fn of_blocks<'a>(
    error: LayoutError,
    length: Option<usize>,
    blocks: impl Iterator<Item = BlockExtent<'a>>,
) -> Error {
    if error == LayoutError::TooManyBlocks {
        return unblamed(error);
    }
    let blame_length = |found: usize, index| match length {
        Some(length) => blame("blocklength", length),
        None => blame_entry("array_of_blocklengths", found, index),
    };
    let blame_place = |at: i64, index| blame_entry("array_of_displacements", at, index);
    let (mut total, mut low, mut high) = (0i64, i64::MAX, i64::MIN);
    for (index, (length, at, unit, old)) in blocks.enumerate() {
        if length == 0 {
            continue;
        }
        let Ok(block) = Layout::contiguous(length, old) else {
            return blame_length(length, index);
        };
        let placed = at
            .checked_mul(unit)
            .and_then(|offset| Layout::structure([(offset, 1, &block)]).ok());
        let Some(placed) = placed else {
            return blame_place(at, index);
        };
        let Some(sum) = total.checked_add(block.size() as i64) else {
            return blame_length(length, index);
        };
        total = sum;
        for (start, bytes) in [
            (placed.lower_bound(), placed.extent()),
            (placed.true_lower_bound(), placed.true_extent()),
        ] {
            low = low.min(start);
            high = high.max(start.saturating_add(bytes));
        }
        // Rounding up to the alignment may cost a few bytes more.
        if high
            .checked_sub(low)
            .is_none_or(|span| span > i64::MAX - 64)
        {
            return blame_place(at, index);
        }
    }
    unblamed(error)
}

/// The dimensions of an array with these sizes.
#[cold]
pub(super) fn of_sizes(
    error: LayoutError,
    name: &'static str,
    sizes: &[impl Argument],
    order: ArrayOrder,
    old: &Datatype,
) -> Error {
    if error == LayoutError::TooManyBlocks {
        return unblamed(error);
    }
    let mut stride = old.layout().extent();
    for step in 0..sizes.len() {
        let index = match order {
            ArrayOrder::C => sizes.len() - 1 - step,
            ArrayOrder::Fortran => step,
        };
        let size = sizes[index].to_i64();
        match stride.checked_mul(size) {
            Some(bytes) => stride = bytes,
            None => return blame_entry(name, size, index),
        }
    }
    unblamed(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Datatype, Predefined, Width, predefined};

    fn named(code: u32) -> Arc<Datatype> {
        Predefined::find(code).unwrap().datatype().clone()
    }

    /// The error's text up to the expected value.
    fn blamed(made: crate::Result<Arc<Datatype>>) -> String {
        let text = made.unwrap_err().to_string();
        let (argument, expected) = text.split_once(", expected ").unwrap();
        assert_eq!(expected, super::EXPECTED);
        argument.to_owned()
    }

    #[test]
    fn the_argument_that_is_too_large_is_named() {
        let (double, width) = (named(predefined::DOUBLE), Width::Count);
        let big = 1i64 << 61;
        let cases = [
            (
                Datatype::contiguous(big, &double, width),
                "argument 'count' is 2305843009213693952",
            ),
            (
                Datatype::vector(2, big, 1, &double, width),
                "argument 'blocklength' is 2305843009213693952",
            ),
            (
                Datatype::vector(big, 1, 0, &double, width),
                "argument 'count' is 2305843009213693952",
            ),
            (
                Datatype::vector(2, 1, big, &double, width),
                "argument 'stride' is 2305843009213693952",
            ),
            (
                Datatype::hvector(3, 1, i64::MIN, &double, width),
                "argument 'stride' is -9223372036854775808",
            ),
            (
                Datatype::indexed(&[1, 1], &[0, big], &double, width),
                "argument 'array_of_displacements' is 2305843009213693952 at index 1",
            ),
            (
                Datatype::indexed(&[1, big], &[0, 0], &double, width),
                "argument 'array_of_blocklengths' is 2305843009213693952 at index 1",
            ),
            (
                Datatype::hindexed(&[1, 2, 1], &[0, i64::MAX - 15, 8], &double, width),
                "argument 'array_of_displacements' is 9223372036854775792 at index 1",
            ),
            (
                Datatype::hindexed(&[1, 1], &[i64::MIN, 8], &double, width),
                "argument 'array_of_displacements' is 8 at index 1",
            ),
            (
                Datatype::indexed_block(big, &[0, 1], &double, width),
                "argument 'blocklength' is 2305843009213693952",
            ),
            (
                Datatype::hindexed_block(1, &[0, 1, i64::MAX], &double, width),
                "argument 'array_of_displacements' is 9223372036854775807 at index 2",
            ),
            (
                Datatype::resized(i64::MAX, 1, &double, width),
                "argument 'extent' is 1",
            ),
            (
                Datatype::subarray(&[3, big, 4], &[1, 1, 1], &[0, 0, 0], 12, &double, width),
                "argument 'array_of_sizes' is 2305843009213693952 at index 1",
            ),
        ];
        for (made, expected) in cases {
            assert_eq!(blamed(made), expected);
        }
        let half = Datatype::contiguous(big / 4, &double, width).unwrap();
        let types = [half.clone(), half];
        let made = Datatype::structure(&[1, 1], &[0, 0], &types, width);
        assert_eq!(
            blamed(made),
            "argument 'array_of_blocklengths' is 1 at index 1"
        );
    }

    #[test]
    fn sizes_beyond_31_bits_are_ordinary() {
        let (byte, double) = (named(predefined::BYTE), named(predefined::DOUBLE));
        let huge = 1i64 << 40;
        let many = Datatype::contiguous(huge, &double, Width::Count).unwrap();
        assert_eq!(many.size() as i64, huge * 8);
        assert_eq!(many.elements() as i64, huge);
        assert_eq!(many.elements_of(8 << 33), Some(1 << 33));
        let holes = Datatype::vector(huge, 1, 3, &double, Width::Count).unwrap();
        assert_eq!(holes.layout().extent(), (huge - 1) * 24 + 8);
        let array = [1i64 << 20, 1 << 20];
        let cube = Datatype::subarray(&array, &[1 << 19, 1 << 19], &[5, 7], 12, &byte, Width::Int);
        let cube = cube.unwrap();
        assert_eq!(cube.size() as i64, 1 << 38);
        assert_eq!(cube.layout().true_lower_bound(), (5 << 20) + 7);
        let far = Datatype::hindexed(&[1, 1], &[0, 1i64 << 50], &double, Width::Int).unwrap();
        assert_eq!(far.layout().true_extent(), (1 << 50) + 8);
    }

    #[test]
    fn constructors_nest_a_thousand_deep() {
        let mut datatype = named(predefined::DOUBLE);
        let width = Width::Int;
        for level in 0..1000 {
            let old = datatype;
            datatype = match level % 8 {
                0 => Datatype::contiguous(1, &old, width),
                1 => Datatype::vector(1, 1, 7, &old, width),
                2 => Datatype::indexed_block(1, &[1], &old, width),
                3 => Datatype::structure(&[1], &[8], std::slice::from_ref(&old), width),
                4 => Datatype::resized(0, 8, &old, width),
                5 => Datatype::subarray(&[1], &[1], &[0], 12, &old, width),
                6 => Datatype::dup(&old),
                _ => Datatype::hindexed(&[1], &[-8], &old, width),
            }
            .unwrap();
        }
        datatype.commit();
        assert_eq!((datatype.size(), datatype.elements()), (8, 1));
        assert_eq!(datatype.elements_of(24), Some(3));
        // Each round moves the data by an extent and two displacements that cancel out.
        assert!(datatype.layout().contiguous_start(1).is_some());
    }

    #[test]
    fn a_million_entries_are_one_type() {
        let (count, double) = (1_000_000i64, named(predefined::DOUBLE));
        let lengths: Vec<i64> = (0..count).map(|index| 1 + index % 3).collect();
        let places: Vec<i64> = (0..count)
            .map(|index| 5 * index + index * index % 2)
            .collect();
        let made = Datatype::indexed(&lengths, &places, &double, Width::Int).unwrap();
        assert_eq!(made.elements() as i64, lengths.iter().sum::<i64>());
        assert_eq!(made.contents().integers.len(), 2_000_001);
        // The byte in the middle of element 1 of block 500,000.
        let before: i64 = lengths[..500_000].iter().sum();
        let position = (before * 8 + 8 + 4) as usize;
        let mut runs = Vec::new();
        let mut note = |offset: i64, bytes: usize| runs.push((offset, bytes));
        made.layout()
            .for_each_run(position..position + 2, &mut note);
        assert_eq!(lengths[500_000], 3);
        assert_eq!(runs, [(places[500_000] * 8 + 12, 2)]);
    }
}
