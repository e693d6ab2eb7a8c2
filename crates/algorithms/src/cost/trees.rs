// SPDX-License-Identifier: MIT OR Apache-2.0
//! Distances in trees of ranks, and the parts that go down them.

/// The smallest number of doublings that reaches `ranks`.
pub(super) const fn doublings(ranks: u32) -> u64 {
    ranks.next_power_of_two().ilog2() as u64
}

/// Distance to the parent in a tree of `degree` branches; beyond all ranks for the root.
pub(super) const fn span(rank: u32, ranks: u32, degree: u64) -> u64 {
    let mut span = 1;
    while span < ranks as u64 && (rank as u64 / span).is_multiple_of(degree) {
        span *= degree;
    }
    span
}

/// Ranks below a rank's children, one number a child.
pub(super) fn children(rank: u32, ranks: u32, degree: u64) -> Vec<u64> {
    let (me, ranks) = (u64::from(rank), u64::from(ranks));
    let mut below = Vec::new();
    let mut distance = 1;
    while distance < span(rank, ranks as u32, degree) {
        let steps = (1..degree).map(|step| me + step * distance);
        below.extend(
            steps
                .filter(|&child| child < ranks)
                .map(|child| distance.min(ranks - child)),
        );
        distance *= degree;
    }
    below
}

/// The start of part `index` of `bytes` bytes that are cut into as many parts as there are ranks.
pub(super) fn part_start(index: u64, bytes: u64, ranks: u64) -> u64 {
    (index * bytes.div_ceil(ranks)).min(bytes)
}

/// Steps of a tree of `degree` branches, each of which has one message at a time.
pub(super) fn levels(ranks: u32, degree: u64) -> u64 {
    let (mut levels, mut reached) = (0, 1);
    while reached < u64::from(ranks) {
        levels += 1;
        reached *= degree;
    }
    levels
}
