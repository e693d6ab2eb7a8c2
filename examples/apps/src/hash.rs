// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that every process computes alike: hashes of numbers.

/// A hash of a number (the finalizer of SplitMix64).
pub const fn hash(number: u64) -> u64 {
    let mut hash = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// A hash of several numbers, in their order.
pub fn hash_of<const N: usize>(numbers: [u64; N]) -> u64 {
    numbers.into_iter().fold(0, |all, it| hash(all ^ it))
}

/// What one of many values adds to a checksum, a wrapping sum: `index` is its number among them.
pub const fn weighted(index: usize, value: u64) -> u64 {
    (2 * index as u64 + 1).wrapping_mul(value)
}
