// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants of Fortran that are recognised by their addresses: `MPI_BOTTOM`, `MPI_IN_PLACE`, `MPI_STATUS_IGNORE` and others.
//!
//! Each is a data symbol of this library: a common block for `mpif.h`, a variable with a binding label for the modules. The linker
//! may place it in the program instead, so every access goes through the dynamic symbol. The addresses stand in at most two
//! clusters, one in the program and one here: two comparisons show that a buffer is none of them.

use core::ffi::c_void;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Status;

macro_rules! sentinels {
    ($($symbol:ident: $kind:ty = $constant:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($constant), "`.")]
            #[unsafe(no_mangle)]
            static mut $symbol: $kind = [0; _];
        )*

        /// The addresses and what C has in their places.
        fn cells() -> impl Iterator<Item = (usize, usize)> {
            [$((&raw const $symbol as usize, mpi::$constant)),*].into_iter()
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/sentinels.rs"));

/// Addresses between two others.
#[derive(Clone, Copy)]
struct Cluster {
    first: usize,
    length: usize,
}

/// Written once, before any call.
static mut CLUSTERS: [Cluster; 2] = [Cluster {
    first: 0,
    length: 0,
}; 2];

impl Cluster {
    fn of(addresses: &[usize]) -> Self {
        let ends = addresses.first().zip(addresses.last());
        let (first, length) = ends.map_or((0, 0), |(first, last)| (*first, last - first + 1));
        Self { first, length }
    }
}

/// Whether an address stands in one of the clusters.
#[inline]
fn is_among_sentinels(address: usize) -> bool {
    // SAFETY: `find_clusters` wrote them before the dynamic linker let any code call this library.
    let [low, high] = unsafe { CLUSTERS };
    address.wrapping_sub(low.first) < low.length || address.wrapping_sub(high.first) < high.length
}

/// Runs when the library is loaded, behind all relocations and before any call.
#[used]
#[unsafe(link_section = ".init_array")]
static FIND_CLUSTERS: extern "C" fn() = find_clusters;

extern "C" fn find_clusters() {
    let mut addresses: Vec<usize> = cells().map(|(address, _)| address).collect();
    addresses.sort_unstable();
    let gap = |index: &usize| addresses[*index] - addresses[*index - 1];
    let widest = (1..addresses.len()).max_by_key(gap).unwrap_or(0);
    let (low, high) = addresses.split_at(widest);
    // SAFETY: no other code of this library runs before it is loaded.
    unsafe { CLUSTERS = [Cluster::of(low), Cluster::of(high)] };
}

/// Whether a buffer is an address for C: no sentinel, and not null.
#[inline]
pub(crate) fn is_address(address: *mut c_void) -> bool {
    let number = address as usize;
    !(address.is_null() || is_among_sentinels(number))
}

#[inline]
fn translate<T>(address: *mut T) -> *mut T {
    let number = address as usize;
    if is_among_sentinels(number) {
        return among_them(number) as *mut T;
    }
    address
}

/// The value of the C constant whose Fortran sentinel has this address; any other address stays as it is.
#[cold]
fn among_them(address: usize) -> usize {
    let found = cells().find(|(cell, _)| *cell == address);
    found.map_or(address, |(_, value)| value)
}

/// A choice buffer for C.
#[inline]
pub(crate) fn buffer(address: *mut c_void) -> *mut c_void {
    translate(address)
}

/// A status for C. Most programs ignore it, so that comes first.
#[inline]
pub(crate) fn status(address: *mut MPI_Status) -> *mut MPI_Status {
    quick_status(address).unwrap_or_else(|| translate(address))
}

/// A status for C, if that takes no more than a comparison.
#[inline]
pub(crate) fn quick_status(address: *mut MPI_Status) -> Option<*mut MPI_Status> {
    let ignored = [
        &raw const mpirp_status_ignore_,
        &raw const mpirp_mpi_status_ignore,
        &raw const mpirp_f08_status_ignore,
    ];
    if ignored.contains(&address.cast_const().cast()) {
        return Some(core::ptr::null_mut());
    }
    (!is_among_sentinels(address as usize)).then_some(address)
}

/// An array of statuses for C.
#[inline]
pub(crate) fn statuses(address: *mut MPI_Status) -> *mut MPI_Status {
    let ignored = [
        &raw const mpirp_statuses_ignore_,
        &raw const mpirp_mpi_statuses_ignore,
        &raw const mpirp_f08_statuses_ignore,
    ];
    if ignored.contains(&address.cast_const().cast()) {
        return core::ptr::null_mut();
    }
    translate(address)
}

/// Weights of edges for C.
pub(crate) fn weights(address: *mut i32) -> *mut i32 {
    translate(address)
}

/// Error codes of spawned processes for C.
pub(crate) fn codes(address: *mut i32) -> *mut i32 {
    translate(address)
}

/// Whether a CHARACTER argument stands for no arguments.
pub(crate) fn is_no_text(address: *mut u8) -> bool {
    translate(address).is_null()
}

/// Whether a buffer is `MPI_IN_PLACE`.
pub(crate) fn is_in_place(address: *mut c_void) -> bool {
    translate(address) as usize == mpi::MPI_IN_PLACE
}

/// Whether a buffer is not allocated, or `MPI_IN_PLACE` in a call that does not take it.
#[inline]
pub(crate) fn is_no_buffer(address: *mut c_void) -> bool {
    let in_place = [&raw const mpirp_in_place_, &raw const mpirp_any_in_place];
    address.is_null() || in_place.contains(&address.cast_const().cast())
}

/// The address that Fortran has for one of C's.
pub(crate) fn to_fortran(address: usize) -> usize {
    if address == mpi::MPI_BUFFER_AUTOMATIC {
        return &raw const mpirp_any_buffer_automatic as usize;
    }
    address
}
