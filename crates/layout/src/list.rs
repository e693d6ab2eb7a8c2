// SPDX-License-Identifier: MIT OR Apache-2.0
//! The copies of runs at a list of offsets, whose table they read as it is.
//!
//! A run costs the load of its distance, one of its bytes and a store, as long as it is a word; loops are made for the usual
//! widths. Doubles, and words of four bytes, whose offsets are multiples of their size are found by one address. Gathers
//! take the same indices, but on AMD's Zen 5 those of AVX2 and AVX-512 are 5 to 25 % slower than single loads.

use crate::copy::{Packed, Sixteen, ThirtyTwo, ends, one, run};
#[cfg(target_arch = "x86_64")]
use crate::isa;
use crate::offsets::{Distance, Near, Part};

/// Packs runs of `bytes` bytes at offsets from `base`.
///
/// # Safety
/// The runs are readable, `target` is writable for all of them.
pub(crate) unsafe fn pack(base: *const u8, runs: Part<'_>, target: *mut u8, bytes: usize) {
    let mut target = target;
    for (at, near) in runs.chunks() {
        let list = List {
            from: base.wrapping_offset(at as isize),
            to: target,
            bytes,
            shift: runs.shift(),
        };
        // SAFETY: the caller's promise.
        unsafe {
            list.pack(near);
            target = target.add(bytes * near.len());
        }
    }
}

/// Unpacks runs of `bytes` bytes to offsets from `base`.
///
/// # Safety
/// The runs are writable, `source` is readable for all of them.
pub(crate) unsafe fn unpack(source: *const u8, base: *mut u8, runs: Part<'_>, bytes: usize) {
    let mut source = source;
    for (at, near) in runs.chunks() {
        let list = List {
            from: source,
            to: base.wrapping_offset(at as isize),
            bytes,
            shift: runs.shift(),
        };
        // SAFETY: the caller's promise.
        unsafe {
            list.unpack(near);
            source = source.add(bytes * near.len());
        }
    }
}

/// Copies runs of `bytes` bytes to the same offsets from another base.
///
/// # Safety
/// The runs are readable at `from` and writable at `to`, and do not overlap.
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, runs: Part<'_>, bytes: usize) {
    for (at, near) in runs.chunks() {
        let list = List {
            from: from.wrapping_offset(at as isize),
            to: to.wrapping_offset(at as isize),
            bytes,
            shift: runs.shift(),
        };
        // SAFETY: the caller's promise.
        unsafe { list.copy(near) };
    }
}

/// Runs that have one base.
#[derive(Clone, Copy)]
struct List {
    /// The base, or where packed runs begin.
    from: *const u8,
    to: *mut u8,
    /// Of a run.
    bytes: usize,
    /// Of the distances.
    shift: u32,
}

impl List {
    /// Copies the runs; their places on the side that is not packed, or on both, are these distances from its base.
    ///
    /// # Safety
    /// The runs are readable and writable, and do not overlap.
    #[inline(always)]
    unsafe fn runs<D: Distance>(self, distances: &[D], packed: Packed) {
        let Self {
            from,
            to,
            bytes,
            shift,
        } = self;
        macro_rules! by {
            ($size:expr, $shift:expr, $copy:expr) => {
                for (index, distance) in distances.iter().enumerate() {
                    let (listed, next) = (distance.bytes($shift), (index * $size) as isize);
                    let places = match packed {
                        Packed::Source => (next, listed),
                        Packed::Target => (listed, next),
                        Packed::Neither => (listed, listed),
                    };
                    let (from, to) = (from.wrapping_offset(places.0), to.wrapping_offset(places.1));
                    // SAFETY: the caller's promise; the copy moves a run.
                    unsafe { $copy(from, to) };
                }
            };
        }
        macro_rules! whole {
            ($type:ty) => {
                by!(size_of::<$type>(), shift, one::<$type>)
            };
        }
        macro_rules! both_ends {
            ($type:ty) => {
                by!(bytes, shift, |from, to| ends::<$type>(from, to, bytes))
            };
        }
        match (bytes, shift) {
            (4, 2) => by!(4, 2, one::<u32>),
            (8, 3) => by!(8, 3, one::<u64>),
            (1, _) => whole!(u8),
            (2, _) => whole!(u16),
            (4, _) => whole!(u32),
            (8, _) => whole!(u64),
            (12, _) => whole!([u32; 3]),
            (16, _) => whole!(Sixteen),
            (24, _) => whole!([u64; 3]),
            (32, _) => whole!(ThirtyTwo),
            (64, _) => whole!([u64; 8]),
            (9..=15, _) => both_ends!(u64),
            (17..=31, _) => both_ends!(Sixteen),
            (33..=63, _) => both_ends!(ThirtyTwo),
            _ => by!(bytes, shift, |from, to| run(from, to, bytes)),
        }
    }
}

/// One direction, with the best code for this processor.
macro_rules! direction {
    ($name:ident, $avx2:ident, $packed:expr) => {
        impl List {
            /// # Safety
            /// As for [`List::runs`].
            unsafe fn $name(self, near: Near<'_>) {
                #[cfg(target_arch = "x86_64")]
                if isa::has_avx2() {
                    // SAFETY: the caller's promise; the processor has AVX2.
                    return unsafe { self.$avx2(near) };
                }
                // SAFETY: the caller's promise.
                unsafe {
                    match near {
                        Near::Short(all) => self.runs(all, $packed),
                        Near::Long(all) => self.runs(all, $packed),
                        Near::Whole(all) => self.runs(all, $packed),
                    }
                }
            }

            /// # Safety
            /// As for [`List::runs`], on a processor that has the instructions.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            unsafe fn $avx2(self, near: Near<'_>) {
                // SAFETY: the caller's promise.
                unsafe {
                    match near {
                        Near::Short(all) => self.runs(all, $packed),
                        Near::Long(all) => self.runs(all, $packed),
                        Near::Whole(all) => self.runs(all, $packed),
                    }
                }
            }
        }
    };
}

direction!(pack, pack_avx2, Packed::Target);
direction!(unpack, unpack_avx2, Packed::Source);
direction!(copy, copy_avx2, Packed::Neither);
