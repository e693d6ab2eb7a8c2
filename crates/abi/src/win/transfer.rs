// SPDX-License-Identifier: MIT OR Apache-2.0
//! Put and get (MPI-5.0, sections 12.3.1 and 12.3.2).

// account: function-call

use core::ffi::c_void;
use std::hint::cold_path;

use engine::rma::{self, Remote, Window};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Win};

use super::on_device;
use crate::call::{self, Call};
use crate::datatype::arguments::contiguous_bytes;
use crate::datatype::{Count, located_memory, located_target_memory};
use crate::error::run_window;
use crate::handle::{DATATYPES, WINS};

/// The elements of a call at its target, as the program names them.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) rank: i32,
    pub(crate) disp: MPI_Aint,
    /// As in [`Remote`].
    pub(crate) unit: Option<u64>,
    pub(crate) count: i64,
    pub(crate) datatype: MPI_Datatype,
}

impl Target {
    /// The arguments of a call in the standard's order.
    #[inline(always)]
    pub(crate) fn new<C: Count>(
        rank: i32,
        disp: MPI_Aint,
        count: C,
        datatype: MPI_Datatype,
    ) -> Self {
        let count = count.into();
        Self {
            rank,
            disp,
            unit: None,
            count,
            datatype,
        }
    }

    /// Elements at an address in the target's process.
    pub(crate) fn at_address<C: Count>(
        window: &Window,
        rank: i32,
        address: *mut c_void,
        (count, datatype): (C, MPI_Datatype),
    ) -> Self {
        let disp = window.displacement_of(rank, address as u64) as MPI_Aint;
        Self {
            unit: Some(1),
            ..Self::new(rank, disp, count, datatype)
        }
    }

    /// The same with the datatype's object.
    pub(crate) fn find(self) -> Result<Remote<'static>> {
        let blame = |error: Error| {
            error.renamed(|found| match found {
                "count" => "target_count",
                "datatype" => "target_datatype",
                other => other,
            })
        };
        let datatype = DATATYPES.find(self.datatype, "target_datatype")?;
        let count = elements("target_count", self.count)?;
        // For its checks alone.
        datatype
            .memory(std::ptr::null_mut(), count)
            .map_err(blame)?;
        Ok(Remote {
            unit: self.unit,
            rank: self.rank,
            disp: self.disp as i64,
            count,
            datatype,
        })
    }
}

/// A number of elements.
pub(crate) fn elements(argument: &'static str, count: i64) -> Result<usize> {
    let expected = "0 or more elements";
    let class = ErrorClass::ERR_COUNT;
    usize::try_from(count).map_err(|_| Error::argument(class, argument, count, expected))
}

/// Gives the origin's arguments their names.
#[cold]
pub(crate) fn blame_origin(error: Error) -> Error {
    error.renamed(|found| match found {
        "buf" => "origin_addr",
        "count" => "origin_count",
        "datatype" => "origin_datatype",
        other => other,
    })
}

/// The window, the target, the number of bytes and the address behind them at the target, if these are elements of a predefined type in
/// memory that this process maps, of a target that is open. The target comes first: so the fewest values are alive at once.
// TIER: short
#[inline(always)]
pub(super) fn locate<K: Call, C: Count>(
    origin: *const c_void,
    (count, datatype): (C, MPI_Datatype),
    (rank, disp): (i32, MPI_Aint),
    win: MPI_Win,
) -> Option<(&'static Window, &'static rma::Target, usize, *mut u8)> {
    let window = WINS.get_trusted(win)?; // account: communicator
    // account: rank-translation
    let target = if K::GLOBAL {
        rma::open_target_of_world(window, rank)?
    } else {
        rma::open_target(window, rank)?
    };
    let bytes = contiguous_bytes(origin, count, datatype)?; // account: datatype
    let end = if K::AT_ADDRESS {
        target.end_at(bytes, disp as u64)?
    } else {
        target.end_of(bytes, disp as i64)?
    };
    Some((window, target, bytes, end))
}

/// Number of bytes, and the address behind them at the target, if both sides are the same elements as [`locate`] wants them.
// TIER: short
#[inline(always)]
fn locate_alike<K: Call, C: Count>(
    origin: *const c_void,
    (origin_count, origin_datatype): (C, MPI_Datatype),
    (target_count, target_datatype): (C, MPI_Datatype),
    place: (i32, MPI_Aint),
    win: MPI_Win,
) -> Option<(usize, *mut u8)> {
    // account: datatype
    if origin_datatype != target_datatype {
        cold_path();
        return None;
    }
    if origin_count.into() != target_count.into() {
        cold_path();
        return None;
    }
    // account: function-call
    let origin_elements = (origin_count, origin_datatype);
    let (_, _, bytes, end) = locate::<K, C>(origin, origin_elements, place, win)?;
    Some((bytes, end))
}

/// The elements at the target, with its rank in the window. `disp` is an address where the call says so.
fn remote<K: Call, C: Count>(
    window: &Window,
    (rank, disp): (i32, MPI_Aint),
    (count, datatype): (C, MPI_Datatype),
) -> Result<Remote<'static>> {
    let rank = window.named_target::<K>(rank)?;
    let target = if K::AT_ADDRESS {
        Target::at_address(window, rank, disp as *mut c_void, (count, datatype))
    } else {
        Target::new(rank, disp, count, datatype)
    };
    target.find()
}

/// The body of the calls that put, with the arguments of MPI_Put.
#[inline(always)]
pub(crate) unsafe fn put<K: Call, C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> i32 {
    let origin = (origin_count, origin_datatype);
    let target = (target_count, target_datatype);
    let place = (target_rank, target_disp);
    if let Some((bytes, end)) = locate_alike::<K, C>(origin_addr, origin, target, place, win) {
        let from = origin_addr.cast();
        // SAFETY: the origin is readable (crate head); the bytes lie inside a window of which this process maps the memory.
        return unsafe { put_to(from, end, bytes) };
    }
    // SAFETY: passed on. One call with the same arguments in the same places is a jump, and the fast path needs no stack frame.
    unsafe {
        put_any::<K, C>(
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )
    }
}

#[inline(never)]
unsafe extern "C" fn put_any<K: Call, C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> i32 {
    run_window(K::NAME, win, |window| {
        let origin = located_memory(origin_addr, origin_count.into(), origin_datatype);
        let origin = origin.map_err(blame_origin)?;
        let target = (target_count, target_datatype);
        let remote = remote::<K, C>(window, (target_rank, target_disp), target)?;
        if origin.1.is_some() {
            return on_device::put(window, origin, &remote, K::NAME);
        }
        // SAFETY: the program keeps the origin until the operation is complete (crate head).
        unsafe { rma::put(window, &origin.0, &remote) }
    })
}

/// The body of the calls that get, with the arguments of MPI_Get.
#[inline(always)]
pub(crate) unsafe fn get<K: Call, C: Count>(
    origin_addr: *mut c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> i32 {
    let origin = (origin_count, origin_datatype);
    let target = (target_count, target_datatype);
    let place = (target_rank, target_disp);
    if let Some((bytes, end)) = locate_alike::<K, C>(origin_addr, origin, target, place, win) {
        let to = origin_addr.cast();
        // SAFETY: the origin is writable (crate head); the bytes lie inside a window of which this process maps the memory.
        return unsafe { get_from(end, to, bytes) };
    }
    // SAFETY: passed on. One call with the same arguments in the same places is a jump, and the fast path needs no stack frame.
    unsafe {
        get_any::<K, C>(
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )
    }
}

#[inline(never)]
unsafe extern "C" fn get_any<K: Call, C: Count>(
    origin_addr: *mut c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> i32 {
    run_window(K::NAME, win, |window| {
        let origin = located_target_memory(origin_addr, origin_count.into(), origin_datatype);
        let origin = origin.map_err(blame_origin)?;
        let target = (target_count, target_datatype);
        let remote = remote::<K, C>(window, (target_rank, target_disp), target)?;
        if origin.1.is_some() {
            return on_device::get(window, origin, &remote, K::NAME);
        }
        // SAFETY: the program keeps the origin until the operation is complete (crate head).
        unsafe { rma::get(window, &origin.0, &remote) }
    })
}

#[inline(always)]
pub(crate) unsafe fn MPI_Put<C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> i32 {
    // SAFETY: passed on.
    unsafe {
        put::<call::Put<C>, C>(
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )
    }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Get<C: Count>(
    origin_addr: *mut c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> i32 {
    // SAFETY: passed on.
    unsafe {
        get::<call::Get<C>, C>(
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )
    }
}

/// Copies bytes to those before `end`, the most frequent lengths in place.
///
/// # Safety
/// As for [`put_bytes`].
// TIER: short
#[inline(always)]
pub(crate) unsafe fn put_to(from: *const u8, end: *mut u8, bytes: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        // account: fabric
        if bytes == 8 {
            return copy_word::<u64>(from, end.sub(8));
        }
        // So that the compiler does not sort the lengths.
        cold_path();
        match bytes {
            4 => copy_word::<u32>(from, end.sub(4)),
            1 => copy_word::<u8>(from, end.sub(1)),
            _ => put_bytes(from, end, bytes),
        }
    }
}

/// Copies the bytes before `end`, the most frequent lengths in place.
///
/// # Safety
/// As for [`get_bytes`].
// TIER: short
#[inline(always)]
pub(crate) unsafe fn get_from(end: *const u8, to: *mut u8, bytes: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        // account: fabric
        if bytes == 8 {
            return copy_word::<u64>(end.sub(8), to);
        }
        // So that the compiler does not sort the lengths.
        cold_path();
        match bytes {
            4 => copy_word::<u32>(end.sub(4), to),
            1 => copy_word::<u8>(end.sub(1), to),
            _ => get_bytes(end, to, bytes),
        }
    }
}

/// Copies bytes to those before `end`; 0, so that the fast path ends with a jump.
///
/// # Safety
/// `from` is readable for `bytes` bytes, and so many before `end` are writable.
#[inline(never)]
unsafe extern "C" fn put_bytes(from: *const u8, end: *mut u8, bytes: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { copy(from, end.sub(bytes), bytes) }
}

/// Copies the bytes before `end`; 0, so that the fast path ends with a jump.
///
/// # Safety
/// So many bytes before `end` are readable, and `to` is writable for them.
#[inline(never)]
unsafe extern "C" fn get_bytes(end: *const u8, to: *mut u8, bytes: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { copy(end.sub(bytes), to, bytes) }
}

/// Copies bytes; up to 32 by two words that may overlap.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes.
// account: fabric
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) -> i32 {
    // SAFETY: the caller's promise; both words lie inside the bytes.
    unsafe {
        match bytes {
            16..=32 => copy_ends::<u128>(from, to, bytes),
            8..16 => copy_ends::<u64>(from, to, bytes),
            2..4 => copy_ends::<u16>(from, to, bytes),
            4..8 => copy_ends::<u32>(from, to, bytes),
            _ => copy_long(from, to, bytes),
        }
    }
}

/// Copies any number of bytes; 0, so that callers end with a jump.
///
/// # Safety
/// As for [`copy`].
// account: fabric
#[inline(never)]
unsafe extern "C" fn copy_long(from: *const u8, to: *mut u8, bytes: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { layout::copy_bytes(from, to, bytes) };
    0
}

/// Copies by a word at either end.
///
/// # Safety
/// As for [`copy`]; there are between one and two words.
// account: fabric
#[inline(always)]
unsafe fn copy_ends<W: Copy>(from: *const u8, to: *mut u8, bytes: usize) -> i32 {
    let last = bytes - size_of::<W>();
    // SAFETY: the caller's promise. Both are read before one is written: the ranges may be the same.
    unsafe {
        let (head, tail) = (from.cast::<W>(), from.add(last).cast::<W>());
        let (head, tail) = (head.read_unaligned(), tail.read_unaligned());
        to.cast::<W>().write_unaligned(head);
        to.add(last).cast::<W>().write_unaligned(tail);
    }
    0
}

/// # Safety
/// `from` is readable and `to` writable for a word.
// account: fabric
#[inline(always)]
unsafe fn copy_word<W: Copy>(from: *const u8, to: *mut u8) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        to.cast::<W>()
            .write_unaligned(from.cast::<W>().read_unaligned());
    }
    0
}
