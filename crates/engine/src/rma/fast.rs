// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast paths of operations on a target that is open already, in node-shared memory: put and get of contiguous bytes, accumulates of
//! elements of a predefined type. What they refuse is decided by [`super::put`] and the others.
#![expect(unsafe_code, reason = "operands are addresses that programs gave")]

use std::hint::cold_path;

use sys::sync::Ordering;

use super::combine::{apply, compare_and_swap};
use super::epoch::access;
use super::granule::Granule;
use super::target::{Path, Target};
use super::window::Window;
use crate::datatype::Datatype;
use crate::op::{AtomicReduction, Operator};
use crate::p2p::Promises;

/// The target with a rank, if this process may access it now.
// account: rank-translation
// TIER: short
#[inline(always)]
pub fn open_target(window: &Window, rank: i32) -> Option<&Target> {
    let Some(target) = window.targets.get(rank as u32 as usize) else {
        cold_path();
        return None;
    };
    // account: argument-checks
    if target.mark() | window.epochs.open_to_all() == 0 {
        cold_path();
        return None;
    }
    // account: rank-translation
    Some(target)
}

/// [`open_target`] of a process by its rank in MPI_COMM_WORLD.
// account: rank-translation
// TIER: short
#[inline(always)]
pub fn open_target_of_world(window: &Window, world_rank: i32) -> Option<&Target> {
    if window.ranks_are_global {
        return open_target(window, world_rank);
    }
    // The next stage fills the table in, so that this one calls nothing and needs no stack frame.
    let Some(&rank) = window.world_ranks.get()?.get(world_rank as u32 as usize) else {
        cold_path();
        return None;
    };
    open_target(window, rank)
}

impl Target {
    /// What this process may do at the target (see [`access`]).
    // account: argument-checks
    // TIER: short
    #[inline(always)]
    pub(super) fn mark(&self) -> u8 {
        // PAIRS: window.access. After MPI_Win_lock_all another thread may have taken the lock of the target.
        self.access.load(Ordering::Acquire)
    }

    /// The address behind `bytes` bytes at an address in the target's process, if they lie in memory that this process maps.
    // account: rank-translation
    // TIER: short
    #[inline(always)]
    pub fn end_at(&self, bytes: usize, address: u64) -> Option<*mut u8> {
        // An address below the first one is a large number here.
        let Some(end) = address.wrapping_sub(self.home).checked_add(bytes as u64) else {
            cold_path();
            return None;
        };
        // account: argument-checks
        if end > self.direct_bytes {
            cold_path();
            return None;
        }
        // account: rank-translation
        Some(self.base.wrapping_add(end as usize))
    }

    /// The address behind `bytes` bytes at a displacement, if they lie in memory that this process maps. The end, because the sum
    /// that is compared is the one that is used.
    // account: rank-translation
    // TIER: short
    #[inline(always)]
    pub fn end_of(&self, bytes: usize, disp: i64) -> Option<*mut u8> {
        let Some(start) = disp.checked_mul(self.unit as i64) else {
            cold_path();
            return None;
        };
        // A negative start is a large number here.
        let Some(end) = (start as u64).checked_add(bytes as u64) else {
            cold_path();
            return None;
        };
        // account: argument-checks
        if end > self.direct_bytes {
            cold_path();
            return None;
        }
        // account: rank-translation
        Some(self.base.wrapping_add(end as usize))
    }
}

/// Where contiguous bytes lie at a target.
#[derive(Clone, Copy, Debug)]
pub enum Spot {
    /// At a displacement, in units of the target.
    Displacement(i64),
    /// At an address in the target's process.
    Address(u64),
}

/// Where `bytes` bytes at a target lie in this process, if the target is open, they are in memory that this process maps, and they begin
/// at a granule.
// account: rank-translation
// TIER: short
#[inline(always)]
fn reach<P: Promises>(
    window: &Window,
    rank: i32,
    (spot, granule): (Spot, Granule),
    bytes: usize,
) -> Option<*mut u8> {
    let target = match P::GLOBAL {
        true => open_target_of_world(window, rank)?,
        false => open_target(window, rank)?,
    };
    let end = match spot {
        Spot::Displacement(disp) => target.end_of(bytes, disp)?,
        Spot::Address(address) if granule.divides(address) => target.end_at(bytes, address)?,
        Spot::Address(_) => {
            cold_path();
            return None;
        }
    };
    Some(end.wrapping_sub(bytes))
}

/// Writes contiguous bytes to a target that is open already, in memory that this process maps; false, and nothing done, where
/// [`super::put`] has to decide.
///
/// # Safety
/// `from` is readable for `bytes` bytes, which are whole granules; the granule is the window's.
// TIER: short
#[inline(always)]
pub unsafe fn put_now<P: Promises>(
    window: &Window,
    from: *const u8,
    bytes: usize,
    rank: i32,
    place: (Spot, Granule),
) -> bool {
    let Some(there) = reach::<P>(window, rank, place, bytes) else {
        cold_path();
        return false;
    };
    // account: fabric
    // SAFETY: readable (caller); the granules lie inside a window of which this process maps the memory (`reach`).
    unsafe { place.1.store(from, there, bytes) };
    true
}

/// Reads contiguous bytes of a target, as [`put_now`] writes them.
///
/// # Safety
/// `to` is writable for `bytes` bytes, which are whole granules; the granule is the window's.
// TIER: short
#[inline(always)]
pub unsafe fn get_now<P: Promises>(
    window: &Window,
    to: *mut u8,
    bytes: usize,
    rank: i32,
    place: (Spot, Granule),
) -> bool {
    let Some(there) = reach::<P>(window, rank, place, bytes) else {
        cold_path();
        return false;
    };
    // account: fabric
    // SAFETY: writable (caller); the granules lie inside a window of which this process maps the memory (`reach`).
    unsafe { place.1.load(there, to, bytes) };
    true
}

/// An operation on elements of a predefined type, as the fast path of accumulates uses it.
pub struct ElementReduction(AtomicReduction);

impl ElementReduction {
    /// Joins both; `None` when the operation is not defined for the type, or the type is not predefined.
    pub fn find(operator: Operator, datatype: &Datatype) -> Option<Self> {
        AtomicReduction::find(operator, datatype.reduces_as()?).map(Self)
    }
}

impl Window {
    /// Combines elements that lie in memory as they do at the target: those at the first address with those at the second, of which the
    /// old ones go to the third unless it is null.
    ///
    /// # Safety
    /// The addresses are those of `count` elements, the second ones in memory of the target that this process maps.
    // TIER: short
    #[inline(always)]
    pub unsafe fn combine(
        &self,
        target: &Target,
        reduction: &ElementReduction,
        sides: [*mut u8; 3],
        count: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { apply(self, target, &reduction.0, sides, count) };
    }

    /// Compares and swaps an element of `bytes` bytes, which is no MPI_BYTE, at an address of the target.
    ///
    /// # Safety
    /// As for [`super::compare_and_swap`]; the element lies in memory of the target that this process maps.
    // TIER: short
    #[inline(always)]
    pub unsafe fn swap(
        &self,
        target: &Target,
        operands: [*const u8; 2],
        result: *mut u8,
        there: *mut u8,
        bytes: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { compare_and_swap(self, target, operands, result, (there, bytes), false) };
    }

    /// Completes all operations on a target if that needs no messages; false, and nothing done, outside a passive target epoch to it.
    // TIER: short
    #[inline(always)]
    pub fn flush_now(&self, rank: i32) -> bool {
        let Some(target) = self.targets.get(rank as u32 as usize) else {
            cold_path();
            return false;
        };
        let mark = target.access.load(Ordering::Relaxed);
        let is_locked = matches!(mark, access::SHARED..=access::UNCHECKED);
        if !is_locked || target.path == Path::Message {
            cold_path();
            return false;
        }
        layout::settle();
        true
    }
}
