// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions sorted by address, in blocks of at most [`BLOCK`].
//!
//! A block that becomes longer is split in halves; two neighbours that have become half of a block together are joined. So blocks stay
//! filled, and the order of the blocks changes once in many changes of regions.

/// Regions that a block has at most.
pub(super) const BLOCK: usize = 64;
/// Neighbours with so many regions together become one block.
const JOINED: usize = BLOCK / 2;

/// A range of attached memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Address in the member.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// 1 + its offset in the node segment; 0 for private memory, [`Self::DEVICE`] for that of a GPU.
    pub shared: u64,
}

impl Region {
    /// In place of an offset: the memory of a GPU, which only its process reaches.
    pub const DEVICE: u64 = u64::MAX;

    /// The address behind the last byte.
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }

    /// Whether `next` begins where this region ends, in memory of the same kind.
    const fn continues_in(&self, next: &Region) -> bool {
        let is_next = self.end() == next.address;
        is_next && next.shared == self.shared_at(self.bytes)
    }

    /// [`Self::shared`] of the memory so many bytes further on.
    const fn shared_at(&self, distance: u64) -> u64 {
        match self.shared {
            0 => 0,
            Self::DEVICE => Self::DEVICE,
            shared => shared + distance,
        }
    }
}

/// Blocks that have changed since the last publication.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Numbers of blocks, some of them twice.
    pub(super) blocks: Vec<u32>,
    /// The first position in the order of blocks that changed.
    pub(super) order_from: Option<usize>,
}

/// Regions that do not overlap, neighbours joined, because an operation may reach from one into the next.
#[derive(Debug, Default)]
pub struct Regions {
    /// The numbers of the blocks with regions, in order of address.
    pub(super) order: Vec<u32>,
    /// By number.
    pub(super) blocks: Vec<Vec<Region>>,
    /// Numbers of blocks without regions.
    free: Vec<u32>,
    changes: Changes,
}

impl Regions {
    /// Adds a region that has bytes and overlaps no other one.
    pub fn add(&mut self, region: Region) {
        let mut whole = region;
        let before = self.last_before(region.address);
        if let Some(before) = before.filter(|before| before.continues_in(&region)) {
            self.remove(before.address);
            whole = Region {
                bytes: before.bytes + region.bytes,
                ..before
            };
        }
        let next = self.last_before(region.end().saturating_add(1));
        if let Some(next) = next.filter(|next| region.continues_in(next)) {
            self.remove(next.address);
            whole.bytes += next.bytes;
        }
        self.insert(whole);
    }

    /// Takes out a region that was added, also from the middle of what it was joined with.
    pub fn cut(&mut self, region: &Region) {
        let whole = self.last_before(region.address.saturating_add(1));
        let Some(whole) = whole.filter(|whole| region.end() <= whole.end()) else {
            return;
        };
        self.remove(whole.address);
        let before = region.address - whole.address;
        let behind = whole.end() - region.end();
        if before > 0 {
            self.insert(Region {
                bytes: before,
                ..whole
            });
        }
        if behind > 0 {
            let distance = before + region.bytes;
            self.insert(Region {
                address: whole.address + distance,
                bytes: behind,
                shared: whole.shared_at(distance),
            });
        }
    }

    /// The last region that starts before an address.
    pub fn last_before(&self, address: u64) -> Option<Region> {
        let starts_before = |&number: &u32| self.first(number) < address;
        let position = self.order.partition_point(starts_before).checked_sub(1)?;
        let block = &self.blocks[self.order[position] as usize];
        let behind = block.partition_point(|region| region.address < address);
        block[..behind].last().copied()
    }

    /// Blocks that a table needs for what is here and for one more change.
    pub const fn needed_blocks(&self) -> usize {
        self.blocks.len() + 2
    }

    /// Everything is to be published, for the table is new.
    pub fn change_all(&mut self) {
        self.changes.blocks.clone_from(&self.order);
        self.changes.order_from = Some(0);
    }

    /// The blocks to publish; each call returns those that have changed since the last one.
    pub(super) fn take_changes(&mut self) -> Changes {
        std::mem::take(&mut self.changes)
    }

    /// Nothing is published.
    pub fn forget_changes(&mut self) {
        self.take_changes();
    }

    /// The address of the first region of a block.
    fn first(&self, number: u32) -> u64 {
        let block = &self.blocks[number as usize];
        block.first().map_or(0, |region| region.address)
    }

    /// The position in the order of the block to which an address belongs.
    fn position_of(&self, address: u64) -> usize {
        let starts = |&number: &u32| self.first(number) <= address;
        self.order.partition_point(starts).saturating_sub(1)
    }

    fn insert(&mut self, region: Region) {
        if self.order.is_empty() {
            let number = self.new_block(Vec::new());
            self.order_changed(0);
            self.order.push(number);
        }
        let position = self.position_of(region.address);
        let number = self.order[position];
        self.changes.blocks.push(number);
        let block = &mut self.blocks[number as usize];
        let at = block.partition_point(|other| other.address < region.address);
        block.insert(at, region);
        if block.len() > BLOCK {
            let half = block.split_off(BLOCK / 2);
            let other = self.new_block(half);
            self.order.insert(position + 1, other);
            self.order_changed(position + 1);
        }
    }

    fn remove(&mut self, address: u64) {
        let position = self.position_of(address);
        let Some(&number) = self.order.get(position) else {
            return;
        };
        let block = &mut self.blocks[number as usize];
        let Ok(at) = block.binary_search_by_key(&address, |region| region.address) else {
            return;
        };
        block.remove(at);
        self.changes.blocks.push(number);
        if block.is_empty() {
            self.drop_block(position);
        } else if !self.join_with_next(position) && position > 0 {
            self.join_with_next(position - 1);
        }
    }

    /// Joins a block with the next one, if both have few regions.
    fn join_with_next(&mut self, position: usize) -> bool {
        let Some(&[number, next]) = self.order[position..].first_chunk() else {
            return false;
        };
        let both = self.blocks[number as usize].len() + self.blocks[next as usize].len();
        if both > JOINED {
            return false;
        }
        let regions = std::mem::take(&mut self.blocks[next as usize]);
        self.blocks[number as usize].extend(regions);
        self.changes.blocks.push(number);
        self.drop_block(position + 1);
        true
    }

    fn new_block(&mut self, regions: Vec<Region>) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Vec::new());
            self.blocks.len() as u32 - 1
        });
        self.blocks[number as usize] = regions;
        self.changes.blocks.push(number);
        number
    }

    fn drop_block(&mut self, position: usize) {
        let number = self.order.remove(position);
        self.free.push(number);
        self.order_changed(position);
    }

    fn order_changed(&mut self, position: usize) {
        let from = self.changes.order_from.unwrap_or(position).min(position);
        self.changes.order_from = Some(from);
    }
}
