// SPDX-License-Identifier: MIT OR Apache-2.0
//! Put and get (MPI-5.0, sections 12.3.1 and 12.3.2).
#![expect(
    unsafe_code,
    reason = "origin and target are addresses that programs gave"
)]

use super::attach;
use super::message::operations::{self, Action};
use super::target::{Path, Place, Remote};
use super::window::Window;
use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};

impl Window {
    /// The place that an operation names, which is as long as the origin; `None` for MPI_PROC_NULL.
    #[inline(always)]
    pub(super) fn counterpart<'a>(
        &'a self,
        origin: &Memory<'_>,
        remote: &Remote<'a>,
    ) -> Result<Option<Place<'a>>> {
        match self.place(remote)? {
            Some(place) if place.bytes != origin.bytes => {
                Err(self.lengths_differ(origin.bytes, place.bytes))
            }
            place => Ok(place),
        }
    }

    /// Refuses an operation whose sides differ in length.
    #[cold]
    #[inline(never)]
    fn lengths_differ(&self, origin: usize, target: usize) -> Error {
        let expected = format!("as many bytes as at the origin, {origin}");
        let value = format!("{target} bytes");
        self.annotate(Error::argument(
            ErrorClass::ERR_ARG,
            "target_count",
            value,
            expected,
        ))
    }
}

/// The direction in which bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Put,
    Get,
}

/// Copies `bytes` bytes; 8, 4, 2 and 1 of them, aligned, by one load and one store.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes. Others may write `from` or read and write `to` meanwhile only as MPI-5.0,
/// section 12.7, permits.
#[inline(always)]
pub(super) unsafe fn copy_run(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            8 => to
                .cast::<u64>()
                .write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to
                .cast::<u32>()
                .write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => layout::copy_bytes(from, to, bytes),
        }
    }
}

/// Copies between the origin and a place in memory that this process maps.
///
/// # Safety
/// The origin is readable, or writable for a get.
#[inline(always)]
pub(super) unsafe fn copy_directly(origin: &Memory<'_>, place: &Place<'_>, direction: Direction) {
    let granule = place.target.granule;
    if let (None, Some(there)) = (origin.layout, place.run()) {
        // SAFETY: the place lies inside the window (`Window::place`) and consists of whole granules, the origin is the caller's promise.
        unsafe {
            match direction {
                Direction::Put => granule.store(origin.base, there, origin.bytes),
                Direction::Get => granule.load(there, origin.base, origin.bytes),
            }
        }
    } else {
        // SAFETY: as above.
        unsafe { copy_layouts(origin, place, direction) };
    }
}

/// Copies between layouts, of which calls of safe code have none.
///
/// # Safety
/// As for [`copy_directly`].
#[inline(never)]
unsafe fn copy_layouts(origin: &Memory<'_>, place: &Place<'_>, direction: Direction) {
    let range = 0..origin.bytes;
    // SAFETY: the caller's promises.
    unsafe {
        match (origin.layout, direction) {
            (None, Direction::Put) => place.layout.unpack(place.base, range, origin.base),
            (None, Direction::Get) => place.layout.pack(place.base, range, origin.base),
            (Some((mine, _)), Direction::Put) => {
                mine.copy(origin.base, place.layout, place.base, range)
            }
            (Some((mine, _)), Direction::Get) => {
                place.layout.copy(place.base, mine, origin.base, range)
            }
        }
    }
}

/// # Safety
/// As for [`put`] and [`get`].
#[inline(always)]
unsafe fn transfer(
    window: &Window,
    origin: &Memory<'_>,
    remote: &Remote<'_>,
    direction: Direction,
) -> Result<()> {
    let Some(place) = window.counterpart(origin, remote)? else {
        return Ok(());
    };
    // SAFETY: the caller's promise; memory of a window is mapped until it is freed.
    unsafe {
        match (place.path, &window.channel) {
            (Path::Direct, _) => copy_directly(origin, &place, direction),
            (Path::Attach, _) => attach::transfer(window, origin, &place, direction)?,
            (Path::Message, None) => return Err(window.is_unreachable(place.rank)),
            (Path::Message, Some(channel)) => {
                let action = match direction {
                    Direction::Put => Action::Put(origin),
                    Direction::Get => Action::Get(origin),
                };
                return operations::operate(window, channel, &place, action);
            }
        }
    }
    Ok(())
}

/// Copies the origin's data into the memory of a target (MPI_Put).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_DISP, MPI_ERR_RMA_RANGE, MPI_ERR_RMA_SYNC, MPI_ERR_ARG.
///
/// # Safety
/// The origin is readable until the operation is complete here.
#[inline]
pub unsafe fn put(window: &Window, origin: &Memory<'_>, remote: &Remote<'_>) -> Result<()> {
    // SAFETY: passed on.
    unsafe { transfer(window, origin, remote, Direction::Put) }
}

/// Copies data of a target's memory to the origin (MPI_Get).
///
/// # Errors
/// As for [`put`].
///
/// # Safety
/// The origin is writable until the operation is complete here.
#[inline]
pub unsafe fn get(window: &Window, origin: &Memory<'_>, remote: &Remote<'_>) -> Result<()> {
    // SAFETY: passed on.
    unsafe { transfer(window, origin, remote, Direction::Get) }
}
