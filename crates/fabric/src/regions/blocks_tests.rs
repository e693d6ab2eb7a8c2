// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is published for a change, and that regions are those of a plain list.

use super::blocks::{BLOCK, Region, Regions};

const MANY: u64 = 32_000;
/// Regions and numbers of blocks that a change publishes on average. A split of a block publishes two, and a part of the order.
const FEW: u64 = 2 * BLOCK as u64;

/// A generator of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// The numbers below `count` in some order.
    fn order_of(&mut self, count: u64) -> Vec<u64> {
        let mut order: Vec<u64> = (0..count).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }
}

const fn private(address: u64, bytes: u64) -> Region {
    Region {
        address,
        bytes,
        shared: 0,
    }
}

#[test]
fn the_memory_of_a_gpu_is_joined_with_its_like_only() {
    let shared = |region: Region, shared| Region { shared, ..region };
    let on_device = |address, bytes| shared(private(address, bytes), Region::DEVICE);
    let mut regions = Regions::default();
    let parts = [
        private(0, 100),
        on_device(100, 100),
        on_device(200, 100),
        shared(private(300, 100), 1),
        on_device(400, 100),
    ];
    for part in parts {
        regions.add(part);
    }
    let joined = [parts[0], on_device(100, 200), parts[3], parts[4]];
    assert_eq!(all(&regions), joined);
    regions.cut(&on_device(150, 20));
    let cut = [
        parts[0],
        on_device(100, 50),
        on_device(170, 130),
        parts[3],
        parts[4],
    ];
    assert_eq!(all(&regions), cut);
}

/// All regions, as the blocks have them.
fn all(regions: &Regions) -> Vec<Region> {
    let blocks = regions.order.iter();
    let all: Vec<Region> = blocks
        .flat_map(|&number| regions.blocks[number as usize].iter().copied())
        .collect();
    assert!(all.is_sorted_by_key(|region| region.address));
    all
}

/// Regions and positions of the order that would be published now.
fn published(regions: &mut Regions) -> u64 {
    let changes = regions.take_changes();
    let blocks = changes.blocks.iter();
    let in_blocks: usize = blocks
        .map(|&number| regions.blocks[number as usize].len())
        .sum();
    let from = changes.order_from.unwrap_or(regions.order.len());
    (in_blocks + regions.order.len().saturating_sub(from)) as u64
}

/// The list with neighbours joined.
fn joined(mut list: Vec<Region>) -> Vec<Region> {
    list.sort_by_key(|region| region.address);
    let mut joined: Vec<Region> = Vec::new();
    for region in list {
        match joined.last_mut() {
            Some(last)
                if last.address + last.bytes == region.address
                    && (last.shared == 0) == (region.shared == 0)
                    && (last.shared == 0 || last.shared + last.bytes == region.shared) =>
            {
                last.bytes += region.bytes;
            }
            _ => joined.push(region),
        }
    }
    joined
}

#[test]
fn a_change_among_many_regions_publishes_few_of_them() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let ascending: Vec<u64> = (0..MANY).collect();
    let descending: Vec<u64> = (0..MANY).rev().collect();
    for order in [ascending, descending, numbers.order_of(MANY)] {
        let regions = &mut Regions::default();
        let add: u64 = order
            .iter()
            .map(|number| {
                regions.add(private(1 + 16 * number, 8));
                published(regions)
            })
            .sum();
        assert!(
            add <= FEW * MANY,
            "{add} for {MANY} regions that were added"
        );
        assert_eq!(all(regions).len() as u64, MANY);
        let pairs: u64 = order
            .iter()
            .map(|number| {
                let region = private(1 + 16 * number, 8);
                regions.cut(&region);
                regions.add(region);
                published(regions)
            })
            .sum();
        assert!(
            pairs <= 3 * FEW * MANY,
            "{pairs} for {MANY} that came and went"
        );
        let cut: u64 = numbers
            .order_of(MANY)
            .iter()
            .map(|number| {
                regions.cut(&private(1 + 16 * number, 8));
                published(regions)
            })
            .sum();
        assert!(cut <= FEW * MANY, "{cut} for {MANY} regions that were cut");
        assert!(all(regions).is_empty());
        assert!(regions.needed_blocks() as u64 <= 8 * MANY / BLOCK as u64);
    }
}

#[test]
fn neighbours_are_joined_and_cut_as_in_a_list() {
    for seed in 1..=40 {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ seed);
        let regions = &mut Regions::default();
        let mut list: Vec<Region> = Vec::new();
        for step in 0..2_000 {
            let start = 1 + 8 * numbers.below(700);
            let bytes = 8 * (1 + numbers.below(3));
            let shared = match start % 512 < 200 {
                // Some shared memory lies in the segment as in the process, some does not.
                true => 1 + start + 4096 * (start / 96),
                false => 0,
            };
            let region = Region {
                address: start,
                bytes,
                shared,
            };
            let is_free = list
                .iter()
                .all(|it| it.end() <= start || region.end() <= it.address);
            if is_free && numbers.below(3) > 0 {
                list.push(region);
                regions.add(region);
            } else if !list.is_empty() {
                let at = numbers.below(list.len() as u64) as usize;
                regions.cut(&list.swap_remove(at));
            }
            if step % 16 == 0 {
                let expected = joined(list.clone());
                assert_eq!(all(regions), expected, "seed {seed}, step {step}");
                let last = expected.iter().rfind(|it| it.address < start).copied();
                assert_eq!(regions.last_before(start), last);
            }
        }
    }
}
