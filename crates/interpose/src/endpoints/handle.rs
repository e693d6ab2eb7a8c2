// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles of endpoint communicators, and of their requests and messages: addresses that are reserved and never used, so that no library has them.
//!
//! From the lowest bit: 14 bits of a number, 6 bits of the endpoint, 10 bits of the generation, 2 bits of the kind.

use std::sync::atomic::Ordering::Relaxed;

use ::endpoints::area::{MOST_PER_PROCESS, SLOTS};
use mpi_abi_sys::types::MPI_Request;

use crate::sync::AtomicUsize;

const NUMBER_BITS: u32 = 14;
const ENDPOINT_BITS: u32 = 6;
const GENERATION_BITS: u32 = 10;
const KIND_BITS: u32 = 2;
/// Addresses that are reserved.
const RANGE: usize = 1 << (NUMBER_BITS + ENDPOINT_BITS + GENERATION_BITS + KIND_BITS);

const _: () = assert!(SLOTS == 1 << NUMBER_BITS && MOST_PER_PROCESS == 1 << ENDPOINT_BITS);
const _: () = assert!(RANGE == 1 << 32);

/// The first address. No program has the addresses that stand here before they are reserved.
static BASE: AtomicUsize = AtomicUsize::new(1 << 63);

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A communicator.
    Comm,
    /// A request of an operation.
    Request,
    /// A persistent request.
    Persistent,
    /// A message that was probed.
    Message,
}

impl Kind {
    const ALL: [Self; 1 << KIND_BITS] =
        [Self::Comm, Self::Request, Self::Persistent, Self::Message];
}

/// A handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    /// What it is of.
    pub(super) kind: Kind,
    /// The endpoint of this process.
    pub(super) endpoint: usize,
    /// Its number among those of the endpoint.
    pub(super) number: u32,
    /// How often the number had been used before, without the high bits.
    pub(super) generation: u32,
}

/// Reserves the addresses.
///
/// # Errors
/// The system's.
pub(super) fn reserve() -> std::io::Result<()> {
    let base = sys::memory::reserve_addresses(RANGE)?;
    BASE.store(base.as_ptr().addr(), Relaxed);
    Ok(())
}

/// Whether a handle is of this layer.
#[inline]
pub(super) fn is_ours(handle: usize) -> bool {
    handle.wrapping_sub(BASE.load(Relaxed)) < RANGE
}

/// Whether one of these is of this layer.
///
/// # Safety
/// The array of a call, or null.
pub(super) unsafe fn any_ours(handles: *const MPI_Request, count: i32) -> bool {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's promise.
    !handles.is_null()
        && unsafe { std::slice::from_raw_parts(handles, count) }
            .iter()
            .any(|&handle| is_ours(handle))
}

/// A generation as a handle has it.
pub(super) fn generation(count: u32) -> u32 {
    count % (1 << GENERATION_BITS)
}

impl Handle {
    /// The parts of a handle of this layer.
    pub(super) fn of(handle: usize) -> Option<Self> {
        is_ours(handle).then(|| Self::parts(handle.wrapping_sub(BASE.load(Relaxed))))
    }

    fn parts(bits: usize) -> Self {
        let field = |low: u32, length: u32| (bits >> low) & ((1 << length) - 1);
        let (endpoint, generation) = (NUMBER_BITS, NUMBER_BITS + ENDPOINT_BITS);
        Self {
            kind: Kind::ALL[field(generation + GENERATION_BITS, KIND_BITS)],
            endpoint: field(endpoint, ENDPOINT_BITS),
            number: field(0, NUMBER_BITS) as u32,
            generation: field(generation, GENERATION_BITS) as u32,
        }
    }

    fn bits(self) -> usize {
        let high = (self.kind as usize) << GENERATION_BITS | self.generation as usize;
        (high << ENDPOINT_BITS | self.endpoint) << NUMBER_BITS | self.number as usize
    }

    /// The handle.
    pub(super) fn address(self) -> usize {
        BASE.load(Relaxed) + self.bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_come_back_from_their_bits() {
        for kind in Kind::ALL {
            let handle = Handle {
                kind,
                endpoint: 63,
                number: 16383,
                generation: 1023,
            };
            assert_eq!(Handle::parts(handle.bits()), handle);
            let handle = Handle {
                endpoint: 5,
                number: 1,
                generation: 0,
                ..handle
            };
            assert_eq!(Handle::parts(handle.bits()), handle);
        }
    }

    #[test]
    fn only_reserved_addresses_are_ours() {
        for handle in [0, 1, 257, 4095, usize::MAX, &raw const BASE as usize] {
            assert!(!is_ours(handle));
        }
        reserve().unwrap();
        let base = BASE.load(Relaxed);
        assert!(is_ours(base) && is_ours(base + RANGE - 1));
        assert!(!is_ours(base + RANGE) && !is_ours(base - 1) && !is_ours(257));
    }
}
