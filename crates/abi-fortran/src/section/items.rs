// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datatypes of items of derived datatypes in a section.
//!
//! The order of a datatype's bytes is that in which MPI_Pack finds them: a buffer whose bytes hold their own positions is packed, one
//! byte of the positions at a time. Each position is one of the virtual contiguous buffer, and thereby a place in the section.

use mpi_abi_sys::constants::{MPI_BYTE, MPI_COMM_SELF, MPI_SUCCESS};

use super::datatype::Datatype;
use super::descriptor::Dimension;
use crate::handle;
use crate::library::profiling as mpi;

/// The datatype of `count` items of a datatype, whose bytes lie in the first `bytes` of a section's image; none if there are too many, or
/// the library packs otherwise. It consists of items of one predefined datatype, which is the program's own if that has one.
///
/// # Safety
/// As the C functions.
#[cold]
pub(super) unsafe fn of_items(
    element_bytes: usize,
    dimensions: &[Dimension],
    (count, datatype): (i64, i32),
    bytes: usize,
) -> Option<Datatype> {
    // SAFETY: the caller's promise; results are locals.
    unsafe {
        let datatype = handle::find::<handle::Datatype>(datatype);
        let positions = positions(i32::try_from(count).ok()?, datatype, bytes)?;
        let places: Vec<isize> = (positions.iter())
            .map(|&position| {
                let (element, inside) = (position / element_bytes, position % element_bytes);
                place(dimensions, element) + inside as isize
            })
            .collect();
        let basic = basic(datatype)?;
        let item_bytes = size(basic)?;
        let is_whole = places.len().is_multiple_of(item_bytes)
            && places
                .chunks(item_bytes)
                .all(|item| (item.windows(2)).all(|pair| pair[1] == pair[0] + 1));
        match is_whole {
            true => blocks(&places, basic, item_bytes),
            // Items across the ends of elements.
            false => blocks(&places, MPI_BYTE, 1),
        }
    }
}

/// The position of each byte of the items in the order of the datatype.
unsafe fn positions(count: i32, datatype: usize, bytes: usize) -> Option<Vec<usize>> {
    let count_bytes = usize::try_from(count).ok()?;
    // SAFETY: the caller's promise.
    let packed_bytes = unsafe { size(datatype)? }.checked_mul(count_bytes)?;
    let limit = i32::try_from(packed_bytes).ok()?;
    let mut positions = vec![0; packed_bytes];
    for shift in (0..usize::BITS).step_by(8) {
        if (bytes >> shift) == 0 {
            break;
        }
        let buffer: Vec<u8> = (0..bytes).map(|index| (index >> shift) as u8).collect();
        let (mut packed, mut end) = (vec![0_u8; packed_bytes], 0);
        // SAFETY: all that the items use lies in the buffer, and all of them fit the other one.
        let code = unsafe {
            mpi::MPI_Pack(
                buffer.as_ptr().cast_mut().cast(),
                count,
                datatype,
                packed.as_mut_ptr().cast(),
                limit,
                &mut end,
                MPI_COMM_SELF,
            )
        };
        if code != MPI_SUCCESS || end != limit {
            return None;
        }
        for (position, byte) in positions.iter_mut().zip(packed) {
            *position |= usize::from(byte) << shift;
        }
    }
    Some(positions)
}

/// The distance of an element of a section from the first one.
fn place(dimensions: &[Dimension], mut element: usize) -> isize {
    let mut place = 0;
    for dimension in dimensions {
        // A section has no empty dimension.
        let extent = dimension.extent as usize;
        place += (element % extent) as isize * dimension.stride_bytes;
        element /= extent;
    }
    place
}

unsafe fn size(datatype: usize) -> Option<usize> {
    let mut size = 0;
    // SAFETY: the caller's promise.
    let code = unsafe { mpi::MPI_Type_size(datatype, &mut size) };
    usize::try_from(size)
        .ok()
        .filter(|size| code == MPI_SUCCESS && *size > 0)
}

/// The first predefined datatype that a datatype was made from.
unsafe fn basic(datatype: usize) -> Option<usize> {
    if handle::is_predefined(datatype) {
        return Some(datatype);
    }
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: the caller's promise; there is room for what the envelope announces.
    unsafe {
        let code = mpi::MPI_Type_get_envelope(
            datatype,
            &mut integers,
            &mut addresses,
            &mut types,
            &mut combiner,
        );
        if code != MPI_SUCCESS || types == 0 {
            // One of those with a chosen precision, which is made from none.
            return (code == MPI_SUCCESS).then_some(datatype);
        }
        let room = |count: i32| usize::try_from(count).unwrap_or(0);
        let mut all_integers = vec![0; room(integers)];
        let mut all_addresses = vec![0; room(addresses)];
        let mut all = vec![handle::null::<handle::Datatype>(); room(types)];
        let code = mpi::MPI_Type_get_contents(
            datatype,
            integers,
            addresses,
            types,
            all_integers.as_mut_ptr(),
            all_addresses.as_mut_ptr(),
            all.as_mut_ptr(),
        );
        if code != MPI_SUCCESS {
            return None;
        }
        let found = basic(all[0]);
        for datatype in all.iter_mut().filter(|it| !handle::is_predefined(**it)) {
            mpi::MPI_Type_free(datatype);
        }
        found
    }
}

/// Items of a predefined datatype at the places of their bytes.
fn blocks(places: &[isize], predefined: usize, item_bytes: usize) -> Option<Datatype> {
    let (mut lengths, mut starts): (Vec<i32>, Vec<isize>) = (Vec::new(), Vec::new());
    let (mut lower_bound, mut extent, mut end) = (0, 0, None);
    // SAFETY: the datatype is a constant, and the results are locals.
    unsafe { mpi::MPI_Type_get_extent(predefined, &mut lower_bound, &mut extent) };
    for item in places.iter().step_by(item_bytes) {
        match lengths.last_mut() {
            Some(length) if end == Some(*item) && *length < i32::MAX => *length += 1,
            _ => {
                lengths.push(1);
                starts.push(*item);
            }
        }
        // Pairs may have a gap behind them.
        end = (extent == item_bytes as isize).then_some(item + extent);
    }
    let count = i32::try_from(lengths.len()).ok()?;
    // SAFETY: the arrays have as many entries.
    let mut made = Datatype::new(|made| unsafe {
        mpi::MPI_Type_create_hindexed(count, lengths.as_ptr(), starts.as_ptr(), predefined, made)
    })?;
    made.commit().then_some(made)
}
