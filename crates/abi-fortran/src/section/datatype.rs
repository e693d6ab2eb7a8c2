// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datatypes of sections.
//!
//! The first elements of a section in the order of the array: whole planes of the outermost dimension, then the same of the rest of
//! one plane, then a part of one element. A plane is a vector of planes one dimension below, by distances in bytes, so extents of datatypes play no part.

use mpi_abi_sys::constants::{MPI_BYTE, MPI_SUCCESS};

use super::descriptor::Dimension;
use crate::handle;
use crate::library::profiling as mpi;

/// A datatype that is freed with its owner. Operations that use it keep it.
pub(super) struct Datatype(usize);

impl Drop for Datatype {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and not freed elsewhere.
        unsafe { mpi::MPI_Type_free(&mut self.0) };
    }
}

impl Datatype {
    pub(super) fn new(make: impl FnOnce(&mut usize) -> i32) -> Option<Self> {
        let mut made = handle::null::<handle::Datatype>();
        (make(&mut made) == MPI_SUCCESS).then(|| Self(made))
    }

    /// Makes it usable in calls.
    pub(super) fn commit(&mut self) -> bool {
        // SAFETY: the datatype is one of ours.
        unsafe { mpi::MPI_Type_commit(&mut self.0) == MPI_SUCCESS }
    }

    /// The integer.
    pub(super) fn int(&self) -> i32 {
        // SAFETY: the datatype is one of the library.
        unsafe { handle::int::<handle::Datatype>(self.0) }
    }
}

/// The datatype of `count` items of a predefined datatype, which lie in the first elements of a section; none if the datatype is
/// not predefined or has gaps, or if they are more than the section has. Items across the ends of elements travel as bytes.
///
/// # Safety
/// As the C functions.
#[cold]
pub(super) unsafe fn of_section(
    element_bytes: usize,
    dimensions: &[Dimension],
    count: i64,
    datatype: i32,
) -> Option<Datatype> {
    // SAFETY: results are locals; a predefined datatype is valid.
    unsafe {
        let mut predefined = usize::try_from(datatype).ok().filter(|it| *it < 4096)?;
        let (mut size, mut lower_bound, mut extent) = (0, 0, 0);
        let known = mpi::MPI_Type_size(predefined, &mut size) == MPI_SUCCESS
            && mpi::MPI_Type_get_extent(predefined, &mut lower_bound, &mut extent) == MPI_SUCCESS;
        let mut item_bytes = usize::try_from(size).ok().filter(|it| *it > 0)?;
        let bytes = usize::try_from(count).ok()?.checked_mul(item_bytes)?;
        if !known || extent != size as isize {
            return None;
        }
        if !element_bytes.is_multiple_of(item_bytes) {
            (predefined, item_bytes) = (MPI_BYTE, 1);
        }
        let element = contiguous(element_bytes / item_bytes, predefined)?;
        let planes = planes(&element, dimensions)?;
        let (mut parts, place) = parts(&element, &planes, dimensions, bytes / element_bytes)?;
        let rest = bytes % element_bytes / item_bytes;
        if rest > 0 {
            parts.push((place, contiguous(rest, predefined)?));
        }
        let lengths = vec![1; parts.len()];
        let (places, types): (Vec<isize>, Vec<&Datatype>) = parts
            .iter()
            .map(|(place, datatype)| (*place, datatype))
            .unzip();
        let types: Vec<usize> = types.iter().map(|datatype| datatype.0).collect();
        let number = i32::try_from(parts.len()).ok()?;
        let mut whole = Datatype::new(|made| {
            mpi::MPI_Type_create_struct(
                number,
                lengths.as_ptr(),
                places.as_ptr(),
                types.as_ptr(),
                made,
            )
        })?;
        whole.commit().then_some(whole)
    }
}

/// Items of a predefined datatype without gaps.
fn contiguous(count: usize, predefined: usize) -> Option<Datatype> {
    let count = i32::try_from(count).ok()?;
    // SAFETY: a predefined datatype is valid.
    Datatype::new(|made| unsafe { mpi::MPI_Type_contiguous(count, predefined, made) })
}

/// The hvector of `count` elements of a datatype whose starts are `stride_bytes` apart; `None` where the library refuses it.
fn vector(count: usize, stride_bytes: isize, datatype: &Datatype) -> Option<Datatype> {
    let count = i32::try_from(count).ok()?;
    // SAFETY: the datatype is one of ours.
    Datatype::new(|made| unsafe {
        mpi::MPI_Type_create_hvector(count, 1, stride_bytes, datatype.0, made)
    })
}

/// The datatypes of all elements of the first dimension, of the first two, and so on, without the outermost.
fn planes(element: &Datatype, dimensions: &[Dimension]) -> Option<Vec<Datatype>> {
    let mut planes: Vec<Datatype> = Vec::new();
    let (_, inner) = dimensions.split_last()?;
    for dimension in inner {
        let below = planes.last().unwrap_or(element);
        let extent = usize::try_from(dimension.extent).ok()?;
        planes.push(vector(extent, dimension.stride_bytes, below)?);
    }
    Some(planes)
}

/// The parts that the first `count` elements are with the places where they start, and the place of the element behind them.
fn parts(
    element: &Datatype,
    planes: &[Datatype],
    dimensions: &[Dimension],
    count: usize,
) -> Option<(Vec<(isize, Datatype)>, isize)> {
    let mut parts = Vec::new();
    let (mut left, mut place) = (count, 0);
    for (index, dimension) in dimensions.iter().enumerate().rev() {
        let inner = dimensions[..index].iter().map(|below| below.extent);
        let plane = usize::try_from(inner.product::<isize>()).ok()?;
        let whole = left / plane;
        let is_outermost = index + 1 == dimensions.len();
        if is_outermost
            && whole * plane + left % plane > plane * usize::try_from(dimension.extent).ok()?
        {
            return None;
        }
        let below = index.checked_sub(1).map_or(element, |index| &planes[index]);
        if whole > 0 {
            parts.push((place, vector(whole, dimension.stride_bytes, below)?));
            place += dimension.stride_bytes * isize::try_from(whole).ok()?;
        }
        left %= plane;
    }
    Some((parts, place))
}
