// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers, operations and ranks that tests of collectives use.

use super::*;

pub(super) const RANKS: [u32; 8] = [1, 2, 3, 4, 5, 7, 8, 13];

/// Runs a test with messages only, and with the memory that members share.
pub(super) fn on_members(size: u32, body: impl Fn(&'static Member) + Sync) {
    for shared_collectives in [0, 1] {
        let settings = Settings {
            shared_collectives,
            ..Settings::default()
        };
        on_members_with(&settings, size, &body);
    }
}

pub(super) fn long() -> Arc<Datatype> {
    let row = Predefined::find(predefined::INT64_T).unwrap();
    row.datatype().clone()
}

/// A long and a hole of a long.
pub(super) fn sparse() -> Arc<Datatype> {
    let datatype = Datatype::resized(0, 16, &long(), Width::Int).unwrap();
    datatype.commit();
    datatype
}

/// Numbers in memory, dense or with holes.
pub(super) struct Numbers {
    pub(super) memory: Vec<i64>,
    pub(super) step: usize,
}

impl Numbers {
    pub(super) const HOLE: i64 = -777;

    pub(super) fn new(values: &[i64], holes: bool) -> Self {
        let step = if holes { 2 } else { 1 };
        let mut memory = vec![Self::HOLE; values.len() * step];
        for (index, &value) in values.iter().enumerate() {
            memory[index * step] = value;
        }
        Self { memory, step }
    }

    pub(super) fn layout(&self) -> SharedLayout {
        let datatype = if self.step == 1 { long() } else { sparse() };
        datatype.shared_layout().clone()
    }

    /// The test keeps the numbers until the collective is complete.
    pub(super) fn block(&mut self) -> Block {
        let count = self.memory.len() / self.step;
        // SAFETY: the memory holds `count` elements of the layout, and tests wait before they look or drop.
        unsafe { Block::new(self.memory.as_mut_ptr().cast(), count, self.layout()) }
    }

    pub(super) fn blocks(&mut self, counts: &[usize]) -> Blocks {
        let block = self.block();
        let mut first = 0;
        let blocks = counts.iter().map(|&count| {
            first += count;
            block.part((first - count) as i64, count)
        });
        Blocks(blocks.collect())
    }

    pub(super) fn values(&self) -> Vec<i64> {
        let holes = self.memory.iter().enumerate();
        assert!(
            holes
                .filter(|(index, _)| index % self.step != 0)
                .all(|(_, &value)| value == Self::HOLE)
        );
        self.memory.iter().step_by(self.step).copied().collect()
    }
}

pub(super) fn now<T>(member: &'static Member, work: impl Future<Output = Result<T>>) -> T {
    task::block_on(member.vci(), "test", work).unwrap()
}

pub(super) fn world(member: &'static Member) -> Arc<Comm> {
    member.world().clone()
}

pub(super) fn value(rank: u32, index: usize) -> i64 {
    i64::from(rank) * 1_000_003 + index as i64 * 7
}

pub(super) fn vector(rank: u32, count: usize) -> Vec<i64> {
    (0..count).map(|index| value(rank, index)).collect()
}

pub(super) fn sum() -> Reduction {
    Reduction::new(&Op::predefined(Operator::Sum), &long()).unwrap()
}

/// Affine maps x -> a x + b modulo 2^32, packed as a << 32 | b: composing them is associative and does not commute.
pub(super) fn compose(left: i64, right: i64) -> i64 {
    let parts = |map: i64| (map as u64 >> 32, map as u64 & 0xffff_ffff);
    let ((a, b), (c, d)) = (parts(left), parts(right));
    let (slope, offset) = (a.wrapping_mul(c), c.wrapping_mul(b).wrapping_add(d));
    ((slope & 0xffff_ffff) << 32 | offset & 0xffff_ffff) as i64
}

pub(super) fn composition(datatype: &Arc<Datatype>) -> Reduction {
    let function = |input: *const u8, inout: *mut u8, count: usize, datatype: &Arc<Datatype>| {
        let step = datatype.layout().extent() as usize / 8;
        for index in 0..count {
            // SAFETY: the operands hold `count` elements that start with a long.
            unsafe {
                let target = inout.cast::<i64>().add(index * step);
                *target = compose(*input.cast::<i64>().add(index * step), *target);
            }
        }
    };
    Reduction::new(&Op::user(Box::new(function), false), datatype).unwrap()
}

pub(super) fn map(rank: u32, index: usize) -> i64 {
    let slope = 2 * u64::from(rank) + 3 + index as u64;
    (slope << 32 | (u64::from(rank) * 31 + 5)) as i64
}

pub(super) fn maps(rank: u32, count: usize) -> Vec<i64> {
    (0..count).map(|index| map(rank, index)).collect()
}

pub(super) fn composed(ranks: std::ops::Range<u32>, count: usize) -> Vec<i64> {
    let first = maps(ranks.start, count);
    (ranks.start + 1..ranks.end).fold(first, |sum, rank| {
        let next = maps(rank, count);
        sum.iter()
            .zip(&next)
            .map(|(&a, &b)| compose(a, b))
            .collect()
    })
}
