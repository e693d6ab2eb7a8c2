// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided operations that promise more than MPI demands, or name their target by its address.

use core::ffi::c_void;
use std::hint::cold_path;

use engine::Result;
use engine::p2p::Promises;
use engine::rma::{self, Window};
use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Op, MPI_Win};

use super::extension;
use super::promises::{All, Global, NoProcNull};
use crate::datatype::arguments::contiguous_bytes;
use crate::datatype::{memory, target_memory};
use crate::error::run_window;
use crate::handle::WINS;
use crate::win::accumulate::{Buffer, sides};
use crate::win::transfer::{Target, blame_origin, get_from, put_to};

/// Where the elements of a call are at its target.
#[derive(Clone, Copy)]
enum Place {
    /// At a displacement.
    Displacement(MPI_Aint),
    /// At an address in the target's process.
    Address(*mut c_void),
}

/// The elements of a call.
#[derive(Clone, Copy)]
struct Elements {
    origin: (i32, MPI_Datatype),
    target: (i32, MPI_Datatype),
}

impl Elements {
    /// Bytes of both sides, if these are the same elements of a predefined type.
    #[inline(always)]
    fn bytes(self, origin: *const c_void) -> Option<usize> {
        if self.origin != self.target {
            cold_path();
            return None;
        }
        contiguous_bytes(origin, self.origin.0, self.origin.1)
    }
}

/// The address behind the bytes, if they lie in memory of an open target that this process maps.
// TIER: short
#[inline(always)]
fn end_of<P: Promises>(bytes: usize, rank: i32, place: Place, win: MPI_Win) -> Option<*mut u8> {
    let window = WINS.get_trusted(win)?;
    let target = if P::GLOBAL {
        rma::open_target_of_world(window, rank)?
    } else {
        rma::open_target(window, rank)?
    };
    match place {
        Place::Displacement(disp) => target.end_of(bytes, disp as i64),
        Place::Address(address) => target.end_at(bytes, address as u64),
    }
}

/// The elements at the target, with its rank in the window.
fn located<P: Promises>(
    window: &Window,
    rank: i32,
    place: Place,
    (count, datatype): (i32, MPI_Datatype),
) -> Result<Target> {
    let rank = window.named_target::<P>(rank)?;
    Ok(match place {
        Place::Displacement(disp) => Target::new(rank, disp, count, datatype),
        Place::Address(address) => Target::at_address(window, rank, address, (count, datatype)),
    })
}

#[inline(always)]
unsafe fn put<P: Promises>(
    call: &'static str,
    origin: *const c_void,
    elements: Elements,
    rank: i32,
    place: Place,
    win: MPI_Win,
) -> i32 {
    if let Some(bytes) = elements.bytes(origin)
        && let Some(end) = end_of::<P>(bytes, rank, place, win)
    {
        // SAFETY: the origin is readable (crate head); the bytes lie inside a window of which this process maps the memory.
        return unsafe { put_to(origin.cast(), end, bytes) };
    }
    cold_path();
    // SAFETY: passed on.
    unsafe { put_any::<P>(call, origin, &elements, rank, &place, win) }
}

#[inline(never)]
unsafe fn put_any<P: Promises>(
    call: &'static str,
    origin: *const c_void,
    elements: &Elements,
    rank: i32,
    place: &Place,
    win: MPI_Win,
) -> i32 {
    run_window(call, win, |window| {
        let remote = located::<P>(window, rank, *place, elements.target)?.find()?;
        let (count, datatype) = elements.origin;
        let origin = memory(origin, i64::from(count), datatype).map_err(blame_origin)?;
        // SAFETY: the program keeps the origin until the operation is complete (crate head).
        unsafe { rma::put(window, &origin, &remote) }
    })
}

#[inline(always)]
unsafe fn get<P: Promises>(
    call: &'static str,
    origin: *mut c_void,
    elements: Elements,
    rank: i32,
    place: Place,
    win: MPI_Win,
) -> i32 {
    if let Some(bytes) = elements.bytes(origin)
        && let Some(end) = end_of::<P>(bytes, rank, place, win)
    {
        // SAFETY: the origin is writable (crate head); the bytes lie inside a window of which this process maps the memory.
        return unsafe { get_from(end, origin.cast(), bytes) };
    }
    cold_path();
    // SAFETY: passed on.
    unsafe { get_any::<P>(call, origin, &elements, rank, &place, win) }
}

#[inline(never)]
unsafe fn get_any<P: Promises>(
    call: &'static str,
    origin: *mut c_void,
    elements: &Elements,
    rank: i32,
    place: &Place,
    win: MPI_Win,
) -> i32 {
    run_window(call, win, |window| {
        let remote = located::<P>(window, rank, *place, elements.target)?.find()?;
        let (count, datatype) = elements.origin;
        let origin = target_memory(origin, i64::from(count), datatype).map_err(blame_origin)?;
        // SAFETY: the program keeps the origin until the operation is complete (crate head).
        unsafe { rma::get(window, &origin, &remote) }
    })
}

/// No promise.
struct Nothing;

impl Promises for Nothing {}

macro_rules! transfers {
    ($($name:ident $profiled:ident $body:ident $promises:ident $pointer:ty, $place:ident: $kind:ty, $variant:ident;)*) => {
        $(
            extension! {
                /// A one-sided operation with a promise, or at an address.
                ///
                /// # Safety
                /// That of MPI_Put and MPI_Get (crate head).
                $name $profiled (
                    origin_addr: $pointer, origin_count: i32, origin_datatype: MPI_Datatype, target_rank: i32,
                    $place: $kind, target_count: i32, target_datatype: MPI_Datatype, win: MPI_Win
                ) {
                    let elements = Elements {
                        origin: (origin_count, origin_datatype),
                        target: (target_count, target_datatype),
                    };
                    // SAFETY: passed on.
                    unsafe {
                        $body::<$promises>(stringify!($name), origin_addr, elements, target_rank, Place::$variant($place), win)
                    }
                }
            }
        )*
    };
}

transfers! {
    MPIX_Put_global PMPIX_Put_global put Global *const c_void, target_disp: MPI_Aint, Displacement;
    MPIX_Put_npn PMPIX_Put_npn put NoProcNull *const c_void, target_disp: MPI_Aint, Displacement;
    MPIX_Put_virtual_addr PMPIX_Put_virtual_addr put Nothing *const c_void, target_addr: *mut c_void, Address;
    MPIX_Put_all_opts PMPIX_Put_all_opts put All *const c_void, target_addr: *mut c_void, Address;
    MPIX_Get_global PMPIX_Get_global get Global *mut c_void, target_disp: MPI_Aint, Displacement;
    MPIX_Get_npn PMPIX_Get_npn get NoProcNull *mut c_void, target_disp: MPI_Aint, Displacement;
    MPIX_Get_virtual_addr PMPIX_Get_virtual_addr get Nothing *mut c_void, target_addr: *mut c_void, Address;
    MPIX_Get_all_opts PMPIX_Get_all_opts get All *mut c_void, target_addr: *mut c_void, Address;
}

extension! {
    /// An accumulate at an address in the target's process.
    ///
    /// # Safety
    /// That of MPI_Accumulate (crate head).
    MPIX_Accumulate_virtual_addr PMPIX_Accumulate_virtual_addr (
        origin_addr: *const c_void, origin_count: i32, origin_datatype: MPI_Datatype, target_rank: i32,
        target_addr: *mut c_void, target_count: i32, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win
    ) {
        run_window("MPIX_Accumulate_virtual_addr", win, |window| {
            let origin = Buffer::new(origin_addr, origin_count, origin_datatype);
            let target = (target_count, target_datatype);
            let target = Target::at_address(window, target_rank, target_addr, target);
            let (operator, remote, origin) = sides(origin, target, op)?;
            // SAFETY: the program keeps the origin until the operation is complete (crate head).
            unsafe { rma::accumulate(window, &origin, &remote, operator) }
        })
    }
}
