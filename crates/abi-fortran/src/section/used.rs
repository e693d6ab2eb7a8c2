// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes of a buffer that a call uses.
//!
//! Counts, displacements and datatypes of a section mean bytes of the contiguous buffer that it stands for. What a call uses of
//! that must lie inside the section; of an array that is not allocated, it may use nothing.

use mpi_abi_sys::constants::{MPI_DATATYPE_NULL, MPI_SUCCESS};

use crate::library::profiling as mpi;
use crate::{handle, topology};

/// From the first byte up to the one behind the last, from the start of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(super) low: i64,
    pub(super) high: i64,
}

/// Only the MPI library knows.
pub(crate) const UNKNOWN: Option<Used> = None;

const NOTHING: Used = Used { low: 0, high: 0 };

impl Used {
    pub(super) fn is_nothing(self) -> bool {
        self.low >= self.high
    }

    fn and(self, other: Self) -> Self {
        if self.is_nothing() {
            return other;
        }
        if other.is_nothing() {
            return self;
        }
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// The bounds of a datatype, from which the bytes of a buffer follow.
struct Shape {
    extent: i64,
    true_low: i64,
    true_high: i64,
}

impl Shape {
    /// The shape of a datatype; none if it has no data, or is none.
    ///
    /// # Safety
    /// As the C functions.
    unsafe fn of(datatype: i32) -> Option<Self> {
        if datatype as usize == MPI_DATATYPE_NULL {
            return None;
        }
        let (mut size, mut low, mut extent) = (0, 0, 0);
        let (mut true_low, mut true_extent) = (0, 0);
        // SAFETY: the results are locals; the call itself gets the datatype, too.
        let is_known = unsafe {
            let datatype = handle::find::<handle::Datatype>(datatype);
            mpi::MPI_Type_size_c(datatype, &mut size) == MPI_SUCCESS
                && mpi::MPI_Type_get_extent(datatype, &mut low, &mut extent) == MPI_SUCCESS
                && mpi::MPI_Type_get_true_extent(datatype, &mut true_low, &mut true_extent)
                    == MPI_SUCCESS
        };
        (is_known && size > 0).then_some(Self {
            extent: extent as i64,
            true_low: true_low as i64,
            true_high: (true_low + true_extent) as i64,
        })
    }

    /// What `count` of them use, the first at a place in bytes.
    fn used(&self, count: i64, place: i64) -> Used {
        if count <= 0 {
            // The call reports a negative count.
            return NOTHING;
        }
        let last = self.extent.saturating_mul(count - 1);
        Used {
            low: place
                .saturating_add(self.true_low)
                .saturating_add(last.min(0)),
            high: place
                .saturating_add(self.true_high)
                .saturating_add(last.max(0)),
        }
    }
}

/// Bytes from the start.
pub(crate) fn bytes(count: i64) -> Option<Used> {
    Some(Used {
        low: 0,
        high: count,
    })
}

/// Items of a datatype from the start.
///
/// # Safety
/// As the C functions.
pub(crate) unsafe fn items(count: i64, datatype: i32) -> Option<Used> {
    if count <= 0 {
        return Some(NOTHING);
    }
    // SAFETY: the caller's promise.
    let shape = unsafe { Shape::of(datatype) };
    Some(shape.map_or(NOTHING, |shape| shape.used(count, 0)))
}

/// Blocks of items, at places in extents of the datatype.
///
/// # Safety
/// As the C functions; the arrays have `blocks` entries.
pub(crate) unsafe fn blocks<C: Copy + Into<i64>, D: Copy + Into<i64>>(
    counts: *const C,
    places: *const D,
    blocks: usize,
    datatype: i32,
) -> Option<Used> {
    // SAFETY: the caller's promise.
    unsafe {
        if blocks == 0 {
            return Some(NOTHING);
        }
        let Some(shape) = Shape::of(datatype) else {
            return Some(NOTHING);
        };
        let used = (0..blocks).map(|index| {
            let place: i64 = (*places.add(index)).into();
            shape.used(
                (*counts.add(index)).into(),
                place.saturating_mul(shape.extent),
            )
        });
        Some(used.fold(NOTHING, Used::and))
    }
}

/// Blocks of items with datatypes of their own, at places in bytes.
///
/// # Safety
/// As the C functions; the arrays have `blocks` entries.
pub(crate) unsafe fn typed_blocks<C: Copy + Into<i64>, D: Copy + Into<i64>>(
    counts: *const C,
    places: *const D,
    blocks: usize,
    datatypes: *const i32,
) -> Option<Used> {
    // SAFETY: the caller's promise.
    unsafe {
        let used = (0..blocks).map(|index| {
            let count: i64 = (*counts.add(index)).into();
            if count <= 0 {
                return NOTHING;
            }
            let shape = Shape::of(*datatypes.add(index));
            shape.map_or(NOTHING, |shape| {
                shape.used(count, (*places.add(index)).into())
            })
        });
        Some(used.fold(NOTHING, Used::and))
    }
}

/// The items of all processes of a reduction that is scattered, or this one's part of them.
///
/// # Safety
/// As the C functions; `counts` has an entry for each process of the group.
pub(crate) unsafe fn scattered<C: Copy + Into<i64>>(
    counts: *const C,
    is_part: bool,
    comm: i32,
    datatype: i32,
) -> Option<Used> {
    let mut rank = 0;
    // SAFETY: the caller's promise.
    unsafe {
        let count = if is_part {
            let comm = handle::find::<handle::Comm>(comm);
            if mpi::MPI_Comm_rank(comm, &mut rank) != MPI_SUCCESS {
                return UNKNOWN;
            }
            (*counts.add(handle::count(rank.into()))).into()
        } else {
            let members = handle::count(topology::members(comm));
            (0..members)
                .map(|index| (*counts.add(index)).into())
                .fold(0, i64::saturating_add)
        };
        items(count, datatype)
    }
}
