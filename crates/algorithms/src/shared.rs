// SPDX-License-Identifier: MIT OR Apache-2.0
//! How operations are cut into rounds of the memory that members share.

use crate::case::Case;

/// Most members of such memory.
pub const MOST_MEMBERS: u32 = crate::case::MOST_MEMBERS;
/// Most rounds that blocks of more than two members are cut into when a buffer holds only little of each, and what is not little,
/// in bytes.
const MOST_ROUNDS: usize = 256;
const LARGE_PART: usize = 4 << 10;

/// Bytes of one member's buffer, by the number of members.
pub fn buffer_bytes(members: u32) -> usize {
    ((2 << 20) / members.next_power_of_two() as usize).clamp(2 << 10, 128 << 10)
}

/// How an operation is cut into rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Number of rounds.
    pub count: usize,
    /// The most that one round moves: bytes, or elements where they are combined.
    pub most: usize,
}

impl Rounds {
    /// As many rounds as `amount` needs.
    pub fn of(amount: usize, most: usize) -> Self {
        Self {
            count: amount.div_ceil(most.max(1)),
            most,
        }
    }

    /// The rounds, and the bytes that a member with `bytes` bytes publishes in one of them at most.
    pub fn published(self, bytes: usize) -> (usize, usize) {
        (self.count, self.most.min(bytes))
    }

    /// The same where `most` counts elements, of `bytes` bytes each, of `count` in all.
    pub fn published_elements(self, count: usize, bytes: usize) -> (usize, usize) {
        (self.count, self.most.min(count) * bytes)
    }

    /// The same where so many blocks are published.
    pub const fn published_blocks(self, blocks: usize) -> (usize, usize) {
        (self.count, self.most * blocks)
    }
}

/// Whole blocks, or a vector, of `bytes` bytes.
pub fn blocks(bytes: usize, members: u32) -> Rounds {
    Rounds::of(bytes, buffer_bytes(members))
}

/// Blocks up to which a member publishes its own one, too: so that all of them are contiguous.
pub const WITH_OWN_BYTES: usize = 2 << 10;

/// How many blocks of `bytes` bytes a member publishes: of two members twice as much of the other's block a round. Of more it would gain
/// little, and parts of a page would no longer be whole ones.
pub const fn published_of(bytes: usize, members: u32) -> usize {
    members as usize - (members == 2 && bytes > WITH_OWN_BYTES) as usize
}

/// Whether so many rounds that move `part` bytes of each block beat messages.
const fn is_worth_it(rounds: usize, part: usize, members: u32) -> bool {
    rounds <= MOST_ROUNDS || part >= LARGE_PART || members == 2
}

/// Parts of as many blocks as a member publishes; `None` if that takes too many rounds.
pub fn parts(bytes: usize, members: u32) -> Option<Rounds> {
    let room = buffer_bytes(members) / published_of(bytes, members);
    let most = if bytes <= room {
        bytes
    } else {
        // Rounds of whole lines, equally long as far as that goes.
        let count = bytes.div_ceil((room / 64 * 64).max(1));
        bytes
            .div_ceil(count)
            .next_multiple_of(64)
            .min(room / 16 * 16)
    };
    let rounds = Rounds::of(bytes, most);
    (most > 0 && is_worth_it(rounds.count, most, members)).then_some(rounds)
}

/// Whole elements of a vector that is combined; `None` if a buffer does not hold one.
pub fn elements(case: &Case) -> Option<Rounds> {
    let size = case.bytes / case.elements.max(1);
    let most = buffer_bytes(case.ranks) / size.max(1);
    (most > 0).then(|| Rounds::of(case.elements, most))
}

/// How many parts a member publishes where each combines one: of two members only the other one's.
pub const fn published_parts(members: u32) -> usize {
    if members == 2 { 1 } else { members as usize }
}

/// The rounds of a reduction in which each member combines a part of the elements of a step, at most `most`. A step has two rounds, for
/// operands and for results. `None` if a buffer does not hold an element for each member.
pub fn shares(case: &Case) -> Option<Rounds> {
    let (members, size) = (
        case.ranks as usize,
        (case.bytes / case.elements.max(1)).max(1),
    );
    // Whole lines where elements allow it.
    let room = buffer_bytes(case.ranks) / published_parts(case.ranks);
    let room = match room / 64 * 64 / size {
        0 => room / size,
        lines => lines,
    };
    let even = case.elements.div_ceil(members);
    let lines = (even * size).next_multiple_of(64) / size;
    let most = lines.max(even).max(1).min(room);
    (most > 0).then(|| Rounds {
        count: 2 * case.elements.div_ceil(members * most),
        most,
    })
}

/// The parts of a vector that is combined, as many as there are members: the whole vector in one round if a buffer holds it, else
/// whole elements of each part; `None` if that takes too many rounds.
pub fn element_parts(case: &Case) -> Option<Rounds> {
    let size = (case.total / case.elements.max(1)).max(1);
    let count = case.bytes / size;
    if case.total <= buffer_bytes(case.ranks) {
        return Some(Rounds {
            count: 1,
            most: count,
        });
    }
    let room = buffer_bytes(case.ranks) / case.ranks as usize;
    // Whole lines where elements allow it.
    let most = room / 64 * 64 / size;
    let rounds = Rounds::of(count, most);
    (most > 0 && is_worth_it(rounds.count, most * size, case.ranks)).then_some(rounds)
}
